"""A profile's memory as it stood at a moment: a Store to read from, derived from what is there, without copies.

A message was known from when it arrived. A version of a memory was known from when it was written (`updated_at`; a
migrated version keeps the `created_at` of the first) until its successor was written or it expired. What has been
forgotten since is gone from the past as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple, TypeVar

from .errors import ReadOnly
from .graphs import Graphs
from .ports import Journal, Store
from .results import Page, Stats
from .shelves import Shelf
from .types import Applied, Change, Item, Memory, Message, Part, Probe, Proposals, Vector, Where

AnItem = TypeVar("AnItem", Message, Memory, Item)
MORE = 8


def written_by(item: Item, at: datetime) -> bool:
    return (item.created_at if isinstance(item, Message) else item.updated_at) <= at


class When(NamedTuple):
    """The moment that "yesterday" is relative to, and the one as of which to answer; None for now."""

    asked_at: datetime
    as_of: datetime | None


@dataclass(frozen=True, slots=True)
class Past:
    """The store, as it stood at a moment."""

    store: Store
    at: datetime

    async def get(self, ids: Sequence[str]) -> list[Item]:
        return await self._stood(await self.store.get(ids))

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
        page = await self.store.scan(
            where, now=None if now is None else self.at, limit=limit, cursor=cursor, superseded=superseded,
            as_of=self.at if as_of is None else min(as_of, self.at),
        )  # fmt: skip
        return replace(page, items=tuple(await self._stood(page.items)))

    async def said(self, session_id: str | None, *, before: int | None = None, limit: int = 1000) -> list[Message]:
        if before is None:
            everything = await self.store.said(session_id, limit=2**31)
            return [message for message in everything if written_by(message, self.at)][:limit]
        reach = limit
        while True:
            some = await self.store.said(session_id, before=before, limit=reach)
            known = [message for message in some if written_by(message, self.at)]
            if len(known) >= limit or len(some) < reach:
                return known[-limit:]
            reach *= MORE

    async def history(self, id: str) -> list[Memory]:
        """The versions there were: of this one, or when it came later, of what became it."""
        versions = await self._stood(await self.store.history(id))
        if all(version.id != id for version in versions):
            return versions
        near, last = {id}, 0
        while len(near) > last:
            last = len(near)
            near |= {each.superseded_by for each in versions if each.id in near and each.superseded_by is not None}
            near |= {each.id for each in versions if each.superseded_by in near}
        return [version for version in versions if version.id in near]

    async def propose(self, probe: Probe) -> Proposals:
        return await self.store.propose(replace(probe, as_of=self.at, now=self.at))

    async def resting_on(self, messages: Sequence[str]) -> list[Memory]:
        return await self._stood(await self.store.resting_on(messages))

    async def indexed(self, ids: Sequence[str]) -> list[tuple[Part, Vector | None]]:
        return await self.store.indexed([item.id for item in await self.get(ids)])

    async def bare(self, model: str, limit: int) -> list[Part]:
        return await self.store.bare(model, limit)

    async def stats(self, model: str) -> Stats:
        return await self.store.stats(model)

    async def apply(self, change: Change) -> Applied:
        raise ReadOnly("The past cannot be changed.", fix="Write without as_of.")

    async def claim(self, *, now: datetime, lease: timedelta, limit: int) -> list[Message]:
        raise ReadOnly("The past cannot be changed.", fix="Write without as_of.")

    @property
    def journal(self) -> Journal:
        return self.store.journal

    @property
    def shelf(self) -> Shelf:
        return self.store.shelf

    @property
    def graph(self) -> Graphs:
        return self.store.graph

    async def _stood(self, items: Iterable[AnItem]) -> list[AnItem]:
        """Those that were there, each without what came later: its successor, and sources that had not arrived."""
        there = [item for item in items if written_by(item, self.at)]
        named = {id for item in there for id in _named_by(item)}
        then = (
            {item.id for item in await self.store.get(sorted(named)) if written_by(item, self.at)} if named else set()
        )
        return [_as_it_was(item, then) for item in there]


def _named_by(item: Item) -> list[str]:
    if isinstance(item, Message):
        return []
    return [*item.sources] if item.superseded_by is None else [*item.sources, item.superseded_by]


def _as_it_was(item: AnItem, then: set[str]) -> AnItem:
    if not isinstance(item, Memory):
        return item
    successor = item.superseded_by if item.superseded_by in then else None
    return replace(item, superseded_by=successor, sources=tuple(each for each in item.sources if each in then))
