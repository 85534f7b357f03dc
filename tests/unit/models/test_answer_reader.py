"""The reader of answers: what it reads, and how its numbers become words."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from holdfast.domain.ports.models import ReadPassage
from holdfast.models.answer_reader import (
    MAX_PASSAGE_TOKENS,
    MAX_TOKENS,
    NetworkAnswerReader,
    encoded_passage,
    encoded_question,
    fitting_passages,
    whole_words,
)
from holdfast.models.answer_spans import best_spans, listed_spans
from holdfast.text.static_vectors import weights_path
from holdfast.text.wordpiece import WordPiece

DAY = date(2026, 3, 1)


@pytest.fixture(scope="module")
def pieces() -> WordPiece:
    return WordPiece(weights_path("arctic-embed-s/vocab.txt"))


@pytest.fixture(scope="module")
def reader() -> NetworkAnswerReader:
    return NetworkAnswerReader()


def said(*texts: str) -> list[ReadPassage]:
    return [ReadPassage(text, "user", date(2026, 1, n + 1)) for n, text in enumerate(texts)]


def test_each_token_of_a_passage_knows_its_word(pieces: WordPiece) -> None:
    passage = encoded_passage(pieces, ReadPassage("I paid 4,500 euros.", "Ana", DAY))
    words = {"I paid 4,500 euros."[start:stop] for start, stop in passage.words if stop > start}
    assert words == {"I", "paid", "4", ",", "500", "euros", "."}
    assert len(passage.ids) == len(passage.words)


def test_long_passages_and_many_of_them_are_cut(pieces: WordPiece) -> None:
    long = encoded_passage(pieces, ReadPassage("word " * 500, "user", DAY))
    assert len(long.ids) <= MAX_PASSAGE_TOKENS
    question = encoded_question(pieces, "Where do I live? " * 50, DAY)
    chosen = fitting_passages(question, [long] * 20)
    assert len(question) + sum(len(long.ids) + 1 for _ in chosen) <= MAX_TOKENS
    assert chosen == sorted(chosen)


@pytest.mark.parametrize(
    ("text", "inside", "whole"),
    [
        ("It costs 4,500 euros.", "500", "4,500"),
        ("(at St James's)", "James", "James"),
        ("on ward-7, days", "7", "ward-7"),
        ("meet at 10:30!", "30", "10:30"),
    ],
)
def test_an_answer_is_never_cut_inside_a_word_or_number(text: str, inside: str, whole: str) -> None:
    start = text.index(inside)
    first, last = whole_words(text, start, start + len(inside))
    assert text[first:last] == whole


def test_the_best_span_starts_before_it_ends() -> None:
    logits = np.full((8, 3), -5.0)
    logits[5, 0] = logits[3, 1] = 4.0
    logits[6, 1] = 3.0
    best = best_spans(logits, [(0, 1), (1, 5)], 8)[0]
    assert (best.passage, best.first, best.last) == (1, 0, 1)


def test_every_run_of_inner_tokens_is_listed() -> None:
    logits = np.full((9, 3), -5.0)
    logits[[1, 2, 4, 7], 2] = 5.0
    found = [(span.passage, span.first, span.last) for span in listed_spans(logits, [(0, 1), (1, 6)], 9)]
    assert found == [(0, 0, 1), (0, 3, 3), (1, 1, 1)]


def test_it_finds_what_is_told_and_the_present_value(reader: NetworkAnswerReader) -> None:
    passages = said("I live in Porto with my sister Inês.", "I live in Lisbon now.", "My dog is called Bruno.")
    found = reader.read("What is my dog's name?", DAY, passages)
    assert (found.kind, [passages[each.passage].text[each.start : each.stop] for each in found.spans]) == (
        "span",
        ["Bruno"],
    )
    home = reader.read("Where do I live?", DAY, passages)
    assert passages[home.spans[0].passage].text[home.spans[0].start : home.spans[0].stop] == "Lisbon"


def test_it_finds_nothing_in_what_is_about_something_else(reader: NetworkAnswerReader) -> None:
    passages = said("My friend Ben has a dog named Fritz.", "Nice weather today!")
    assert reader.read("What is my blood type?", DAY, passages).chance < 0.5
    assert reader.read("What is my blood type?", DAY, []).kind == "none"
