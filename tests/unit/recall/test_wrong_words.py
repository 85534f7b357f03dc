"""Hits leave out the words of memories that were marked wrong."""

from __future__ import annotations

from dataclasses import replace

from holdfast.recall.hits import hit_of, without_wrong_words
from holdfast.testing.conformance import memory, message

SAID = message("I live in Lisbon. I keep bees.")
LISBON = memory("The user lives in Lisbon", sources=(SAID.id,))
WRONG = LISBON.with_marks(-1, None)
BEES = memory("The user keeps bees", n=1, sources=(SAID.id,))


def test_only_the_words_of_the_wrong_one_go() -> None:
    (hit,) = without_wrong_words([hit_of(SAID)], [WRONG, BEES])
    assert (hit.content, hit.summary, hit.id) == ("[…] I keep bees.", "[…] I keep bees.", SAID.id)


def test_hits_without_wrong_memories_are_as_they_were() -> None:
    hits = [hit_of(SAID), hit_of(BEES)]
    assert without_wrong_words(hits, [LISBON, BEES]) == hits
    assert without_wrong_words(hits, [replace(WRONG, sources=("other",)), BEES]) == hits


def test_what_was_superseded_after_it_was_marked_wrong_stays_out() -> None:
    edited = replace(memory("The user lives in Porto", n=2, sources=(SAID.id,)), version=2)
    (hit,) = without_wrong_words([hit_of(SAID)], [replace(WRONG, superseded_by=edited.ref), edited, BEES])
    assert "Lisbon" not in hit.content
    assert "bees" in hit.content


def test_a_message_that_says_nothing_else_is_no_hit() -> None:
    only = message("I live in Lisbon.")
    wrong = replace(WRONG, sources=(only.id,))
    assert without_wrong_words([hit_of(only)], [wrong]) == []
    translated = memory("Bienen", n=3, sources=(only.id,))
    assert [hit.id for hit in without_wrong_words([hit_of(only)], [wrong, translated])] == [translated.id]


def test_summaries_leave_it_out_too() -> None:
    summary = memory("Ana lives in Lisbon. Ana keeps bees.", kind="summary", n=4, sources=(SAID.id,))
    (hit,) = without_wrong_words([hit_of(summary)], [WRONG, BEES, summary])
    assert "Lisbon" not in hit.content
    assert "bees" in hit.content
