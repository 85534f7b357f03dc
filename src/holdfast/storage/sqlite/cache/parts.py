"""The details of parts that searches returned, in memory as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

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
        numbers = self._numbers.take(np.array(places, np.intp), axis=0)
        items, leading, about = numbers[:, _ITEM], places, numbers.T
        of = np.zeros(len(places), np.int64)
        np.cumsum(items[1:] != items[:-1], out=of[1:])
        count = len(set(items.tolist()))
        if count and of[-1] >= count:  # the parts of some item do not adjoin
            of = _numbered(items)
        if count < len(places):  # some have several parts
            first = np.unique(of, return_index=True)[1]
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
