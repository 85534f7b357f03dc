"""Buffers traces for a moment and writes them in batches, so that reads do not wait for their traces.

A crash may lose the traces of the last second. It never loses a write: a write's events and its response for an
idempotency key are stored in the same transaction.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import math
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakValueDictionary

from holdfast.domain import identifiers, timestamps, tracing
from holdfast.domain.erasure import stripped_trace
from holdfast.domain.errors import Closed, HoldfastError, NotFound, StorageError
from holdfast.domain.ports.storage import Vault
from holdfast.domain.records import Trace
from holdfast.service import telemetry
from holdfast.storage.tasks import end_tasks

Who = tuple[str, str]
P = ParamSpec("P")
T = TypeVar("T")
log = logging.getLogger("holdfast")
FLUSH_SECONDS = 1.0
TRIM_EVERY = timedelta(hours=1)
TRIM_AFTER_TRACES = 500
"""Or after so many traces."""
MAX_DROPPED = 1_000
"""How many deleted profiles are remembered, for operations that still run in them. Chosen by hand."""
TRACES, EVENTS = 5_000, 10_000
"""The maximum number of each that a profile keeps."""
MIN_RETENTION = timedelta(days=1)
"""How long jobs and responses for idempotency keys are kept when traces are kept for less."""


@dataclass(slots=True)
class TrimmedJournal:
    """When a journal was trimmed, and how many traces were written to it since."""

    at: datetime
    traces: int = 0


class Recorder:
    def __init__(self, vault: Vault, clock: Callable[[], datetime], keep: timedelta) -> None:
        self._vault = vault
        self._clock = clock
        self._keep = keep
        self._gathered: dict[Who, list[Trace]] = {}
        self._began: dict[str, datetime] = {}
        """Gathered trace → when its operation began. The journal strips it if something was forgotten since."""
        self._dropped: dict[Who, float] = {}
        """Deleted profile → when, by time.perf_counter. What ran before is no part of a profile of the same name."""
        self._turns: WeakValueDictionary[Who, asyncio.Lock] = WeakValueDictionary()
        self._trimmed: dict[Who, TrimmedJournal] = {}
        """Journals that were trimmed within the hour, earliest first."""
        self._task: asyncio.Task[None] | None = None

    def add(self, who: Who, done: tracing.Operation, error: str | None = None) -> None:
        if done.started <= self._dropped.get(who, -math.inf):
            return
        at = self._clock()
        spans = [list(span) for span in done.spans]
        details = {**done.details, "stages": done.stages, "spans": spans} | ({} if error is None else {"error": error})
        who_asked = tracing.caller()
        if who_asked.session_id is None and done.session_id is not None:
            who_asked = replace(who_asked, session_id=done.session_id)
        trace = Trace(identifiers.memory_id(at), at, done.operation, who_asked, done.milliseconds, details)
        telemetry.emit_span("/".join(who), trace)
        gathered = self._gathered.setdefault(who, [])
        if self._keep:
            gathered.append(trace)
            self._began[trace.id] = timestamps.now() - timedelta(seconds=time.perf_counter() - done.started)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._later(), name="holdfast-recorder")

    async def flush(self, who: Who) -> None:
        """Write the buffered traces of this profile, and trim its journal when due.

        Flushes take turns: a caller that reads traces afterwards finds those, too, that another flush was writing.
        """
        async with self._turns.setdefault(who, asyncio.Lock()):
            await self._flush(who)

    async def _flush(self, who: Who) -> None:
        traces = self._gathered.pop(who, [])
        began = {trace.id: self._began.pop(trace.id) for trace in traces}
        try:
            journal = (await self._vault.open(*who, create=False)).journal
            if traces:
                await journal.note(traces, began)
            if self._is_trim_due(who, len(traces)):
                now = self._clock()
                await journal.trim(now - max(self._keep, MIN_RETENTION), TRACES, EVENTS)
                self._trimmed[who] = TrimmedJournal(now)
        except NotFound:
            self._trimmed.pop(who, None)
        except Exception as failure:  # a failing trace must never break the operation
            log.warning("%d traces of %s/%s are lost: %s", len(traces), *who, failure)

    def _is_trim_due(self, who: Who, written: int) -> bool:
        """Whether to trim the journal, to which so many traces were written; forgets those that have become due."""
        due = self._clock() - TRIM_EVERY
        while self._trimmed and self._trimmed[first := next(iter(self._trimmed))].at <= due:
            del self._trimmed[first]
        trimmed = self._trimmed.get(who)
        if trimmed is None:
            return True
        trimmed.traces += written
        if trimmed.traces < TRIM_AFTER_TRACES:
            return False
        del self._trimmed[who]
        return True

    def strip(self, who: Who) -> None:
        """Something was forgotten: what was asked meanwhile may be about it. The journal strips what still runs."""
        if who in self._gathered:
            self._gathered[who] = [stripped_trace(trace) for trace in self._gathered[who]]

    def drop(self, namespace: str, profile: str | None = None) -> None:
        """The profile is deleted, or every profile of the namespace."""
        known = {*self._gathered, *self._trimmed, *([] if profile is None else [(namespace, profile)])}
        for who in [each for each in known if each[0] == namespace and profile in (None, each[1])]:
            for trace in self._gathered.pop(who, []):
                self._began.pop(trace.id, None)
            if len(self._dropped) >= MAX_DROPPED:
                self._dropped.clear()
            self._dropped[who] = time.perf_counter()

    async def stop(self) -> None:
        if self._task is not None:
            await end_tasks([self._task])
        await self._flush_all()

    async def _later(self) -> None:
        while self._gathered:
            await asyncio.sleep(FLUSH_SECONDS)
            await self._flush_all()

    async def _flush_all(self) -> None:
        for who in list(self._gathered):
            await self.flush(who)


def traced(
    method: Callable[Concatenate[Any, P], Awaitable[T]],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """Decorate a profile's verb, so that each call leaves a trace under the verb's name, also when it fails."""

    @functools.wraps(method)
    async def run(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with tracing.traced_operation(method.__name__) as done:
            try:
                result = await method(self, *args, **kwargs)
            except (StorageError, Closed):  # the trace could not be stored either
                raise
            except HoldfastError as failure:
                self._context.record(done, failure.code)
                raise
            self._context.record(done)
            return result

    return run
