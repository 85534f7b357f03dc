"""What happened in a profile, as far as one agent may know of it: its own traces, and events of what it sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from .ports import Journal, Store
from .records import EDITS, SUMMARY, Edit, Event, Job, Once, Trace, TracePage
from .sights import Sight
from .spending import Spent, Usage
from .types import Json

OPEN = ("memory.forgotten", "message.forgotten", "digestion.progress", "reset")
"""Events that tell nothing but counts, and ids of what is no more."""
NAMED = ("message.added", "memory.added", "memory.superseded", "memory.marked")


async def seen_of(event: Event, store: Store) -> Event | None:
    """The event as far as its items are seen in this store; None when nothing is left of it."""
    if event.type in OPEN:
        return event
    if event.type not in NAMED:
        return None
    ids = [str(id) for id in (event.data.get("id"), event.data.get("by"), *event.data.get("ids", ())) if id]
    seen = {item.id for item in await store.get(ids)}
    if event.type == "message.added":
        left = [id for id in ids if id in seen]
        return replace(event, data={**event.data, "ids": left}) if left else None
    return event if seen.issuperset(ids) else None


class JournalView:
    """A Journal, as far as a sight reaches."""

    def __init__(self, journal: Journal, sight: Sight, store: Store) -> None:
        self._journal = journal
        self._sight = sight
        self._store = store

    async def events(self, after: int, limit: int) -> list[Event]:
        found = [await seen_of(event, self._store) for event in await self._journal.events(after, limit)]
        return [event for event in found if event is not None]

    async def reach(self) -> tuple[int, int]:
        return await self._journal.reach()

    async def once(self, key: str) -> Once | None:
        return await self._journal.once(key)

    async def job(self, id: str) -> Job | None:
        found = await self._journal.job(id)
        return found if found is not None and await self._store.get(found.messages) else None

    async def jobs(self, limit: int) -> list[Job]:
        every = await self._journal.jobs(2**31)
        return [job for job in every if await self._store.get(job.messages)][:limit]

    async def note(self, traces: Sequence[Trace]) -> None:
        await self._journal.note(traces)

    async def trace(self, id: str) -> Trace | None:
        found = await self._journal.trace(id)
        return found if found is not None and found.caller.agent == self._sight.agent else None

    async def traces(self, session_id: str | None, turn_id: str | None, limit: int, cursor: str | None) -> TracePage:
        """Only its own: what others asked is theirs."""
        found: list[Trace] = []
        while True:
            page = await self._journal.traces(session_id, turn_id, limit - len(found), cursor)
            found += [trace for trace in page if trace.caller.agent == self._sight.agent]
            cursor = page.cursor
            if cursor is None or len(found) >= limit:
                return TracePage(tuple(found), cursor)

    async def spend(self, month: str, usage: Usage, calls: int = 1) -> None:
        await self._journal.spend(month, usage, calls)

    async def spent(self, month: str | None) -> list[Spent]:
        return await self._journal.spent(month)

    async def settings(self) -> dict[str, Json]:
        """Without the page that was made of the whole profile."""
        return {name: value for name, value in (await self._journal.settings()).items() if name != SUMMARY}

    async def lay_down(self, name: str, value: Json) -> None:
        if name != SUMMARY:
            await self._journal.lay_down(name, value)

    async def edits(self, limit: int) -> list[Edit]:
        """Those of what it sees whole: nobody takes back what they cannot see."""
        every = await self._journal.edits(EDITS)
        ids = {edit.id: [*(id for id, _ in edit.made), *(id for id, *_ in edit.judged)] for edit in every}
        seen = {item.id for item in await self._store.get(list({id for named in ids.values() for id in named}))}
        return [edit for edit in every if seen.issuperset(ids[edit.id])][:limit]

    async def trim(self, before: datetime, traces: int, events: int) -> None:
        await self._journal.trim(before, traces, events)
