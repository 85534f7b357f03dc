"""One profile's entities, mentions and ties in lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from datetime import datetime

from holdfast.domain.erasure import RemovedVersion
from holdfast.domain.graph import (
    SAME_AS,
    EntityChange,
    MemoryReading,
    Mention,
    Scope,
    Tie,
    changes_left,
)
from holdfast.domain.types import Memory
from holdfast.storage.in_memory.state import ProfileState, is_expired


class MemoryGraphStore:
    def __init__(self, state: Callable[[], ProfileState]) -> None:
        self._state = state
        self._version = 0
        self._read: dict[str, MemoryReading] = {}
        self._changes: list[EntityChange] = []

    async def unread(self, version: int, limit: int) -> list[Memory]:
        known = self._read if version == self._version else {}
        return [memory for memory in self._memories() if memory.ref not in known][:limit]

    async def learn(self, version: int, read: Sequence[MemoryReading]) -> None:
        if version != self._version:
            self._version, self._read = version, {}
        existing = {memory.ref for memory in self._memories()}
        self._read |= {each.memory: each for each in read if each.memory in existing and each.memory not in self._read}

    async def mentions(self, names: Sequence[str], scope: Scope, limit: int) -> list[Mention]:
        visible = [each for memory in self._visible(scope) for each in self._reading(memory).mentions]
        return [each for name in dict.fromkeys(names) for each in [m for m in visible if m.name == name][:limit]]

    async def ties(self, names: Sequence[str], scope: Scope, limit: int) -> list[Tie]:
        visible = [tie for memory in self._visible(scope) for tie in self._ties(memory, scope)]
        found = {tie for name in names for tie in [t for t in visible if name in (t.subject, t.object)][:limit]}
        return [tie for tie in visible if tie in found]

    async def aliases(self, scope: Scope, limit: int) -> list[tuple[str, str]]:
        visible = [tie for memory in self._visible(scope) for tie in self._ties(memory, scope)]
        return [(tie.subject, tie.object) for tie in visible if tie.relation == SAME_AS][:limit]

    async def counted(self, scope: Scope, limit: int) -> list[tuple[str, int]]:
        found = Counter(each.name for memory in self._visible(scope) for each in self._reading(memory).mentions)
        return sorted(found.items(), key=lambda each: (-each[1], each[0]))[:limit]

    async def count(self, names: Sequence[Sequence[str]], scope: Scope) -> list[int]:
        visible = [{each.name for each in self._reading(memory).mentions} for memory in self._visible(scope)]
        return [sum(bool(mentioned & set(group)) for mentioned in visible) for group in names]

    async def changes(self) -> list[EntityChange]:
        return list(self._changes)

    async def keep(self, change: EntityChange) -> None:
        self._changes.append(change)

    async def undo(self, id: str) -> bool:
        before = len(self._changes)
        self._changes = [change for change in self._changes if change.id != id]
        return len(self._changes) < before

    def delete_of(self, removed: Sequence[RemovedVersion], gone: Set[str], people: Sequence[str]) -> None:
        """Delete what forgotten versions mentioned, and remove it, the ids that are gone and forgotten people from the
        entity changes."""
        read = [self._read.pop(each.ref, MemoryReading(each.ref)) for each in removed]
        names = {each.name for one in read for each in one.mentions}
        still_mentioned = {each.name for read in self._read.values() for each in read.mentions}
        self._changes = changes_left(self._changes, names - still_mentioned, gone, people)

    def _reading(self, memory: Memory) -> MemoryReading:
        return self._read.get(memory.ref, MemoryReading(memory.ref))

    def _ties(self, memory: Memory, scope: Scope) -> list[Tie]:
        newer = self._superseded_at(memory)
        ended = newer if newer is not None and (scope.as_of is None or newer <= scope.as_of) else None
        end_times = [(tie, [at for at in (tie.until, ended) if at is not None]) for tie in self._reading(memory).ties]
        return [replace(tie, until=min(found)) if found else tie for tie, found in end_times]

    def _superseded_at(self, memory: Memory) -> datetime | None:
        next_one = self._state().items.get(memory.superseded_by or "")
        return next_one.updated_at if isinstance(next_one, Memory) else None

    def _visible(self, scope: Scope) -> list[Memory]:
        """The memories in the scope, newest first."""
        return [memory for memory in reversed(self._memories()) if self._in_scope(memory, scope)]

    def _in_scope(self, memory: Memory, scope: Scope) -> bool:
        if is_expired(memory, scope.as_of or scope.now) or memory.retired:
            return False
        if scope.as_of is not None and memory.updated_at > scope.as_of:
            return False
        if scope.agents is not None and memory.agent is not None and memory.agent not in scope.agents:
            return False
        newer = self._superseded_at(memory)
        return scope.past or memory.current or (scope.as_of is not None and newer is not None and newer > scope.as_of)

    def _memories(self) -> list[Memory]:
        state = self._state()
        found = [item for item in state.items.values() if isinstance(item, Memory)]
        return sorted(found, key=lambda memory: state.order[memory.ref])
