"""Statements that sound alike but are about different things."""

from __future__ import annotations

import pytest

from holdfast.text.statement_topics import (
    lacks_item_of,
    name_other_products,
    name_two_environments,
    tells_where_not_what,
)


@pytest.mark.parametrize(
    ("key", "text", "lacks"),
    [
        ("allergy-nuts", "The user saw the allergist.", True),
        ("allergy-nuts", "The user is not allergic to nuts.", False),
        ("iolo.allergy-nuts", "Iolo is not allergic to shellfish.", True),
        ("home-city", "The user moved to Leeds.", False),
        (None, "The user moved to Leeds.", False),
    ],
)
def test_an_item_of_a_list_is_touched_only_by_its_name(key: str | None, text: str, lacks: bool) -> None:
    assert lacks_item_of(key, text) == lacks


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        ("Staging is on port 8443.", "Prod is on port 443.", True),
        ("Production runs Postgres 16.", "prod runs Postgres 15", False),
        ("Staging moved to eu-central-1 like prod.", "Prod is in eu-west-1.", False),
        ("The port is 8443.", "Prod is on port 443.", False),
    ],
)
def test_environments_differ(one: str, other: str, differ: bool) -> None:
    assert name_two_environments(one, other) == differ


def test_where_a_thing_is_says_nothing_against_what_it_is() -> None:
    assert tells_where_not_what("The user's car is in the garage again.", "The user's car is a red Skoda.")
    assert not tells_where_not_what("The user's car is a blue Fiat.", "The user's car is a red Skoda.")
    assert not tells_where_not_what("The user's desk is on the fifth floor.", "The user's desk is on the fourth floor.")
    assert not tells_where_not_what("The user is at Bolt now.", "The user is a nurse at Acme.")


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        ("they use playwright with typescript", "The user uses uv.", True),
        ("switched to pnpm", "The user uses npm for everything.", False),
        ("the weather is nice", "The user uses uv.", False),
    ],
)
def test_a_product_of_another_kind_says_nothing_of_the_known_one(one: str, other: str, differ: bool) -> None:
    assert name_other_products(one, other) == differ
