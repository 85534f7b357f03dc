"""By how much two amounts or days differ: computed where both are surely found, and not said otherwise."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

import pytest

from holdfast import AsyncHoldfast
from holdfast.domain.ports.models import AnswerSpan, ReadAnswer, ReadPassage
from holdfast.domain.timestamps import parse_moment
from holdfast.recall.answer.amounts.differences import asks_difference
from holdfast.recall.question.analysis import analysed_question
from holdfast.testing import HashingEmbedder, MemoryVault, ScriptedExtractor
from holdfast.text.amounts.numbers import amount_of, amounts_in


class AmountReader(HashingEmbedder):
    """An embedder that finds amounts and days, each as likely as it is told to be."""

    def __init__(self, chances: dict[str, float], several: float = 0.95) -> None:
        super().__init__()
        self.chances, self.several = chances, several

    async def read_answer(self, question: str, asked: date, passages: Sequence[ReadPassage]) -> ReadAnswer:
        found = [
            AnswerSpan(n, m.start(), m.end(), chance)
            for words, chance in self.chances.items()
            for n, passage in enumerate(passages)
            for m in re.finditer(re.escape(words), passage.text)
        ]
        ranked = tuple(sorted(found, key=lambda span: -span.chance))
        kinds = (0.01, 0.99 - self.several, self.several, 0.0, 0.0)
        if not ranked:
            return ReadAnswer("none", kinds=(1.0, 0.0, 0.0, 0.0, 0.0))
        return ReadAnswer("list", ranked, 0.9, ranked, kinds, ranked)


async def answer(reader: AmountReader, question: str, *said: str) -> str:
    async with AsyncHoldfast(MemoryVault(), reader, ScriptedExtractor()) as holdfast:
        profile = holdfast.profile("app", "ana")
        for n, text in enumerate(said):
            message = {"role": "user", "content": text, "timestamp": f"2026-02-0{n + 1}"}
            await profile.ingest([message], session_id=f"s{n}", wait=True)
        return (await profile.recall(question, reference_date="2026-03-01T12:00:00Z")).answer


async def test_two_amounts_are_subtracted_and_quoted() -> None:
    reader = AmountReader({"£90,000": 0.9, "£84,000": 0.95})
    said = ("the hut was planned at £90,000", "the hut is built for £84,000")
    found = await answer(reader, "How much cheaper was the hut than planned?", *said)
    assert found.startswith("£6,000: ")
    assert all(each in found for each in said)


async def test_two_days_are_subtracted() -> None:
    reader = AmountReader({"7 july": 0.8, "16 july": 0.9})
    said = ("release 1.8 is planned for 7 july", "1.8 slips, it comes on 16 july")
    assert (await answer(reader, "How many days late was release 1.8?", *said)).startswith("9 days: ")


async def test_a_second_amount_in_the_message_of_the_first_is_enough() -> None:
    reader = AmountReader({"1390": 0.5, "875": 0.9})
    found = await answer(reader, "How much more rent do I pay than before?", "the rent is 1390 now, it was 875")
    assert found.startswith("515: ")


async def test_the_amount_told_beside_the_only_one_found_is_the_other() -> None:
    reader = AmountReader({"7,900": 0.95})
    found = await answer(reader, "How much more will I get as deputy?", "they made me deputy, 7,900 gross, i had 6,650")
    assert found.startswith("1,250: ")
    assert not await answer(reader, "How much more will I get as deputy?", "7,900 gross, 6,650 for the others")


async def test_decimals_with_a_comma_are_amounts() -> None:
    reader = AmountReader({"2,10": 0.8, "2,25": 0.8})
    found = await answer(reader, "By how much did the bread go up?", "the bread is 2,10", "bread is 2,25 from today")
    assert found.startswith("0.15: ")


async def test_one_amount_alone_is_no_difference() -> None:
    reader = AmountReader({"£84,000": 0.95})
    assert not await answer(reader, "How much cheaper was the hut than planned?", "the hut is built for £84,000")


async def test_where_a_third_amount_is_as_likely_there_is_no_answer() -> None:
    reader = AmountReader({"34.90": 0.8, "44.90": 0.8, "24.90": 0.9})
    said = ("I pay 34.90 for my line", "the big line costs 44.90", "Wendell has a line for 24.90")
    assert not await answer(reader, "How much more do I pay for my line than Wendell?", *said)


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("By how much did the rent go up?", True),
        ("How many goals more than me does Fraser have?", True),
        ("How many days was the beta postponed?", True),
        ("How much dearer is the second pram?", True),
        ("How much did I pay in all, more than 100?", False),
        ("How many more days must I take it?", False),
        ("How much is the rent?", False),
        ("How much less will Hector pay per night?", True),
        ("How much did we save with the new phone firm?", True),
        ("How far over the quote did the clutch go?", True),
        ("How much did I beat the Massey man down?", True),
        ("How much more do I still owe?", False),
    ],
)
def test_a_question_after_a_difference_is_recognised(question: str, asks: bool) -> None:
    assert asks_difference(analysed_question(question, parse_moment("2026-03-01", "day"))) is asks


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("£3,600 down from 4.860", [3600.0, 4860.0]),
        ("46k not 44k", [46000.0, 44000.0]),
        ("sixty-five pounds, then 7.50", [65.0, 7.5]),
        ("at 14:20 on the 3rd", []),
    ],
)
def test_amounts_are_read(text: str, amounts: list[float]) -> None:
    assert [amount_of(each) for each in amounts_in(text)] == amounts
