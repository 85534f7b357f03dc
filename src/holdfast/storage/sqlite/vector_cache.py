"""The parts of an open profile in memory, one row per part: its length, whether it is live, and its vector; and what
searches read of them and of items, so that a search which finds what earlier ones found needs no statement.

The cache is loaded at the first search after a file is opened, and every write updates it. Dropping it costs a few
milliseconds and never changes an answer.

A large profile reads its vectors in blocks: those of 512 adjoining parts in one row, quantised as the cache holds them,
which is half the bytes and nothing to convert. They are derived from the table `vector`. Triggers delete a block with
any write to one of its vectors, so that a block which exists is right, and what is forgotten is in none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from holdfast.domain import vectors
from holdfast.domain.ports.search import MAX_AGENTS, Candidate, CandidateColumns
from holdfast.domain.types import Change, Floats, Ints, Item
from holdfast.domain.vectors import Matrix
from holdfast.storage.item_cache import CacheMiss
from holdfast.storage.sqlite.connection import Row, query
from holdfast.text.tokens import bm25_length_penalty

MAX_CACHED_OCCURRENCES = 250_000
"""How many occurrences of words are held before the oldest are dropped: 1.5 MB. Chosen by hand; not measured."""
MAX_PARTS_WITH_KNOWN_KEYS = 20_000
"""Up to so many parts, all keys of a profile are held. Chosen by hand; not measured."""
NEVER = 2**63 - 1
Posting = tuple[NDArray[np.int32], NDArray[np.uint16], int]
"""The posting of a word: the rows it occurs in, its count in each, and the number of parts it occurs in."""

VECTORS_READ_AT_ONCE = 512
"""How many vectors are decoded at a time: few enough to stay in the second-level cache, which takes a tenth of the time
that all at once take in a large profile."""
BLOCK_PARTS = 512
"""The parts of a block; the triggers in the migration have the same number."""
MAX_BLOCKS_WRITTEN = 16
"""How many blocks one write adds: the one that it completes, and some that are missing. Each takes about a
millisecond."""
_PARTS = """
SELECT min(n), max(n), count(*), group_concat(length * 4 + live * 2 + (item < 0))
  FROM (SELECT n, length, live, item FROM part INDEXED BY part_scan ORDER BY n)
"""
_PART_NUMBERS = "SELECT group_concat(n) FROM (SELECT n FROM part INDEXED BY part_scan ORDER BY n)"
_AGENTS = """
WITH RECURSIVE known (agent) AS (
  SELECT min(agent) FROM {table} WHERE agent IS NOT NULL
  UNION ALL SELECT (SELECT min(agent) FROM {table} WHERE agent > known.agent) FROM known WHERE known.agent IS NOT NULL
) SELECT agent FROM known WHERE agent IS NOT NULL LIMIT ?
"""
_ITEM, _NUMBER, _MEMORY, _SESSION, _POSITION, _FROM_USER, _SPEAKER, _ASKS, _AT = range(9)


class FoundParts(NamedTuple):
    """Some parts, and the items that they belong to, in order."""

    items: tuple[Candidate, ...]
    columns: CandidateColumns
    of: Ints
    """For each part, the place of its item."""
    number: Ints
    tokens: tuple[bytes, ...]


class PartTable:
    """The details of the parts that searches returned, as columns. Parts are named by their rows in the cache."""

    def __init__(self) -> None:
        self._places: dict[int, int] = {}
        self._numbers = np.zeros((64, _AT + 1), np.int64)
        self._tokens: list[bytes] = []
        self._candidates: list[Candidate] = []
        self._sessions: dict[str, int] = {}
        self._speakers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, row: int) -> bool:
        return row in self._places

    def add(self, rows: Sequence[int], parts: Sequence[Row]) -> None:
        """Add the parts of these rows: item, number and tokens of each after its own number, then the fields of its
        item as a candidate has them."""
        first, stop = len(self._places), len(self._places) + len(rows)
        self._places.update(zip(rows, range(first, stop), strict=True))
        while stop > len(self._numbers):
            self._numbers = np.concatenate([self._numbers, np.zeros_like(self._numbers)])
        numbers = []
        for _, item, number, tokens, id, memory, session, position, role, speaker, asks, at in parts:
            numbers.append((
                item, number, memory, _number_of(session, self._sessions), position, role == "user",
                _number_of(speaker, self._speakers), asks, at,
            ))  # fmt: skip
            self._tokens.append(tokens)
            self._candidates.append(Candidate(id, bool(memory), session, position, role, speaker, bool(asks), at))
        if numbers:
            self._numbers[first:stop] = numbers

    def found(self, rows: Sequence[int]) -> FoundParts:
        """The parts of these rows, all of which are in the table."""
        places = list(map(self._places.__getitem__, rows))
        numbers = self._numbers[places]
        known: dict[int, int] = {}
        of = [known.setdefault(item, len(known)) for item in numbers[:, _ITEM].tolist()]
        leading = places
        if len(known) < len(places):
            last_first = dict(zip(reversed(of), reversed(places), strict=True))
            leading = [last_first[n] for n in range(len(known))]
        about = self._numbers[leading].T
        return FoundParts(
            items=tuple(map(self._candidates.__getitem__, leading)),
            columns=CandidateColumns(
                memory=about[_MEMORY] == 1,
                session=about[_SESSION],
                position=about[_POSITION],
                from_user=about[_FROM_USER] == 1,
                speaker=about[_SPEAKER],
                asks=about[_ASKS] == 1,
                at=about[_AT],
                speakers=tuple(self._speakers),
            ),
            of=np.array(of, np.int64),
            number=numbers[:, _NUMBER],
            tokens=tuple(map(self._tokens.__getitem__, places)),
        )


def _number_of(name: str | None, known: dict[str, int]) -> int:
    """The number of a name among the known ones, to which a new one is added; -1 for none."""
    return -1 if name is None else known.setdefault(name, len(known))


def read(db: apsw.Connection | None, sql: str, bound: Sequence[Any] = ()) -> list[Row]:
    """Read what the cache does not have. Raises CacheMiss without a connection."""
    if db is None:
        raise CacheMiss
    return query(db, sql, bound)


class VectorCache:
    """The parts of one profile, and their vectors of one model."""

    def __init__(self, db: apsw.Connection, model: str) -> None:
        self.model = model
        first, last, count, flags = query(db, _PARTS)[0]
        adjoining = not count or last - first == count - 1
        self.n = np.arange(count) + (first or 0) if adjoining else parse_integers(query(db, _PART_NUMBERS)[0][0])
        packed = parse_integers(flags)
        self.length, self.live, self.memory = packed >> 2, (packed & 2).astype(bool), (packed & 1).astype(bool)
        self.parts = PartTable()
        """The details of parts as read by a search."""
        self.postings: dict[str, Posting] = {}
        """Word → its posting as read by a search."""
        self._occurrences = 0
        self.neighbours: dict[int, tuple[int, ...]] = {}
        """Row → the rows of the messages beside it, as read by a search."""
        self._keys: set[str] | None = None
        self._next_expiry: int | None = None
        self._agents: tuple[str, ...] | None = None
        self._total_length = int(self.length.sum())
        self._length_penalty: NDArray[np.float64] | None = None
        self._dimensions = 0
        self._matrix: Matrix | None = None
        """The vectors; None when no part has one."""
        self._load_matrix(db)

    def __len__(self) -> int:
        return len(self.n)

    @property
    def exact(self) -> bool:
        return self._matrix is None or self._matrix.exact

    @property
    def mean_length(self) -> float:
        return self._total_length / len(self.n) if len(self.n) else 0.0

    @property
    def length_penalty(self) -> NDArray[np.float64]:
        """What BM25 makes of the length of each row."""
        if self._length_penalty is None:
            self._length_penalty = bm25_length_penalty(self.length.astype(float), self.mean_length)
        return self._length_penalty

    def rows(self, parts: Ints) -> Ints:
        """The rows of these parts. Parts of a newer write that are not in the cache yet are left out."""
        at = np.searchsorted(self.n, parts)
        at[at == len(self.n)] = 0
        return at[self.n[at] == parts] if len(self.n) else at[:0]

    def row(self, part: int) -> int:
        """The row of a part that is in the cache."""
        return int(np.searchsorted(self.n, part))

    def may_have_key(self, db: apsw.Connection | None, keys: Iterable[str]) -> bool:
        """Whether a memory may have one of these keys; in a large profile the database tells."""
        if len(self) > MAX_PARTS_WITH_KNOWN_KEYS:
            return True
        if self._keys is None:
            self._keys = {key for (key,) in read(db, "SELECT DISTINCT key FROM memory WHERE key IS NOT NULL")}
        return not self._keys.isdisjoint(keys)

    def may_have_expired(self, db: apsw.Connection | None, at: int) -> bool:
        """Whether a memory may have expired by this time."""
        if self._next_expiry is None:
            found = read(db, "SELECT min(expires_at) FROM memory WHERE expires_at IS NOT NULL")[0][0]
            self._next_expiry = NEVER if found is None else int(found)
        return self._next_expiry <= at

    def agents(self, db: apsw.Connection | None) -> tuple[str, ...]:
        """The agents that wrote anything; one index lookup per agent, however much it wrote."""
        if self._agents is None:
            found = [
                row for table in ("message", "memory") for row in read(db, _AGENTS.format(table=table), (MAX_AGENTS,))
            ]
            self._agents = tuple(sorted({agent for (agent,) in found}))
        return self._agents

    def note_change(self, change: Change) -> None:
        """Drop what a search read that the change makes out of date."""
        for word in {word for part in change.parts for word in part.words}.intersection(self.postings):
            self._occurrences -= len(self.postings.pop(word)[0])
        if change.messages:
            self.neighbours.clear()
        if change.inserted:  # the messages after them have moved
            self.parts = PartTable()
        written: tuple[Item, ...] = (*change.messages, *change.memories)
        if any(item.agent is not None for item in written):
            self._agents = None
        if self._keys is not None:
            self._keys.update(memory.key for memory in change.memories if memory.key is not None)
        if any(memory.expires_at is not None for memory in change.memories):
            self._next_expiry = None

    def add_posting(self, word: str, posting: Posting) -> None:
        self.postings[word] = posting
        self._occurrences += len(posting[0])
        while self._occurrences > MAX_CACHED_OCCURRENCES and len(self.postings) > 1:
            self._occurrences -= len(self.postings.pop(next(iter(self.postings)))[0])

    def add(self, parts: Iterable[tuple[int, int, bool, bool]]) -> None:
        """Add new parts, as (n, length, live, memory) in ascending order."""
        columns = np.array(list(parts), np.int64).reshape(-1, 4)
        if len(self.n):  # a search may have loaded the cache between the commit and this call
            columns = columns[columns[:, 0] > self.n[-1]]
        self._total_length += int(columns[:, 1].sum())
        self._length_penalty = None
        self.n = np.append(self.n, columns[:, 0])
        self.length = np.append(self.length, columns[:, 1])
        self.live = np.append(self.live, columns[:, 2] == 1)
        self.memory = np.append(self.memory, columns[:, 3] == 1)
        if self._matrix is not None:
            self._matrix.append(np.zeros((len(columns), self._dimensions), np.float32))

    def put(self, parts: Ints, values: Floats) -> None:
        """Set the vectors of parts."""
        if self._matrix is None or values.shape[1] != self._dimensions:
            self._dimensions = values.shape[1]
            self._matrix = Matrix(np.zeros((len(self.n), self._dimensions), np.float32))
        self._matrix.put(self.rows(parts), values)

    def cosines(self, query: Floats) -> Floats:
        """The cosine of each row; zero where a part has no vector."""
        if self._matrix is None or len(query) != self._dimensions:
            return np.zeros(len(self.n), np.float32)
        return self._matrix.cosines(query)

    def _load_matrix(self, db: apsw.Connection) -> None:
        """Read the vectors once: those of a large profile in blocks, the others a few at a time."""
        if len(self.n) <= vectors.MAX_EXACT_ROWS:
            self._load_vectors(db, 0, NEVER)
            return
        missing = np.zeros(int(self.n[-1]) // BLOCK_PARTS + 1, bool)
        missing[self.n // BLOCK_PARTS] = True
        for number, rows in _load_blocks(db, self.model):
            first, last = np.searchsorted(self.n, (number * BLOCK_PARTS, (number + 1) * BLOCK_PARTS))
            known = rows if last - first == BLOCK_PARTS else rows[self.n[first:last] % BLOCK_PARTS]
            self._matrix_of(rows.shape[1]).put_quantised(slice(first, last), known)
            missing[number] = False
        for number in np.flatnonzero(missing).tolist():
            self._load_vectors(db, number * BLOCK_PARTS, (number + 1) * BLOCK_PARTS)

    def _load_vectors(self, db: apsw.Connection, first: int, end: int) -> None:
        """Read the vectors of the parts from `first` up to `end`."""
        statement = "SELECT part, data FROM vector WHERE part >= ? AND part < ? AND model = ? ORDER BY part"
        stored = iter(db.execute(statement, (first, end, self.model)))
        while some := list(islice(stored, VECTORS_READ_AT_ONCE)):
            values = vectors.vector_of_bytes([data for _, data in some])
            rows = self.rows(np.array([part for part, _ in some], np.int64))
            adjoining = int(rows[-1] - rows[0]) == len(rows) - 1
            self._matrix_of(values.shape[1]).put(slice(rows[0], rows[-1] + 1) if adjoining else rows, values)

    def _matrix_of(self, dimensions: int) -> Matrix:
        if self._matrix is None:
            self._dimensions = dimensions
            self._matrix = Matrix.without_vectors(len(self.n), dimensions)
        return self._matrix


def parse_integers(column: str | int | None) -> Ints:
    """The integers of a group_concat, which is far cheaper than one row for each."""
    return np.fromstring(str(column), np.int64, sep=",") if column is not None else np.zeros(0, np.int64)


def _load_blocks(db: apsw.Connection, model: str) -> Iterator[tuple[int, NDArray[np.int8]]]:
    """The number of each block, and its rows, one for each part that may exist."""
    for number, data in db.execute("SELECT n, data FROM vector_block WHERE model = ? ORDER BY n", (model,)):
        yield number, np.frombuffer(data, np.int8).reshape(BLOCK_PARTS, -1)


def write_complete_blocks(db: apsw.Connection, model: str, parts: list[int]) -> None:
    """Write missing blocks, the newest first, when these parts, whose vectors are new, complete one of a large
    profile."""
    end = (max(parts) + 1) // BLOCK_PARTS
    if max(parts) <= vectors.MAX_EXACT_ROWS or end == min(parts) // BLOCK_PARTS:
        return
    known = {n for (n,) in query(db, "SELECT n FROM vector_block WHERE model = ?", (model,))}
    written = 0
    for number in reversed(range(end)):
        if number not in known and written < MAX_BLOCKS_WRITTEN:
            written += _write_block(db, model, number)


def _write_block(db: apsw.Connection, model: str, number: int) -> bool:
    """Write one block; False when none of its parts has a vector."""
    first = number * BLOCK_PARTS
    stored = query(
        db,
        "SELECT part, data FROM vector WHERE part >= ? AND part < ? AND model = ?",
        (first, first + BLOCK_PARTS, model),
    )
    if not stored:
        return False
    values = vectors.quantised_rows(vectors.vector_of_bytes([data for _, data in stored]))
    rows = np.zeros((BLOCK_PARTS, values.shape[1]), np.int8)
    rows[[part - first for part, _ in stored]] = values
    db.execute("INSERT OR REPLACE INTO vector_block VALUES (?, ?, ?)", (number, model, rows.tobytes()))
    return True
