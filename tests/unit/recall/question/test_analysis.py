"""A question tells what to look for; dates are computed, never guessed."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from holdfast.domain.limits import MAX_QUESTION_BYTES
from holdfast.recall.question.analysis import analysed_question, shortened_question

AT = datetime(2025, 3, 4, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("How many bikes do I own?", "count"),
        ("When did Maya move?", "time"),
        ("Can you recommend a restaurant?", "preference"),
        ("Which came first, the dog or the cat?", "comparison"),
        ("How do I run the tests?", "how"),
        ("Where does she live?", "fact"),
    ],
)
def test_intent(text: str, intent: str) -> None:
    assert analysed_question(text, AT).intent == intent


def test_a_relative_window_is_computed_from_the_moment_of_asking() -> None:
    window = analysed_question("What did I do yesterday?", AT).window
    assert window == (datetime(2025, 3, 3, tzinfo=UTC), datetime(2025, 3, 4, tzinfo=UTC))
    assert analysed_question("What did I do?", AT).window is None


def test_keys_a_question_may_name() -> None:
    assert {"home-city", "city"} <= set(analysed_question("what is my home city", AT).keys)
    assert "/src/app.py" in analysed_question("/src/app.py", AT).keys


def test_words_without_stop_words_in_any_script() -> None:
    assert analysed_question("Who is 田中さん's boss?", AT).words == ("田中", "中さ", "さん", "boss")


LETTER = "Dear all, the warehouse in Leeds has moved. " + "Helen will report on the costs. " * 60 + "Regards, Martin."


def test_a_short_question_stays_as_it_is() -> None:
    for text in (" Where do I live?\n", "x" * MAX_QUESTION_BYTES):
        assert shortened_question(text) == text


@pytest.mark.parametrize("text", [f"What is my cat called?\n\n{LETTER}", f"{LETTER}\n\nWhat is my cat called?\n"])
def test_of_a_long_text_both_ends_stay_in_whole_sentences_and_a_question_comes_first(text: str) -> None:
    lines = analysed_question(text, AT).text.splitlines()
    assert lines[0] == "What is my cat called?"
    assert {"Dear all, the warehouse in Leeds has moved.", "Regards, Martin."} < set(lines)
    assert set(lines[1:]) <= {*LETTER.replace(". ", ".|").split("|")}
    assert MAX_QUESTION_BYTES * 0.8 < len("\n".join(lines).encode()) <= MAX_QUESTION_BYTES


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("first " + "word " * 1_000 + "last", "first", "last"),
        ("é" * 5_000, "é", "é"),
        ("今日は。" * 500 + "猫の名前は？", "猫の名前は？", "今"),
        (" \n" * 2_000 + "Where do I live?" + " " * 2_000, "Where do I live?", "Where do I live?"),
    ],
)
def test_a_long_text_without_sentences_or_spaces_is_shortened_too(text: str, first: str, last: str) -> None:
    shortened = shortened_question(text)
    assert shortened.startswith(first)
    assert shortened.endswith(last)
    assert len(shortened.encode()) <= MAX_QUESTION_BYTES
