"""Reads two statements together (does the newer one make the older out of date?) and a sentence in its context (is it
worth keeping, and as which kind?).

It runs the embedder's own layers with a small learned difference (reader.npz, trained by `evals/train/reader.py`;
reader_network.py).
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.domain.types import Floats
from holdfast.models.reader_network import ReaderNetwork
from holdfast.models.rules.judge import ReadableSentence
from holdfast.text.supersession import ComparedStatement, StatementPair, StatementSource
from holdfast.text.wordpiece import WordPiece

_OLD_TOKENS, _NEW_TOKENS, _MESSAGE_TOKENS, _EARLIER_TOKENS, _BEFORE_TOKENS, _REPLY_TOKENS = 64, 56, 64, 40, 32, 16
"""Maximum tokens of the old statement, the new one, its message, the text before it, the message before a sentence, the
answer to it. Chosen by hand; the weights are trained with them."""
_HEAD_PREFIXES = ("p1.", "p2.", "k1.", "k2.", "mean", "spread")
_MAX_SHARED_TOKENS = 0.75
"""A message is not read beside a statement that already contains this share of its tokens.
Chosen by hand; not measured."""


class StatementReader:
    """A reader built from the arctic embedder's file. It reads one text at a time: padding
    costs more than batches save."""

    def odds(self, pair: StatementPair) -> float:
        """The log odds that the new statement makes the old one out of date."""
        state = self._state(*encoded_pair(self._pieces, pair.old, pair.new, pair.said))
        return float(_head_output(self._heads, "p", state, pair.features, "")[0])

    def classes(self, sentence: ReadableSentence) -> Floats:
        state = self._state(
            *encoded_sentence(self._pieces, sentence.content, sentence.before, sentence.message, sentence.reply)
        )
        return _head_output(self._heads, "k", state, sentence.words, "_said")

    def _state(self, ids: list[int], kinds: list[int]) -> Floats:
        return self._network.output(ids, kinds)

    @cached_property
    def _network(self) -> ReaderNetwork:
        return ReaderNetwork("reader")

    @property
    def _pieces(self) -> WordPiece:
        return self._network.pieces

    @cached_property
    def _heads(self) -> dict[str, NDArray[Any]]:
        learned = self._network.learned
        return {name: values for name, values in learned.items() if name.startswith(_HEAD_PREFIXES)}


def encoded_pair(
    pieces: WordPiece, old: ComparedStatement, new: ComparedStatement, said: StatementSource
) -> tuple[list[int], list[int]]:
    """Token ids and segment ids of a pair: the old statement; then the new one, its message where that says
    more, and the text before it."""
    first = [pieces.start, *pieces.ids(f"{old.kind}:"), *pieces.ids(old.text)[:_OLD_TOKENS], pieces.end]
    text, message = pieces.ids(new.text)[:_NEW_TOKENS], pieces.ids(said.message)[:_MESSAGE_TOKENS]
    second = [*pieces.ids(f"{new.kind}:"), *text, pieces.end]
    shared = Counter(text) & Counter(message)
    if shared.total() < _MAX_SHARED_TOKENS * len(message):
        second += [*message, pieces.end]
    if earlier := pieces.ids(said.before)[:_EARLIER_TOKENS]:
        second += [*earlier, pieces.end]
    return first + second, [0] * len(first) + [1] * len(second)


def encoded_sentence(
    pieces: WordPiece, content: str, before: str, message: str, reply: str
) -> tuple[list[int], list[int]]:
    """Token ids and segment ids: of a finding; then of the message before it, its own message and the answer."""
    first = [pieces.start, *pieces.ids(content)[:_OLD_TOKENS], pieces.end]
    around = [
        pieces.ids(before)[-_BEFORE_TOKENS:],
        pieces.ids(message)[:_MESSAGE_TOKENS],
        pieces.ids(reply)[:_REPLY_TOKENS],
    ]
    second = [id for some in around for id in (*some, pieces.end)]
    return first + second, [0] * len(first) + [1] * len(second)


def _head_output(heads: dict[str, NDArray[Any]], name: str, state: Floats, features: NDArray[Any], of: str) -> Floats:
    scaled = ((features - heads[f"mean{of}"]) / heads[f"spread{of}"]).clip(-5, 5)
    first, last = f"{name}1", f"{name}2"
    inner = heads[f"{first}.weight"] @ np.concatenate([state, scaled]) + heads[f"{first}.bias"]
    return np.asarray(heads[f"{last}.weight"] @ np.maximum(inner, 0) + heads[f"{last}.bias"])
