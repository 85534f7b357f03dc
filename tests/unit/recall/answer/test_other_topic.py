"""A statement about another relative, or another side of somebody's life, does not answer."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from holdfast.recall.answer.denial import is_of_another_person, is_off_topic
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
        ("Which editor do we use?", "we use uv not pip"),
        ("Which auth library do we use?", "we use uv not pip"),
        ("What time is the puppy class?", "Puppy class moved to tuesdays."),
        ("What is my blood type?", "ramipril for my blood pressure"),
        ("Who covers for Dan?", "I'm away, Dan covers for me"),
        ("Who does the laundry?", "Ana does the dishes, Ben does the bins"),
        ("Did I call the plumber?", "I emailed Bob."),
        ("Did I call Bob?", "I emailed Bob."),
        ("Have I been to Spain?", "been to japan and georgia this year"),
        ("How much was the hotel in Osaka?", "booked the hotel in asakusa, 14,000 a night"),
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
        ("Which package manager do we use?", "we use uv not pip"),
        ("Which cache do we use?", "session cache is redis 7"),
        ("What is my blood type?", "I'm O negative"),
        ("Who covers for me?", "I'm away, Dan covers for me"),
        ("Who does the dishes?", "Ana does the dishes, Ben does the bins"),
        ("Did I call Bob?", "spoke to Bob this morning"),
        ("Have I paid the rent?", "the rent went out on Monday"),
        ("How much was the hotel in Osaka?", "the Osaka one, a hotel in Namba, was 9,000"),
    ],
)
def test_the_same_topic(question: str, statement: str) -> None:
    assert not is_off_topic(analysed_question(question, AT), statement)


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("Does Petra smoke?", "The user gave up smoking on new year's day (1 January 2026)."),
        ("Which allergies does my dad have?", "I'm allergic to penicillin"),
        ("Where does my sister live?", "The user lives in Leeds."),
        ("What city is Kate in?", "I live in Leeds"),
        ("Does Nia have ADHD?", "our son Idris has ADHD and his sister Nia is coeliac"),
    ],
)
def test_what_one_tells_of_themselves_says_nothing_of_another(question: str, statement: str) -> None:
    assert is_of_another_person(question, statement)


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("Does Idris have ADHD?", "our son Idris has ADHD and his sister Nia is coeliac"),
        ("Does Petra smoke?", "I saw Petra smoke"),
        ("Where does my sister live?", "I went to see her in Leeds"),
        ("Where do I live?", "I live in Leeds"),
        ("Does Rafa have access?", "new guy Rafa starts in June, he gets access"),
    ],
)
def test_what_is_told_of_that_person(question: str, statement: str) -> None:
    assert not is_of_another_person(question, statement)
