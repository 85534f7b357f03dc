"""What a hot profile keeps in memory: one row per part, its length, whether it is live, and its vector.

Loaded at the first search after a file is opened, kept up by every write that follows. It is a cache: dropping it
costs a few milliseconds, never an answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import apsw
import numpy as np

from ..types import Candidate, Floats, Ints
from ..vectors import Matrix, unpacked
from .file import query


class Told(NamedTuple):
    """What a search needs to know of one part besides the numbers."""

    item: int
    number: int
    tokens: bytes
    about: Candidate


class Board:
    def __init__(self, db: apsw.Connection, model: str) -> None:
        self.model = model
        row = query(
            db,
            "SELECT group_concat(n), group_concat(length), group_concat(live), group_concat(item < 0) "
            "FROM (SELECT n, length, live, item FROM part ORDER BY n)",
        )[0]
        self.n, self.length, self.live, self.memory = (ints(column) for column in row)
        with_vector = ints(query(db, "SELECT group_concat(part) FROM vector WHERE model = ?", (model,))[0][0])
        self.told: dict[int, Told] = {}
        """Part → what search has already read of it; it never changes while the board lives."""
        self._total_length = int(self.length.sum())
        self._dimensions = 0
        self._matrix = self._loaded(db, with_vector) if len(with_vector) else None

    def __len__(self) -> int:
        return len(self.n)

    @property
    def exact(self) -> bool:
        return self._matrix is None or self._matrix.exact

    @property
    def mean_length(self) -> float:
        return self._total_length / len(self.n) if len(self.n) else 0.0

    def rows(self, parts: Ints) -> Ints:
        """Where these parts stand; parts that a newer write added and the board does not show yet are left out."""
        at = np.searchsorted(self.n, parts)
        at[at == len(self.n)] = 0
        return at[self.n[at] == parts] if len(self.n) else at[:0]

    def add(self, parts: Iterable[tuple[int, int, bool, bool]]) -> None:
        """(n, length, live, memory) of new parts, ascending."""
        columns = np.array(list(parts), np.int64).reshape(-1, 4)
        if len(self.n):  # a search may have loaded the board between the commit and this
            columns = columns[columns[:, 0] > self.n[-1]]
        self._total_length += int(columns[:, 1].sum())
        self.n = np.append(self.n, columns[:, 0])
        self.length = np.append(self.length, columns[:, 1])
        self.live = np.append(self.live, columns[:, 2])
        self.memory = np.append(self.memory, columns[:, 3])
        if self._matrix is not None:
            self._matrix.append(np.zeros((len(columns), self._dimensions), np.float32))

    def put(self, parts: Ints, vectors: Floats) -> None:
        if self._matrix is None or vectors.shape[1] != self._dimensions:
            self._dimensions = vectors.shape[1]
            self._matrix = Matrix(np.zeros((len(self.n), self._dimensions), np.float32))
        self._matrix.put(self.rows(parts), vectors)

    def cosines(self, query: Floats) -> Floats:
        """By row; zero where a part has no vector."""
        if self._matrix is None or len(query) != self._dimensions:
            return np.zeros(len(self.n), np.float32)
        return self._matrix.cosines(query)

    def _loaded(self, db: apsw.Connection, parts: Ints) -> Matrix:
        stored = query(db, "SELECT data FROM vector WHERE model = ? ORDER BY part", (self.model,))
        values = unpacked([data for (data,) in stored])
        self._dimensions = values.shape[1]
        if len(parts) == len(self.n):
            return Matrix(values)
        rows = np.zeros((len(self.n), self._dimensions), np.float32)
        rows[self.rows(np.sort(parts))] = values
        return Matrix(rows)


def ints(column: str | int | None) -> Ints:
    """A group_concat of integers; far cheaper than a row for each."""
    return np.fromstring(str(column), np.int64, sep=",") if column is not None else np.zeros(0, np.int64)
