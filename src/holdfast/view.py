"""A profile as one agent sees it. The one place where that is decided: the whole storage port goes through here.

Reading, an agent gets what its sight covers and nothing else; what it may not see is to it as if it were not there. A
memory that no agent wrote but that rests on something hidden (a roll-up of what several agents said) is hidden too.
Writing, everything carries the agent, whatever the caller says. A key is one memory's in the whole profile: where a
hidden one has it, the write is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeVar

from .errors import AlreadyExists, Conflict, shown
from .graphs import Graphs
from .names import of_document
from .ports import Journal, Store
from .results import Page, Stats
from .rollup import covering
from .shelves import Shelf
from .sights import Sight
from .types import All, Applied, Change, Item, Memory, Message, Part, Probe, Proposals, Test, Vector, Where
from .view_graph import GraphView
from .view_journal import JournalView
from .view_shelf import ShelfView

Kind = TypeVar("Kind", bound=Item)


class View:
    """A Store, as far as a sight reaches."""

    def __init__(self, store: Store, sight: Sight) -> None:
        self._store = store
        self._sight = sight

    async def apply(self, change: Change) -> Applied:
        agent = self._sight.agent
        if agent is not None:
            messages = tuple(replace(message, agent=agent) for message in change.messages)
            memories = tuple(replace(memory, agent=agent) for memory in change.memories)
            change = replace(change, messages=messages, memories=memories)
        if change.forget and not self._sight.whole:  # what is hidden may hold what is forgotten
            also = await covering(self._store, change.forget, change.forget)
            change = replace(change, forget=tuple(dict.fromkeys([*change.forget, *also])))
        try:
            return await self._store.apply(change)
        except Conflict:
            await self._check_taken(change.memories)
            raise

    async def get(self, ids: Sequence[str]) -> list[Item]:
        return await self._visible(await self._store.get(ids))

    async def scan(
        self,
        where: Where | None,
        *,
        now: datetime | None,
        limit: int,
        cursor: str | None = None,
        superseded: bool = False,
        as_of: datetime | None = None,
    ) -> Page:
        found: list[Memory] = []
        while True:
            page = await self._store.scan(
                self._within(where),
                now=now,
                limit=limit - len(found),
                cursor=cursor,
                superseded=superseded,
                as_of=as_of,
            )
            found += await self._visible(page.items)
            cursor = page.cursor
            if cursor is None or len(found) >= limit:
                return Page(tuple(found), cursor)

    async def said(self, session_id: str | None, *, before: int | None = None, limit: int = 1000) -> list[Message]:
        if self._sight.whole:
            return await self._store.said(session_id, before=before, limit=limit)
        reach = limit
        while True:
            read = await self._store.said(session_id, before=before, limit=reach)
            found = [message for message in read if self._sight.sees(message.agent)]
            if len(found) >= limit or len(read) < reach:
                return found[:limit] if before is None else found[-limit:]
            reach *= 4

    async def history(self, id: str) -> list[Memory]:
        versions = await self._visible(await self._store.history(id))
        return versions if any(version.id == id for version in versions) else []

    async def propose(self, probe: Probe) -> Proposals:
        found = await self._store.propose(replace(probe, where=self._within(probe.where)))
        return replace(found, agents=tuple(agent for agent in found.agents if self._sight.sees(agent)))

    async def resting_on(self, messages: Sequence[str]) -> list[Memory]:
        return await self._visible(await self._store.resting_on(messages))

    async def claim(self, *, now: datetime, lease: timedelta, limit: int) -> list[Message]:
        """Digestion is the profile's, nobody's view of it."""
        return []

    async def bare(self, model: str, limit: int) -> list[Part]:
        parts = await self._store.bare(model, limit)
        seen = {item.id for item in await self.get(list(dict.fromkeys(part.item for part in parts)))}
        return [part for part in parts if part.item in seen]

    async def indexed(self, ids: Sequence[str]) -> list[tuple[Part, Vector | None]]:
        return await self._store.indexed([item.id for item in await self.get(ids)])

    async def stats(self, model: str) -> Stats:
        """Counted over what is seen; only the size is the whole profile's."""
        whole = await self._store.stats(model)
        if self._sight.whole:
            return whole
        said = await self.said(None, limit=2**31)
        every = (await self.scan(None, now=None, limit=2**31, superseded=True)).items
        current = [memory for memory in every if memory.current]
        kinds: dict[str, int] = {}
        for memory in current:
            kinds[memory.kind] = kinds.get(memory.kind, 0) + 1
        return replace(
            whole, messages=len(said), memories=len(current), kinds=kinds, superseded=len(every) - len(current),
            sessions=len({m.session_id for m in said if not of_document(m.session_id)}),
            pending=sum(message.pending for message in said),
            failing=sum(message.pending and message.failures > 0 for message in said),
            set_aside=sum(message.aside for message in said),
        )  # fmt: skip

    @property
    def journal(self) -> Journal:
        return self._store.journal if self._sight.whole else JournalView(self._store.journal, self._sight, self)

    @property
    def shelf(self) -> Shelf:
        return ShelfView(self._store.shelf, self._sight)

    @property
    def graph(self) -> Graphs:
        return self._store.graph if self._sight.whole else GraphView(self._store.graph, self._sight, self)

    def _within(self, where: Where | None) -> Where | None:
        rule = self._sight.where()
        return where if rule is None else rule if where is None else All((where, rule))

    async def _visible(self, items: Iterable[Kind]) -> list[Kind]:
        if self._sight.whole:
            return list(items)
        seen = [item for item in items if self._sight.sees(item.agent)]
        rests = {item.id: _rests_on(item) for item in seen if isinstance(item, Memory) and item.agent is None}
        wanted = list({id for ids in rests.values() for id in ids})
        below = await self._store.get(wanted) if wanted else []
        hidden = {item.id for item in below if not self._sight.sees(item.agent)}
        return [item for item in seen if hidden.isdisjoint(rests.get(item.id, ()))]

    async def _check_taken(self, memories: Sequence[Memory]) -> None:
        """Whether somebody was first whom this agent cannot see: reading again would not help."""
        for memory in () if self._sight.whole else memories:
            same: Where = Test("fingerprint", "eq", memory.fingerprint)
            if memory.key is not None:
                same = All((Test("kind", "eq", memory.kind), Test("key", "eq", memory.key)))
            held = (await self._store.scan(same, now=None, limit=10)).items
            hidden = {each.id for each in held} - {each.id for each in await self._visible(held)}
            if hidden and memory.key is not None:
                raise AlreadyExists(
                    f"The key {shown(memory.key)} of kind {memory.kind!r} is another agent's.", field="key",
                    fix="Use another key.",
                )  # fmt: skip
            if hidden:
                raise AlreadyExists("The same is known already, from another agent.", field="content")


def _rests_on(memory: Memory) -> tuple[str, ...]:
    """What it was made from: messages, or memories that it rolls up."""
    covers = memory.metadata.get("covers")
    return (*memory.sources, *(map(str, covers) if isinstance(covers, list) else ()))
