"""Reads a question together with the passages found for it, and returns the words that answer it, yes, no, or nothing.

It runs the embedder's own layers with a small learned difference (answer_reader.npz, trained by
`evals/train/answers.py`; reader_network.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

import numpy as np

from holdfast.domain.ports.models import AnswerKind, AnswerSpan, ReadAnswer, ReadPassage
from holdfast.domain.types import Floats
from holdfast.domain.vectors import matrix_product
from holdfast.models.answer_spans import TokenSpan, best_spans, listed_spans, possible_spans
from holdfast.models.reader_network import ReaderNetwork
from holdfast.text.wordpiece import WordPiece

KINDS: tuple[AnswerKind, ...] = ("none", "span", "list", "yes", "no")
"""The order of the network's outputs."""
MAX_TOKENS = 192
"""What is read at once. A token costs about 0.2 ms of CPU."""
MAX_QUESTION_TOKENS, MAX_PASSAGE_TOKENS = 40, 72
MIN_POLARITY = 2.94
"""The least log odds of yes against no to say it. With less, about half of them are the wrong way round, while the
words that decide are right: those are returned as they are."""
_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class EncodedPassage:
    ids: list[int]
    words: list[tuple[int, int]]
    """For each token the place of its word in the text; (0, 0) for those of the heading."""


def encoded_passage(pieces: WordPiece, passage: ReadPassage) -> EncodedPassage:
    """With day and speaker in front, in few tokens: there is room for more passages, and most are the user's."""
    day = f"{passage.day.day} {passage.day:%b} " if passage.day else ""
    ids = pieces.ids(day if passage.speaker == "user" else f"{day}{passage.speaker}:")
    words = [(0, 0)] * len(ids)
    for match in _WORD.finditer(passage.text):
        some = pieces.ids(match[0])
        if len(ids) + len(some) > MAX_PASSAGE_TOKENS:
            break
        ids += some
        words += [match.span()] * len(some)
    return EncodedPassage(ids, words)


def encoded_question(pieces: WordPiece, question: str, asked: date) -> list[int]:
    ids = pieces.ids(f"{asked.day} {asked:%b %Y}: {question}")
    return [pieces.start, *ids[:MAX_QUESTION_TOKENS], pieces.end]


def fitting_passages(question: list[int], passages: Sequence[EncodedPassage]) -> list[int]:
    """The indices of the first passages, best first, that are read with the question."""
    room, chosen = MAX_TOKENS - len(question), []
    for n, passage in enumerate(passages):
        if len(passage.ids) + 1 <= room:
            chosen.append(n)
            room -= len(passage.ids) + 1
    return chosen


def whole_words(text: str, start: int, stop: int) -> tuple[int, int]:
    """Widen a span to whole words, numbers, dates and names: nothing is cut inside what spaces part."""
    while start > 0 and not text[start - 1].isspace():
        start -= 1
    while stop < len(text) and not text[stop].isspace():
        stop += 1
    left = re.match(r"[\"'“‘(\[*]*", text[start:stop])
    start += left.end() if left else 0
    right = re.search(r"(?:['’]s)?[\"'”’)\]*.,;:!?…]*$", text[start:stop])
    return start, stop - (len(right[0]) if right else 0)


def answer_features(kinds: Floats, spans: Sequence[TokenSpan], listed: Sequence[TokenSpan]) -> tuple[int, Floats]:
    """The kind of the answer, and what its chance of being right is computed from."""
    told = np.exp(kinds - np.logaddexp.reduce(kinds))
    kind = int(np.argmax(told))
    best = spans[0]
    beside = spans[1].log_chance if len(spans) > 1 else -12.0
    several = np.mean([each.inside for each in listed]) if KINDS[kind] == "list" and listed else best.inside
    odds = np.log(max(told[kind], 1e-6) / max(1 - told[kind], 1e-6))
    seen = [odds, max(best.log_chance, -12.0), best.log_chance - max(beside, -12.0), float(several), 1.0 - told[0]]
    one_hot = [float(KINDS[kind] == each) for each in ("list", "yes", "no")]
    return kind, np.array([*seen, *one_hot, 1.0], np.float32)


class NetworkAnswerReader:
    """A reader of answers built from the arctic embedder's file."""

    def read(self, question: str, asked: date, passages: Sequence[ReadPassage]) -> ReadAnswer:
        ids = encoded_question(self._pieces, question, asked)
        encoded = [encoded_passage(self._pieces, passage) for passage in passages]
        chosen = fitting_passages(ids, encoded)
        if not chosen:
            return ReadAnswer("none")
        first, places = len(ids), []
        for n in sorted(chosen, key=lambda n: passages[n].day or date.min):
            places.append((n, len(ids)))
            ids += [*encoded[n].ids, self._pieces.end]
        kinds, spans = self._outputs(ids, first)
        best, listed, possible = (find(spans, places, len(ids)) for find in (best_spans, listed_spans, possible_spans))
        return self._answer(kinds, best, listed, possible, passages, encoded)

    def _answer(
        self, kinds: Floats, spans: list[TokenSpan], listed: list[TokenSpan], possible: list[TokenSpan],
        passages: Sequence[ReadPassage], encoded: Sequence[EncodedPassage],
    ) -> ReadAnswer:  # fmt: skip
        kind, features = answer_features(kinds, spans, listed)
        chance = 1 / (1 + np.exp(-float(self._network.learned["calibration"] @ features)))
        told = KINDS[kind]
        if told in ("yes", "no") and abs(kinds[KINDS.index("yes")] - kinds[KINDS.index("no")]) < MIN_POLARITY:
            told = "span"
        chosen = listed if told == "list" and listed else [] if told == "none" else spans[:1]
        words, ranked, perhaps = (
            tuple(_span_in_text(passages[each.passage].text, encoded[each.passage], each) for each in some)
            for some in (chosen, spans, possible)
        )
        chances = np.exp(kinds - np.logaddexp.reduce(kinds))
        return ReadAnswer(told, words, round(chance, 3) if words else 0.0, ranked, tuple(map(float, chances)), perhaps)

    def _outputs(self, ids: list[int], first: int) -> tuple[Floats, Floats]:
        """Logits of the kind of the answer, and of start, end and inside for each token."""
        state = self._network.output(ids, [0] * first + [1] * (len(ids) - first))
        learned = self._network.learned
        whole = np.concatenate([state[0], state.mean(0)])
        inner = np.maximum(matrix_product(learned["k1.weight"], whole) + learned["k1.bias"], 0)
        spans = matrix_product(state, learned["span.weight"].T) + learned["span.bias"]
        spans[:first] = -1e4
        return matrix_product(learned["k2.weight"], inner) + learned["k2.bias"], spans

    @cached_property
    def _network(self) -> ReaderNetwork:
        return ReaderNetwork("answer_reader")

    @property
    def _pieces(self) -> WordPiece:
        return self._network.pieces


def _span_in_text(text: str, encoded: EncodedPassage, span: TokenSpan) -> AnswerSpan:
    start, stop = whole_words(text, encoded.words[span.first][0], encoded.words[span.last][1])
    return AnswerSpan(span.passage, start, stop, float(np.exp(span.log_chance)))
