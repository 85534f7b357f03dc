"""Several profiles as one memory that can be asked and not written to.

What every store proposes is laid together before anything is ranked, with the statistics of all of them, so that the
ranker sees the candidates as if they had been in one profile. Ids are marked with their store's number while they are
together: the same message said in two profiles has the same id in both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NoReturn, TypeVar

import numpy as np

from .errors import ReadOnly
from .graphs import Graphs
from .ports import Journal, Store
from .results import Page, Stats
from .shelves import Shelf
from .types import Applied, Change, Item, Memory, Message, Part, Probe, Proposals, Vector, Where

MARK = "\0"
"""No text that anybody can give us has it."""
T = TypeVar("T")


def marked(n: int, id: str) -> str:
    return f"{n}{MARK}{id}"


def parted(id: str) -> tuple[int, str]:
    """The number of its store, and the id there."""
    n, _, own = id.partition(MARK)
    return int(n), own


def of_one(value: Any, n: int) -> Any:
    """As much of a value as is about one of the stores, at any depth, in that store's own ids."""
    if isinstance(value, dict):
        held = {_own(name, n): of_one(each, n) for name, each in value.items() if not _foreign(name, n)}
        return {name: each for name, each in held.items() if each is not None}
    if isinstance(value, list):
        return [of_one(each, n) for each in value if not _foreign(each, n)]
    return _own(value, n)


def _foreign(value: Any, n: int) -> bool:
    named = value.get("id") if isinstance(value, dict) else value
    return isinstance(named, str) and MARK in named and parted(named)[0] != n


def _own(value: Any, n: int) -> Any:
    return value if not isinstance(value, str) or MARK not in value else parted(value)[1]


class United:
    """A Store over several. What only a writer or a worker asks for is refused."""

    def __init__(self, stores: Sequence[Store], *, paying: int = 0) -> None:
        self._stores = stores
        self._paying = paying

    async def get(self, ids: Sequence[str]) -> list[Item]:
        found = {item.id: item for item in await self._each(ids, lambda store, own: store.get(own))}
        return [found[id] for id in ids if id in found]

    async def resting_on(self, messages: Sequence[str]) -> list[Memory]:
        return await self._each(messages, lambda store, own: store.resting_on(own))

    async def history(self, id: str) -> list[Memory]:
        n, own = parted(id)
        return [_marked_item(n, memory) for memory in await self._stores[n].history(own)]

    async def said(self, session_id: str | None, *, before: int | None = None, limit: int = 1000) -> list[Message]:
        """As many of each store as were asked for."""
        found = await asyncio.gather(*(store.said(session_id, before=before, limit=limit) for store in self._stores))
        return [_marked_item(n, message) for n, messages in enumerate(found) for message in messages]

    async def propose(self, probe: Probe) -> Proposals:
        return laid_together(await asyncio.gather(*(store.propose(probe) for store in self._stores)))

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
    ) -> Page:
        """The first so many of each store; there is no next page of several."""
        if cursor is not None:
            _refuse()
        pages = await asyncio.gather(
            *(store.scan(where, now=now, limit=limit, superseded=superseded, as_of=as_of) for store in self._stores)
        )
        return Page(tuple(_marked_item(n, memory) for n, page in enumerate(pages) for memory in page.items))

    async def claim(self, *, now: datetime, lease: timedelta, limit: int) -> list[Message]:
        _refuse()

    async def bare(self, model: str, limit: int) -> list[Part]:
        _refuse()

    async def indexed(self, ids: Sequence[str]) -> list[tuple[Part, Vector | None]]:
        _refuse()

    async def stats(self, model: str) -> Stats:
        _refuse()

    @property
    def journal(self) -> Journal:
        """Of the profile on whose account models are asked: the first that there is."""
        return self._stores[self._paying].journal

    @property
    def shelf(self) -> Shelf:
        _refuse()

    @property
    def graph(self) -> Graphs:
        _refuse()

    async def _each(self, ids: Iterable[str], ask: Callable[[Store, Sequence[str]], Awaitable[Sequence[T]]]) -> list[T]:
        """What every store says to its own of these ids."""
        wanted: dict[int, list[str]] = {}
        for n, own in map(parted, ids):
            wanted.setdefault(n, []).append(own)
        found = await asyncio.gather(*(ask(self._stores[n], own) for n, own in wanted.items()))
        return [_marked_item(n, item) for n, items in zip(wanted, found, strict=True) for item in items]


def _refuse() -> NoReturn:
    raise ReadOnly("Several profiles at once can be asked, and nothing else.", fix="Open the one you mean.")


def _marked_item(n: int, item: Any) -> Any:
    if isinstance(item, Message):
        return replace(item, id=marked(n, item.id))
    after = None if item.superseded_by is None else marked(n, item.superseded_by)
    sources = tuple(marked(n, source) for source in item.sources)
    return replace(item, id=marked(n, item.id), sources=sources, superseded_by=after)


def laid_together(found: Sequence[Proposals]) -> Proposals:
    """The proposals of several stores as those of one that holds what all of them hold."""
    items = tuple(
        replace(item, id=marked(n, item.id), session_id=None if item.session_id is None else marked(n, item.session_id))
        for n, each in enumerate(found)
        for item in each.items
    )
    starts = np.cumsum([0, *(len(each.items) for each in found)])
    parts = sum(each.parts for each in found)
    words = sum(each.parts * each.mean_length for each in found)
    return Proposals(
        items=items,
        channels=tuple(ranks for each in found for ranks in each.channels),
        of=np.concatenate([each.of + start for each, start in zip(found, starts[:-1], strict=True)]),
        number=np.concatenate([each.number for each in found]),
        length=np.concatenate([each.length for each in found]),
        counts=np.concatenate([each.counts for each in found]),
        cosine=np.concatenate([each.cosine for each in found]),
        tokens=tuple(tokens for each in found for tokens in each.tokens),
        parts=parts,
        mean_length=words / parts if parts else 0.0,
        frequency=tuple(map(sum, zip(*(each.frequency for each in found), strict=True))),
        agents=tuple(sorted({agent for each in found for agent in each.agents})),
    )
