"""A fragment is quoted with what it belongs to; nothing is told twice; statements that stand alone stay apart."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from holdfast.domain.types import Message
from holdfast.models.rules import drafts

NOW = datetime(2026, 6, 10, 14, 30, tzinfo=UTC)


def contents(text: str) -> list[str]:
    return [draft.content for draft in drafts([Message("m0", "s", "user", text, NOW)], [], least=0.3)]


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (
            "got the yaris! red, 2019, 8,400 pounds, plate ends in KXO",
            'The user said: "got the yaris! red, 2019, 8,400 pounds, plate ends in KXO"',
        ),
        (
            "headteacher, mr Lloyd, retires in July. new one is a Mrs Adeyemi from Neath",
            'The user said: "headteacher, mr Lloyd, retires in July. new one is a Mrs Adeyemi from Neath" (July 2026).',
        ),
        (
            "boiler man came at last, Dai Rees, 95 quid. he's back on Friday with the part",
            'The user said: "boiler man came at last, Dai Rees, 95 quid. he\'s back on Friday with the part" '
            "(12 June 2026).",
        ),
    ],
)
def test_a_fragment_is_quoted_with_the_sentence_that_it_refers_to(text: str, content: str) -> None:
    assert contents(text) == [content]


def test_statements_that_stand_alone_stay_apart() -> None:
    told = contents("The boiler was serviced in May by Dai Rees. My sister Delyth lives in Swansea.")
    assert len(told) == 2


def test_a_statement_that_the_rules_understand_is_not_joined() -> None:
    told = contents("I'm vegetarian. Since 2019, mostly for the climate.")
    assert "The user is vegetarian." in told


def test_what_is_joined_brings_no_word_under_suspicion_of_being_a_secret() -> None:
    told = " ".join(contents("wifi name is still PRITCHARD_5G. password im not telling you haha"))
    assert "PRITCHARD_5G" in told


def test_a_long_message_is_not_quoted_whole_for_a_fragment() -> None:
    told = contents(f"The landlord {'really ' * 40}raised the rent to 900. Red, 2019, plate ends in KXO.")
    assert all(len(content) < 420 for content in told)


def test_an_aside_to_the_listener_is_no_part_of_a_statement() -> None:
    assert contents("Pete is a fireman, did i ever say, at the Gorseinon station") == [
        "Pete is a fireman, at the Gorseinon station."
    ]
