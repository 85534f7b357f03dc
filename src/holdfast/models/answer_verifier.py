"""Says how surely the marked words of one message answer a question.

The reader of answers sees all that was found, marks words, and is often unsure whether anything is told. The verifier
sees one message, the words marked in it and the end of the message before. It runs six of the embedder's layers with a
small learned difference (answer_verifier.npz, trained by `evals/train/verifier.py`; reader_network.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import cached_property

import numpy as np

from holdfast.domain.ports.models import MarkedPassage
from holdfast.domain.vectors import matrix_product
from holdfast.models.answer_reader import encoded_passage, encoded_question
from holdfast.models.reader_network import ReaderNetwork
from holdfast.text.wordpiece import WordPiece

BEFORE_TOKENS = 24
"""How much of the message before is read. Chosen by hand; the weights are trained with it."""


class NetworkAnswerVerifier:
    def log_odds(self, question: str, asked: date, marked: Sequence[MarkedPassage]) -> list[float]:
        """For each passage, the logarithm of the odds that its marked words answer the question."""
        ids = encoded_question(self._network.pieces, question, asked)
        return [self._log_odds(ids, each) for each in marked]

    def _log_odds(self, question: list[int], marked: MarkedPassage) -> float:
        pieces, learned = self._network.pieces, self._network.learned
        before = pieces.ids(marked.before)[-BEFORE_TOKENS:]
        ids = [*question, *before, pieces.end] if before else list(question)
        read, (first, last) = encoded_marks(pieces, marked)
        start, stop = len(ids) + first, len(ids) + last
        ids += [*read, pieces.end]
        state = self._network.output(ids, [0] * len(question) + [1] * (len(ids) - len(question)))
        whole = np.concatenate([state[0], state[start:stop].mean(0)])
        inner = np.maximum(matrix_product(learned["v1.weight"], whole) + learned["v1.bias"], 0)
        return float((matrix_product(learned["v2.weight"], inner) + learned["v2.bias"])[0])

    @cached_property
    def _network(self) -> ReaderNetwork:
        return ReaderNetwork("answer_verifier")


def encoded_marks(pieces: WordPiece, marked: MarkedPassage) -> tuple[list[int], tuple[int, int]]:
    """The tokens of a passage with brackets around the marked words, and the place of those between the brackets. Words
    that lie beyond what is read are taken to be its last ones."""
    encoded = encoded_passage(pieces, marked.passage)
    inside = [
        n
        for n, (start, stop) in enumerate(encoded.words)
        if start < stop and start < marked.stop and stop > marked.start
    ]
    first, last = (inside[0], inside[-1]) if inside else (len(encoded.ids) - 1, len(encoded.ids) - 1)
    opening, closing = pieces.ids("["), pieces.ids("]")
    ids = [*encoded.ids[:first], *opening, *encoded.ids[first : last + 1], *closing, *encoded.ids[last + 1 :]]
    return ids, (first + len(opening), last + 1 + len(opening))
