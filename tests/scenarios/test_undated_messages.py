"""Messages that carry no timestamp: history stays history, and what is said now is said now."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from holdfast import AsyncHoldfast, LocalProfile
from holdfast.cli.transcript import parse_conversation
from holdfast.models.rules import RuleExtractor
from holdfast.storage.in_memory import MemoryVault
from holdfast.testing import HashingEmbedder

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
THEN, LATER = datetime(2024, 1, 10, tzinfo=UTC), datetime(2024, 2, 3, tzinfo=UTC)


@dataclass
class Clock:
    at: datetime = NOW

    def __call__(self) -> datetime:
        return self.at


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def ana(clock: Clock) -> AsyncIterator[LocalProfile]:
    async with AsyncHoldfast(MemoryVault(), HashingEmbedder(), RuleExtractor(), clock) as holdfast:
        yield holdfast.profile("app", "ana")


def message_of(content: str, at: datetime | None = None) -> dict[str, Any]:
    return {"role": "user", "content": content} | ({} if at is None else {"timestamp": at})


async def times(profile: LocalProfile, session: str = "s") -> list[datetime | None]:
    return [message.timestamp for message in await profile.messages(session)]


async def test_a_message_takes_the_timestamp_of_the_one_before(ana: LocalProfile) -> None:
    batch = [message_of("one", THEN), message_of("two"), message_of("three", LATER), message_of("four")]
    await ana.ingest(batch, session_id="s")
    assert await times(ana) == [THEN, THEN, LATER, LATER]


async def test_what_stands_before_the_first_timestamp_takes_that(ana: LocalProfile) -> None:
    await ana.ingest([message_of("one"), message_of("two", THEN)], session_id="s")
    assert await times(ana) == [THEN, THEN]


async def test_a_relative_date_counts_from_the_message_before(ana: LocalProfile) -> None:
    batch = [message_of("Hello there, it's me.", THEN), message_of("I started a new job yesterday.")]
    receipt = await ana.ingest(batch, session_id="s", wait=True)
    assert [memory.occurred_at for memory in receipt.memories] == [THEN - timedelta(1)]


async def test_without_any_timestamp_it_is_said_when_it_arrives(ana: LocalProfile) -> None:
    await ana.ingest([message_of("one"), message_of("two")], session_id="s")
    (one, two) = await ana.messages("s")
    assert one.timestamp is two.timestamp is None
    assert one.said_at == NOW


async def test_the_next_batch_of_an_import_goes_on_where_the_last_one_ended(ana: LocalProfile, clock: Clock) -> None:
    await ana.ingest([message_of("one", THEN)], session_id="s")
    for word in ("two", "three"):
        clock.at += timedelta(minutes=5)
        await ana.ingest([message_of(word)], session_id="s")
    assert await times(ana) == [THEN, THEN, THEN]


async def test_an_old_session_taken_up_again_is_told_today(ana: LocalProfile, clock: Clock) -> None:
    await ana.ingest([message_of("one", THEN)], session_id="s")
    clock.at += timedelta(hours=3)
    await ana.ingest([message_of("two")], session_id="s")
    assert await times(ana) == [THEN, None]


async def test_a_conversation_of_now_is_not_moved_to_its_last_timestamp(ana: LocalProfile, clock: Clock) -> None:
    await ana.ingest([message_of("one", NOW - timedelta(minutes=1))], session_id="s")
    clock.at += timedelta(minutes=5)
    await ana.ingest([message_of("two")], session_id="s")
    assert (await times(ana))[1] is None


async def test_another_session_is_not_asked(ana: LocalProfile) -> None:
    await ana.ingest([message_of("one", THEN)], session_id="old")
    await ana.ingest([message_of("two")], session_id="s")
    assert await times(ana) == [None]


async def test_a_repeated_request_is_the_same_request_and_the_same_messages(ana: LocalProfile, clock: Clock) -> None:
    batch = [message_of("one", THEN), message_of("two")]
    first = await ana.ingest(batch, session_id="s", idempotency_key="k")
    clock.at += timedelta(minutes=1)
    again = await ana.ingest(batch, session_id="s", idempotency_key="k")
    plain = await ana.ingest(batch, session_id="s")
    assert [m.id for m in first.messages] == [m.id for m in again.messages] == [m.id for m in plain.messages]
    assert first == again
    assert not any(message.new for message in plain.messages)
    assert await times(ana) == [THEN, THEN]


async def test_the_lines_of_a_transcript_follow_its_timestamps(ana: LocalProfile) -> None:
    text = b"Mara: hi\n[2025-03-04 18:20] Mara: We moved last weekend.\nassistant: Nice!\n[2025-03-06] Mara: Back."
    read = parse_conversation(text, "text", "chat.txt")
    await ana.ingest(read.messages, session_id="s")
    told = [str(at)[:16] for at in await times(ana)]
    assert told == ["2025-03-04 18:20", "2025-03-04 18:20", "2025-03-04 18:20", "2025-03-06 00:00"]
