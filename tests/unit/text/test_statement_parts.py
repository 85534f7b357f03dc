"""The parts of a statement that tells several things, and what is left without some."""

from __future__ import annotations

import pytest

from holdfast.text import statement_parts

SHOES = 'The user said: "shoes for my son Emre, size 33, velcro, no lights"'


def parts(content: str) -> list[str]:
    return [content[slice(*span)] for span in statement_parts.part_spans(content)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (SHOES, ["shoes for my son Emre", "size 33", "velcro", "no lights"]),
        ("NAS is a 4 bay Synology, Pi-hole in an LXC.", ["NAS is a 4 bay Synology", "Pi-hole in an LXC"]),
        ("Project Heron: launch 12 January, owner Dagny.", ["launch 12 January", "owner Dagny"]),
        ('Asked "What for?", the user answered: rent, 890, monthly.', ["rent", "890", "monthly"]),
        ("Trolley A in the library (30, all new), B in S12.", ["Trolley A in the library (30, all new)", "B in S12"]),
        ("Lessons are on Wednesdays and the teacher is Ana.", ["Lessons are on Wednesdays", "the teacher is Ana"]),
        ("The hall is St. Anne's, open on Tuesdays.", ["The hall is St. Anne's", "open on Tuesdays"]),
        ("On pills, 5 mg. Dr. Lim is strict", ["On pills", "5 mg.", "Dr. Lim is strict"]),
        ("It cost 1,200 euros.", []),
        ("The user lives in Porto.", []),
        ("The user and others are going to Rome in June.", []),
        ("", []),
        (", ,", []),
        (", ".join("abcdefghij"), []),
    ],
)
def test_parts_are_found_between_borders(content: str, expected: list[str]) -> None:
    assert parts(content) == expected


def test_one_part_is_marked_among_the_others() -> None:
    assert statement_parts.with_part_marked(SHOES, statement_parts.part_spans(SHOES)[1]) == SHOES.replace(
        "size 33", "[size 33]"
    )


@pytest.mark.parametrize(
    ("gone", "left"),
    [
        ([1], 'The user said: "shoes for my son Emre, velcro, no lights"'),
        ([0, 1], 'The user said: "… velcro, no lights"'),
        ([3], 'The user said: "shoes for my son Emre, size 33, velcro"'),
        ([1, 3], 'The user said: "shoes for my son Emre, velcro"'),
        ([0, 1, 3], None),
        ([0, 1, 2, 3], None),
        ([], None),
    ],
)
def test_what_is_left_without_some(gone: list[int], left: str | None) -> None:
    spans = statement_parts.part_spans(SHOES)
    assert statement_parts.without_parts(SHOES, [spans[n] for n in gone]) == left


def test_a_date_goes_with_the_part_that_had_it() -> None:
    flight = 'The user said: "flying on 3 November, back on the 24th, TAP via Lisbon" (3 November: 3 November 2025).'
    first, _, last = statement_parts.part_spans(flight)
    assert statement_parts.without_parts(flight, [first]) == 'The user said: "… back on the 24th, TAP via Lisbon"'
    assert statement_parts.without_parts(flight, [last]) == flight.replace(", TAP via Lisbon", "")
    assert statement_parts.keeps_date(flight, [last])
    assert not statement_parts.keeps_date(flight, [first])
