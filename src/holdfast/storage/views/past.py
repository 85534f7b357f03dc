"""A profile's memory at a past moment: a read-only Store computed from the current one, without copies.

A message was known from its arrival on. A version of a memory was known from its writing (`updated_at`; a migrated
version keeps the `created_at` of the first) until its successor was written or it expired. Items forgotten since then
are missing from the past too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from holdfast.domain.errors import ReadOnly
from holdfast.domain.ports.documents import DocumentStore
from holdfast.domain.ports.graph import GraphStore
from holdfast.domain.ports.search import Probe, Proposals
from holdfast.domain.ports.storage import Journal, Store
from holdfast.domain.results import MessagePage, Page, Stats
from holdfast.domain.types import Applied, Change, Facet, Item, Memory, Message, Order, Part, Vector, Where
from holdfast.storage.facets import count_by_reading, read_messages

AnItem = TypeVar("AnItem", Message, Memory, Item)
READ_AHEAD_FACTOR = 8
"""How much more is read next when a batch had too few messages of that time. Chosen by hand; not measured."""


def existed_at(item: Item, at: datetime) -> bool:
    return (item.created_at if isinstance(item, Message) else item.updated_at) <= at


class TimeReference(NamedTuple):
    """The time of the question, to which "yesterday" is relative, and the past moment to answer for (None: now)."""

    asked_at: datetime
    as_of: datetime | None


@dataclass(frozen=True, slots=True)
class PastStore:
    """A Store as it was at a moment."""

    store: Store
    at: datetime

    async def get(self, ids: Sequence[str]) -> list[Item]:
        """The id of a memory stands for the newest version that existed then."""
        found = [await self._version_then(item, ids) for item in await self.store.get(ids)]
        return await self._existing_then(found)

    async def _version_then(self, item: Item, ids: Sequence[str]) -> Item:
        if isinstance(item, Message) or item.ref in ids or existed_at(item, self.at):
            return item
        versions = [version for version in await self.store.history(item.ref) if version.id == item.id]
        return max((v for v in versions if existed_at(v, self.at)), key=lambda v: v.version, default=item)

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
        page = await self.store.scan(
            where, now=None if now is None else self.at, limit=limit, cursor=cursor, superseded=superseded,
            as_of=self.at if as_of is None else min(as_of, self.at), order=order, count=None if count else count,
        )  # fmt: skip
        page = replace(page, items=tuple(await self._existing_then(page.items)))
        if not count:
            return page
        how: Any = {"now": now, "superseded": superseded, "as_of": as_of}  # a person counts for what had arrived
        return page.counted(await count_by_reading(self, where, by=count, **how))

    async def messages(
        self, session_id: str | None, *, before: int | None = None, limit: int = 1000, cursor: str | None = None
    ) -> MessagePage:
        if before is None:
            return await read_messages(self.store, session_id, limit, cursor, lambda m: existed_at(m, self.at))
        batch = limit
        while True:
            some = await self.store.messages(session_id, before=before, limit=batch)
            known = [message for message in some if existed_at(message, self.at)]
            if len(known) >= limit or len(some) < batch:
                return MessagePage(tuple(known[-limit:]))
            batch *= READ_AHEAD_FACTOR

    async def history(self, id: str) -> list[Memory]:
        """List the versions that existed then: of this memory, or of its predecessors if it was written later."""
        versions = await self._existing_then(await self.store.history(id))
        connected, size = {each.ref for each in versions if id in (each.id, each.ref, each.draft_id)}, 0
        if not connected:
            return versions
        while len(connected) > size:
            size = len(connected)
            connected |= {
                each.superseded_by for each in versions if each.ref in connected and each.superseded_by is not None
            }
            connected |= {each.ref for each in versions if each.superseded_by in connected}
        return [version for version in versions if version.ref in connected]

    async def propose(self, probe: Probe) -> Proposals:
        return await self.store.propose(replace(probe, as_of=self.at, now=self.at))

    async def resting_on(self, messages: Sequence[str]) -> list[Memory]:
        return await self._existing_then(await self.store.resting_on(messages))

    async def indexed(self, ids: Sequence[str]) -> list[tuple[Part, Vector | None]]:
        return await self.store.indexed([item.ref for item in await self.get(ids)])

    async def unembedded_parts(self, model: str, limit: int) -> list[Part]:
        return await self.store.unembedded_parts(model, limit)

    async def stats(self, model: str, *, only_waiting: bool = False) -> Stats:
        return await self.store.stats(model, only_waiting=only_waiting)

    async def apply(self, change: Change) -> Applied:
        raise ReadOnly("The past cannot be changed.", fix="Write without as_of.")

    async def claim(self, *, now: datetime, lease: timedelta, limit: int, max_bytes: int = 2**62) -> list[Message]:
        raise ReadOnly("The past cannot be changed.", fix="Write without as_of.")

    @property
    def journal(self) -> Journal:
        return self.store.journal

    @property
    def documents(self) -> DocumentStore:
        return self.store.documents

    @property
    def graph(self) -> GraphStore:
        return self.store.graph

    async def _existing_then(self, items: Iterable[AnItem]) -> list[AnItem]:
        """The items that existed then, each without a later successor and without sources that arrived later."""
        existing = [item for item in items if existed_at(item, self.at)]
        named = {id for item in existing for id in _referenced_ids(item)}
        then = (
            {item.ref for item in await self.store.get(sorted(named)) if existed_at(item, self.at)} if named else set()
        )
        return [_past_version(item, then) for item in existing]


def _referenced_ids(item: Item) -> list[str]:
    if isinstance(item, Message):
        return []
    return [*item.sources] if item.superseded_by is None else [*item.sources, item.superseded_by]


def _past_version(item: AnItem, then: set[str]) -> AnItem:
    if not isinstance(item, Memory):
        return item
    successor = item.superseded_by if item.superseded_by in then else None
    return replace(item, superseded_by=successor, sources=tuple(each for each in item.sources if each in then))
