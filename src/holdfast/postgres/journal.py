"""What happened in one profile, in the same database."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import psycopg

from .. import cursors, stored
from ..errors import Conflict
from ..happened import happened
from ..moments import micros, now
from ..records import Event, Job, Once, Trace, TracePage, without
from ..types import Applied, Change, Forgotten
from .base import Base, query


class PostgresJournal:
    def __init__(self, base: Base, profile: int) -> None:
        self._base = base
        self._profile = profile

    async def events(self, after: int, limit: int) -> list[Event]:
        statement = f"SELECT {stored.EVENT} FROM event WHERE profile = %s AND n > %s ORDER BY n LIMIT %s"
        found = await self._read(statement, min(after, 2**62), limit)
        return [stored.event(row) for row in found]

    async def reach(self) -> tuple[int, int]:
        ((oldest, newest),) = await self._read(
            "SELECT coalesce(min(n), 0), coalesce(max(n), 0) FROM event WHERE profile = %s"
        )
        return oldest, newest

    async def once(self, key: str) -> Once | None:
        found = await self._read(f"SELECT {stored.ONCE} FROM once WHERE profile = %s AND key = %s", key)
        return stored.once(found[0]) if found else None

    async def job(self, id: str) -> Job | None:
        found = await self._read(f"SELECT {stored.JOB} FROM job WHERE profile = %s AND id = %s", id)
        return stored.job(found[0]) if found else None

    async def jobs(self, limit: int) -> list[Job]:
        statement = f"SELECT {stored.JOB} FROM job WHERE profile = %s ORDER BY n DESC LIMIT %s"
        return [stored.job(row) for row in await self._read(statement, limit)]

    async def note(self, traces: Sequence[Trace]) -> None:
        places = ", ".join(["%s"] * (1 + len(stored.TRACE.split(","))))
        written = [(self._profile, *stored.trace_row(trace)) for trace in traces]
        async with self._base.transaction(self._profile) as db, db.cursor() as cursor:
            await cursor.executemany(
                f"INSERT INTO trace (profile, {stored.TRACE}) VALUES ({places}) ON CONFLICT DO NOTHING", written
            )

    async def trace(self, id: str) -> Trace | None:
        found = await self._read(f"SELECT {stored.TRACE} FROM trace WHERE profile = %s AND id = %s", id)
        return stored.trace(found[0]) if found else None

    async def traces(self, session_id: str | None, turn_id: str | None, limit: int, cursor: str | None) -> TracePage:
        statement = (
            f"SELECT {stored.TRACE}, n FROM trace WHERE profile = %s AND (%s::text IS NULL OR session = %s) "
            "AND (%s::text IS NULL OR turn = %s) AND n < %s ORDER BY n DESC LIMIT %s"
        )
        before = cursors.opened(cursor)
        found = await self._read(statement, session_id, session_id, turn_id, turn_id, before, limit + 1)
        more = cursors.sealed(found[limit - 1][-1]) if len(found) > limit else None
        return TracePage(tuple(stored.trace(row[:-1]) for row in found[:limit]), more)

    async def trim(self, before: datetime, traces: int, events: int) -> None:
        p, at = self._profile, micros(before)
        async with self._base.transaction(p) as db:
            for table, most in (("trace", traces), ("event", events)):
                await db.execute(
                    f"DELETE FROM {table} WHERE profile = %s AND n <= coalesce("
                    f"(SELECT n FROM {table} WHERE profile = %s ORDER BY n DESC OFFSET %s LIMIT 1), 0)",
                    (p, p, most),
                )
            await db.execute("DELETE FROM trace WHERE profile = %s AND at < %s", (p, at))
            await db.execute("DELETE FROM once WHERE profile = %s AND at < %s", (p, at))
            await db.execute("DELETE FROM job WHERE profile = %s AND created_at < %s", (p, at))

    async def _read(self, statement: str, *bound: Any) -> list[tuple[Any, ...]]:
        async with self._base.transaction(self._profile) as db:
            return await query(db, statement, (self._profile, *bound))


async def recorded(db: psycopg.AsyncConnection, profile: int, change: Change, applied: Applied) -> None:
    """Write down, inside the change's own transaction, what it did; listeners hear of it when it commits."""
    at = micros(now())
    waiting = 0
    if change.settle or change.defer:
        counted = "SELECT count(*) FROM message WHERE profile = %s AND state = 'waiting'"
        waiting = int((await query(db, counted, (profile,)))[0][0])
    events = [(profile, at, type, stored.packed(data)) for type, data in happened(change, applied, lambda: waiting)]
    if events:
        async with db.cursor() as cursor:
            await cursor.executemany("INSERT INTO event (profile, at, type, data) VALUES (%s, %s, %s, %s)", events)
    if change.job is not None:
        await db.execute(
            f"INSERT INTO job (profile, {stored.JOB}) VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
            (profile, *stored.job_row(change.job)),
        )
    if change.once is not None:
        await _keep(db, profile, change.once, applied, at)
    if change.forget or change.asked_in:
        await _scrub(db, profile, applied.gone, change.asked_in)
    if events and not change.rehearsed:
        await db.execute("SELECT pg_notify('holdfast', %s)", (str(profile),))


async def _keep(db: psycopg.AsyncConnection, profile: int, once: Once, applied: Applied, at: int) -> None:
    done = replace(once, new=applied.new, memories=applied.gone.memories, messages=applied.gone.messages)
    row = (profile, *stored.once_row(done), at)
    try:
        await db.execute(f"INSERT INTO once (profile, {stored.ONCE}, at) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", row)
    except psycopg.errors.UniqueViolation as known:
        raise Conflict(f"The idempotency key {once.key!r} was used meanwhile.") from known


async def _scrub(db: psycopg.AsyncConnection, profile: int, gone: Forgotten, sessions: tuple[str, ...]) -> None:
    """Take forgotten ids out of every trace, and what was asked in forgotten sessions."""
    if sessions:
        await db.execute("DELETE FROM trace WHERE profile = %s AND session = ANY(%s)", (profile, list(sessions)))
    ids = {*gone.memories, *gone.messages}
    if not ids:
        return
    for n, details in await query(db, "SELECT n, details FROM trace WHERE profile = %s", (profile,)):
        held = stored.opened(details)
        if not ids.isdisjoint(stored.texts(held)):
            cleaned = stored.squeezed(without(json.loads(held), ids))
            await db.execute("UPDATE trace SET details = %s WHERE profile = %s AND n = %s", (cleaned, profile, n))
