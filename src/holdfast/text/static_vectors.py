"""Static token vectors (potion-base-8M) and MaxSim, the cheapest strong signal that a text is about a question. Pure.

MaxSim finds the nearest token of a text for each word of the question; rare words weigh more. A text's token ids are
stored with its index entry, so a search only looks up vectors.
"""

from __future__ import annotations

import json
import operator
import struct
import threading
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdfast.domain.errors import ModelError
from holdfast.domain.types import Floats, Ints
from holdfast.domain.vectors import matrix_product
from holdfast.text.cache import cached_by_text
from holdfast.text.wordpiece import WordPiece

LEADING_DIMENSIONS = 96
"""How many dimensions are compared: they are ordered by variance, and using the rest changed no measured result."""
MAX_SEPARATE_TOKENS = 1000
"""Up to so many tokens, one that comes twice is compared twice: that is faster than finding the distinct ones."""
WEIGHTS_FOLDER = Path(__file__).parent.parent / "models" / "weights"


@cached_by_text
def token_ids(text: str) -> tuple[bytes, int]:
    """The ids of a passage's distinct known tokens as little-endian 16-bit numbers, and its count of all tokens."""
    pieces = vocabulary()
    ids = pieces.ids(text)
    known = sorted({*ids} - {pieces.unknown})
    return struct.pack(f"<{len(known)}H", *known), len(ids)


def maxsim(words: Sequence[tuple[str, float]], texts: Sequence[bytes]) -> NDArray[np.float64]:
    """For each text, how near its tokens come to the question's (word, weight) pairs: 0 to 1."""
    return weighted_nearness(*weighted_tokens(words), texts)


def weighted_tokens(words: Sequence[tuple[str, float]]) -> tuple[list[int], list[float]]:
    """The tokens of (word, weight) pairs, and the share of each in its word's weight."""
    pieces = vocabulary()
    found = [(id, weight / len(ids)) for word, weight in words if (ids := pieces.ids(word)) for id in ids]
    return [id for id, _ in found], [weight for _, weight in found]


def weighted_nearness(ids: Sequence[int], weights: Sequence[float], texts: Sequence[bytes]) -> NDArray[np.float64]:
    """For each text, how near it comes to these tokens: 0 to 1."""
    shares, found = np.array(weights), np.zeros(len(texts))
    total = shares.sum()
    if not texts or not total:
        return found
    for weight, near in zip(shares, _nearest(ids, texts), strict=True):
        found += weight * near
    return np.asarray(found / total)


def nearness_of_each(asked: Sequence[tuple[Sequence[int], Sequence[float]]], text: bytes) -> list[float]:
    """How near one text comes to the tokens of each question, given with their weights: 0 to 1."""
    ids = [id for each, _ in asked for id in each]
    near = _nearest(ids, [text])[:, 0].tolist() if ids else []
    found, start = [], 0
    for each, weights in asked:
        total = sum(weights)
        nearest = near[start : start + len(each)]
        found.append(sum(map(operator.mul, weights, nearest)) / total if total else 0.0)
        start += len(each)
    return found


def nearness(words: Sequence[str], texts: Sequence[bytes]) -> NDArray[np.float64]:
    """How near each text (a row) comes to each word (a column): 0 to 1."""
    pieces = [vocabulary().ids(word) for word in words]
    of = np.array([n for n, ids in enumerate(pieces) for _ in ids], np.int64)
    found = np.zeros((len(texts), len(words)))
    if not texts or not of.size:
        return found
    for n, near in zip(of.tolist(), _nearest([id for ids in pieces for id in ids], texts), strict=True):
        found[:, n] += near / len(pieces[n])
    return found


def _nearest(wanted: Sequence[int], texts: Sequence[bytes]) -> NDArray[np.float32]:
    """For each wanted token (a row), the similarity of each text's nearest token."""
    if not all(texts):
        texts = [text or b"\0\0" for text in texts]
    tokens = np.frombuffer(b"".join(texts), "<u2")
    sizes = np.fromiter(map(len, texts), np.intp, len(texts)) // 2
    starts = sizes.cumsum() - sizes
    table = _direction_table()
    asked = np.ascontiguousarray(table.directions(np.array(wanted, np.intp)).T)  # half the time of a transposed view
    # A run of numbers for each wanted token: the maxima in runs take a fifth of the time that those in columns take.
    if len(tokens) <= MAX_SEPARATE_TOKENS:
        near = np.ascontiguousarray(matrix_product(table.directions(tokens.astype(np.intp)), asked).T)
    else:
        used, place = table.rows_with(tokens)
        near = np.ascontiguousarray(matrix_product(used, asked).T).take(place, axis=1)
    return np.asarray(np.maximum.reduceat(near, starts, axis=1))


@lru_cache(maxsize=8192)
def importance(word: str) -> float:
    """How specific a word is: the table's rows are longer for rarer tokens."""
    ids = [id for id in vocabulary().ids(word) if id != vocabulary().unknown]
    rows = vector_table()[ids]
    return float(np.sqrt(np.add.reduce(rows * rows, axis=1)).max()) if ids else 0.0  # as linalg.norm, cheaper


@cache
def vocabulary() -> WordPiece:
    return WordPiece(weights_path("potion-base-8M/vocab.txt"))


@cache
def vector_table() -> Floats:
    """One row per token, memory-mapped rather than read: only rows in use become resident."""
    path = weights_path("potion-base-8M/model.safetensors")
    with path.open("rb") as data:
        header = int.from_bytes(data.read(8), "little")
        about = json.loads(data.read(header))["embeddings"]
    start = 8 + header + int(about["data_offsets"][0])
    return np.asarray(np.memmap(path, np.float32, "r", start, tuple(about["shape"])))


class _DirectionTable:
    """The directions of the tokens that were asked for: a process that asks once needs a few hundred of all, and room
    for all costs more than computing them."""

    def __init__(self) -> None:
        self._row_of = np.full(len(vector_table()), -1, np.intp)
        self._rows = np.empty((1024, LEADING_DIMENSIONS), np.float32)
        self._count = 0
        self._lock = threading.Lock()

    def directions(self, ids: Ints) -> Floats:
        rows = self._rows_of(ids)  # before the table is looked at: it may grow
        return self._rows.take(rows, axis=0)

    def _rows_of(self, ids: Ints | NDArray[np.uint16]) -> Ints:
        """The row of each token; those that were not asked for before are added."""
        rows = self._row_of.take(ids)
        if rows.min(initial=0) < 0:
            with self._lock:
                missing = np.zeros(len(self._row_of), bool)
                missing[ids] = True
                self._add(np.flatnonzero(missing & (self._row_of < 0)))
            rows = self._row_of.take(ids)
        return rows

    def rows_with(self, tokens: NDArray[np.uint16]) -> tuple[Floats, Ints]:
        """Rows among which are the directions of these many tokens, and the place of each in them. All rows, unless
        they are more than half as many as the tokens: to take out the distinct ones takes as long as comparing twice as
        many, and of 8,000 tokens about 2,000 are distinct. Measured."""
        rows = self._rows_of(tokens)
        if 2 * self._count <= len(tokens):
            return self._rows[: self._count], rows
        in_use = np.zeros(self._count, bool)
        in_use[rows] = True
        used = in_use.nonzero()[0]
        place = np.empty(len(in_use), np.intp)
        place[used] = np.arange(len(used))
        return self._rows.take(used, axis=0), place.take(rows)

    def _add(self, ids: Ints) -> None:
        """Other threads read meanwhile: a row is complete and counted before its token names it."""
        end = self._count + len(ids)
        if end > len(self._rows):
            grown = np.empty((max(end, 2 * len(self._rows)), LEADING_DIMENSIONS), np.float32)
            grown[: self._count] = self._rows[: self._count]
            self._rows = grown
        rows = vector_table()[ids, :LEADING_DIMENSIONS]
        self._rows[self._count : end] = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
        start, self._count = self._count, end
        self._row_of[ids] = np.arange(start, end)


_direction_table = cache(_DirectionTable)


def token_directions(ids: Ints) -> Floats:
    """Rows of the table, truncated to the leading dimensions and scaled to length 1."""
    return _direction_table().directions(ids)


def weights_path(name: str) -> Path:
    """The path of a weights file; raises ModelError when it is missing."""
    path = WEIGHTS_FOLDER / name
    if not path.exists():
        raise ModelError(
            f"The model file {name} is missing from this installation.",
            fix="In a source checkout run: python scripts/fetch_models.py; else reinstall holdfast.",
        )
    return path
