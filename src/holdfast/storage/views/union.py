"""Several profiles as one read-only memory.

The proposals of all stores are merged, with merged statistics, before they are ranked: the ranker sees the candidates
as if they were in one profile. Ids are prefixed with their store's number, since the same message in two profiles has
the same id in both.

Stores are asked in portions: those of one portion at the same time, one portion after the other. Each is opened when it
is asked, so that no more files and caches are open than a vault allows; between portions only the best candidates stay.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NoReturn, TypeVar

from holdfast.domain.errors import ReadOnly
from holdfast.domain.ports.documents import DocumentStore
from holdfast.domain.ports.graph import GraphStore
from holdfast.domain.ports.search import Probe, Proposals
from holdfast.domain.ports.storage import Journal, Store
from holdfast.domain.results import MessagePage, Page, Stats
from holdfast.domain.types import Applied, Change, Facet, Item, Memory, Message, Order, Part, Vector, Where
from holdfast.storage.views.other_sessions import OtherSessionsStore
from holdfast.storage.views.proposals import (
    ID_SEPARATOR,
    best_proposals,
    joined_proposals,
    prefixed_id,
    prefixed_proposals,
)

PORTION = 50
"""How many stores are asked at the same time. Up to this many, nothing is left out before ranking."""
MAX_LISTED = 5_000
"""How many messages or memories of all stores are listed at most. Chosen by hand; not measured."""
T = TypeVar("T")
StoreOpener = Callable[[], Awaitable[Store]]


def split_id(id: str) -> tuple[int, str]:
    """The number of the store, and the id in it."""
    n, _, own = id.partition(ID_SEPARATOR)
    return int(n), own


def value_of_store(value: Any, n: int) -> Any:
    """The parts of a JSON value that are about one of the stores, at any depth, with that store's own ids."""
    if isinstance(value, dict):
        fields = {
            _unprefixed(name, n): value_of_store(each, n) for name, each in value.items() if not _is_foreign(name, n)
        }
        return {name: each for name, each in fields.items() if each is not None}
    if isinstance(value, list):
        return [value_of_store(each, n) for each in value if not _is_foreign(each, n)]
    return _unprefixed(value, n)


def stores_in(value: Any) -> set[int]:
    """The numbers of the stores that a JSON value is about, at any depth."""
    if isinstance(value, dict):
        return {n for each in (*value, *value.values()) for n in stores_in(each)}
    if isinstance(value, list):
        return {n for each in value for n in stores_in(each)}
    return {split_id(value)[0]} if isinstance(value, str) and ID_SEPARATOR in value else set()


def _is_foreign(value: Any, n: int) -> bool:
    named = value.get("id") if isinstance(value, dict) else value
    return isinstance(named, str) and ID_SEPARATOR in named and split_id(named)[0] != n


def _unprefixed(value: Any, n: int) -> Any:
    return value if not isinstance(value, str) or ID_SEPARATOR not in value else split_id(value)[1]


class UnionStore:
    """A read-only Store over several. Methods for writers and workers raise ReadOnly."""

    def __init__(self, openers: Sequence[StoreOpener], charged: Store) -> None:
        self._openers = openers
        self._charged = charged

    async def get(self, ids: Sequence[str]) -> list[Item]:
        items = await self._ask_each(ids, lambda store, own: store.get(own))
        found = {name: item for item in items for name in (item.id, item.ref)}
        return [found[id] for id in ids if id in found]

    async def resting_on(self, messages: Sequence[str]) -> list[Memory]:
        return await self._ask_each(messages, lambda store, own: store.resting_on(own))

    async def history(self, id: str) -> list[Memory]:
        n, own = split_id(id)
        return [_prefixed_item(n, memory) for memory in await (await self._openers[n]()).history(own)]

    async def superseded_in_session(self, memories: Sequence[Memory]) -> list[Memory]:
        """Those of the memories that were superseded in a session that their store leaves out."""

        async def ask(store: Store, own: Sequence[str]) -> list[Memory]:
            if not isinstance(store, OtherSessionsStore):
                return []
            return await store.superseded_in_session([i for i in await store.get(own) if isinstance(i, Memory)])

        return await self._ask_each([memory.ref for memory in memories], ask)

    async def messages(
        self, session_id: str | None, *, before: int | None = None, limit: int = 1000, cursor: str | None = None
    ) -> MessagePage:
        """List up to `limit` messages of each store."""

        async def read(store: Store) -> tuple[Message, ...]:
            return (await store.messages(session_id, before=before, limit=limit)).items

        return MessagePage(tuple(await self._listed(read)))

    async def propose(self, probe: Probe) -> Proposals:
        best: Proposals | None = None
        async for first, found in self._portions(lambda store: store.propose(probe)):
            named = [prefixed_proposals(first + n, each) for n, each in enumerate(found)]
            best = joined_proposals([*([] if best is None else [best]), *named])
            if len(self._openers) > PORTION:
                best = best_proposals(best, probe)
        assert best is not None  # there is at least one store
        return best

    async def apply(self, change: Change) -> Applied:
        _refuse()

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
        """List the first memories of each store; there is no next page."""
        if cursor is not None or count is not None:
            _refuse()

        async def scan(store: Store) -> tuple[Memory, ...]:
            how: Any = {"superseded": superseded, "as_of": as_of, "order": order}
            return (await store.scan(where, now=now, limit=limit, **how)).items

        return Page(tuple(await self._listed(scan)))

    async def claim(self, *, now: datetime, lease: timedelta, limit: int, max_bytes: int = 2**62) -> list[Message]:
        _refuse()

    async def unembedded_parts(self, model: str, limit: int) -> list[Part]:
        _refuse()

    async def indexed(self, ids: Sequence[str]) -> list[tuple[Part, Vector | None]]:
        _refuse()

    async def stats(self, model: str, *, only_waiting: bool = False) -> Stats:
        _refuse()

    @property
    def journal(self) -> Journal:
        """The journal of the profile that is charged for model calls: the first that exists."""
        return self._charged.journal

    @property
    def documents(self) -> DocumentStore:
        _refuse()

    @property
    def graph(self) -> GraphStore:
        _refuse()

    async def _ask_each(
        self, ids: Iterable[str], ask: Callable[[Store, Sequence[str]], Awaitable[Sequence[T]]]
    ) -> list[T]:
        """Ask each store about its own ids, and prefix the ids of the results."""
        wanted: dict[int, list[str]] = {}
        for n, own in map(split_id, ids):
            wanted.setdefault(n, []).append(own)
        places, results = list(wanted), []
        for start in range(0, len(places), PORTION):
            portion = places[start : start + PORTION]
            stores = [await self._openers[n]() for n in portion]
            found = await asyncio.gather(*(ask(store, wanted[n]) for n, store in zip(portion, stores, strict=True)))
            results += [_prefixed_item(n, item) for n, items in zip(portion, found, strict=True) for item in items]
        return results

    async def _listed(self, read: Callable[[Store], Awaitable[Sequence[T]]]) -> list[T]:
        """What each store lists, in the order of the stores."""
        results: list[T] = []
        async for first, found in self._portions(read):
            results += [_prefixed_item(first + n, item) for n, items in enumerate(found) for item in items]
            if len(results) >= MAX_LISTED:
                break
        return results

    async def _portions(self, ask: Callable[[Store], Awaitable[T]]) -> AsyncIterator[tuple[int, list[T]]]:
        """Ask all stores, one portion after the other; yields the number of each portion's first store."""
        for first in range(0, len(self._openers), PORTION):
            stores = [await opened() for opened in self._openers[first : first + PORTION]]
            yield first, await asyncio.gather(*map(ask, stores))


def _refuse() -> NoReturn:
    raise ReadOnly("Several profiles at once can only be queried.", fix="Open the profile that you want to change.")


def _prefixed_item(n: int, item: Any) -> Any:
    if isinstance(item, Message):
        return replace(item, id=prefixed_id(n, item.id))
    successor = None if item.superseded_by is None else prefixed_id(n, item.superseded_by)
    sources = tuple(prefixed_id(n, source) for source in item.sources)
    return replace(item, id=prefixed_id(n, item.id), sources=sources, superseded_by=successor)
