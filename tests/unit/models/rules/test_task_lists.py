"""Lists of things to do: their openings, their items, and what only resembles one."""

from __future__ import annotations

import pytest

from holdfast.models.rules.sentences.clauses import sentences
from holdfast.models.rules.sentences.task_lists import is_chore, task_list, with_lists_in_lines


@pytest.mark.parametrize(
    ("said", "items"),
    [
        ("need to do: call the bank, book the vet", ("call the bank", "book the vet")),
        ("still to do for the wedding: celebrant, band and rings", ("celebrant", "band", "rings")),
        ("still open: logo, photos", ("logo", "photos")),
        ("need still: gas bottle, sign from the printer", ("gas bottle", "sign from the printer")),
        ("what's missing for the party: ice, cups", ("ice", "cups")),
        ("todo list for this week: mow the lawn; ring Ida", ("mow the lawn", "ring Ida")),
        ("before we leave: water the plants, feed the fish", ("water the plants", "feed the fish")),
        ("we still need a tent, a lamp and a map", ("a tent", "a lamp", "a map")),
        ("open bugs for 1.9: SK-301 wrong tide, SK-309 logo cut off", ("SK-301 wrong tide", "SK-309 logo cut off")),
        ("for the party we need: balloons, a cake", ("balloons", "a cake")),
        ("shopping: washing up liquid, bin bags", ("washing up liquid", "bin bags")),
    ],
)
def test_an_opening_and_its_items_are_a_list_of_tasks(said: str, items: tuple[str, ...]) -> None:
    found = task_list(said)
    assert found is not None
    assert found.items == items


def test_the_verb_and_the_sort_of_a_list_are_known() -> None:
    bought, left, minded = map(task_list, ("to buy: milk, a bulb", "open: logo, photos", "reminder: tax, call Dewi"))
    assert bought is not None
    assert left is not None
    assert minded is not None
    assert (bought.verb, left.sort, minded.sort) == ("buy", "open", "reminder")


@pytest.mark.parametrize(
    "said",
    [
        "open: mon to fri 9-17, sat 10-14",
        "need a break, honestly exhausted",
        "ingredients: eggs, flour, sugar",
        "next: barista until 2021, then teacher",
        "tomorrow: sunny, 21 degrees",
        "she said: call me, please",
    ],
)
def test_what_only_resembles_a_list_is_none(said: str) -> None:
    assert task_list(said) is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Shopping list\n- milk\n- two lemons", "Shopping list: milk; two lemons."),
        ("To do:\n[x] call the bank\n[ ] book the vet\n[ ] pay Ana", "To do: book the vet; pay Ana."),
        ("Hi there. Still to do\n1. logo\n2. photos", "Still to do: logo; photos."),
    ],
)
def test_a_list_in_lines_becomes_one_sentence(text: str, line: str) -> None:
    assert line in with_lists_in_lines(text).split("\n")


def test_numbers_in_a_sentence_part_the_items_of_a_list() -> None:
    (found,) = sentences("open points: 1. logo 2. photos 3. call Ida")
    listed = task_list(found)
    assert listed is not None
    assert listed.items == ("logo", "photos", "call Ida")


def test_lines_that_are_no_list_of_tasks_stay() -> None:
    text = "My friends are\n- Ana\n- Tom"
    assert with_lists_in_lines(text) == text


@pytest.mark.parametrize(
    ("item", "chore"),
    [("call the bank", True), ("sign from the printer", False), ("new glasses", False), ("varnish the door", True)],
)
def test_an_item_may_say_what_to_do(item: str, chore: bool) -> None:
    assert is_chore(item) is chore
