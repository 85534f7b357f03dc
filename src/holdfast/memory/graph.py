"""One profile's entities, in lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from ..graphs import SAME_AS, EntityChange, Mention, Read, Scope, Tie, remaining
from ..types import Forgotten, Memory
from .state import State, expired


class MemoryGraph:
    def __init__(self, state: Callable[[], State]) -> None:
        self._state = state
        self._version = 0
        self._read: dict[str, Read] = {}
        self._changes: list[EntityChange] = []

    async def unread(self, version: int, limit: int) -> list[Memory]:
        known = self._read if version == self._version else {}
        return [memory for memory in self._memories() if memory.id not in known][:limit]

    async def learn(self, version: int, read: Sequence[Read]) -> None:
        if version != self._version:
            self._version, self._read = version, {}
        there = {memory.id for memory in self._memories()}
        self._read |= {each.memory: each for each in read if each.memory in there and each.memory not in self._read}

    async def mentions(self, names: Sequence[str], scope: Scope, limit: int) -> list[Mention]:
        seen = [each for memory in self._seen(scope) for each in self._of(memory).mentions]
        return [each for name in dict.fromkeys(names) for each in [m for m in seen if m.name == name][:limit]]

    async def ties(self, names: Sequence[str], scope: Scope, limit: int) -> list[Tie]:
        seen = [tie for memory in self._seen(scope) for tie in self._ties(memory, scope)]
        found = {tie for name in names for tie in [t for t in seen if name in (t.subject, t.object)][:limit]}
        return [tie for tie in seen if tie in found]

    async def aliases(self, scope: Scope, limit: int) -> list[tuple[str, str]]:
        seen = [tie for memory in self._seen(scope) for tie in self._ties(memory, scope)]
        return [(tie.subject, tie.object) for tie in seen if tie.relation == SAME_AS][:limit]

    async def counted(self, scope: Scope, limit: int) -> list[tuple[str, int]]:
        found = Counter(each.name for memory in self._seen(scope) for each in self._of(memory).mentions)
        return sorted(found.items(), key=lambda each: (-each[1], each[0]))[:limit]

    async def count(self, names: Sequence[Sequence[str]], scope: Scope) -> list[int]:
        seen = [{each.name for each in self._of(memory).mentions} for memory in self._seen(scope)]
        return [sum(bool(mentioned & set(group)) for mentioned in seen) for group in names]

    async def changes(self) -> list[EntityChange]:
        return list(self._changes)

    async def keep(self, change: EntityChange) -> None:
        self._changes.append(change)

    async def undo(self, id: str) -> bool:
        before = len(self._changes)
        self._changes = [change for change in self._changes if change.id != id]
        return len(self._changes) < before

    def forget(self, gone: Forgotten) -> None:
        names = {each.name for id in gone.memories for each in self._read.pop(id, Read(id)).mentions}
        left = {each.name for read in self._read.values() for each in read.mentions}
        self._changes = remaining(self._changes, names - left, set(gone.memories))

    def _of(self, memory: Memory) -> Read:
        return self._read.get(memory.id, Read(memory.id))

    def _ties(self, memory: Memory, scope: Scope) -> list[Tie]:
        came = self._succeeded(memory)
        ended = came if came is not None and (scope.as_of is None or came <= scope.as_of) else None
        ends = [(tie, [at for at in (tie.until, ended) if at is not None]) for tie in self._of(memory).ties]
        return [replace(tie, until=min(found)) if found else tie for tie, found in ends]

    def _succeeded(self, memory: Memory) -> datetime | None:
        next_one = self._state().items.get(memory.superseded_by or "")
        return next_one.updated_at if isinstance(next_one, Memory) else None

    def _seen(self, scope: Scope) -> list[Memory]:
        """Newest first."""
        return [memory for memory in reversed(self._memories()) if self._counts(memory, scope)]

    def _counts(self, memory: Memory, scope: Scope) -> bool:
        if expired(memory, scope.as_of or scope.now) or (scope.as_of is not None and memory.updated_at > scope.as_of):
            return False
        if scope.agents is not None and memory.agent is not None and memory.agent not in scope.agents:
            return False
        came = self._succeeded(memory)
        return scope.past or memory.current or (scope.as_of is not None and came is not None and came > scope.as_of)

    def _memories(self) -> list[Memory]:
        state = self._state()
        found = [item for item in state.items.values() if isinstance(item, Memory)]
        return sorted(found, key=lambda memory: state.order[memory.id])
