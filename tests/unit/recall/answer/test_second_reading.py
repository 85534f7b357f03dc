"""Questions that one reading does not surely answer: names are looked for, and two messages are quoted together."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import pytest

from holdfast import AsyncHoldfast
from holdfast.domain.ports.models import AnswerSpan, ReadAnswer, ReadPassage
from holdfast.domain.results import Answer
from holdfast.recall.answer import reading
from holdfast.testing import HashingEmbedder, MemoryVault, ScriptedExtractor

ASKED = "2026-03-01T12:00:00Z"
SUPERVISOR = "my supervisor this year is Priya"
OFFICE = "Priya sits in the Bristol office"


class UnsureReader(HashingEmbedder):
    """An embedder that finds given words in passages, the first of them likeliest, and is not sure of them."""

    def __init__(self, *words: str, nothing: float = 0.3) -> None:
        super().__init__()
        self.words, self.nothing = words, nothing
        self.read: list[list[str]] = []

    async def read_answer(self, question: str, asked: date, passages: Sequence[ReadPassage]) -> ReadAnswer:
        self.read.append([passage.text for passage in passages])
        ranked = [
            AnswerSpan(n, start, start + len(word), 0.6 / (rank + 1))
            for rank, word in enumerate(self.words)
            for n, passage in enumerate(passages)
            if (start := passage.text.find(word)) >= 0
        ]
        kinds = (self.nothing, 0.9 - self.nothing, 0.1, 0.0, 0.0)
        return ReadAnswer("span", tuple(ranked[:1]), 0.2, tuple(ranked), kinds) if ranked else ReadAnswer("none")


async def answer(reader: UnsureReader, question: str, *said: str) -> Answer:
    async with AsyncHoldfast(MemoryVault(), reader, ScriptedExtractor()) as holdfast:
        profile = holdfast.profile("app", "ana")
        for n, text in enumerate(said):
            message = {"role": "user", "content": text, "timestamp": f"2026-02-0{n + 1}"}
            await profile.ingest([message], session_id=f"s{n}", wait=True)
        return await profile.recall(question, reference_date=ASKED)


def let_through(monkeypatch: pytest.MonkeyPatch, one: float, together: float) -> None:
    monkeypatch.setattr(reading, "chance_of_one", lambda features, several: one)
    monkeypatch.setattr(reading, "chance_of_together", lambda features, several: together)


async def test_messages_that_have_the_answer_between_them_are_quoted_with_their_days(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    let_through(monkeypatch, one=0.3, together=0.9)
    found = await answer(UnsureReader("Bristol", "Priya"), "Where is my supervisor based?", SUPERVISOR, OFFICE)
    assert found.answer == f'"{SUPERVISOR}" (1 February 2026); "{OFFICE}" (2 February 2026)'
    assert {citation.quote for citation in found.citations} == {SUPERVISOR, OFFICE}
    assert {citation.hit for citation in found.citations} <= {hit.id for hit in found.hits}


async def test_one_message_answers_where_that_is_sure(monkeypatch: pytest.MonkeyPatch) -> None:
    let_through(monkeypatch, one=0.9, together=0.9)
    found = await answer(UnsureReader("Bristol", "Priya"), "Where is my supervisor based?", SUPERVISOR, OFFICE)
    assert found.answer == f'"{OFFICE}" (2 February 2026)'
    assert found.confidence == 0.9


async def test_nothing_is_said_where_neither_is_sure(monkeypatch: pytest.MonkeyPatch) -> None:
    let_through(monkeypatch, one=0.5, together=0.5)
    found = await answer(UnsureReader("Bristol"), "Where is my supervisor based?", SUPERVISOR, OFFICE)
    assert (found.answer, found.citations) == ("", ())
    assert found.hits


async def test_a_question_that_nothing_answers_is_read_once() -> None:
    reader = UnsureReader("Bristol", nothing=0.89)
    assert (await answer(reader, "Where is my supervisor based?", SUPERVISOR, OFFICE)).answer == ""
    assert len(reader.read) == 1


async def test_a_question_of_yes_or_no_is_not_answered_by_two_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    let_through(monkeypatch, one=0.9, together=0.9)
    reader = UnsureReader("Bristol", "Priya")
    assert (await answer(reader, "Is my supervisor in Bristol?", SUPERVISOR, OFFICE)).answer == ""
    assert len(reader.read) == 1
