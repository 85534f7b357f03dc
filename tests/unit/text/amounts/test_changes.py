"""What an amount rose or fell by, told without the amount itself."""

from __future__ import annotations

import pytest

from holdfast.text.amounts.changes import amount_change, changes_amount_of


@pytest.mark.parametrize(
    ("sentence", "by"),
    [
        ("from January the berth goes up by £14 a month", 14.0),
        ("the bill was £130 more than agreed", 130.0),
        ("he gives us 1,500 so the budget goes up by that", 1500.0),
        ("the dress needs taking in, 180 on top", 180.0),
        ("Ceri says pads are 30 extra each time", 30.0),
        ("I gave her twenty pounds on top of what was agreed", 20.0),
        ("they took 15 off", -15.0),
        ("they cut the rent by 2.5k", -2500.0),
        ("another 40 for the bag", 40.0),
    ],
)
def test_a_change_is_read(sentence: str, by: float) -> None:
    assert amount_change(sentence) == by


@pytest.mark.parametrize(
    "sentence",
    [
        "the rent is 900",
        "the rent goes up from 900 to 950",
        "they took 15 off the bill, so 22.90",
        "prices went up to 4.50",
        "rent went up 50 to 950",
        "the fee rises by 60 euros to 960",
        "he was 4 minutes faster",
        "the budget goes up by that, 1,500 from her and 300 from him",
    ],
)
def test_what_names_the_amount_or_tells_none_is_no_change(sentence: str) -> None:
    assert amount_change(sentence) is None


def test_a_change_of_an_amount_does_not_end_the_amount() -> None:
    assert changes_amount_of("boat is back, the fee goes up by 200 next year", "The marina fee is 2400 zl a year.")
    assert changes_amount_of("gym goes up 5 in january", "The user's gym is 40 a month.")
    assert not changes_amount_of("the fee is 2600 now", "The marina fee is 2400 zl a year.")
    assert not changes_amount_of("rent goes up by 60", "The gym is 40 a month.")
