"""What happened in one profile: jobs, traces, events, and what models cost."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from copy import copy
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Self

from . import ingest, moments, names
from .errors import AlreadyExists, Closed, InvalidInput, NotFound, shown
from .given import Moment
from .past import Past, When
from .ports import Store
from .records import Event, JobStatus, Trace, TracePage, named
from .sights import Reads, Sight, agent_of, reads_of
from .spending import Spent
from .trail import Trail, acting
from .types import Item
from .view import View
from .view_journal import seen_of

if TYPE_CHECKING:
    from .service import AsyncHoldfast

HEARTBEAT = 15.0
ID = re.compile(r"[0-9A-Z]{26}|[0-9a-f]{32}")


class Reported:
    """A profile of this process's data folder, as far as it tells what happened in it."""

    def __init__(self, holdfast: AsyncHoldfast, namespace: str, profile: str) -> None:
        self._holdfast = holdfast
        self.namespace = namespace
        self.name = profile
        self._who = (namespace, profile)
        self._sight = Sight()

    async def usage(self, month: str | None = None) -> tuple[Spent, ...]:
        """What language models were asked in a month such as 2026-11, or in all: calls and tokens by model and task."""
        spent = await (await self._read()).journal.spent(month)
        thinking = self._holdfast._thinking
        if thinking is None or not (thinking.tariff.input or thinking.tariff.output):
            return tuple(spent)
        return tuple(replace(each, cost=round(thinking.tariff.cost(each), 6)) for each in spent)

    async def job(self, id: str) -> JobStatus:
        """How far the work is that an ingest left behind."""
        store = await self._read()
        found = await store.journal.job(id_of(id))
        if found is None:
            raise NotFound(f"There is no job {shown(id)} in this profile.", field="id")
        return await ingest.progress(store, found)

    async def jobs(self, *, limit: int = 20) -> tuple[JobStatus, ...]:
        """Newest first."""
        store = await self._read()
        return tuple([await ingest.progress(store, job) for job in await store.journal.jobs(limit_of(limit))])

    async def traces(
        self,
        *,
        session_id: str | None = None,
        turn_id: str | None = None,
        limit: int = 20,
        cursor: str | None = None,
    ) -> TracePage:
        """What was asked and written, newest first, of one session and turn when given."""
        await self._holdfast._recorder.flush(self._who)
        return await (await self._read()).journal.traces(session_id, turn_id, limit_of(limit), cursor)

    async def trace(self, id: str) -> Trace:
        await self._holdfast._recorder.flush(self._who)
        found = await (await self._read()).journal.trace(id_of(id))
        if found is None:
            raise NotFound(f"There is no trace {shown(id)} in this profile.", field="id")
        return found

    async def _named_in(self, id: str) -> list[Item]:
        """The memories and messages that a trace names, as they are now; those forgotten since are not there."""
        ids = {text for text in named((await self.trace(id)).details) if ID.fullmatch(text)}
        return await (await self._read()).get(sorted(ids))

    def events(self, *, after: int | None = None, heartbeat: float = HEARTBEAT) -> AsyncIterator[Event | None]:
        """What changes, as it changes, from event `after` or from now on; None after each quiet `heartbeat` seconds."""
        events = self._holdfast._live.follow(self._who, after, heartbeat)
        return events if self._sight.whole else self._seen_events(events)

    async def _seen_events(self, events: AsyncIterator[Event | None]) -> AsyncIterator[Event | None]:
        async with aclosing(events) as told:  # type: ignore[type-var]
            async for event in told:
                if event is None:
                    yield None
                elif (seen := await seen_of(event, await self._read())) is not None:
                    yield seen

    def as_agent(self, agent: str, *, reads: Reads = "all") -> Self:
        """The same profile as this agent sees it: what is written is the agent's, and of what other agents wrote it
        reads `all`, none (`own`), or that of the agents listed. Nothing is copied."""
        by = agent_of(agent)
        return self._seen_with(Sight(by, reads_of(reads, by)))

    def _seen_with(self, sight: Sight) -> Self:
        if sight == Sight():
            return self
        found = copy(self)
        found._sight = self._sight.narrowed(sight)
        return found

    def _record(self, done: Trail, error: str | None = None) -> None:
        """Leave a trace of what was done."""
        with acting(agent=self._sight.agent):
            self._holdfast._recorder.add(self._who, done, error)

    async def _store(self) -> Store:
        """What is there to be changed. Raises NotFound for a profile that nobody has written to."""
        if self._holdfast._closed:
            raise Closed("This Holdfast was closed.")
        return self._seen(await self._holdfast._vault.open(*self._who, create=False))

    async def _read(self) -> Store:
        """What is there to be read: of a profile that nobody has written to, nothing. It does not appear by it."""
        try:
            return await self._store()
        except NotFound:
            from .wiring import unwritten  # late: wiring knows every backend, and this module must not

            return self._seen(unwritten())

    async def _is_written(self) -> bool:
        try:
            await self._store()
        except NotFound:
            return False
        return True

    def _seen(self, store: Store) -> Store:
        return store if self._sight == Sight() else View(store, self._sight)

    async def _store_at(self, as_of: datetime | None) -> Store:
        """The store as it stood at that moment."""
        store = await self._read()
        return store if as_of is None else Past(store, as_of)

    def _when(self, reference: Moment | None, as_of: Moment | None) -> When:
        then = None if as_of is None else moments.moment(as_of, "as_of")
        asked_at = then or self._holdfast._clock()
        return When(asked_at if reference is None else moments.moment(reference, "reference_date"), then)

    async def _written_to(self) -> Store:
        """The store, created with its namespace at the first write."""
        if self._holdfast._closed:
            raise Closed("This Holdfast was closed.")
        vault = self._holdfast._vault
        try:
            store = await vault.open(*self._who, create=True)
        except NotFound:
            with suppress(AlreadyExists):  # somebody created it meanwhile
                await vault.create_namespace(self.namespace)
            store = await vault.open(*self._who, create=True)
        return self._seen(store)


def id_of(id: object) -> str:
    return names.text(id, "id", limit=names.PROFILE_BYTES)


def limit_of(limit: object, most: int = 1000) -> int:
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= most:
        raise InvalidInput(f"limit is {shown(limit)}; give 1 to {most}.", field="limit")
    return limit


def share_of(share: object, field: str) -> float:
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
        raise InvalidInput(f"{field} is {shown(share)}; give 0 to 1.", field=field)
    return float(share)
