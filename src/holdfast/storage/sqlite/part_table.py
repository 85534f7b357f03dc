"""The details of the parts that searches of one profile returned: numbers as columns, one row per part."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.domain.ports.search import Candidate, CandidateColumns
from holdfast.domain.types import Ints

_ITEM, _NUMBER, _MEMORY, _SESSION, _POSITION, _FROM_USER, _SPEAKER, _ASKS, _AT = range(9)


class PartDetails(NamedTuple):
    """What is read of one part."""

    item: int
    number: int
    tokens: bytes
    candidate: Candidate


class FoundParts(NamedTuple):
    """Some parts, and the items that they belong to, in order."""

    items: tuple[Candidate, ...]
    columns: CandidateColumns
    of: Ints
    """For each part, the place of its item."""
    number: Ints
    tokens: tuple[bytes, ...]


class PartTable:
    """Rows are those of the vector cache; they are filled when a search returns them for the first time."""

    def __init__(self, size: int) -> None:
        self.known: NDArray[np.bool_] = np.zeros(size, bool)
        """Which rows are filled."""
        self._numbers = np.zeros((size, _AT + 1), np.int64)
        self._tokens = [b""] * size
        self._candidates: list[Candidate | None] = [None] * size
        self._sessions: dict[str, int] = {}
        self._speakers: dict[str, int] = {}

    def grow(self, count: int) -> None:
        self.known = np.append(self.known, np.zeros(count, bool))
        self._numbers = np.append(self._numbers, np.zeros((count, _AT + 1), np.int64), axis=0)
        self._tokens += [b""] * count
        self._candidates += [None] * count

    def put(self, row: int, part: PartDetails) -> None:
        about = part.candidate
        session = -1 if about.session_id is None else self._sessions.setdefault(about.session_id, len(self._sessions))
        speaker = -1 if about.speaker is None else self._speakers.setdefault(about.speaker, len(self._speakers))
        self._numbers[row] = (
            part.item, part.number, about.memory, session, about.position, about.role == "user", speaker, about.asks,
            about.at,
        )  # fmt: skip
        self._tokens[row], self._candidates[row] = part.tokens, about
        self.known[row] = True

    def found(self, rows: Ints) -> FoundParts:
        """These rows, all of which are filled."""
        numbers = self._numbers[rows]
        _, first, item = np.unique(numbers[:, _ITEM], return_index=True, return_inverse=True)
        order = np.argsort(first)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        leading = first[order]
        about = numbers[leading].T
        candidates = [self._candidates[row] for row in rows[leading].tolist()]
        return FoundParts(
            items=tuple([each for each in candidates if each is not None]),
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
            of=place[item],
            number=numbers[:, _NUMBER],
            tokens=tuple([self._tokens[row] for row in rows.tolist()]),
        )
