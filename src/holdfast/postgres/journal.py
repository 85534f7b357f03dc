"""What happened in one profile, in the same database."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import psycopg

from ..errors import Conflict, InvalidInput
from ..happened import happened
from ..moments import at_micros, micros, now
from ..records import Caller, Event, Job, Once, Trace, TracePage, without
from ..types import Applied, Change, Forgotten
from . import rows
from .base import Base, query

_TRACE = "n, id, at, operation, credential, agent, session, turn, took, details"
_ID = re.compile(r'"([^"\\]+)"')
_ONCE = "key, request, answer, new, memories, messages"


class PostgresJournal:
    def __init__(self, base: Base, profile: int) -> None:
        self._base = base
        self._profile = profile

    async def events(self, after: int, limit: int) -> list[Event]:
        statement = "SELECT n, at, type, data FROM event WHERE profile = %s AND n > %s ORDER BY n LIMIT %s"
        found = await self._read(statement, min(after, 2**62), limit)
        return [Event(n, at_micros(at), type, json.loads(data)) for n, at, type, data in found]

    async def reach(self) -> tuple[int, int]:
        ((oldest, newest),) = await self._read(
            "SELECT coalesce(min(n), 0), coalesce(max(n), 0) FROM event WHERE profile = %s"
        )
        return oldest, newest

    async def once(self, key: str) -> Once | None:
        found = await self._read(f"SELECT {_ONCE} FROM once WHERE profile = %s AND key = %s", key)
        if not found:
            return None
        key, request, answer, new, memories, messages = found[0]
        return Once(
            key, request, answer, frozenset(json.loads(new)), tuple(json.loads(memories)), tuple(json.loads(messages))
        )

    async def job(self, id: str) -> Job | None:
        found = await self._read("SELECT id, kind, created_at, messages FROM job WHERE profile = %s AND id = %s", id)
        return _job(found[0]) if found else None

    async def jobs(self, limit: int) -> list[Job]:
        statement = "SELECT id, kind, created_at, messages FROM job WHERE profile = %s ORDER BY n DESC LIMIT %s"
        return [_job(row) for row in await self._read(statement, limit)]

    async def note(self, traces: Sequence[Trace]) -> None:
        written = [
            (
                self._profile, t.id, micros(t.at), t.operation, t.caller.credential, t.caller.agent,
                t.caller.session_id, t.caller.turn_id, round(t.milliseconds * 1000), _squeezed(t.details),
            )
            for t in traces
        ]  # fmt: skip
        columns = _TRACE.removeprefix("n, ")
        async with self._base.transaction(self._profile) as db, db.cursor() as cursor:
            await cursor.executemany(
                f"INSERT INTO trace (profile, {columns}) VALUES ({', '.join(['%s'] * 10)}) ON CONFLICT DO NOTHING",
                written,
            )

    async def trace(self, id: str) -> Trace | None:
        found = await self._read(f"SELECT {_TRACE} FROM trace WHERE profile = %s AND id = %s", id)
        return _trace(found[0]) if found else None

    async def traces(self, session_id: str | None, turn_id: str | None, limit: int, cursor: str | None) -> TracePage:
        if cursor is not None and not (cursor.isdecimal() and len(cursor) < 20):
            raise InvalidInput(
                f"cursor {cursor!r} is none of ours; pass the cursor of the page before, unchanged.", field="cursor"
            )
        statement = (
            f"SELECT {_TRACE} FROM trace WHERE profile = %s AND (%s::text IS NULL OR session = %s) "
            "AND (%s::text IS NULL OR turn = %s) AND n < %s ORDER BY n DESC LIMIT %s"
        )
        before = min(int(cursor), 2**62) if cursor else 2**62
        found = await self._read(statement, session_id, session_id, turn_id, turn_id, before, limit + 1)
        more = str(found[limit - 1][0]) if len(found) > limit else None
        return TracePage(tuple(_trace(row) for row in found[:limit]), more)

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
    events = [(profile, at, type, rows.packed(data)) for type, data in happened(change, applied, lambda: waiting)]
    if events:
        async with db.cursor() as cursor:
            await cursor.executemany("INSERT INTO event (profile, at, type, data) VALUES (%s, %s, %s, %s)", events)
    if change.job is not None:
        job = change.job
        await db.execute(
            "INSERT INTO job (profile, id, kind, created_at, messages) VALUES (%s, %s, %s, %s, %s) "
            "ON CONFLICT DO NOTHING",
            (profile, job.id, job.kind, micros(job.created_at), rows.packed(job.messages)),
        )
    if change.once is not None:
        await _keep(db, profile, change.once, applied, at)
    if change.forget or change.asked_in:
        await _scrub(db, profile, applied.gone, change.asked_in)
    if events and not change.rehearsed:
        await db.execute("SELECT pg_notify('holdfast', %s)", (str(profile),))


async def _keep(db: psycopg.AsyncConnection, profile: int, once: Once, applied: Applied, at: int) -> None:
    gone = applied.gone
    row = (
        profile, once.key, once.request, once.answer, rows.packed(sorted(applied.new)), rows.packed(gone.memories),
        rows.packed(gone.messages), at,
    )  # fmt: skip
    try:
        await db.execute(f"INSERT INTO once (profile, {_ONCE}, at) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", row)
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
        held = zlib.decompress(details).decode()
        if not ids.isdisjoint(_ID.findall(held)):
            cleaned = _squeezed(without(json.loads(held), ids))
            await db.execute("UPDATE trace SET details = %s WHERE profile = %s AND n = %s", (cleaned, profile, n))


def _squeezed(details: dict[str, Any]) -> bytes:
    return zlib.compress(json.dumps(details, ensure_ascii=False, separators=(",", ":")).encode(), 1)


def _job(row: tuple[Any, ...]) -> Job:
    id, kind, created, messages = row
    return Job(id, kind, at_micros(created), tuple(json.loads(messages)))


def _trace(row: tuple[Any, ...]) -> Trace:
    _, id, at, operation, credential, agent, session, turn, took, details = row
    caller = Caller(credential, agent, session, turn)
    return Trace(id, at_micros(at), operation, caller, took / 1000, json.loads(zlib.decompress(details)))
