"""One profile's journal in lists."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType

from holdfast.domain.erasure import FORGOTTEN_EVENTS, Erasure, notable_traces
from holdfast.domain.errors import Conflict
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
from holdfast.domain.timestamps import now
from holdfast.domain.types import Applied, Change, Json
from holdfast.domain.usage import Spent, Usage
from holdfast.storage import cursors
from holdfast.storage.events import change_events
from holdfast.storage.in_memory.state import ProfileState


class MemoryJournal:
    def __init__(self) -> None:
        self._events: list[Event] = []
        self._onces: dict[str, tuple[datetime, Once]] = {}
        self._jobs: dict[str, Job] = {}
        self._job_numbers: dict[str, int] = {}
        self._traces: dict[int, Trace] = {}
        self._spent: dict[tuple[str, str, str], Spent] = {}
        self._settings: dict[str, Json] = {}
        self._edits: list[Edit] = []
        self._last_trace = 0
        self._last_event = 0

    async def events(self, after: int, limit: int) -> list[Event]:
        return [event for event in self._events if event.n > after][:limit]

    async def reach(self) -> tuple[int, int]:
        return (self._events[0].n, self._events[-1].n) if self._events else (0, 0)

    async def once(self, key: str) -> Once | None:
        found = self._onces.get(key)
        return None if found is None else found[1]

    async def job(self, id: str) -> Job | None:
        return self._jobs.get(id)

    async def jobs(self, limit: int, cursor: str | None = None) -> tuple[list[Job], str | None]:
        before = cursors.decode(cursor)
        found = [(n, job) for id, job in reversed(self._jobs.items()) if (n := self._job_numbers[id]) < before]
        return [job for _, job in found[:limit]], cursors.encode(found[limit - 1][0]) if len(found) > limit else None

    async def note(self, traces: Sequence[Trace], began: Mapping[str, datetime] = MappingProxyType({})) -> None:
        known = {trace.id for trace in self._traces.values()}
        forgotten = [(event.at, event.data) for event in self._events if event.type in FORGOTTEN_EVENTS]
        for trace in notable_traces(traces, began, forgotten):
            if trace.id not in known:
                self._last_trace += 1
                self._traces[self._last_trace] = trace

    async def trace(self, id: str) -> Trace | None:
        return next((trace for trace in self._traces.values() if trace.id == id), None)

    async def traces(self, session_id: str | None, turn_id: str | None, limit: int, cursor: str | None) -> TracePage:
        before = cursors.decode(cursor)
        found = [
            (n, trace)
            for n, trace in sorted(self._traces.items(), reverse=True)
            if session_id in (None, trace.caller.session_id) and turn_id in (None, trace.caller.turn_id)
            if n < before
        ]
        more = cursors.encode(found[limit - 1][0]) if len(found) > limit else None
        return TracePage(tuple(trace for _, trace in found[:limit]), more)

    async def spend(self, month: str, usage: Usage, calls: int = 1) -> None:
        key = (month, usage.model, usage.task)
        known = self._spent.get(key, Spent(*key, 0, 0, 0))
        self._spent[key] = Spent(
            *key,
            known.calls + calls,
            known.input + usage.input,
            known.output + usage.output,
            known.cached + usage.cached,
        )

    async def spent(self, month: str | None) -> list[Spent]:
        return [each for key, each in sorted(self._spent.items()) if month in (None, key[0])]

    async def settings(self) -> dict[str, Json]:
        return dict(sorted(self._settings.items()))

    async def put_setting(self, name: str, value: Json) -> None:
        self._settings.pop(name, None)
        if value is not None:
            self._settings[name] = json.loads(json.dumps(value))

    async def edits(self, limit: int) -> list[Edit]:
        return self._edits[::-1][:limit]

    async def trim(self, before: datetime, traces: int, events: int) -> None:
        oldest = self._last_trace - traces
        self._traces = {n: trace for n, trace in self._traces.items() if trace.at >= before and n > oldest}
        self._events = self._events[max(0, len(self._events) - events) :]
        told = [event.n for event in self._events if event.type in FORGOTTEN_EVENTS and event.at < before]
        self._events = [event for event in self._events if event.n > max(told, default=0)]
        self._edits = self._edits[-MAX_EDITS:]
        self._onces = {key: (at, once) for key, (at, once) in self._onces.items() if at >= before}
        self._jobs = {id: job for id, job in self._jobs.items() if job.created_at >= before}

    def check(self, change: Change) -> None:
        """Raise Conflict when a change repeats an idempotency key or undoes an edit that no longer exists."""
        if change.once is not None and change.once.key in self._onces:
            raise Conflict(f"The idempotency key {change.once.key!r} was used by another request at the same time.")
        for id in set(change.undoes) - {edit.id for edit in self._edits}:
            raise Conflict(f"The change {id} was undone by another request.")

    def record(self, change: Change, applied: Applied, state: ProfileState) -> None:
        """Write the journal entries of an applied change."""
        at, gone = now(), applied.gone
        for type, data in change_events(change, applied, lambda: len(state.wait_until)):
            self._last_event += 1
            self._events.append(Event(self._last_event, at, type, data))
        if change.job is not None:
            self._jobs.setdefault(change.job.id, change.job)
            self._job_numbers.setdefault(change.job.id, len(self._job_numbers) + 1)
        if change.once is not None:
            done = replace(
                change.once, new=applied.new, memories=gone.memories, messages=gone.messages, shortened=gone.shortened
            )  # fmt: skip
            self._onces[done.key] = (at, done)
        self._edits = [edit for edit in self._edits if edit.id not in change.undoes]
        if change.edit is not None and all(edit.id != change.edit.id for edit in self._edits):
            self._edits.append(change.edit)

    def erase(self, erasure: Erasure) -> None:
        """Take what was forgotten out of the page, traces, events, jobs, idempotency records and edits."""
        self._settings.pop(PROFILE_PAGE_SETTING, None)
        self._edits = [edit.without(erasure.ids) for edit in self._edits]
        self._events = [replace(event, data=erasure.event_left(event.type, event.data)) for event in self._events]
        self._jobs = {id: erasure.job_left(job) for id, job in self._jobs.items()}
        self._onces = {key: (at, erasure.once_left(once)) for key, (at, once) in self._onces.items()}
        traces = {n: erasure.trace_left(trace) for n, trace in self._traces.items()}
        self._traces = {n: trace for n, trace in traces.items() if trace is not None}
