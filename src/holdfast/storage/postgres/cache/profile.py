"""The parts of a profile in memory, so that a search of a profile in use reads only what has changed.

Any process may write to a profile. The database advances the profile's change sequence with each write (see
migrations/trigger), and a cache is used only once the database has confirmed that it is as new as the sequence.
Dropping a cache never changes an answer.
"""

from __future__ import annotations

import asyncio
import sys
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.domain.ports.search import Candidate
from holdfast.domain.types import Floats, Ints
from holdfast.domain.vectors import Matrix, vector_of_bytes
from holdfast.storage.postgres.connections import Row
from holdfast.storage.postgres.encryption import ProfileCipher
from holdfast.text.tokens import bm25_length_penalty

DEFAULT_CACHE_BYTES = 128 * 1024 * 1024
"""How much memory all caches of a process use. Chosen by hand; not measured."""
MAX_CACHED_PARTS = 10_000
"""Up to so many parts a profile is cached: scoring them takes the event loop about two milliseconds."""
PART_BYTES = 900
"""The memory that one part takes, without its tokens and its vector. Estimated from its objects; not measured."""
MAX_CACHED_OCCURRENCES = 100_000
"""How many occurrences of words a cache holds before they are dropped: 1.6 MB. Chosen by hand; not measured."""
MAX_CACHED_ITEMS = 2_000
"""How many rows of items a cache holds before they are dropped. Chosen by hand; not measured."""
NEVER = 2**62
"""The expiry of what does not expire."""

PART_ROWS = """
SELECT part.n, part.item, part.number, part.length, part.live, part.memory, part.asks, part.tokens,
       coalesce(message.id, memory.id), coalesce(message.session, memory.session), coalesce(message.position, -1),
       message.role, message.speaker,
       coalesce(message.said_at, message.created_at, memory.occurred_at, memory.created_at),
       memory.expires_at, memory.key, CASE WHEN part.model = %(model)s THEN part.data END
  FROM (SELECT * FROM part WHERE profile = %(p)s AND n > %(last)s ORDER BY n OFFSET 0) AS part
  LEFT JOIN LATERAL (SELECT * FROM message WHERE profile = %(p)s AND n = part.item OFFSET 0) AS message ON true
  LEFT JOIN LATERAL (SELECT * FROM memory WHERE profile = %(p)s AND n = part.item OFFSET 0) AS memory ON true
 ORDER BY part.n
"""
NEW_VECTORS = """
SELECT part.n, part.data FROM unnest(%(bare)s::bigint[]) AS wanted (n),
  LATERAL (SELECT n, model, data FROM part WHERE profile = %(p)s AND n = wanted.n OFFSET 0) AS part
 WHERE part.model = %(model)s ORDER BY part.n
"""
ENDED_PARTS = """
SELECT part.n FROM unnest(%(memories)s::bigint[]) AS wanted (n),
  LATERAL (SELECT n, live FROM part WHERE profile = %(p)s AND n = wanted.n OFFSET 0) AS part WHERE NOT part.live
"""
POSTINGS = """
SELECT asked.word, held.part, held.times FROM unnest(%(words)s::text[]) AS asked (word),
  LATERAL (SELECT part, times FROM posting WHERE profile = %(p)s AND word = asked.word OFFSET 0) AS held
"""


StoredItem = tuple[bool, Row]
"""Whether it is a memory, and its row."""
NumberedRow = tuple[int, Row]
"""The number of a memory, and its row."""


class ChangeSequence(NamedTuple):
    """How often a profile was changed, how often it was rewritten, and its number of parts."""

    changes: int
    rewrites: int
    parts: int


class Posting(NamedTuple):
    """The rows that a word occurs in, ascending, and its count in each."""

    rows: Ints
    times: NDArray[np.float64]


class ProfileCache:
    """All parts of one profile, one row each, with their vectors of one model, as of one change."""

    def __init__(self, model: str) -> None:
        self.updating = asyncio.Lock()
        """Held by whoever reads what the cache lacks and adds it."""
        self.reset(model, 0)

    def reset(self, model: str, rewrites: int) -> None:
        """Become empty: older than every change after so many rewrites."""
        self.model = model
        self.sequence = ChangeSequence(-1, rewrites, 0)
        none = np.zeros(0, np.int64)
        self.n, self.item, self.number, self.length, self.at, self.expires = none, none, none, none, none, none
        self.live, self.memory, self.asks, self.from_user = (none.astype(bool) for _ in range(4))
        self.session, self.position, self.speaker = none, none, none
        self.speakers: dict[str, int] = {}
        """Speaker → its number in `speaker`; likewise for sessions."""
        self.sessions: dict[str, int] = {}
        self.tokens: list[bytes] = []
        self.keys: dict[str, list[int]] = {}
        """Key → the rows of memories that have it."""
        self.candidates: list[Candidate] = []
        self.told: dict[tuple[int, int], list[int]] = {}
        """Number of a session and position of a message → its rows."""
        self._vectors: Floats | None = None
        self._length_penalty: NDArray[np.float64] | None = None
        self._token_bytes = 0
        self._drop_readings()

    def _drop_readings(self) -> None:
        """Drop what searches read that any change may make out of date."""
        self.postings: dict[str, Posting] = {}
        """Hash of a word → its posting, as read by a search."""
        self.agents: tuple[str, ...] | None = None
        """The agents that wrote anything, once a search asked for them."""
        self.items: dict[str, StoredItem] = {}
        self.resting: dict[str, list[NumberedRow]] = {}
        """Message → the numbers and rows of the memories that rest on it."""
        self._occurrences, self._row_bytes = 0, 0

    def __len__(self) -> int:
        return len(self.n)

    @property
    def bytes(self) -> int:
        """About how much memory it takes."""
        vectors = 0 if self._vectors is None else self._vectors.nbytes
        return len(self.n) * PART_BYTES + self._token_bytes + vectors + self._occurrences * 16 + self._row_bytes

    @property
    def last(self) -> int:
        """The highest number of a part."""
        return int(self.n[-1]) if len(self.n) else -1

    @property
    def mean_length(self) -> float:
        return float(self.length.sum()) / len(self.n) if len(self.n) else 0.0

    @property
    def length_penalty(self) -> NDArray[np.float64]:
        """What BM25 makes of the length of each row."""
        if self._length_penalty is None:
            self._length_penalty = bm25_length_penalty(self.length.astype(float), self.mean_length)
        return self._length_penalty

    def is_current(self, sequence: ChangeSequence) -> bool:
        """Whether it has every change up to this one. A replica's sequence may be behind."""
        return self.sequence.changes >= sequence.changes

    def begin_change(self, sequence: ChangeSequence) -> None:
        """Drop what may be out of date after a change that rewrote nothing."""
        if sequence.changes != self.sequence.changes:
            self._drop_readings()
        self.sequence = sequence

    def add(self, found: Sequence[Row], cipher: ProfileCipher) -> None:
        """Add parts, read by PART_ROWS."""
        if not found:
            return
        first = len(self.n)
        n, item, number, length, live, memory, asks, tokens, *about, expires, keys, data = zip(*found, strict=True)
        ids, sessions, positions, roles, speakers, at = about
        for name, values in {
            "n": n, "item": item, "number": number, "length": length, "live": live, "memory": memory, "asks": asks,
            "at": at, "position": positions, "from_user": [role == "user" for role in roles],
            "expires": [NEVER if each is None else each for each in expires],
            "session": _numbers(sessions, self.sessions), "speaker": _numbers(speakers, self.speakers),
        }.items():  # fmt: skip
            setattr(self, name, np.append(getattr(self, name), values))
        self._length_penalty = None
        self.tokens += map(cipher.decrypt, tokens)
        self._token_bytes += sum(map(len, self.tokens[first:]))
        self.candidates += map(Candidate, ids, memory, sessions, positions, roles, speakers, asks, at)
        for row, (of_memory, key) in enumerate(zip(memory, keys, strict=True), first):
            if not of_memory:
                self.told.setdefault((int(self.session[row]), int(self.position[row])), []).append(row)
            elif key is not None:
                self.keys.setdefault(key, []).append(row)
        if self._vectors is not None:
            self._vectors = np.append(self._vectors, np.zeros((len(found), self._vectors.shape[1]), np.float32), axis=0)
        self.put_vectors([(part, each) for part, each in zip(n, data, strict=True) if each is not None])

    def put_vectors(self, found: Sequence[Row]) -> None:
        """Set the vectors of parts, given as (n, data)."""
        if found:
            values = vector_of_bytes([bytes(data) for _, data in found])
            if self._vectors is None or self._vectors.shape[1] != values.shape[1]:
                self._vectors = np.zeros((len(self.n), values.shape[1]), np.float32)
            self._vectors[self.rows(np.array([n for n, _ in found], np.int64))] = values

    def end(self, parts: Iterable[int]) -> None:
        """Mark parts of superseded memories."""
        self.live[self.rows(np.array(list(parts), np.int64))] = False

    def rows(self, parts: Ints) -> Ints:
        """The rows of these parts, all of which it has."""
        return np.searchsorted(self.n, parts)

    def without_vector(self) -> list[int]:
        """The parts that may get a vector."""
        bare = np.ones(len(self.n), bool) if self._vectors is None else ~self._vectors.any(axis=1)
        found: list[int] = self.n[bare].tolist()
        return found

    def live_memories(self) -> list[int]:
        """The parts of memories that may be superseded."""
        found: list[int] = self.n[self.live & self.memory].tolist()
        return found

    def add_postings(self, words: Iterable[str], found: Sequence[Row]) -> None:
        """Add the postings of words, read by POSTINGS."""
        if self._occurrences > MAX_CACHED_OCCURRENCES:
            self.postings, self._occurrences = {}, 0
        held: dict[str, list[tuple[int, int]]] = {word: [] for word in words}
        for word, part, times in found:
            held[word].append((part, times))
        for word, pairs in held.items():
            columns = np.array(sorted(pairs), np.int64).reshape(-1, 2)
            self.postings[word] = Posting(self.rows(columns[:, 0]), columns[:, 1].astype(float))
            self._occurrences += len(pairs)

    def add_items(self, found: Mapping[str, StoredItem]) -> None:
        self._make_room(len(found))
        self.items |= found
        self._row_bytes += sum(_row_bytes(row) for _, row in found.values())

    def add_resting(self, found: Mapping[str, list[NumberedRow]]) -> None:
        self._make_room(len(found))
        self.resting |= found
        self._row_bytes += sum(_row_bytes(row) for rows in found.values() for _, row in rows)

    def _make_room(self, count: int) -> None:
        if len(self.items) + len(self.resting) + count > MAX_CACHED_ITEMS:
            self.items, self.resting, self._row_bytes = {}, {}, 0

    def cosines(self, vector: Floats) -> Floats:
        """The cosine of each row; zero where a part has no vector."""
        if self._vectors is None or self._vectors.shape[1] != len(vector):
            return np.zeros(len(self.n), np.float32)
        return Matrix(self._vectors).cosines(vector)


def _numbers(names: Sequence[str | None], known: dict[str, int]) -> list[int]:
    """A number for each name, -1 for none; new names get the next one."""
    return [-1 if name is None else known.setdefault(name, len(known)) for name in names]


def _row_bytes(row: Row) -> int:
    return sum(map(sys.getsizeof, row))


class ProfileCaches:
    """The caches of the profiles that were searched last, as many as fit into the memory allowed."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._caches: OrderedDict[int, ProfileCache] = OrderedDict()
        self._bytes: dict[int, int] = {}
        """Profile → the memory of its cache, when it was last updated."""
        self._too_large: dict[int, int] = {}
        """Profile → the number of its parts when its cache alone did not fit."""

    def __len__(self) -> int:
        return len(self._caches)

    @property
    def bytes(self) -> int:
        return sum(self._bytes.values())

    def may_hold(self, profile: int, parts: int) -> bool:
        """Whether a profile of so many parts may be cached."""
        return parts <= MAX_CACHED_PARTS and parts < self._too_large.get(profile, parts + 1) and self._max_bytes > 0

    def find(self, profile: int) -> ProfileCache | None:
        if profile in self._caches:
            self._caches.move_to_end(profile)
        return self._caches.get(profile)

    def open(self, profile: int, model: str) -> ProfileCache:
        """The cache of a profile; a new, empty one if there is none. Whoever updates it must call `fit` afterwards."""
        return self.find(profile) or self._caches.setdefault(profile, ProfileCache(model))

    def fit(self, profile: int) -> None:
        """Note how large a cache has become, and drop those that were used longest ago until all fit."""
        if profile in self._caches:
            self._bytes[profile] = self._caches[profile].bytes
        total = self.bytes
        while total > self._max_bytes and self._caches:
            oldest, cache = next(iter(self._caches.items()))
            total -= self._bytes.get(oldest, 0)
            if len(self._caches) == 1:
                self._too_large[oldest] = len(cache)
            self.drop(oldest)

    def drop(self, profile: int) -> None:
        """A search that uses the cache now goes on with it, and nobody finds it afterwards."""
        self._caches.pop(profile, None)
        self._bytes.pop(profile, None)

    def clear(self) -> None:
        self._caches.clear()
        self._bytes.clear()
        self._too_large.clear()
