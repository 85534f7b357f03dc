"""What stays true of a memory of which a part has ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast import AsyncHoldfast
from holdfast.text.statement_parts import is_telling, part_spans, remaining_runs

DOORS = 'The user said: "Sage green doors, oak worktop, 14 units"'


async def test_the_parts_around_an_ended_one_are_quoted(tmp_path: Path) -> None:
    async with await AsyncHoldfast.open(tmp_path) as memory:
        profile = memory.profile("app", "ana")
        told = ("the kitchen: Sage green doors, oak worktop, 14 units", "the worktop's laminate, not oak")
        for n, text in enumerate(told):
            await profile.ingest([{"role": "user", "content": text}], session_id=f"s{n}", wait=True)
        held = {each.content for each in (await profile.list()).items}
    assert {'The user said: "the kitchen: Sage green doors"', 'The user said: "14 units"'} <= held
    assert not any("oak worktop" in each for each in held)


async def test_a_remainder_that_is_known_is_not_written_again(tmp_path: Path) -> None:
    async with await AsyncHoldfast.open(tmp_path) as memory:
        profile = memory.profile("app", "ana")
        told = ("Staging is hive-stg:7070, prod hive-prd:7443.", "staging moved to hive-stg2:7070")
        known = 'The user said: "prod hive-prd:7443"'
        await profile.remember(known, kind="fact")
        for n, text in enumerate(told):
            await profile.ingest([{"role": "user", "content": text}], session_id=f"s{n}", wait=True)
        assert [each.content for each in (await profile.list()).items].count(known) == 1
        assert (await profile.stats()).pending == 0


def test_neighbouring_parts_stay_together() -> None:
    first, second, third = part_spans(DOORS)
    assert remaining_runs(DOORS, [second]) == ["Sage green doors", "14 units"]
    assert remaining_runs(DOORS, [third]) == ["Sage green doors, oak worktop"]
    assert remaining_runs(DOORS, [first, second, third]) == []


@pytest.mark.parametrize(
    ("part", "telling"),
    [("14 units", True), ("Sage green doors", True), ("with Kofi", True), ("in front", False), ("Leeds", False)],
)
def test_a_part_stands_alone_if_it_has_a_value_or_three_words(part: str, telling: bool) -> None:
    assert is_telling(part, headless=False) == telling


def test_it_means_nothing_without_the_part_before_it() -> None:
    assert not is_telling("skip it for now", headless=True)


async def test_what_a_message_speaks_of_is_what_ends(tmp_path: Path) -> None:
    piano = (
        "Emma has piano on mondays and chess on thursdays, Leo does judo on saturdays",
        "Emma's piano moved to wednesdays",
    )
    prices = (
        "sourdough is 4.20, rye 4.80, buns 2.60 each",
        "putting prices up: sourdough to 4.50, buns 2.80. rye stays",
    )
    swimming = (
        "Theo has swimming tuesdays and fridays at 4, Mabel does ballet on Saturdays",
        "theo's swimming lesson moved to wednesdays",
    )
    async with await AsyncHoldfast.open(tmp_path) as memory:
        for name, told in (("piano", piano), ("prices", prices), ("swimming", swimming)):
            for n, text in enumerate(told):
                await memory.profile("app", name).ingest(
                    [{"role": "user", "content": text}], session_id=f"s{n}", wait=True
                )
        held = {
            name: " ".join(each.content for each in (await memory.profile("app", name).list()).items)
            for name in ("piano", "prices", "swimming")
        }
    assert "mondays" not in held["piano"]
    assert "chess on thursdays" in held["piano"]
    assert "4.20" not in held["prices"]
    assert "rye 4.80" in held["prices"]
    assert "tuesdays" not in held["swimming"]
    assert "ballet on Saturdays" in held["swimming"]
