"""What is gone, and what ends with it."""

from __future__ import annotations

import pytest

from holdfast.text.endings import ending


@pytest.mark.parametrize(
    ("text", "sort", "thing"),
    [
        ('The user said: "Our dog Bramble died yesterday" (9 June 2026).', "death", "Bramble"),
        ("Bad day. Had to have Bramble put to sleep.", "death", "Bramble"),
        ("The user sold the Civic last week.", "sale", "Civic"),
        ("caravan's been sold!!", "sale", "caravan"),
        ("Priya left the company.", "resignation", "Priya"),
        ("me n Caoimhe broke up sunday", "parting", "Caoimhe"),
        ("The user finished the Spanish course.", "stop", "Spanish course"),
        ("they've took me off gliclazide, put me on metformin", "stop", "gliclazide"),
        ("The user handed in their notice at Penny Lane today.", "stop", "Penny Lane"),
    ],
)
def test_something_is_gone(text: str, sort: str, thing: str) -> None:
    found = ending(text)
    assert found is not None
    assert (found.sort, found.thing) == (sort, thing)


@pytest.mark.parametrize(
    "text",
    ["Sam left for Paris", "Sam left the keys on the table", "Maya left early", "Lena passed her exam",
     "I might have sold the car", "I never sold the car", "Indi passed second go"],
)  # fmt: skip
def test_nothing_is_gone(text: str) -> None:
    assert ending(text) is None
