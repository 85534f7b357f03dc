"""Questions after several things: what there was no room for is read as well, and the messages are quoted together."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from holdfast import AsyncHoldfast, Holdfast
from holdfast.domain.ports.models import AnswerSpan, ReadAnswer, ReadPassage
from holdfast.domain.results import Answer, Hit
from holdfast.recall.answer import reading
from holdfast.recall.answer.computed import FoundSpan, computed_text
from holdfast.recall.answer.quotations import quotation
from holdfast.recall.answer.second_reading import MAX_MESSAGES
from holdfast.recall.question.analysis import analysed_question
from holdfast.testing import HashingEmbedder, MemoryVault, ScriptedExtractor

NAMES = ("Elin", "Owain", "Marta", "Gwen", "Huw")


class ListReader(HashingEmbedder):
    """An embedder that reads at most so many passages at once and finds names in them."""

    def __init__(self, room: int, several: float = 0.9) -> None:
        super().__init__()
        self.room, self.several = room, several

    async def read_answer(self, question: str, asked: date, passages: Sequence[ReadPassage]) -> ReadAnswer:
        found = tuple(
            AnswerSpan(n, start, start + len(name), 0.9)
            for n, passage in enumerate(passages[: self.room])
            for name in NAMES
            if (start := passage.text.find(name)) >= 0
        )
        kinds = (0.05, 0.95 - self.several, self.several, 0.0, 0.0)
        return ReadAnswer("list", found, 0.5, found, kinds, found) if found else ReadAnswer("none", kinds=kinds)


async def answer(reader: ListReader, question: str, names: Sequence[str]) -> Answer:
    async with AsyncHoldfast(MemoryVault(), reader, ScriptedExtractor()) as holdfast:
        profile = holdfast.profile("app", "ana")
        for n, name in enumerate(names):
            message = {"role": "user", "content": f"{name} works for me in the yard", "timestamp": f"2026-02-0{n + 1}"}
            await profile.ingest([message], session_id=f"s{n}", wait=True)
        return await profile.recall(question, reference_date="2026-03-01T12:00:00Z")


async def test_what_there_was_no_room_for_is_read_on_and_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "chance_of_several", lambda features: 0.9)
    found = await answer(ListReader(room=2), "Who works for me?", NAMES[:3])
    assert all(name in found.answer for name in NAMES[:3])
    assert len(found.citations) == 3


async def test_no_more_messages_are_quoted_than_are_read_at_a_glance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "chance_of_several", lambda features: 0.9)
    found = await answer(ListReader(room=9), "Who works for me?", NAMES)
    assert found.answer.count("works for me") == MAX_MESSAGES


async def test_a_count_and_a_reader_that_is_not_sure_of_several_enumerate_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("several")

    monkeypatch.setattr(reading, "read_on", fail)
    await answer(ListReader(room=2), "How many people work for me?", NAMES[:3])
    await answer(ListReader(room=2, several=0.4), "Who works for me?", NAMES[:3])


async def test_where_it_is_not_likely_that_all_are_told_nothing_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "chance_of_several", lambda features: 0.3)
    assert (await answer(ListReader(room=2), "Who works for me?", NAMES[:3])).answer == ""


def test_a_list_of_which_nothing_is_told_is_left_empty(tmp_path: Path) -> None:
    """The reader alone finds whatever is listed."""
    said = (
        "hi, Ana here. two kids: Mia 9 and Tom 6", "staff at the bakery: Elin, Marta and Owain on saturdays",
        "Gwen starts in the bakery on monday", "our envs are dev, staging and prod",
    )  # fmt: skip
    with Holdfast.open(tmp_path) as memory:
        ana = memory.profile("app", "ana")
        ana.ingest([{"role": "user", "content": each} for each in said], session_id="s", wait=True)
        told = ana.recall("Who works at the bakery?").answer
        assert all(name in told for name in ("Elin", "Marta", "Owain", "Gwen"))
        for question in ("Which cars do I own?", "Which instruments do I play?", "Which countries have I visited?"):
            assert ana.recall(question).answer == ""


async def test_one_thing_of_several_is_no_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "chance_of_several", lambda features: 0.9)
    found = await answer(ListReader(room=2), "Who works for me?", NAMES[:1])
    assert not found.answer


@pytest.mark.parametrize(
    ("said", "words", "answer"),
    [
        ("Theo is four. Max is six.", ("Theo", "Max"), 'Theo; Max: "Theo is four. Max is six." (1 March 2026)'),
        ("Team is me. I'm lead.", ("is me", "I'm"), '"Team is me. I\'m lead." (1 March 2026)'),
    ],
)
def test_only_names_and_figures_are_listed_before_their_sentences(
    said: str, words: tuple[str, ...], answer: str
) -> None:
    day = datetime(2026, 3, 1, tzinfo=UTC)
    hit = Hit("m", "message", said, said, 1.0, {}, "s", day)
    spans = [FoundSpan(hit, day, (start := said.index(each)), start + len(each)) for each in words]
    question = analysed_question("Who?", day)
    assert quotation(question, spans, []) == answer


def test_members_are_counted_one_by_one() -> None:
    day = datetime(2026, 3, 1, tzinfo=UTC)

    def counted(said: str, *words: str) -> str:
        hit = Hit("m", "message", said, said, 1.0, {}, "s", day)
        spans = [FoundSpan(hit, day, (start := said.index(each)), start + len(each)) for each in words]
        return computed_text(analysed_question("How many children do I have?", day), "list", spans)

    assert counted("my kids Emil and Tova", "my", "Emil and Tova") == "2: Emil, Tova"
    assert counted("the team is me, Hedda. I'm lead", "is me", "Hedda", "I'm lead") == ""
