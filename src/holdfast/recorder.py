"""Traces on their way into their profiles: gathered for a moment and written together, so that no read waits for it.

A crash may take the last moment's traces; it never takes a write, whose events and first answer are in its own change.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Concatenate, ParamSpec, TypeVar

from . import names, telemetry, trail
from .errors import Closed, HoldfastError, NotFound, StorageError
from .ports import Vault
from .records import Trace, without
from .types import Forgotten

Who = tuple[str, str]
P = ParamSpec("P")
T = TypeVar("T")
log = logging.getLogger("holdfast")
FLUSH_SECONDS = 1.0
TIDY_EVERY = timedelta(hours=1)
TIDY_AFTER = 500
"""Or after so many traces."""
MOST_GONE = 10_000
TRACES, EVENTS = 5_000, 10_000
"""How many of each a profile keeps at most."""
KEPT_AT_LEAST = timedelta(days=1)
"""How long jobs and first answers are kept when traces are not."""


class Recorder:
    def __init__(self, vault: Vault, clock: Callable[[], datetime], keep: timedelta) -> None:
        self._vault = vault
        self._clock = clock
        self._keep = keep
        self._gathered: dict[Who, list[Trace]] = {}
        self._gone: dict[Who, set[str]] = {}
        """Ids forgotten lately: an operation that began before may still name them."""
        self._tidied: dict[Who, datetime] = {}
        self._untidy: Counter[Who] = Counter()
        self._task: asyncio.Task[None] | None = None

    def add(self, who: Who, done: trail.Trail, error: str | None = None) -> None:
        at = self._clock()
        spans = [list(span) for span in done.spans]
        details = {**done.details, "stages": done.stages, "spans": spans} | ({} if error is None else {"error": error})
        who_asked = trail.caller()
        if who_asked.session_id is None and done.session_id is not None:
            who_asked = replace(who_asked, session_id=done.session_id)
        trace = Trace(names.memory_id(at), at, done.operation, who_asked, done.milliseconds, details)
        telemetry.emit("/".join(who), trace)
        gathered = self._gathered.setdefault(who, [])
        if self._keep:
            gone = self._gone.get(who)
            gathered.append(replace(trace, details=without(details, gone)) if gone else trace)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._later(), name="holdfast-recorder")

    async def flush(self, who: Who) -> None:
        """Write what was gathered for this profile."""
        traces = self._gathered.pop(who, [])
        self._untidy[who] += len(traces)
        try:
            journal = (await self._vault.open(*who, create=False)).journal
            if traces:
                await journal.note(traces)
            now = self._clock()
            if now - self._tidied.get(who, now - TIDY_EVERY) >= TIDY_EVERY or self._untidy[who] >= TIDY_AFTER:
                await journal.trim(now - max(self._keep, KEPT_AT_LEAST), TRACES, EVENTS)
                self._tidied[who] = now
                self._untidy[who] = 0
        except NotFound:
            self._tidied.pop(who, None)
            self._untidy.pop(who, None)
        except Exception as failure:  # a trace must never stand in anybody's way
            log.warning("%d traces of %s/%s are lost: %s", len(traces), *who, failure)

    def forget(self, who: Who, gone: Forgotten, session_id: str | None = None) -> None:
        """What was forgotten leaves the traces that are still on their way, and those of operations still running."""
        ids = {*gone.memories, *gone.messages}
        self._gone[who] = (self._gone.get(who, set()) if len(self._gone.get(who, ())) < MOST_GONE else set()) | ids
        self._gathered[who] = [
            replace(trace, details=without(trace.details, ids))
            for trace in self._gathered.get(who, [])
            if session_id is None or trace.caller.session_id != session_id
        ]

    def drop(self, who: Who) -> None:
        """The profile is deleted."""
        self._gathered.pop(who, None)
        self._gone.pop(who, None)

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
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
    """A verb of a profile that leaves a trace under its own name, also when it fails."""

    @functools.wraps(method)
    async def run(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with trail.following(method.__name__) as done:
            try:
                result = await method(self, *args, **kwargs)
            except (StorageError, Closed):  # there is no place for a trace either
                raise
            except HoldfastError as failure:
                self._record(done, failure.code)
                raise
            self._record(done)
            return result

    return run
