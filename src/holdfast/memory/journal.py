"""What happened in one profile, in lists."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from .. import cursors
from ..errors import Conflict
from ..happened import happened
from ..moments import now
from ..records import EDITS, SUMMARY, Edit, Event, Job, Once, Trace, TracePage, nameless, without
from ..spending import Spent, Usage
from ..types import Applied, Change, Json
from .state import State


class MemoryJournal:
    def __init__(self) -> None:
        self._events: list[Event] = []
        self._onces: dict[str, tuple[datetime, Once]] = {}
        self._jobs: dict[str, Job] = {}
        self._traces: dict[int, Trace] = {}
        self._spent: dict[tuple[str, str, str], Spent] = {}
        self._settings: dict[str, Json] = {}
        self._edits: list[Edit] = []
        self._newest = 0
        self._last = 0

    async def events(self, after: int, limit: int) -> list[Event]:
        return [event for event in self._events if event.n > after][:limit]

    async def reach(self) -> tuple[int, int]:
        return (self._events[0].n, self._events[-1].n) if self._events else (0, 0)

    async def once(self, key: str) -> Once | None:
        found = self._onces.get(key)
        return None if found is None else found[1]

    async def job(self, id: str) -> Job | None:
        return self._jobs.get(id)

    async def jobs(self, limit: int) -> list[Job]:
        return list(self._jobs.values())[::-1][:limit]

    async def note(self, traces: Sequence[Trace]) -> None:
        known = {trace.id for trace in self._traces.values()}
        for trace in traces:
            if trace.id not in known:
                self._newest += 1
                self._traces[self._newest] = trace

    async def trace(self, id: str) -> Trace | None:
        return next((trace for trace in self._traces.values() if trace.id == id), None)

    async def traces(self, session_id: str | None, turn_id: str | None, limit: int, cursor: str | None) -> TracePage:
        before = cursors.opened(cursor)
        found = [
            (n, trace)
            for n, trace in sorted(self._traces.items(), reverse=True)
            if session_id in (None, trace.caller.session_id) and turn_id in (None, trace.caller.turn_id)
            if n < before
        ]
        more = cursors.sealed(found[limit - 1][0]) if len(found) > limit else None
        return TracePage(tuple(trace for _, trace in found[:limit]), more)

    async def spend(self, month: str, usage: Usage, calls: int = 1) -> None:
        what = (month, usage.model, usage.task)
        known = self._spent.get(what, Spent(*what, 0, 0, 0))
        self._spent[what] = Spent(
            *what,
            known.calls + calls,
            known.input + usage.input,
            known.output + usage.output,
            known.cached + usage.cached,
        )

    async def spent(self, month: str | None) -> list[Spent]:
        return [each for what, each in sorted(self._spent.items()) if month in (None, what[0])]

    async def settings(self) -> dict[str, Json]:
        return dict(sorted(self._settings.items()))

    async def lay_down(self, name: str, value: Json) -> None:
        self._settings.pop(name, None)
        if value is not None:
            self._settings[name] = json.loads(json.dumps(value))

    async def edits(self, limit: int) -> list[Edit]:
        return self._edits[::-1][:limit]

    async def trim(self, before: datetime, traces: int, events: int) -> None:
        least = self._newest - traces
        self._traces = {n: trace for n, trace in self._traces.items() if trace.at >= before and n > least}
        self._events = self._events[max(0, len(self._events) - events) :]
        self._edits = self._edits[-EDITS:]
        self._onces = {key: (at, once) for key, (at, once) in self._onces.items() if at >= before}
        self._jobs = {id: job for id, job in self._jobs.items() if job.created_at >= before}

    def check(self, change: Change) -> None:
        if change.once is not None and change.once.key in self._onces:
            raise Conflict(f"The idempotency key {change.once.key!r} was used meanwhile.")
        for id in set(change.undoes) - {edit.id for edit in self._edits}:
            raise Conflict(f"The change {id} was taken back meanwhile.")

    def record(self, change: Change, applied: Applied, state: State) -> None:
        """Write down what a change did."""
        at, gone = now(), applied.gone
        for type, data in happened(change, applied, lambda: len(state.wait_until)):
            self._last += 1
            self._events.append(Event(self._last, at, type, data))
        if change.job is not None:
            self._jobs.setdefault(change.job.id, change.job)
        if change.once is not None:
            done = replace(change.once, new=applied.new, memories=gone.memories, messages=gone.messages)
            self._onces[done.key] = (at, done)
        ids = {*gone.memories, *gone.messages}
        self._edits = [edit for edit in self._edits if edit.id not in change.undoes]
        if change.edit is not None and all(edit.id != change.edit.id for edit in self._edits):
            self._edits.append(change.edit)
        self._edits = [edit.without(ids) for edit in self._edits]
        if change.forget:
            self._settings.pop(SUMMARY, None)
        self._events = [
            replace(event, data=nameless(event.data)) if event.data.get("session_id") in change.asked_in else event
            for event in self._events
        ]
        self._traces = {
            n: replace(trace, details=without(trace.details, ids)) if ids else trace
            for n, trace in self._traces.items()
            if trace.caller.session_id not in change.asked_in
        }
