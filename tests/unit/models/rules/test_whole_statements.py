"""A statement keeps what limits it, and no value goes where it does not belong."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from holdfast.domain.types import Message
from holdfast.models.rules import drafts

NOW = datetime(2026, 6, 10, 14, 30, tzinfo=UTC)


def contents(*texts: str) -> list[str]:
    messages = [Message(f"m{n}", "s", "user", text, NOW + timedelta(minutes=n)) for n, text in enumerate(texts)]
    return [draft.content for draft in drafts(messages, [], least=0.3)]


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("Its me and two helpers. Jermaine only does weekends", 'The user said: "Jermaine only does weekends"'),
        ("Nacho's got a girlfriend, vegan, afraid of bees", "Nacho's got a girlfriend, vegan, afraid of bees."),
        (
            "in french we now have Philippe, mathilde's in maternity leave as well",
            'The user said: "in french we now have Philippe, mathilde\'s in maternity leave as well"',
        ),
        ("Budget is now 18,000, by marital agreement", "Budget is now 18,000, by marital agreement."),
        ("moved in! Lithonia is so quiet", "Lithonia is so quiet."),
        ("Dr Lim was very clear on the diet", "Dr Lim was very clear on the diet."),
        ("my mother in law Doreen is a saint", "The user's mother in law Doreen is a saint."),
        (
            "Daniela's husband Luc-André does it, he's a translator, 0.18 a word",
            "The user said: \"Daniela's husband Luc-André does it, he's a translator, 0.18 a word\"",
        ),
        ("my sister Anne-Marie is visiting us in june", "The user's sister is called Anne-Marie."),
        ("1) they lost my suitcase, the green one. 2) the boiler is dead", "The boiler is dead."),
        (
            "I'm allergic to penicillin, comes up in hives",
            "The user is allergic to penicillin, comes up in hives.",
        ),
        (
            "moved to Matthews for flour, Shipton was too dear",
            "The user moved to Matthews for flour, Shipton was too dear.",
        ),
        ("I moved to York for work", "The user lives in York."),
        ("no way mam can afford the Yamaha tho its 240", "No way mam can afford the Yamaha tho its 240."),
        ("so now that's how i get woken", 'The user said: "now that\'s how i get woken"'),
        ("only chip in 800 each now so", 'The user said: "only chip in 800 each now"'),
    ],
)
def test_a_statement_keeps_what_limits_it(text: str, content: str) -> None:
    assert content in contents(text)


def test_what_is_said_to_the_end_of_a_sentence_only_is_not_kept() -> None:
    told = contents("my french course starts thursday! teacher Mathilde. always wanted to")
    assert told
    assert not any("wanted to" in content for content in told)


def test_a_number_replaces_another_only_where_the_counted_word_fits() -> None:
    assert not any(
        "one kittens" in each.lower() for each in contents("two kittens left. correction one, bruno took it")
    )
    assert 'The user has "three" dogs.' in contents("I have two dogs", "sorry, three dogs")


def test_a_phrase_with_a_number_replaces_no_plain_word() -> None:
    told = contents("Marcy is expecting too! so a great... no, grandchild number 4")
    assert not any("is grandchild" in content for content in told)


def test_a_new_date_moves_only_the_statement_that_it_speaks_of() -> None:
    assert contents("COC exam is 18 august in pinetown", "chetty moved to the 13th") == [
        "COC exam is 18 august in pinetown (18 August 2026).",
        "Chetty moved to the 13th (13 June 2026).",
    ]
    assert contents("the dentist is on 7 July", "they moved it to 9 July") == [
        "The dentist is on 9 July (9 July 2026)."
    ]
