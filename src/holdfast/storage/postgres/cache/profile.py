"""The parts of a profile in memory, so that a search of a profile in use reads only what has changed.

Any process may write to a profile. The database advances the profile's change sequence with each write (see
migrations/trigger), and a cache is used only once the database has confirmed that it is as new as the sequence.
Dropping a cache never changes an answer.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.domain.ports.search import Candidate
from holdfast.domain.types import Floats, Ints
from holdfast.domain.vectors import Matrix, vector_of_bytes
from holdfast.storage.postgres import rows
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
ABOUT_COLUMNS = 8
"""How many columns ALL_MESSAGES and ALL_MEMORIES have between the number of an item and its row."""
SUPERSEDED_BY = rows.WRITTEN_MEMORY.split(", ").index("superseded_by")
NEVER = 2**62
"""The expiry of what does not expire."""

# No statement looks up the rows of a list one by one: in a young table, which has no statistics yet, the planner may
# choose an index by something else for a lookup, and read the whole profile each time.
PARTS = """
SELECT n, item, number, length, live, memory, asks, tokens, CASE WHEN model = %(model)s THEN data END
  FROM part WHERE profile = %(p)s AND n > %(last)s ORDER BY n
"""
_ABOUT_MESSAGE = "n, id, session, position, role, speaker, coalesce(said_at, created_at), NULL::bigint, NULL::text"
_ABOUT_MEMORY = "n, id, session, -1, NULL::text, NULL::text, coalesce(occurred_at, created_at), expires_at, key"
ALL_MESSAGES = f"SELECT {_ABOUT_MESSAGE}, {rows.MESSAGE}, {rows.STATE} FROM message WHERE profile = %(p)s"
ALL_MEMORIES = f"SELECT {_ABOUT_MEMORY}, {rows.MEMORY}, {rows.SOURCES} FROM memory WHERE profile = %(p)s"
_OF_NEW_PARTS = "n = ANY(ARRAY(SELECT item FROM part WHERE profile = %(p)s AND n > %(last)s))"
ITEMS_OF_NEW_PARTS = f"""
SELECT {_ABOUT_MESSAGE} FROM message WHERE profile = %(p)s AND {_OF_NEW_PARTS}
UNION ALL SELECT {_ABOUT_MEMORY} FROM memory WHERE profile = %(p)s AND {_OF_NEW_PARTS}
"""
NEW_VECTORS = """
SELECT n, data FROM part WHERE profile = %(p)s AND n = ANY(%(bare)s::bigint[]) AND model = %(model)s ORDER BY n
"""
ENDED_PARTS = "SELECT n FROM part WHERE profile = %(p)s AND n = ANY(%(memories)s::bigint[]) AND NOT live"
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
        self._memory_ids: frozenset[str] | None = None
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
        self.spoken: dict[str, dict[int, Row]] = {}
        """Session → position → the row of its message; only of a complete cache."""
        self.complete = False
        """Whether it has the row of every message and current memory, and what rests on every message."""
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
    def memory_ids(self) -> frozenset[str]:
        """The ids of all memories."""
        if self._memory_ids is None:
            self._memory_ids = frozenset(self.candidates[row].id for row in np.flatnonzero(self.memory).tolist())
        return self._memory_ids

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

    def has(self, words: Iterable[str], agents: bool) -> bool:
        """Whether it has the postings of these words and, if wanted, the agents."""
        return all(word in self.postings for word in words) and not (agents and self.agents is None)

    def begin_change(self, sequence: ChangeSequence) -> None:
        """Drop what may be out of date after a change that rewrote nothing."""
        if sequence.changes != self.sequence.changes:
            self._drop_readings()
        self.sequence = sequence

    def add(self, parts: Sequence[Row], items: Iterable[Row], cipher: ProfileCipher) -> None:
        """Add parts, read by PARTS, and what is known about their items."""
        if not parts:
            return
        about_items = {row[0]: row[1 : 1 + ABOUT_COLUMNS] for row in items}
        found = [(*part[:-1], *about_items[part[1]], part[-1]) for part in parts]
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
        self._length_penalty = self._memory_ids = None
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

    def fill(self, found: Sequence[Sequence[Row]], cipher: ProfileCipher) -> None:
        """Add everything to an empty cache: what PARTS, ALL_MESSAGES and ALL_MEMORIES read. The rows of items are kept
        unless they are too many."""
        parts, messages, memories = found
        self.add(parts, (*messages, *memories), cipher)
        if len(messages) + len(memories) > MAX_CACHED_ITEMS:
            return
        items: dict[str, StoredItem] = {}
        for _, id, session, position, *row in messages:
            stored = tuple(row[ABOUT_COLUMNS - 3 :])
            items[id] = (False, stored)
            self.spoken.setdefault(session, {})[position] = stored
            self.resting[id] = []
        for n, id, *row in memories:
            stored = tuple(row[ABOUT_COLUMNS - 1 :])
            if stored[SUPERSEDED_BY] is None:
                items[id] = (True, stored)
            for message in json.loads(stored[-1]):
                self.resting.setdefault(message, []).append((n, stored))
        self.add_items(items)
        self.complete = True

    def message_before(self, session: str, position: int) -> Row | None:
        """The row of the last message of a session before a position; only of a complete cache."""
        spoken = self.spoken.get(session, {})
        last = max((each for each in spoken if each < position), default=None)
        return None if last is None else spoken[last]

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
            self.items, self.resting, self.spoken, self._row_bytes, self.complete = {}, {}, {}, 0, False

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


class HeldBlock(Protocol):
    """What is held of a profile that is too large to be held whole."""

    @property
    def bytes(self) -> int: ...

    def __len__(self) -> int: ...


class ProfileCaches:
    """The caches of the profiles that were searched last, as many as fit into the memory allowed."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._caches: OrderedDict[int, ProfileCache | HeldBlock] = OrderedDict()
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

    def may_hold_block(self, parts: int, size: int) -> bool:
        """Whether the vectors of a profile of so many parts, which take so many bytes, may be held."""
        return parts > MAX_CACHED_PARTS and size <= self._max_bytes

    def find(self, profile: int) -> ProfileCache | None:
        found = self._find(profile)
        return found if isinstance(found, ProfileCache) else None

    def find_block(self, profile: int) -> HeldBlock | None:
        found = self._find(profile)
        return None if isinstance(found, ProfileCache) else found

    def _find(self, profile: int) -> ProfileCache | HeldBlock | None:
        if profile in self._caches:
            self._caches.move_to_end(profile)
        return self._caches.get(profile)

    def open(self, profile: int, model: str) -> ProfileCache:
        """The cache of a profile; a new, empty one if there is none. Whoever updates it must call `fit` afterwards."""
        found = self.find(profile)
        if found is None:
            self.drop(profile)
            found = self._caches[profile] = ProfileCache(model)
        return found

    def hold_block(self, profile: int, block: HeldBlock) -> None:
        """Hold the vectors of a large profile in place of its cache."""
        self.drop(profile)
        self._caches[profile] = block
        self.fit(profile)

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
