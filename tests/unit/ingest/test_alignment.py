"""Which messages of a batch a session has already, and where the new ones belong."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from holdfast.domain.identifiers import message_id
from holdfast.domain.types import Message
from holdfast.ingest.alignment import align

START = datetime(2026, 5, 1, tzinfo=UTC)


def conversation(words: str, minutes: str = "") -> list[Message]:
    """One message per letter; `minutes` has the minute of each letter's timestamp, or none."""
    said = []
    for n, word in enumerate(words):
        at = START + timedelta(minutes=int(minutes[n])) if minutes else None
        said.append(Message(message_id("s", "user", word), "s", "user", word, START, timestamp=at, position=n + 1))
    return said


def merged(session: list[Message], batch: list[Message], *, resends: bool = True) -> str:
    """The session's letters after the batch was written."""
    stored = list(align([], session, resends=False).messages)
    aligned = align(stored, batch, resends=resends)
    places = dict(aligned.inserted)
    assert list(places.values()) == sorted(places.values())
    for message in sorted(aligned.messages, key=lambda each: places.get(each.id, 99)):
        if message.id in aligned.new:
            stored.insert(places.get(message.id, len(stored) + 1) - 1, message)
    assert len({message.id for message in stored}) == len(stored)
    return "".join(message.content for message in stored)


@pytest.mark.parametrize(
    ("session", "batch", "after"),
    [
        ("", "aba", "aba"),  # repetitions within a batch are kept
        ("ab", "ab", "ab"),  # the whole conversation again
        ("abc", "abcd", "abcd"),  # and one more
        ("aaa", "aaaa", "aaaa"),
        ("abcd", "bc", "abcd"),  # a run of two that stands in it
        ("abcd", "cdef", "abcdef"),  # an overlap with its end
        ("abcd", "de", "abcde"),
        ("abcd", "d", "abcd"),  # a lone message that repeats the last one
        ("abcd", "a", "abcda"),  # a lone message that does not
        ("a", "ba", "aba"),
        ("cd", "abcd", "abcd"),  # the session's own start came late
        ("cd", "abcdef", "abcdef"),
        ("abcd", "bcx", "abcdbcx"),  # neither a run nor an overlap: all of it is new
        ("abxy", "ab", "abxy"),
    ],
)
def test_messages_without_timestamps_are_aligned_as_sequences(session: str, batch: str, after: str) -> None:
    assert merged(conversation(session), conversation(batch)) == after


def test_under_a_new_idempotency_key_every_message_is_new() -> None:
    assert merged(conversation("ab"), conversation("ab"), resends=False) == "abab"


def test_timestamps_tell_a_repetition_from_a_resend_and_where_it_belongs() -> None:
    session = conversation("aba", "123")
    assert merged(session, conversation("a", "3")) == "aba"
    assert merged(session, conversation("a", "4")) == "abaa"
    assert merged(session, conversation("ab", "12")) == "aba"
    assert merged(conversation("ad", "14"), conversation("bc", "23")) == "abcd"
    assert merged(conversation("ad", "14"), conversation("ae", "05")) == "aade"


def test_another_speaker_is_another_message() -> None:
    batch = [Message(message_id("s", "user", "a"), "s", "user", "a", START, speaker="Ana")]
    assert merged(conversation("a"), batch) == "aa"
