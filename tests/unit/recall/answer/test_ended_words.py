"""Words of a statement that ended: they hold on where what ended it is not about them."""

from __future__ import annotations

import pytest

from holdfast.domain.timestamps import parse_moment
from holdfast.recall.answer.ended_words import is_about_words
from holdfast.recall.question.analysis import analysed_question


def is_ended(question: str, words: str, ending: str) -> bool:
    return is_about_words(analysed_question(question, parse_moment("2026-03-01", "day")), words, ending)


@pytest.mark.parametrize(
    ("question", "words", "ending"),
    [
        ("Where is the backend hosted?", "Fly.io", "upgraded to flutter 3.24, only 2 things broke"),
        ("Who is my GP?", "Dr Lim", "doc doubled the tablets, 10 mg now"),
        ("What illness does my mum have?", "vascular dementia", "mums changed rooms, in 22 now"),
        ("What does my husband do for work?", "ship welder", "WOJTEK IS HOME"),
    ],
)
def test_what_ended_something_else_leaves_the_words_alone(question: str, words: str, ending: str) -> None:
    assert not is_ended(question, words, ending)


@pytest.mark.parametrize(
    ("question", "words", "ending"),
    [
        ("Which medicines do I take?", "naproxen", "the naproxen upset my stomach, so no more of it"),
        ("Which ward do I work on?", "St James's", "I'm on another ward now"),
        ("How much do I earn?", "13,80 per hour", "Gerrit made me pancake person, 14,50"),
    ],
)
def test_what_has_the_words_or_what_is_asked_or_another_amount_ends_them(
    question: str, words: str, ending: str
) -> None:
    assert is_ended(question, words, ending)
