"""Port: Jobs, traces, events and model usage."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from holdfast.domain.records import Event, JobPage, JobStatus, Trace, TracePage
    from holdfast.domain.usage import Spent

HEARTBEAT_SECONDS = 15.0
"""The longest silence of an event stream. Chosen below the idle timeouts of common proxies."""


class ProfileJournal(Protocol):
    """Jobs, traces, events and model usage."""

    async def usage(self, month: str | None = None) -> tuple[Spent, ...]:
        """Report calls and tokens of language models by model and task, in a month such as 2026-11, or in all."""
        ...

    async def job(self, id: str) -> JobStatus:
        """Return the progress of the background work of an ingest."""
        ...

    async def jobs(self, *, limit: int = 20, cursor: str | None = None) -> JobPage:
        """List jobs, newest first, by page."""
        ...

    async def traces(
        self,
        *,
        session_id: str | None = None,
        turn_id: str | None = None,
        limit: int = 20,
        cursor: str | None = None,
    ) -> TracePage:
        """List the traces of reads and writes, newest first, of one session and turn when given."""
        ...

    async def trace(self, id: str) -> Trace: ...

    def events(self, *, after: int | None = None, heartbeat: float = HEARTBEAT_SECONDS) -> AsyncIterator[Event | None]:
        """Yield events as they happen, after number `after` or from now on; None after `heartbeat` silent seconds."""
        ...
