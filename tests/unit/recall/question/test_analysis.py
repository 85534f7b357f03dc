"""A question tells what to look for; dates are computed, never guessed."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from holdfast.recall.question.analysis import analysed_question

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
