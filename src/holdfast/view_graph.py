"""A profile's graph as one agent sees it: of the memories that it may read, and of decisions about their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from .graphs import SAME_AS, EntityChange, Graphs, Mention, Read, Scope, Tie
from .moments import now
from .ports import Store
from .sights import Sight
from .types import Memory

Row = TypeVar("Row", Mention, Tie)
MOST = 100_000


class GraphView:
    """A Graphs, as far as a sight reaches."""

    def __init__(self, graph: Graphs, sight: Sight, store: Store) -> None:
        self._graph = graph
        self._store = store
        self._agents = tuple(dict.fromkeys([*([sight.agent] if sight.agent else []), *(sight.reads or ())]))

    async def unread(self, version: int, limit: int) -> list[Memory]:
        return await self._graph.unread(version, limit)

    async def learn(self, version: int, read: Sequence[Read]) -> None:
        await self._graph.learn(version, read)

    async def mentions(self, names: Sequence[str], scope: Scope, limit: int) -> list[Mention]:
        return await self._seen(await self._graph.mentions(names, self._own(scope), limit))

    async def ties(self, names: Sequence[str], scope: Scope, limit: int) -> list[Tie]:
        return await self._seen(await self._graph.ties(names, self._own(scope), limit))

    async def aliases(self, scope: Scope, limit: int) -> list[tuple[str, str]]:
        found = await self._graph.aliases(self._own(scope), limit)
        ties = await self.ties([name for pair in found for name in pair], scope, MOST)
        said = {(tie.subject, tie.object) for tie in ties if tie.relation == SAME_AS}
        return [pair for pair in found if pair in said]

    async def counted(self, scope: Scope, limit: int) -> list[tuple[str, int]]:
        names = [name for name, _ in await self._graph.counted(self._own(scope), MOST)]
        found = Counter(each.name for each in await self.mentions(names, scope, MOST))
        return sorted(found.items(), key=lambda each: (-each[1], each[0]))[:limit]

    async def count(self, names: Sequence[Sequence[str]], scope: Scope) -> list[int]:
        found: dict[str, set[str]] = {}
        for each in await self.mentions([name for group in names for name in group], scope, MOST):
            found.setdefault(each.name, set()).add(each.memory)
        return [len(set[str]().union(*(found.get(name, set()) for name in group))) for group in names]

    async def changes(self) -> list[EntityChange]:
        """Those that name nothing which only hidden memories mention."""
        found = await self._graph.changes()
        names = list(dict.fromkeys(name for change in found for name in (change.entity, *change.names)))
        ever, groups = Scope(now(), past=True), [[name] for name in names]
        whole, own = await self._graph.count(groups, ever), await self.count(groups, ever)
        hidden = {name for name, all_of_it, seen in zip(names, whole, own, strict=True) if all_of_it and not seen}
        return [change for change in found if not hidden & {change.entity, *change.names}]

    async def keep(self, change: EntityChange) -> None:
        await self._graph.keep(change)

    async def undo(self, id: str) -> bool:
        return any(change.id == id for change in await self.changes()) and await self._graph.undo(id)

    async def _seen(self, found: list[Row]) -> list[Row]:
        """What an agent did not write may still rest on what it may not see."""
        ids = list(dict.fromkeys(each.memory for each in found))
        seen = {item.id for item in await self._store.get(ids)}
        return [each for each in found if each.memory in seen]

    def _own(self, scope: Scope) -> Scope:
        return replace(scope, agents=self._agents)
