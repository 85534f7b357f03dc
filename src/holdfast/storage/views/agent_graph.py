"""A profile's graph as one agent sees it: from the memories it may read, and the entity changes about their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from holdfast.domain.graph import SAME_AS, EntityChange, MemoryReading, Mention, Scope, Tie
from holdfast.domain.ports.graph import GraphStore
from holdfast.domain.ports.storage import Store
from holdfast.domain.timestamps import now
from holdfast.domain.types import Memory
from holdfast.domain.visibility import Visibility

Row = TypeVar("Row", Mention, Tie)
MAX_ROWS = 100_000
"""How many rows are read from the store before filtering. Chosen by hand; not measured."""


class AgentGraphStore:
    """A GraphStore limited to what an agent may see."""

    def __init__(self, graph: GraphStore, visibility: Visibility, store: Store) -> None:
        self._graph = graph
        self._store = store
        self._agents = tuple(
            dict.fromkeys([*([visibility.agent] if visibility.agent else []), *(visibility.reads or ())])
        )

    async def unread(self, version: int, limit: int) -> list[Memory]:
        return await self._graph.unread(version, limit)

    async def learn(self, version: int, read: Sequence[MemoryReading]) -> None:
        await self._graph.learn(version, read)

    async def mentions(self, names: Sequence[str], scope: Scope, limit: int) -> list[Mention]:
        return await self._visible_rows(await self._graph.mentions(names, self._agent_scope(scope), limit))

    async def ties(self, names: Sequence[str], scope: Scope, limit: int) -> list[Tie]:
        return await self._visible_rows(await self._graph.ties(names, self._agent_scope(scope), limit))

    async def aliases(self, scope: Scope, limit: int) -> list[tuple[str, str]]:
        found = await self._graph.aliases(self._agent_scope(scope), limit)
        ties = await self.ties([name for pair in found for name in pair], scope, MAX_ROWS)
        stated = {(tie.subject, tie.object) for tie in ties if tie.relation == SAME_AS}
        return [pair for pair in found if pair in stated]

    async def counted(self, scope: Scope, limit: int) -> list[tuple[str, int]]:
        names = [name for name, _ in await self._graph.counted(self._agent_scope(scope), MAX_ROWS)]
        found = Counter(each.name for each in await self.mentions(names, scope, MAX_ROWS))
        return sorted(found.items(), key=lambda each: (-each[1], each[0]))[:limit]

    async def count(self, names: Sequence[Sequence[str]], scope: Scope) -> list[int]:
        found: dict[str, set[str]] = {}
        for each in await self.mentions([name for group in names for name in group], scope, MAX_ROWS):
            found.setdefault(each.name, set()).add(each.memory)
        return [len(set[str]().union(*(found.get(name, set()) for name in group))) for group in names]

    async def changes(self) -> list[EntityChange]:
        """The entity changes without those that contain a name which only hidden memories mention."""
        found = await self._graph.changes()
        names = list(dict.fromkeys(name for change in found for name in (change.entity, *change.names)))
        ever, groups = Scope(now(), past=True), [[name] for name in names]
        whole, own = await self._graph.count(groups, ever), await self.count(groups, ever)
        hidden = {name for name, total, visible in zip(names, whole, own, strict=True) if total and not visible}
        return [change for change in found if not hidden & {change.entity, *change.names}]

    async def keep(self, change: EntityChange) -> None:
        await self._graph.keep(change)

    async def undo(self, id: str) -> bool:
        return any(change.id == id for change in await self.changes()) and await self._graph.undo(id)

    async def _visible_rows(self, found: list[Row]) -> list[Row]:
        """Leave out rows of memories that no agent wrote but that rest on hidden ones."""
        ids = list(dict.fromkeys(each.memory for each in found))
        seen = {item.ref for item in await self._store.get(ids)}
        return [each for each in found if each.memory in seen]

    def _agent_scope(self, scope: Scope) -> Scope:
        return replace(scope, agents=self._agents)
