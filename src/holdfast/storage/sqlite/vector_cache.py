"""The parts of an open profile in memory, one row per part: its length, whether it is live, and its vector; and what
searches read of them and of items, so that a search which finds what earlier ones found needs no statement.

The cache is loaded at the first search after a file is opened, and every write updates it. Dropping it costs a few
milliseconds and never changes an answer.

A profile of some thousand parts reads its vectors in blocks, quantised (cache/blocks.py). Up to MAX_EXACT_ROWS it reads
the exact ones once it was searched a few times; before, the cosines of what is proposed are computed from stored
vectors. So the numbers of a search are the same either way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import compress, islice
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from holdfast.domain import vectors
from holdfast.domain.ports.search import MAX_AGENTS
from holdfast.domain.types import Change, Floats, Ints, Item
from holdfast.domain.vectors import Matrix
from holdfast.storage.item_cache import CacheMiss
from holdfast.storage.sqlite.cache.blocks import BLOCK_PARTS, are_complete, load_blocks
from holdfast.storage.sqlite.cache.parts import PartTable
from holdfast.storage.sqlite.connection import Row, query
from holdfast.text.tokens import bm25_length_penalty

MAX_CACHED_OCCURRENCES, MAX_OCCURRENCES_PER_PART = 250_000, 10
"""How many occurrences of words are held before those used longest ago are dropped: 1.5 MB, and in a large profile 60
bytes for each part, a sixth of its vector. Chosen by hand: the words of 400 questions about 100,000 messages fit."""
MAX_CACHED_FREQUENCIES = 20_000
"""How many words' frequencies are held before they are dropped: 2 MB. Chosen by hand."""
MAX_PARTS_WITH_ALL_WORDS, MIN_MISSING_WORDS = 2_000, 50
"""Up to so many parts, the postings of all words are read at once when so many had to be read singly: the searches
after that need no statement for them. Chosen by hand; not measured."""
MAX_PARTS_WITH_KNOWN_KEYS = 20_000
"""Up to so many parts of memories, all keys of a profile are held. Chosen by hand; not measured."""
MAX_CACHED_PARTS = 20_000
"""How many parts a vector cache holds the details of before they are dropped. Chosen by hand; not measured."""
NEVER = 2**63 - 1
Posting = tuple[NDArray[np.int32], NDArray[np.uint16], int]
"""The posting of a word: the rows it occurs in, its count in each, and the number of parts it occurs in."""
_NO_POSTING: Posting = (np.zeros(0, np.int32), np.zeros(0, np.uint16), 0)
MAX_RESCORED_SEARCHES = 20
"""After so many searches, the exact vectors of a profile that is not large are read. With 10,000 messages that takes
the time that rescoring takes in as many searches."""
VECTORS_READ_AT_ONCE = 512
"""How many vectors are decoded at a time: few enough to stay in the second-level cache, which takes a tenth of the time
that all at once take in a large profile."""
_PARTS = """
SELECT (SELECT min(n) FROM part), (SELECT max(n) FROM part), count(*), group_concat(packed)
  FROM (SELECT length * 4 + live * 2 + (item < 0) AS packed FROM part INDEXED BY part_scan ORDER BY n)
"""
_PART_NUMBERS = "SELECT group_concat(n) FROM (SELECT n FROM part INDEXED BY part_scan ORDER BY n)"
_AGENTS = """
WITH RECURSIVE known (agent) AS (
  SELECT min(agent) FROM {table} WHERE agent IS NOT NULL
  UNION ALL SELECT (SELECT min(agent) FROM {table} WHERE agent > known.agent) FROM known WHERE known.agent IS NOT NULL
) SELECT agent FROM known WHERE agent IS NOT NULL LIMIT ?
"""


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
        self._new_places: dict[str, list[int]] = {}
        """Word → the rows written since, one for each occurrence; the next search for it adds them to its posting."""
        self._missing_words = 0
        self._all_words = False
        """Whether `postings` has every word but those in `_unread_words`."""
        self._unread_words: set[str] = set()
        self.frequencies: dict[str, int] = {}
        """Word → the number of parts it occurs in, as read by a search of a large profile."""
        self._occurrences = 0
        self.neighbours: dict[int, tuple[int, ...]] = {}
        """Row → the rows of the messages beside it, as read by a search."""
        self._keys: set[str] | None = None
        self._next_expiry: int | None = None
        self._agents: tuple[str, ...] | None = None
        self._total_length = int(self.length.sum())
        self._length_penalty: NDArray[np.float64] | None = None
        self._rescored_searches = 0
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
    def rescores_all(self) -> bool:
        """Whether the cosines of everything that is proposed have to be computed from stored vectors."""
        return not self.exact and len(self) <= vectors.MAX_EXACT_ROWS

    def load_exact(self, db: apsw.Connection | None) -> None:
        """Count a search; of one that is searched again and again, read the exact vectors."""
        if db is None or not self.rescores_all:
            return
        self._rescored_searches += 1
        if self._rescored_searches > MAX_RESCORED_SEARCHES:
            self._matrix = None
            self._load_vectors(db, 0, NEVER)

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
        at = self.n.searchsorted(parts)
        at[at == len(self.n)] = 0
        return at[self.n[at] == parts] if len(self.n) else at[:0]

    def row(self, part: int) -> int:
        """The row of a part that is in the cache."""
        return int(np.searchsorted(self.n, part))

    def may_have_key(self, db: apsw.Connection | None, keys: Iterable[str]) -> bool:
        """Whether a memory may have one of these keys; where there are very many memories, the database tells."""
        if self._keys is None:
            if np.count_nonzero(self.memory) > MAX_PARTS_WITH_KNOWN_KEYS:
                return True
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
        for word in {word for part in change.parts for word in part.words}:
            self.frequencies.pop(word, None)
        if change.inserted:  # the messages after them have moved
            self.forget_parts()
        elif change.messages:
            self._drop_neighbours({message.session_id for message in change.messages})
        written: tuple[Item, ...] = (*change.messages, *change.memories)
        if any(item.agent is not None for item in written):
            self._agents = None
        if self._keys is not None:
            self._keys.update(memory.key for memory in change.memories if memory.key is not None)
        if any(memory.expires_at is not None for memory in change.memories):
            self._next_expiry = None

    def forget_parts(self) -> None:
        """Drop the details of all parts, and with them what they stand beside."""
        self.parts = PartTable()
        self.neighbours.clear()

    def _drop_neighbours(self, sessions: Set[str]) -> None:
        """Drop the neighbours of what stands in these sessions: somebody goes on with them."""
        known = np.fromiter(self.neighbours, np.int64, len(self.neighbours))
        for row in known[self.parts.may_be_in(known, sessions)].tolist():
            del self.neighbours[row]

    def posting(self, word: str) -> Posting | None:
        """The posting of a word as read by a search; the last one to be dropped from now on."""
        known = self.postings.pop(word, None)
        if (places := self._new_places.pop(word, None)) is not None:
            known = self._with_places(known or _NO_POSTING, places)
        if known is not None:
            self.postings[word] = known
        elif self._all_words and word not in self._unread_words:
            return _NO_POSTING
        return known

    def has_words(self, words: Iterable[str]) -> bool:
        """Whether no posting of these words has to be read."""
        missing = set(words).difference(self.postings)
        return not missing or (self._all_words and missing.isdisjoint(self._unread_words))

    def note_missing_word(self) -> bool:
        """Count a word whose posting has to be read; True when those of all words had better be."""
        self._missing_words += 1
        return not self._all_words and len(self) <= MAX_PARTS_WITH_ALL_WORDS and self._missing_words > MIN_MISSING_WORDS

    def note_all_words(self) -> None:
        """The postings of all words were read."""
        self._all_words = self._occurrences <= MAX_CACHED_OCCURRENCES

    def add_posting(self, word: str, posting: Posting) -> None:
        self._drop_posting(word)
        self._unread_words.discard(word)
        self.postings[word] = posting
        self._occurrences += len(posting[0])
        while self._occurrences > self._max_occurrences and len(self.postings) > 1:
            self._all_words = False
            self._drop_posting(next(iter(self.postings)))

    def read_again(self, word: str) -> None:
        """Let the next search read the posting of a word, which is of a newer write than the cache."""
        self._drop_posting(word)
        self._unread_words.add(word)

    def _drop_posting(self, word: str) -> None:
        self._occurrences -= len(self.postings.pop(word, _NO_POSTING)[0]) + len(self._new_places.pop(word, ()))

    @property
    def _max_occurrences(self) -> int:
        return max(MAX_CACHED_OCCURRENCES, MAX_OCCURRENCES_PER_PART * len(self))

    def _note_places(self, words: Sequence[Sequence[str]], first: int) -> None:
        """Note the words of new parts, in rows from `first` on, for the postings that are held."""
        for row, some in enumerate(words, first):
            for word in some:
                held = word in self.postings or word in self._new_places
                if held or (self._all_words and word not in self._unread_words):
                    self._new_places.setdefault(word, []).append(row)
                    self._occurrences += 1
        if self._occurrences > self._max_occurrences:
            self.postings, self._new_places, self._occurrences, self._all_words = {}, {}, 0, False

    def _with_places(self, known: Posting, rows: list[int]) -> Posting:
        """A posting with places in later rows, in order, one for each occurrence of the word."""
        times = Counter(rows)
        self._occurrences -= len(rows) - len(times)
        return (
            np.append(known[0], np.array(list(times), np.int32)),
            np.append(known[1], np.array(list(times.values()), np.uint16)),
            known[2] + len(times),
        )

    def add_frequencies(self, found: Mapping[str, int]) -> None:
        if len(self.frequencies) + len(found) > MAX_CACHED_FREQUENCIES:
            self.frequencies.clear()
        self.frequencies |= found

    def add(self, parts: Sequence[tuple[int, int, bool, bool]], words: Sequence[Sequence[str]]) -> None:
        """Add new parts, as (n, length, live, memory) in ascending order, and the words of each."""
        columns = np.array(parts, np.int64).reshape(-1, 4)
        if len(self.n):  # a search may have loaded the cache between the commit and this call
            columns = columns[columns[:, 0] > self.n[-1]]
        self._note_places(words[len(words) - len(columns) :], len(self.n))
        self._total_length += int(columns[:, 1].sum())
        self._length_penalty = None
        self.n = np.append(self.n, columns[:, 0])
        self.length = np.append(self.length, columns[:, 1])
        self.live = np.append(self.live, columns[:, 2] == 1)
        self.memory = np.append(self.memory, columns[:, 3] == 1)
        if self._matrix is not None:
            self._matrix.append(np.zeros((len(columns), self._dimensions), np.float32))

    def add_details(self, parts: Sequence[Row]) -> None:
        """Add the details of new parts, as rows that begin with their numbers; none where they are many already."""
        if not parts or len(self.parts) > MAX_CACHED_PARTS:
            return
        rows = self.rows(np.array([n for n, *_ in parts], np.int64))
        new = ~self.parts.has(rows)
        self.parts.add(rows[new], list(compress(parts, new)))

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
        """Read the vectors once: in blocks, or a few at a time."""
        large = len(self.n) > vectors.MAX_EXACT_ROWS
        if not large and not are_complete(db, self.model, self.n):
            self._load_vectors(db, 0, NEVER)
            return
        missing = np.zeros(int(self.n[-1]) // BLOCK_PARTS + 1, bool)
        missing[self.n // BLOCK_PARTS] = True
        for number, rows in load_blocks(db, self.model, large=large):
            first, last = np.searchsorted(self.n, (number * BLOCK_PARTS, (number + 1) * BLOCK_PARTS))
            known = rows if last - first == BLOCK_PARTS else rows[self.n[first:last] % BLOCK_PARTS]
            self._matrix_of(rows.shape[1], quantised=not large).put_quantised(slice(first, last), known)
            missing[number] = False
        for number in np.flatnonzero(missing).tolist():
            self._load_vectors(db, number * BLOCK_PARTS, (number + 1) * BLOCK_PARTS)

    def _load_vectors(self, db: apsw.Connection, first: int, end: int) -> None:
        """Read the vectors of the parts from `first` up to `end`."""
        statement = "SELECT part, data FROM vector WHERE part >= ? AND part < ? AND model = ? ORDER BY part"
        stored = iter(db.execute(statement, (first, end, self.model)))
        while some := list(islice(stored, VECTORS_READ_AT_ONCE)):
            values, parts = vectors.vector_of_bytes([data for _, data in some]), np.array([part for part, _ in some])
            rows = self.rows(parts)
            if len(rows) < len(parts):  # some are of a newer write that the cache does not have yet
                values = values[np.isin(parts, self.n, assume_unique=True)]
                if not len(rows):
                    continue
            adjoining = int(rows[-1] - rows[0]) == len(rows) - 1
            self._matrix_of(values.shape[1]).put(slice(rows[0], rows[-1] + 1) if adjoining else rows, values)

    def _matrix_of(self, dimensions: int, *, quantised: bool = False) -> Matrix:
        if self._matrix is None:
            self._dimensions = dimensions
            self._matrix = Matrix.without_vectors(len(self.n), dimensions, quantised=quantised)
        return self._matrix


def parse_integers(column: str | int | None) -> Ints:
    """The integers of a group_concat, which is far cheaper than one row for each."""
    return np.fromstring(str(column), np.int64, sep=",") if column is not None else np.zeros(0, np.int64)
