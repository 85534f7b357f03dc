"""The parts of a profile in memory, so that a search of a profile in use reads only what has changed.

Any process may write to a profile. The database advances the profile's change sequence with each write (see
migrations/trigger), and a cache is used only once the database has confirmed that it is as new as the sequence.
Dropping a cache never changes an answer.

The cache of a large profile has vectors in 8-bit steps, as a data folder has; a search compares the nearest ones again
with the stored ones.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.domain.ports.search import Candidate
from holdfast.domain.types import Floats, Ints
from holdfast.domain.vectors import Matrix, vector_of_bytes
from holdfast.storage.postgres import rows
from holdfast.storage.postgres.cache.postings import WordPostings
from holdfast.storage.postgres.cache.statements import ABOUT_COLUMNS
from holdfast.storage.postgres.connections import Row
from holdfast.storage.postgres.encryption import ProfileCipher
from holdfast.text.tokens import bm25_length_penalty

PART_BYTES, LARGE_PART_BYTES = 900, 280
"""The memory that one part takes, without its tokens and its vector: with the objects that searches make of it, and in
a large profile, of which few are made. Estimated; not measured."""
MAX_CACHED_ITEMS = 2_000
"""How many rows of items a cache holds before they are dropped. Chosen by hand; not measured."""
MAX_CACHED_CANDIDATES = 10_000
"""How many candidates a cache holds before they are dropped: 4 MB. Chosen by hand; not measured."""
SUPERSEDED_BY = rows.WRITTEN_MEMORY.split(", ").index("superseded_by")
NEVER = 2**62
"""The expiry of what does not expire."""
_SESSION_PLACES = 2**32
"""More than a session has messages."""


StoredItem = tuple[bool, Row]
"""Whether it is a memory, and its row."""
NumberedRow = tuple[int, Row]
"""The number of a memory, and its row."""


class ChangeSequence(NamedTuple):
    """How often a profile was changed, how often it was rewritten, and its number of parts."""

    changes: int
    rewrites: int
    parts: int


class ProfileCache:
    """All parts of one profile, one row each, with their vectors of one model, as of one change."""

    def __init__(self, model: str, *, large: bool = False) -> None:
        self.updating = asyncio.Lock()
        """Held by whoever reads what the cache lacks and adds it."""
        self.large = large
        self.reset(model, 0)

    def reset(self, model: str, rewrites: int) -> None:
        """Become empty: older than every change after so many rewrites."""
        self.model = model
        self.sequence = ChangeSequence(-1, rewrites, 0)
        none = np.zeros(0, np.int64)
        self.n, self.item, self.number, self.length, self.at, self.expires = none, none, none, none, none, none
        self.live, self.memory, self.asks, self.from_user, self.bare = (none.astype(bool) for _ in range(5))
        self.session, self.position, self.speaker, self.role = none, none, none, none
        self.speakers: dict[str, int] = {}
        """Speaker → its number in `speaker`; likewise for sessions and roles."""
        self.sessions: dict[str, int] = {}
        self._roles: dict[str, int] = {}
        self.ids: list[str] = []
        self.tokens: list[bytes] = []
        self._candidates: dict[int, Candidate] = {}
        self.keys: dict[str, list[int]] = {}
        """Key → the rows of memories that have it."""
        self.words = WordPostings(all_rows=not self.large)
        self._matrix: Matrix | None = None
        self._dimensions = 0
        self._length_penalty: NDArray[np.float64] | None = None
        self._memory_ids: frozenset[str] | None = None
        self._places: tuple[Ints, Ints] | None = None
        self._token_bytes = 0
        self._drop_readings()

    def _drop_readings(self) -> None:
        """Drop what searches read that any change may make out of date."""
        self.agents: tuple[str, ...] | None = None
        """The agents that wrote anything, once a search asked for them."""
        self.items: dict[str, StoredItem] = {}
        self.resting: dict[str, list[NumberedRow]] = {}
        """Message → the numbers and rows of the memories that rest on it."""
        self.spoken: dict[str, dict[int, Row]] = {}
        """Session → position → the row of its message; only of a complete cache."""
        self.complete = False
        """Whether it has the row of every message and current memory, and what rests on every message."""
        self._row_bytes = 0

    def __len__(self) -> int:
        return len(self.n)

    @property
    def bytes(self) -> int:
        """About how much memory it takes."""
        vectors = 0 if self._matrix is None else self._matrix.nbytes
        columns = len(self.n) * (LARGE_PART_BYTES if self.large else PART_BYTES)
        return columns + self._token_bytes + vectors + self.words.bytes + self._row_bytes

    @property
    def is_loading(self) -> bool:
        """Whether it is of a large profile and does not have all parts yet."""
        return self.large and self.sequence.changes < 0

    @property
    def last(self) -> int:
        """The highest number of a part."""
        return int(self.n[-1]) if len(self.n) else -1

    @property
    def memory_ids(self) -> frozenset[str]:
        """The ids of all memories."""
        if self._memory_ids is None:
            self._memory_ids = frozenset(self.ids[row] for row in np.flatnonzero(self.memory).tolist())
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
        n, item, number, length, live, memory, asks, embed, tokens, *about, expires, keys, data = zip(
            *found, strict=True
        )
        ids, sessions, positions, roles, speakers, at = about
        for name, values in {
            "n": n, "item": item, "number": number, "length": length, "live": live, "memory": memory, "asks": asks,
            "at": at, "position": positions, "from_user": [role == "user" for role in roles],
            "expires": [NEVER if each is None else each for each in expires],
            "session": _numbers(sessions, self.sessions), "speaker": _numbers(speakers, self.speakers),
            "role": _numbers(roles, self._roles),
            "bare": [wanted and each is None for wanted, each in zip(embed, data, strict=True)],
        }.items():  # fmt: skip
            setattr(self, name, np.append(getattr(self, name), values))
        self._length_penalty = self._memory_ids = self._places = None
        self.ids += ids
        self.tokens += map(cipher.decrypt, tokens)
        self._token_bytes += sum(map(len, self.tokens[first:]))
        for row, key in enumerate(keys, first):
            if key is not None:
                self.keys.setdefault(key, []).append(row)
        self._append_vectors(data)

    def candidates(self, rows: Sequence[int]) -> list[Candidate]:
        """The items of these rows."""
        missing = [row for row in rows if row not in self._candidates]
        if len(self._candidates) + len(missing) > MAX_CACHED_CANDIDATES:
            self._candidates, missing = {}, list(rows)
        sessions, roles, speakers = list(self.sessions), list(self._roles), list(self.speakers)
        columns = (self.memory, self.session, self.position, self.role, self.speaker, self.asks, self.at)
        for row, memory, session, position, role, speaker, asks, at in zip(
            missing, *(column[missing].tolist() for column in columns), strict=True
        ):
            self._candidates[row] = Candidate(
                self.ids[row], memory, None if session < 0 else sessions[session], position,
                None if role < 0 else roles[role], None if speaker < 0 else speakers[speaker], asks, at,
            )  # fmt: skip
        return [self._candidates[row] for row in rows]

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

    def _append_vectors(self, data: Sequence[Any]) -> None:
        """Add the vectors of new rows, None for those without."""
        having = [at for at, each in enumerate(data) if each is not None]
        values = vector_of_bytes([data[at] for at in having]) if having else None
        if values is not None and values.shape[1] != self._dimensions:
            self._begin_matrix(len(self.n) - len(data), values.shape[1])
        if self._matrix is not None:
            added = np.zeros((len(data), self._dimensions), np.float32)
            if values is not None:
                added[having] = values
            self._matrix.append(added)

    def _begin_matrix(self, count: int, dimensions: int) -> None:
        self._dimensions = dimensions
        self._matrix = Matrix(np.zeros((count, dimensions), np.int8 if self.large else np.float32))

    def put_vectors(self, found: Sequence[Row]) -> None:
        """Set the vectors of parts, given as (n, data)."""
        if found:
            values = vector_of_bytes([bytes(data) for _, data in found])
            if values.shape[1] != self._dimensions:
                self._begin_matrix(len(self.n), values.shape[1])
            changed = self.rows(np.array([n for n, _ in found], np.int64))
            assert self._matrix is not None
            self._matrix.put(changed, values)
            self.bare[changed] = False

    def end(self, parts: Iterable[int]) -> None:
        """Mark parts of superseded memories."""
        self.live[self.rows(np.array(list(parts), np.int64))] = False

    def rows(self, parts: Ints) -> Ints:
        """The rows of these parts, all of which it has."""
        return np.searchsorted(self.n, parts)

    def rows_beside(self, rows: Ints) -> Ints:
        """The rows of the messages that are next to these, and of those themselves."""
        if self._places is None:
            places = np.where(self.memory, -1, self.session * _SESSION_PLACES + self.position)
            order = np.argsort(places, kind="stable")
            self._places = order, places[order]
        order, places = self._places
        at = self.session[rows] * _SESSION_PLACES + self.position[rows]
        near = np.concatenate([at - 1, at, at + 1])
        first, stop = np.searchsorted(places, near), np.searchsorted(places, near, side="right")
        found = [order[one:other] for one, other in zip(first.tolist(), stop.tolist(), strict=True) if one < other]
        return np.unique(np.concatenate(found)) if found else np.zeros(0, np.int64)

    def without_vector(self) -> list[int]:
        """The parts that may get a vector."""
        found: list[int] = self.n[self.bare].tolist()
        return found

    def live_memories(self) -> list[int]:
        """The parts of memories that may be superseded."""
        found: list[int] = self.n[self.live & self.memory].tolist()
        return found

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
        """The cosine of each row; zero where a part has no vector. Of a large profile they are approximate."""
        if self._matrix is None or self._dimensions != len(vector):
            return np.zeros(len(self.n), np.float32)
        return self._matrix.cosines(vector)


def _numbers(names: Sequence[str | None], known: dict[str, int]) -> list[int]:
    """A number for each name, -1 for none; new names get the next one."""
    return [-1 if name is None else known.setdefault(name, len(known)) for name in names]


def _row_bytes(row: Row) -> int:
    return sum(map(sys.getsizeof, row))
