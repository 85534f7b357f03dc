"""A memory is proved by its messages, or it is a quotation."""

from __future__ import annotations

import pytest

from holdfast.text.faithfulness import is_faithful, is_proved, quotation
from holdfast.text.wording.well_formed import is_well_formed


@pytest.mark.parametrize(
    ("memory", "said"),
    [
        ("The user lives in Leeds.", "hi! I live in Leeds"),
        ("The user lives in Leeds.", "We moved to Leeds yesterday"),
        ("The user's budget is 4,000 euros.", "My budget is 4,000 euros."),
        ("The user and others moved to Leeds last week (week of 1 June 2026).", "Last week we moved to Leeds."),
        ("The user no longer works at Acme.", "I quit my job at Acme"),
        ("The user is allergic to shellfish.", "I'm allergic to nuts and shellfish."),
        ("The user said: \"it's Sofia's now\"", "auth, it's Sofia's now"),
        ("The project starts on 12 May 2027.", "The project starts on 12/05/2027."),
    ],
)
def test_what_one_message_proves(memory: str, said: str) -> None:
    assert is_proved(memory, [said])


@pytest.mark.parametrize(
    ("memory", "said"),
    [
        ("The user's budget is 4.", "My budget is 4,000 euros."),
        ("The user's budget is 4,000.", "My budget is 4,000 euros."),
        ("The user got married on May 4.", "We got married on May 4, 2019."),
        ("The user's address is 12 Kestrel Way.", "My address is 12 Kestrel Way, Unit 3, Leeds."),
        ("The user works at Penny.", "I work at Penny Lane."),
        ("The user lives in Leeds.", "I do not live in Leeds."),
        ("The user lives in York.", "I live in Leeds."),
        ('The user said: "My budget is 4"', "My budget is 4,000 euros."),
    ],
)
def test_what_no_message_proves(memory: str, said: str) -> None:
    assert not is_faithful(memory, [said])


@pytest.mark.parametrize(
    "memory",
    [
        "Auth is Sofia is now.",
        "The user needs to for the move: change address.",
        "The user's budget is 450 euros euros.",
        "The user wants a tattoo for their 30th (9 june (9 June 2026).",
        "The user left because.",
        "The user said of the: 8 cores.",
        "The user blue the wall.",
        "… it is 55 now.",
        "According to the user: … were called Expected Toulouse.",
        "The user deleted accounts get purged after 7 days.",
        "The user controlled drugs cupboard keys are with the site lead.",
    ],
)
def test_broken_english(memory: str) -> None:
    assert not is_well_formed(memory)


BIRTHDAY, MOVE = "Jonas's birthday is on the 6th of May", "Jonas moved to Basel last week"


@pytest.mark.parametrize(
    "memory",
    [
        "The user asked to go up to five days.",
        "The user changed job because it was that or die.",
        "The user moved what was in the basement.",
        "The user opened it and it is 8 hours of work.",
    ],
)
def test_plain_english(memory: str) -> None:
    assert is_well_formed(memory)


def test_words_of_two_messages_are_no_memory() -> None:
    assert not is_faithful("Jonas's birthday is on Basel last week.", [BIRTHDAY, MOVE])


@pytest.mark.parametrize(
    ("memory", "first", "second"),
    [
        ("The user's budget is 4,500 euros.", "My budget is 500 euros.", "I meant 4,500, not 500"),
        ("The user's favourite colour is green.", "My favourite colour is blue", "sorry, green"),
        ("The dentist is on 15 May 2026.", "The dentist is on 14 May.", "no wait, the 15th"),
        ("Ana works at Bolt.", "I met Ana.", "She works at Bolt."),
        ("The user's favourite food is pizza.", "What's your favourite food?", "pizza"),
    ],
)
def test_a_second_message_must_be_cited(memory: str, first: str, second: str) -> None:
    assert is_faithful(memory, [first, second])
    assert not is_faithful(memory, [second])


def test_the_quotation_is_the_clause_with_whole_values() -> None:
    said = "hi. auth is Sofia's now, but I still need 4,000 euros for the move to 12 Kestrel Way, Unit 3, Leeds"
    assert quotation("The user", "Auth is Sofia is now.", said[4:], said) == 'The user said: "auth is Sofia\'s now"'
    moved = quotation("The user", "The user needs 4,000 for the move.", said[4:], said)
    assert moved == 'The user said: "I still need 4,000 euros for the move to 12 Kestrel Way, Unit 3, Leeds"'
