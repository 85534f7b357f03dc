"""A profile's journal as one agent sees it: its own traces, and the events of items it may see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType

from holdfast.domain.erasure import event_reference
from holdfast.domain.ports.storage import Journal, Store
from holdfast.domain.records import (
    MAX_EDITS,
    PROFILE_PAGE_SETTING,
    Edit,
    Event,
    Job,
    Once,
    Trace,
    TracePage,
)
from holdfast.domain.types import Json
from holdfast.domain.usage import Spent, Usage
from holdfast.domain.visibility import Visibility

UNRESTRICTED_EVENTS = ("memory.forgotten", "message.forgotten", "reset")
"""Events that contain only ids of deleted items. `digestion.progress` counts messages that the agent may not see."""
ITEM_EVENTS = ("message.added", "message.shortened", "memory.added", "memory.superseded", "memory.marked")
"""Events that name items; an agent gets them as far as it may see these items."""


async def visible_event(event: Event, store: Store) -> Event | None:
    """The event limited to the items visible in this store; None when no item is visible."""
    if event.type in UNRESTRICTED_EVENTS:
        return event
    if event.type not in ITEM_EVENTS:
        return None
    named = (event_reference(event.data), event.data.get("by"), *event.data.get("ids", ()))
    ids = [str(id) for id in named if id]
    seen = await store.get(ids)
    if "ids" in event.data:
        visible = [item.id for item in seen]
        return replace(event, data={**event.data, "ids": visible}) if visible else None
    return event if len(seen) == len(ids) else None


class AgentJournal:
    """A Journal limited to what an agent may see."""

    def __init__(self, journal: Journal, visibility: Visibility, store: Store) -> None:
        self._journal = journal
        self._visibility = visibility
        self._store = store

    async def events(self, after: int, limit: int) -> list[Event]:
        found = [await visible_event(event, self._store) for event in await self._journal.events(after, limit)]
        return [event for event in found if event is not None]

    async def reach(self) -> tuple[int, int]:
        return await self._journal.reach()

    async def once(self, key: str) -> Once | None:
        return await self._journal.once(key)

    async def job(self, id: str) -> Job | None:
        found = await self._journal.job(id)
        return found if found is not None and await self._store.get(found.messages) else None

    async def jobs(self, limit: int, cursor: str | None = None) -> tuple[list[Job], str | None]:
        found: list[Job] = []
        while True:
            read, cursor = await self._journal.jobs(limit - len(found), cursor)
            found += [job for job in read if await self._store.get(job.messages)]
            if cursor is None or len(found) >= limit:
                return found, cursor

    async def note(self, traces: Sequence[Trace], began: Mapping[str, datetime] = MappingProxyType({})) -> None:
        await self._journal.note(traces, began)

    async def trace(self, id: str) -> Trace | None:
        found = await self._journal.trace(id)
        return found if found is not None and found.caller.agent == self._visibility.agent else None

    async def traces(self, session_id: str | None, turn_id: str | None, limit: int, cursor: str | None) -> TracePage:
        """List the agent's own traces only."""
        found: list[Trace] = []
        while True:
            page = await self._journal.traces(session_id, turn_id, limit - len(found), cursor)
            found += [trace for trace in page if trace.caller.agent == self._visibility.agent]
            cursor = page.cursor
            if cursor is None or len(found) >= limit:
                return TracePage(tuple(found), cursor)

    async def spend(self, month: str, usage: Usage, calls: int = 1) -> None:
        await self._journal.spend(month, usage, calls)

    async def spent(self, month: str | None) -> list[Spent]:
        return await self._journal.spent(month)

    async def settings(self) -> dict[str, Json]:
        """Return the settings without the summary page, which was made from the whole profile."""
        return {name: value for name, value in (await self._journal.settings()).items() if name != PROFILE_PAGE_SETTING}

    async def put_setting(self, name: str, value: Json) -> None:
        if name != PROFILE_PAGE_SETTING:
            await self._journal.put_setting(name, value)

    async def edits(self, limit: int) -> list[Edit]:
        """List the edits of which the agent sees every item: it cannot undo what it cannot see."""
        every = await self._journal.edits(MAX_EDITS)
        ids = {edit.id: [*(id for id, _ in edit.made), *(id for id, *_ in edit.judged)] for edit in every}
        seen = {item.ref for item in await self._store.get(list({id for named in ids.values() for id in named}))}
        return [edit for edit in every if seen.issuperset(ids[edit.id])][:limit]

    async def trim(self, before: datetime, traces: int, events: int) -> None:
        await self._journal.trim(before, traces, events)
