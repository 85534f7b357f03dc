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
    assert {'The user said: "Sage green doors"', 'The user said: "14 units"'} <= held
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
    assert is_telling(part) == telling
