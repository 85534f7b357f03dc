"""A statement about another relative, or another side of somebody's life, does not answer."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from holdfast.recall.answer.denial import is_off_topic
from holdfast.recall.question.analysis import analysed_question

AT = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("Where does my sister live?", "my brother lives in Cork"),
        ("What does my aunt do?", "The user's uncle Per is a plumber."),
        ("How old is my son?", "our daughter Ida is 9"),
        ("What is my husband's favourite song?", "The user's favourite song is Imagine."),
        ("What books do I like?", "I work in a library"),
        ("Which games does Tom like?", "Tom's favourite colour is red"),
        ("Where does Ines live?", "Ines works at Bosch."),
        ("Where does Ines work?", "Ines lives in Faro."),
        ("How tall is Eli?", "My nephew Eli is 4."),
        ("What's my flight number?", "The user's flight is at 18:55."),
        ("What's my student number?", "The user lives in a student house."),
        ("How many kids do I have?", "14 kids in the end"),
    ],
)
def test_another_topic(question: str, statement: str) -> None:
    assert is_off_topic(analysed_question(question, AT), statement)


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("Where does my sister live?", "my sister Una lives in Cork"),
        ("Where does my mother's son live?", "my brother Daichi lives in Nairobi"),
        ("How high can surge go?", "surge cap is 2.5x"),
        ("How many kids have I got?", "got two kids."),
        ("How many kids do I have?", "three kids: Imani 14, Jordan 10"),
        ("What does my wife do?", "my partner Jo is a nurse"),
        ("What did my brother get?", "my sister gave him a bike"),
        ("When is my son's training?", "my husband takes Leo there on Mondays"),
        ("Who has a parrot?", "my brother Omar has a parrot"),
        ("What music do I like?", "I listen to Bach all day"),
        ("Which colour does Tom like?", "Tom's favourite colour is red"),
        ("Where does Ines live?", "Ines works from home in Faro."),
        ("Where is my dentist?", "my dentist is in Main Street"),
        ("How tall is Eli?", "Eli is 1,12 m now"),
        ("What's my flight number?", "we come with LH576, arriving 9:15"),
    ],
)
def test_the_same_topic(question: str, statement: str) -> None:
    assert not is_off_topic(analysed_question(question, AT), statement)
