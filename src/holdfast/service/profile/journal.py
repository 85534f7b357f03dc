"""The journal of one profile: jobs, traces, events, and what models cost."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace

from holdfast.domain.arguments import validate_id, validate_limit
from holdfast.domain.errors import NotFound, quoted_value
from holdfast.domain.ports.profile.journal import HEARTBEAT_SECONDS, ProfileJournal
from holdfast.domain.records import Event, JobPage, JobStatus, Trace, TracePage, ids_in
from holdfast.domain.types import Item
from holdfast.domain.usage import Spent
from holdfast.service.profile.context import ProfileContext, ProfileVerbs

ID_PATTERN = re.compile(r"[0-9A-Z]{26}|[0-9a-f]{32}")


class JournalVerbs(ProfileVerbs, ProfileJournal):
    """Jobs, traces, events and model usage."""

    async def usage(self, month: str | None = None) -> tuple[Spent, ...]:
        if not self._context.visibility.whole:  # the account is the whole profile's
            return ()
        spent = await (await self._context.readable_store()).journal.spent(month)
        thinking = self._context.runtime.llm
        if thinking is None or not (thinking.tariff.input or thinking.tariff.output):
            return tuple(spent)
        return tuple(replace(each, cost=round(thinking.tariff.cost(each), 6)) for each in spent)

    async def job(self, id: str) -> JobStatus:
        from holdfast.ingest import messages

        store = await self._context.readable_store()
        found = await store.journal.job(validate_id(id))
        if found is None:
            raise NotFound(f"There is no job {quoted_value(id)} in this profile.", field="id")
        return await messages.load_job_status(store, found)

    async def jobs(self, *, limit: int = 20, cursor: str | None = None) -> JobPage:
        from holdfast.ingest import messages

        store = await self._context.readable_store()
        found, next_cursor = await store.journal.jobs(validate_limit(limit), cursor)
        return JobPage(tuple([await messages.load_job_status(store, job) for job in found]), next_cursor)

    async def traces(
        self,
        *,
        session_id: str | None = None,
        turn_id: str | None = None,
        limit: int = 20,
        cursor: str | None = None,
    ) -> TracePage:
        await self._context.flush_traces()
        return await (await self._context.readable_store()).journal.traces(
            session_id, turn_id, validate_limit(limit), cursor
        )

    async def trace(self, id: str) -> Trace:
        await self._context.flush_traces()
        found = await (await self._context.readable_store()).journal.trace(validate_id(id))
        if found is None:
            raise NotFound(f"There is no trace {quoted_value(id)} in this profile.", field="id")
        return found

    def events(self, *, after: int | None = None, heartbeat: float = HEARTBEAT_SECONDS) -> AsyncIterator[Event | None]:
        events = self._context.follow_events(after, heartbeat)
        return events if self._context.visibility.whole else self._seen_events(events)

    async def _seen_events(self, events: AsyncIterator[Event | None]) -> AsyncIterator[Event | None]:
        from holdfast.storage.views.agent_journal import visible_event

        async with aclosing(events) as told:  # type: ignore[type-var]
            async for event in told:
                if event is None:
                    yield None
                elif (seen := await visible_event(event, await self._context.readable_store())) is not None:
                    yield seen


async def trace_items(context: ProfileContext, trace: Trace) -> list[Item]:
    """Load the memories and messages that a trace names, in their current state; forgotten ones are left out."""
    ids = {text for text in ids_in(trace.details) if ID_PATTERN.fullmatch(text)}
    return await (await context.readable_store()).get(sorted(ids))
