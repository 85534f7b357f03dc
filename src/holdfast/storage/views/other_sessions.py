"""A profile without one session: what an agent does not have in its window already.

Messages of the session are left out, and so are memories that rest on nothing else: all their messages are of the
session, or, where a memory has no message, it was written in the session. A memory that another session states as well
stays. A roll-up of memories rests on the messages of the memories that it covers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from holdfast.domain.errors import ReadOnly
from holdfast.domain.ports.documents import DocumentStore
from holdfast.domain.ports.graph import GraphStore
from holdfast.domain.ports.search import Probe, Proposals
from holdfast.domain.ports.storage import Journal, Store
from holdfast.domain.results import MessagePage, Page, Stats
from holdfast.domain.types import (
    All,
    Applied,
    Change,
    Either,
    Facet,
    Item,
    Memory,
    Message,
    Not,
    Order,
    Part,
    Test,
    Vector,
    Where,
)
from holdfast.storage.facets import count_by_reading
from holdfast.storage.summary_cover import covered_ids

AnItem = TypeVar("AnItem", Memory, Item)
MAX_READ = 2**31
MAX_SHARED = 1000
"""How many memories of the session that rest on others too can be found. Chosen by hand: it bounds the query."""


@dataclass(frozen=True, slots=True)
class OtherSessionsStore:
    """A read-only Store without what belongs to one session only. `messages` lists all, for the ranker reads from it
    which session is running and what was said before a message; no hit is made of them."""

    store: Store
    session: str

    async def get(self, ids: Sequence[str]) -> list[Item]:
        return await self._of_others(await self.store.get(ids))

    async def scan(
        self,
        where: Where | None,
        *,
        now: datetime | None,
        limit: int,
        cursor: str | None = None,
        superseded: bool = False,
        as_of: datetime | None = None,
        order: Order = "written",
        count: Sequence[Facet] | None = None,
    ) -> Page:
        found: list[Memory] = []
        narrowed = await self._narrowed(where)
        while True:
            page = await self.store.scan(
                narrowed, now=now, limit=limit - len(found), cursor=cursor, superseded=superseded, as_of=as_of,
                order=order,
            )  # fmt: skip
            found += await self._of_others(page.items)
            cursor = page.cursor
            if cursor is None or len(found) >= limit:
                break
        listed = Page(tuple(found), cursor)
        how: Any = {"now": now, "superseded": superseded, "as_of": as_of}
        return listed if count is None else listed.counted(await count_by_reading(self, where, by=count, **how))

    async def messages(
        self, session_id: str | None, *, before: int | None = None, limit: int = 1000, cursor: str | None = None
    ) -> MessagePage:
        return await self.store.messages(session_id, before=before, limit=limit, cursor=cursor)

    async def history(self, id: str) -> list[Memory]:
        return await self._of_others(await self.store.history(id))

    async def propose(self, probe: Probe) -> Proposals:
        return await self.store.propose(replace(probe, where=await self._narrowed(probe.where)))

    async def resting_on(self, messages: Sequence[str]) -> list[Memory]:
        return await self._of_others(await self.store.resting_on(messages))

    async def indexed(self, ids: Sequence[str]) -> list[tuple[Part, Vector | None]]:
        return await self.store.indexed([item.ref for item in await self.get(ids)])

    async def unembedded_parts(self, model: str, limit: int) -> list[Part]:
        return await self.store.unembedded_parts(model, limit)

    async def stats(self, model: str, *, only_waiting: bool = False) -> Stats:
        return await self.store.stats(model, only_waiting=only_waiting)

    async def apply(self, change: Change) -> Applied:
        raise ReadOnly("A view without one session cannot be changed.", fix="Write without exclude_session.")

    async def claim(self, *, now: datetime, lease: timedelta, limit: int, max_bytes: int = 2**62) -> list[Message]:
        raise ReadOnly("A view without one session cannot be changed.", fix="Write without exclude_session.")

    @property
    def journal(self) -> Journal:
        return self.store.journal

    @property
    def documents(self) -> DocumentStore:
        return self.store.documents

    @property
    def graph(self) -> GraphStore:
        return self.store.graph

    async def superseded_in_session(self, memories: Sequence[Memory]) -> list[Memory]:
        """Those of the memories whose current successor is left out: what they state is not true any more."""
        ended = [memory for memory in memories if not memory.current and not memory.retired]
        heads = [(await self.store.history(memory.ref))[:1] for memory in ended]
        shown = {head.ref for head in await self._of_others([each for head in heads for each in head])}
        return [memory for memory, head in zip(ended, heads, strict=True) if head and head[0].ref not in shown]

    async def _narrowed(self, where: Where | None) -> Where:
        """The condition in the store, so that what is left out takes no place among the candidates: another session's,
        or a memory of this session that rests on others too. What only the sources show is left out by `get`."""
        of_session: Where = Test("session_id", "eq", self.session)
        page = await self.store.scan(of_session, now=None, limit=MAX_READ, superseded=True)
        shared = list(dict.fromkeys(memory.id for memory in await self._of_others(page.items)))
        others: Where = Not(of_session)
        if shared:
            others = Either((others, Test("id", "in", tuple(shared[:MAX_SHARED]))))
        return others if where is None else All((where, others))

    async def _of_others(self, items: Iterable[AnItem]) -> list[AnItem]:
        read = list(items)
        sources = await self._by_id({id for item in read for id in _source_ids(item)})
        covered = {id for item in sources.values() if isinstance(item, Memory) for id in item.sources}
        sources |= await self._by_id(covered - sources.keys())
        return [item for item in read if _sessions(item, sources) != {self.session}]

    async def _by_id(self, ids: Set[str]) -> dict[str, Item]:
        found = await self.store.get(sorted(ids)) if ids else []
        return {name: item for item in found for name in (item.id, item.ref)}


def _source_ids(item: Item) -> tuple[str, ...]:
    return (*item.sources, *covered_ids(item)) if isinstance(item, Memory) else ()


def _sessions(item: Item, sources: Mapping[str, Item]) -> set[str | None]:
    """The sessions that an item rests on: those of its messages and of the memories it covers, else its own."""
    if isinstance(item, Message):
        return {item.session_id}
    found = _message_sessions(item, sources)
    for id in covered_ids(item):
        if isinstance(covered := sources.get(id), Memory):
            found |= _message_sessions(covered, sources) or {covered.session_id}
    return found or {item.session_id}


def _message_sessions(memory: Memory, sources: Mapping[str, Item]) -> set[str | None]:
    return {sources[id].session_id for id in memory.sources if id in sources}
