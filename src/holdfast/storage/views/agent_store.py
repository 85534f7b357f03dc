"""A profile as one agent sees it. Visibility is enforced here and nowhere else: it wraps the whole storage port.

An agent reads the items it may see; all other items do not exist for it. A memory that no agent wrote but that rests on
a hidden item (a roll-up of several agents' messages) is hidden too. Everything the agent writes carries its name,
whatever the caller passes. A key has one current memory in the whole profile: if a hidden memory has the key, the write
is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from holdfast.domain.errors import AlreadyExists, Conflict, quoted_value
from holdfast.domain.identifiers import is_document_session
from holdfast.domain.ports.documents import DocumentStore
from holdfast.domain.ports.graph import GraphStore
from holdfast.domain.ports.search import Probe, Proposals
from holdfast.domain.ports.storage import PAST_LAST_POSITION, Journal, Store
from holdfast.domain.results import MessagePage, Page, Stats
from holdfast.domain.timestamps import counts_by_day
from holdfast.domain.types import All, Applied, Change, Facet, Item, Memory, Message, Order, Part, Test, Vector, Where
from holdfast.domain.visibility import Visibility
from holdfast.storage.facets import count_by_reading, read_messages
from holdfast.storage.summary_cover import covered_ids, find_covering_summaries, load_made_from
from holdfast.storage.views.agent_documents import AgentDocumentStore
from holdfast.storage.views.agent_graph import AgentGraphStore
from holdfast.storage.views.agent_journal import AgentJournal

AnyItem = TypeVar("AnyItem", bound=Item)


class AgentStore:
    """A Store limited to what an agent may see."""

    def __init__(self, store: Store, visibility: Visibility) -> None:
        self._store = store
        self._visibility = visibility

    async def apply(self, change: Change) -> Applied:
        agent = self._visibility.agent
        if agent is not None:
            messages = tuple(replace(message, agent=agent) for message in change.messages)
            memories = tuple(replace(memory, agent=agent) for memory in change.memories)
            change = replace(change, messages=messages, memories=memories)
        if not self._visibility.whole:  # what others asked is hidden, and so are their sessions
            change = replace(change, asked_by=agent or "")
        if (change.forget or change.shorten) and not self._visibility.whole:
            change = await self._with_hidden_items(change)
        if change.follows is not None and not self._visibility.whole:
            change = replace(change, follows=await self._whole_end(*change.follows))
        try:
            return await self._store.apply(change)
        except Conflict:
            await self._check_taken(change.memories)
            raise

    async def _with_hidden_items(self, change: Change) -> Change:
        """The change with the hidden summaries of what it forgets, which may repeat it, and with the hidden memories
        that rest on messages it shortens: they stay."""
        messages = [each.message for each in change.shorten]
        summaries = await find_covering_summaries(self._store, [*change.forget, *messages], change.forget)
        resting = await self._store.resting_on(messages) if messages else []
        shorten = []
        for each in change.shorten:
            here = [memory for memory in resting if each.message in memory.sources]
            hidden = {memory.ref for memory in here} - {memory.ref for memory in await self._visible(here)}
            shorten.append(replace(each, resting=each.resting | hidden))
        forget = tuple(dict.fromkeys([*change.forget, *summaries]))
        return replace(change, forget=forget, shorten=tuple(shorten))

    async def get(self, ids: Sequence[str]) -> list[Item]:
        """Where the newest version of a memory is hidden, its id stands for the newest version that the agent sees."""
        found = await self._store.get(ids)
        visible = {item.ref: item for item in await self._visible(found)}
        if len(visible) == len(found):
            return found
        wanted = [visible.get(item.ref) or await self._newest_visible(item, ids) for item in found]
        return [item for item in wanted if item is not None]

    async def _newest_visible(self, item: Item, ids: Sequence[str]) -> Item | None:
        if isinstance(item, Message) or item.ref in ids:
            return None
        versions = [version for version in await self._store.history(item.ref) if version.id == item.id]
        return max(await self._visible(versions), key=lambda version: version.version, default=None)

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
        whole = self._visibility.whole
        found: list[Memory] = []
        while True:
            page = await self._store.scan(
                self._visible_where(where), now=now, limit=limit - len(found), cursor=cursor, superseded=superseded,
                as_of=as_of, order=order, count=count if whole else None,
            )  # fmt: skip
            found += await self._visible(page.items)
            cursor = page.cursor
            if cursor is None or len(found) >= limit:
                break
        if whole or count is None:
            return replace(page, items=tuple(found))
        # Whether the agent sees a memory may depend on what that rests on, so each is read.
        how: Any = {"now": now, "superseded": superseded, "as_of": as_of}
        return Page(tuple(found), cursor).counted(await count_by_reading(self, where, by=count, **how))

    async def messages(
        self, session_id: str | None, *, before: int | None = None, limit: int = 1000, cursor: str | None = None
    ) -> MessagePage:
        if self._visibility.whole:
            return await self._store.messages(session_id, before=before, limit=limit, cursor=cursor)
        if before is None:
            return await read_messages(self._store, session_id, limit, cursor, lambda m: self._visibility.sees(m.agent))
        batch = limit
        while True:
            read = await self._store.messages(session_id, before=before, limit=batch)
            found = [message for message in read if self._visibility.sees(message.agent)]
            if len(found) >= limit or len(read) < batch:
                return MessagePage(tuple(found[-limit:]))
            batch *= 4

    async def history(self, id: str) -> list[Memory]:
        versions = await self._visible(await self._store.history(id))
        return versions if await self.get([id]) else []

    async def propose(self, probe: Probe) -> Proposals:
        found = await self._store.propose(replace(probe, where=self._visible_where(probe.where)))
        return replace(found, agents=tuple(agent for agent in found.agents if self._visibility.sees(agent)))

    async def resting_on(self, messages: Sequence[str]) -> list[Memory]:
        return await self._visible(await self._store.resting_on(messages))

    async def claim(self, *, now: datetime, lease: timedelta, limit: int, max_bytes: int = 2**62) -> list[Message]:
        """Always empty: messages are digested through the profile's own store, not through an agent's view."""
        return []

    async def unembedded_parts(self, model: str, limit: int) -> list[Part]:
        parts = await self._store.unembedded_parts(model, limit)
        seen = {item.ref for item in await self.get(list(dict.fromkeys(part.item for part in parts)))}
        return [part for part in parts if part.item in seen]

    async def indexed(self, ids: Sequence[str]) -> list[tuple[Part, Vector | None]]:
        return await self._store.indexed([item.ref for item in await self.get(ids)])

    async def stats(self, model: str, *, only_waiting: bool = False) -> Stats:
        """Count what the agent sees; the size is that of the texts it sees."""
        whole = await self._store.stats(model, only_waiting=only_waiting and self._visibility.whole)
        if self._visibility.whole:
            return whole
        said = await self.messages(None, limit=2**31)
        every = (await self.scan(None, now=None, limit=2**31, superseded=True)).items
        current = [memory for memory in every if memory.current]
        kinds: dict[str, int] = {}
        for memory in current:
            kinds[memory.kind] = kinds.get(memory.kind, 0) + 1
        return replace(
            whole, messages=len(said), memories=len(current), kinds=kinds, superseded=len(every) - len(current),
            sessions=len({m.session_id for m in said if not is_document_session(m.session_id)}),
            pending=sum(message.pending for message in said),
            failing=sum(message.pending and message.failures > 0 for message in said),
            set_aside=sum(message.aside for message in said),
            unembedded=len(await self.unembedded_parts(model, 2**31)),
            bytes=sum(len(text.encode()) for text in (*(m.content for m in said), *(m.content for m in every))),
            said_on=counts_by_day(each.said_at for each in said),
            written_on=counts_by_day(each.updated_at for each in every),
        )  # fmt: skip

    @property
    def journal(self) -> Journal:
        return (
            self._store.journal if self._visibility.whole else AgentJournal(self._store.journal, self._visibility, self)
        )

    @property
    def documents(self) -> DocumentStore:
        return AgentDocumentStore(self._store.documents, self._visibility)

    @property
    def graph(self) -> GraphStore:
        return (
            self._store.graph if self._visibility.whole else AgentGraphStore(self._store.graph, self._visibility, self)
        )

    def _visible_where(self, where: Where | None) -> Where | None:
        rule = self._visibility.where()
        return where if rule is None else rule if where is None else All((where, rule))

    async def _visible(self, items: Iterable[AnyItem]) -> list[AnyItem]:
        if self._visibility.whole:
            return list(items)
        seen = [item for item in items if self._visibility.sees(item.agent)]
        sources = {item.ref: _source_ids(item) for item in seen if isinstance(item, Memory) and item.agent is None}
        wanted = list({id for ids in sources.values() for id in ids})
        made_from = await load_made_from(self._store, wanted) if wanted else {}
        hidden = {name for name, item in made_from.items() if not self._visibility.sees(item.agent)}
        return [item for item in seen if hidden.isdisjoint(sources.get(item.ref, ()))]

    async def _whole_end(self, session_id: str, position: int) -> tuple[str, int]:
        """The end of a session, hidden messages included, if the last visible message is still at this position."""
        last = await self._store.messages(session_id, before=PAST_LAST_POSITION, limit=1)
        visible = await self.messages(session_id, before=PAST_LAST_POSITION, limit=1)
        if (visible[0].position if visible else 0) != position:
            raise Conflict("Another request wrote to the session at the same time.")
        return session_id, last[0].position if last else 0

    async def _check_taken(self, memories: Sequence[Memory]) -> None:
        """Raise AlreadyExists when a hidden memory caused the conflict: reading again would not help."""
        for memory in () if self._visibility.whole else memories:
            same: Where = Test("fingerprint", "eq", memory.fingerprint)
            if memory.key is not None:
                same = All((Test("kind", "eq", memory.kind), Test("key", "eq", memory.key)))
            current = (await self._store.scan(same, now=None, limit=10)).items
            hidden = {each.id for each in current} - {each.id for each in await self._visible(current)}
            if hidden and memory.key is not None:
                raise AlreadyExists(
                    f"The key {quoted_value(memory.key)} of kind {memory.kind!r} belongs to another agent.",
                    field="key", fix="Use another key.",
                )  # fmt: skip
            if hidden:
                raise AlreadyExists("Another agent has already written the same memory.", field="content")


def _source_ids(memory: Memory) -> tuple[str, ...]:
    """The messages, or the rolled-up memories, that a memory was made from."""
    return (*memory.sources, *covered_ids(memory))
