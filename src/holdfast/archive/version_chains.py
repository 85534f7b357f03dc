"""Reads memories of format 1, where each version had an id of its own, as versions of one id.

The id of a chain's newest version becomes the id of all; migration 0010 of the backends does the same to stored rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from holdfast.domain.identifiers import version_reference
from holdfast.domain.types import Memory
from holdfast.ingest.remember import MANUAL_EXTRACTOR


class _Superseded(NamedTuple):
    id: str
    place: tuple[str, str | None]
    version: int


class VersionChains:
    """Collects the memories of an archive in order, each after what it supersedes; then converts them."""

    def __init__(self) -> None:
        self._superseded: dict[str, list[_Superseded]] = {}
        """Id of a memory to come → what it supersedes."""
        self._next: dict[str, str] = {}
        """Version → the next version of the same memory."""
        self._numbers: dict[str, int] = {}

    def add(self, memory: Memory) -> None:
        """Take the next memory: it continues the longest chain of those it supersedes that have its key or, when
        somebody wrote it, of all of them."""
        number, place = memory.version, (memory.kind, memory.key)
        manual = memory.extractor == MANUAL_EXTRACTOR or memory.extractor.startswith(f"{MANUAL_EXTRACTOR}:")
        older = self._superseded.pop(memory.id, [])
        chains = [each for each in older if manual or (memory.key is not None and each.place == place)]
        if chains:
            lead = min(chains, key=lambda each: (-each.version, each.place != place))
            self._next[lead.id] = memory.id
            number = max(number, self._numbers[lead.id] + 1)
        if memory.superseded_by is not None:
            entry = _Superseded(memory.id, place, memory.version)
            self._superseded.setdefault(memory.superseded_by, []).append(entry)
        if older or memory.superseded_by is not None:
            self._numbers[memory.id] = number

    def reference(self, id: str) -> str:
        return version_reference(self._newest(id), self._numbers.get(id, 1))

    def converted(self, memory: Memory) -> Memory:
        """The memory as a version of its chain."""
        id = self._newest(memory.id)
        return replace(
            memory, id=id, version=self._numbers.get(memory.id, memory.version),
            origin=None if id == memory.id else memory.id,
            superseded_by=None if memory.superseded_by is None else self.reference(memory.superseded_by),
        )  # fmt: skip

    def _newest(self, id: str) -> str:
        path = [id]
        while path[-1] in self._next:
            path.append(self._next[path[-1]])
        for each in path[:-1]:
            self._next[each] = path[-1]
        return path[-1]
