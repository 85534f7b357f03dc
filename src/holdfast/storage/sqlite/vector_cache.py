"""The parts of an open profile in memory, one row per part: its length, whether it is live, and its vector.

The cache is loaded at the first search after a file is opened, and every write updates it. Dropping it costs a few
milliseconds and never changes an answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

import apsw
import numpy as np

from holdfast.domain.ports.search import Candidate
from holdfast.domain.types import Floats, Ints
from holdfast.domain.vectors import Matrix, vector_of_bytes
from holdfast.storage.sqlite.connection import query

VECTORS_READ_AT_ONCE = 512
"""How many vectors are decoded at a time: few enough to stay in the second-level cache, which takes a tenth of the time
that all at once take in a large profile."""
_PARTS = """
SELECT group_concat(n), group_concat(length * 4 + live * 2 + (item < 0))
  FROM (SELECT n, length, live, item FROM part ORDER BY n)
"""


class CachedPart(NamedTuple):
    """The details of a part that a search returns besides the numbers."""

    item: int
    number: int
    tokens: bytes
    about: Candidate


class VectorCache:
    """The parts of one profile, and their vectors of one model."""

    def __init__(self, db: apsw.Connection, model: str) -> None:
        self.model = model
        self.n, packed = (parse_integers(column) for column in query(db, _PARTS)[0])
        self.length, self.live, self.memory = packed >> 2, packed >> 1 & 1, packed & 1
        self.parts: dict[int, CachedPart] = {}
        """Part → its details as read by a search; they never change while the cache exists."""
        self._total_length = int(self.length.sum())
        self._dimensions = 0
        self._matrix = self._load_matrix(db)

    def __len__(self) -> int:
        return len(self.n)

    @property
    def exact(self) -> bool:
        return self._matrix is None or self._matrix.exact

    @property
    def mean_length(self) -> float:
        return self._total_length / len(self.n) if len(self.n) else 0.0

    def rows(self, parts: Ints) -> Ints:
        """The rows of these parts. Parts of a newer write that are not in the cache yet are left out."""
        at = np.searchsorted(self.n, parts)
        at[at == len(self.n)] = 0
        return at[self.n[at] == parts] if len(self.n) else at[:0]

    def add(self, parts: Iterable[tuple[int, int, bool, bool]]) -> None:
        """Add new parts, as (n, length, live, memory) in ascending order."""
        columns = np.array(list(parts), np.int64).reshape(-1, 4)
        if len(self.n):  # a search may have loaded the cache between the commit and this call
            columns = columns[columns[:, 0] > self.n[-1]]
        self._total_length += int(columns[:, 1].sum())
        self.n = np.append(self.n, columns[:, 0])
        self.length = np.append(self.length, columns[:, 1])
        self.live = np.append(self.live, columns[:, 2])
        self.memory = np.append(self.memory, columns[:, 3])
        if self._matrix is not None:
            self._matrix.append(np.zeros((len(columns), self._dimensions), np.float32))

    def put(self, parts: Ints, vectors: Floats) -> None:
        """Set the vectors of parts."""
        if self._matrix is None or vectors.shape[1] != self._dimensions:
            self._dimensions = vectors.shape[1]
            self._matrix = Matrix(np.zeros((len(self.n), self._dimensions), np.float32))
        self._matrix.put(self.rows(parts), vectors)

    def cosines(self, query: Floats) -> Floats:
        """The cosine of each row; zero where a part has no vector."""
        if self._matrix is None or len(query) != self._dimensions:
            return np.zeros(len(self.n), np.float32)
        return self._matrix.cosines(query)

    def _load_matrix(self, db: apsw.Connection) -> Matrix | None:
        """The vectors, read once and a few at a time; None when no part has one."""
        matrix = None
        stored = iter(db.execute("SELECT part, data FROM vector WHERE model = ? ORDER BY part", (self.model,)))
        while some := list(islice(stored, VECTORS_READ_AT_ONCE)):
            values = vector_of_bytes([data for _, data in some])
            if matrix is None:
                self._dimensions = values.shape[1]
                matrix = Matrix.without_vectors(len(self.n), self._dimensions)
            rows = self.rows(np.array([part for part, _ in some], np.int64))
            adjoining = int(rows[-1] - rows[0]) == len(rows) - 1
            matrix.put(slice(rows[0], rows[-1] + 1) if adjoining else rows, values)
        return matrix


def parse_integers(column: str | int | None) -> Ints:
    """The integers of a group_concat, which is far cheaper than one row for each."""
    return np.fromstring(str(column), np.int64, sep=",") if column is not None else np.zeros(0, np.int64)
