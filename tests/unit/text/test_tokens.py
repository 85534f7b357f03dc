"""Text comes out as the same tokens whoever wrote it."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.text import tokens as words


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Running runs", ["run", "run"]),
        ("don't_wait", ["don't", "wait"]),
        ("Café CAFÉ cafe\u0301", ["cafe", "cafe", "cafe"]),
        ("東京タワー", ["東京", "京タ", "タワ", "ワー"]),
        ("한국어", ["한국", "국어"]),
        ("ภาษาไทย", ["ภา", "าษ", "ษา", "าไ", "ไท", "ทย"]),
        ("друзьям друзья", ["друз", "друз"]),
        ("ﬁne Ⅷ", ["fine", "viii"]),
        ("v1.2.3 a@b.c", ["v1", "2", "3", "a", "b", "c"]),
        ("", []),
        ("🙂", []),
        ("x" * 500, ["x" * 64]),
    ],
)
def test_tokens(text: str, tokens: list[str]) -> None:
    assert words.tokens(text) == tokens


def test_question_words_carry_meaning_and_occur_once() -> None:
    assert words.question_words("Where did Caroline's group go, and which group?") == ("carolin", "group", "go")


def test_a_question_of_stop_words_only_keeps_them() -> None:
    assert words.question_words("Who are you?") == ("who", "are", "you")


def test_bm25_prefers_the_rare_word_and_the_short_text() -> None:
    counts = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    weight = words.bm25(counts, np.array([10.0, 10.0, 100.0]), (1, 50), 100, 20.0).sum(1)
    assert weight[0] > weight[1] > weight[2] > 0


def test_now_asks_for_nothing_of_its_own() -> None:
    assert words.question_words("Where do I live now?") == words.question_words("Where do I live?")
