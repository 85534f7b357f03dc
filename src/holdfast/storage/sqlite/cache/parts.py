"""The details of parts that searches returned, in memory as columns."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.domain.ports.search import Candidate, CandidateColumns
from holdfast.domain.types import Ints
from holdfast.storage.sqlite.connection import Row

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
        self._places = np.zeros(0, np.int32)
        """Row → the place of its part; -1 where the table has none."""
        self._numbers = np.zeros((64, _AT + 1), np.int64)
        self._tokens: list[bytes] = []
        self._candidates: list[Candidate] = []
        self._sessions: dict[str, int] = {}
        self._speakers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._tokens)

    def has(self, rows: Ints) -> NDArray[np.bool_]:
        """Which of these rows have their part in the table."""
        self._grow(rows)
        return self._places.take(rows) >= 0

    def may_be_in(self, rows: Ints, sessions: Set[str]) -> NDArray[np.bool_]:
        """Which of these rows may have a part in one of these sessions: those without a part in the table may."""
        having = self.has(rows)
        numbers = [self._sessions[session] for session in sessions if session in self._sessions]
        return ~having | np.isin(self._numbers[self._places.take(rows), _SESSION], numbers)

    def add(self, rows: Ints, parts: Sequence[Row]) -> None:
        """Add the parts of these rows: item, number and tokens of each after its own number, then the fields of its
        item as a candidate has them."""
        first, stop = len(self), len(self) + len(rows)
        self._grow(rows)
        self._places[rows] = np.arange(first, stop)
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

    def _grow(self, rows: Ints) -> None:
        """Make room for the places of these rows."""
        missing = int(rows.max(initial=-1)) + 1 - len(self._places)
        if missing > 0:
            self._places = np.append(self._places, np.full(max(missing, len(self._places) // 2), -1, np.int32))

    def found(self, rows: Ints) -> FoundParts:
        """The parts of these rows, all of which are in the table."""
        in_order = self._places.take(rows)
        numbers, places = self._numbers.take(in_order, axis=0), in_order.tolist()
        items, leading, about = numbers[:, _ITEM], places, numbers.T
        changes = np.ones(len(places), bool)
        changes[1:] = items[1:] != items[:-1]
        of, first = changes.cumsum() - 1, changes.nonzero()[0]
        ordered = np.sort(items)
        count = np.count_nonzero(ordered[1:] != ordered[:-1]) + (len(ordered) > 0)
        if count and of[-1] >= count:  # the parts of some item do not adjoin
            of = _numbered(items)
            first = np.unique(of, return_index=True)[1]
        if count < len(places):  # some have several parts
            leading, about = list(map(places.__getitem__, first.tolist())), numbers.take(first, axis=0).T
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
            of=of,
            number=numbers[:, _NUMBER],
            tokens=tuple(map(self._tokens.__getitem__, places)),
        )


def _numbered(items: Ints) -> Ints:
    """The place of each item among the distinct ones, in the order in which they first come."""
    known: dict[int, int] = {}
    return np.array([known.setdefault(item, len(known)) for item in items.tolist()], np.int64)


def _number_of(name: str | None, known: dict[str, int]) -> int:
    """The number of a name among the known ones, to which a new one is added; -1 for none."""
    return -1 if name is None else known.setdefault(name, len(known))
