"""What happened in one profile, in the same database."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import psycopg

from .. import cursors, stored
from ..errors import Conflict
from ..happened import happened
from ..moments import micros, now
from ..records import EDITS, SUMMARY, Edit, Event, Job, Once, Trace, TracePage, nameless, without
from ..spending import Spent, Usage
from ..types import Applied, Change, Forgotten, Json
from .base import Base, Db, query
from .seal import Seal

ANSWER = (stored.ONCE.split(", ").index("answer"),)
LATELY = timedelta(minutes=1)


class PostgresJournal:
    def __init__(self, base: Base, profile: int, seal: Seal) -> None:
        self._base = base
        self._profile = profile
        self._seal = seal

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
        return stored.once(self._seal.open_row(found[0], ANSWER if found[0][2] is not None else ())) if found else None

    async def job(self, id: str) -> Job | None:
        found = await self._read(f"SELECT {stored.JOB} FROM job WHERE profile = %s AND id = %s", id)
        return stored.job(found[0]) if found else None

    async def jobs(self, limit: int) -> list[Job]:
        statement = f"SELECT {stored.JOB} FROM job WHERE profile = %s ORDER BY n DESC LIMIT %s"
        return [stored.job(row) for row in await self._read(statement, limit)]

    async def note(self, traces: Sequence[Trace]) -> None:
        places = ", ".join(["%s"] * (1 + len(stored.TRACE.split(","))))
        statement = f"INSERT INTO trace (profile, {stored.TRACE}) VALUES ({places}) ON CONFLICT DO NOTHING"

        async def run(db: Db) -> None:
            gone = await self._gone_lately(db)
            cleaned = [replace(trace, details=without(trace.details, gone)) if gone else trace for trace in traces]
            shut = [self._shut(stored.trace_row(trace)) for trace in cleaned]
            async with db.cursor() as cursor:
                await cursor.executemany(statement, [(self._profile, *row) for row in shut])

        await self._base.write(self._profile, run, aside=True)

    async def trace(self, id: str) -> Trace | None:
        found = await self._read(f"SELECT {stored.TRACE} FROM trace WHERE profile = %s AND id = %s", id)
        return stored.trace(self._opened(found[0])) if found else None

    async def traces(self, session_id: str | None, turn_id: str | None, limit: int, cursor: str | None) -> TracePage:
        statement = (
            f"SELECT {stored.TRACE}, n FROM trace WHERE profile = %s AND (%s::text IS NULL OR session = %s) "
            "AND (%s::text IS NULL OR turn = %s) AND n < %s ORDER BY n DESC LIMIT %s"
        )
        before = cursors.opened(cursor)
        found = await self._read(statement, session_id, session_id, turn_id, turn_id, before, limit + 1)
        more = cursors.sealed(found[limit - 1][-1]) if len(found) > limit else None
        return TracePage(tuple(stored.trace(self._opened(row[:-1])) for row in found[:limit]), more)

    async def spend(self, month: str, usage: Usage, calls: int = 1) -> None:
        row = (self._profile, month, usage.model, usage.task, calls, usage.input, usage.output, usage.cached)
        statement = (
            f"INSERT INTO usage (profile, {stored.SPENT}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s) "
            "ON CONFLICT (profile, month, model, task) DO UPDATE SET calls = usage.calls + excluded.calls, "
            "input = usage.input + excluded.input, output = usage.output + excluded.output, "
            "cached = usage.cached + excluded.cached"
        )

        async def run(db: Db) -> None:
            await db.execute(statement, row)

        await self._base.write(self._profile, run, aside=True)

    async def spent(self, month: str | None) -> list[Spent]:
        statement = (
            f"SELECT {stored.SPENT} FROM usage WHERE profile = %s AND (%s::text IS NULL OR month = %s) "
            "ORDER BY month, model, task"
        )
        return [Spent(*row) for row in await self._read(statement, month, month)]

    async def settings(self) -> dict[str, Json]:
        found = await self._read("SELECT name, value FROM setting WHERE profile = %s ORDER BY name")
        return {name: json.loads(self._seal.open_text(value)) for name, value in found}

    async def lay_down(self, name: str, value: Json) -> None:
        async def run(db: Db) -> None:
            if value is None:
                await db.execute("DELETE FROM setting WHERE profile = %s AND name = %s", (self._profile, name))
                return
            row = (self._profile, name, self._seal.shut_text(stored.packed(value)))
            instead = "ON CONFLICT (profile, name) DO UPDATE SET value = excluded.value"
            await db.execute(f"INSERT INTO setting VALUES (%s, %s, %s) {instead}", row)

        await self._base.write(self._profile, run)

    async def edits(self, limit: int) -> list[Edit]:
        statement = f"SELECT {stored.EDIT} FROM edit WHERE profile = %s ORDER BY n DESC LIMIT %s"
        return [stored.edit(row) for row in await self._read(statement, limit)]

    async def trim(self, before: datetime, traces: int, events: int) -> None:
        p, at = self._profile, micros(before)

        async def run(db: Db) -> None:
            for table, most in (("trace", traces), ("event", events), ("edit", EDITS)):
                await db.execute(
                    f"DELETE FROM {table} WHERE profile = %s AND n <= coalesce("
                    f"(SELECT n FROM {table} WHERE profile = %s ORDER BY n DESC OFFSET %s LIMIT 1), 0)",
                    (p, p, most),
                )
            await db.execute("DELETE FROM trace WHERE profile = %s AND at < %s", (p, at))
            await db.execute("DELETE FROM once WHERE profile = %s AND at < %s", (p, at))
            await db.execute("DELETE FROM job WHERE profile = %s AND created_at < %s", (p, at))

        await self._base.write(p, run, aside=True)

    async def _gone_lately(self, db: Db) -> set[str]:
        """Ids that somebody forgot, perhaps in another process, while the traces were on their way."""
        statement = (
            "SELECT data FROM (SELECT type, data, at FROM event WHERE profile = %s ORDER BY n DESC LIMIT 1000) AS last "
            "WHERE type IN ('memory.forgotten', 'message.forgotten') AND at > %s"
        )
        told = await query(db, statement, (self._profile, micros(now() - LATELY)))
        return {id for (data,) in told for id in stored.texts(data)}

    def _shut(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*row[:-1], self._seal.shut(row[-1]))

    def _opened(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*row[:-1], self._seal.open(row[-1]))

    async def _read(self, statement: str, *bound: Any) -> list[tuple[Any, ...]]:
        return await self._base.read(self._profile, lambda db: query(db, statement, (self._profile, *bound)))


async def recorded(db: Db, profile: int, change: Change, applied: Applied, seal: Seal) -> None:
    """Write down, inside the change's own transaction, what it did; listeners hear of it when it commits."""
    at = micros(now())
    waiting = 0
    if change.settle or change.defer:
        counted = "SELECT count(*) FROM message WHERE profile = %s AND state = 'waiting'"
        waiting = int((await query(db, counted, (profile,)))[0][0])
    events = [(type, stored.packed(data)) for type, data in happened(change, applied, lambda: waiting)]
    if events:
        types, told = zip(*events, strict=True)
        await db.execute(
            "INSERT INTO event (profile, at, type, data) SELECT %s, %s, type, data "
            "FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY AS new (type, data, place) ORDER BY place",
            (profile, at, list(types), list(told)),
        )
    if change.job is not None:
        await db.execute(
            f"INSERT INTO job (profile, {stored.JOB}) VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
            (profile, *stored.job_row(change.job)),
        )
    if change.once is not None:
        await _keep(db, profile, change.once, applied, at, seal)
    await _take_back(db, profile, change)
    if change.forget:
        await db.execute("DELETE FROM setting WHERE profile = %s AND name = %s", (profile, SUMMARY))
    if change.forget or change.asked_in:
        await _scrub(db, profile, applied.gone, change.asked_in, seal)
    if events and not change.rehearsed:
        await db.execute("SELECT pg_notify('holdfast', %s)", (str(profile),))


async def _take_back(db: Db, profile: int, change: Change) -> None:
    for id in change.undoes:
        if not await query(db, "DELETE FROM edit WHERE profile = %s AND id = %s RETURNING 1", (profile, id)):
            raise Conflict(f"The change {id} was taken back meanwhile.")
    if change.edit is not None:
        await db.execute(
            f"INSERT INTO edit (profile, {stored.EDIT}) VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
            (profile, *stored.edit_row(change.edit)),
        )


async def _keep(db: Db, profile: int, once: Once, applied: Applied, at: int, seal: Seal) -> None:
    done = replace(once, new=applied.new, memories=applied.gone.memories, messages=applied.gone.messages)
    row = (profile, *seal.shut_row(stored.once_row(done), ANSWER if done.answer is not None else ()), at)
    try:
        await db.execute(f"INSERT INTO once (profile, {stored.ONCE}, at) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", row)
    except psycopg.errors.UniqueViolation as known:
        raise Conflict(f"The idempotency key {once.key!r} was used meanwhile.") from known


async def _scrub(db: Db, profile: int, gone: Forgotten, sessions: tuple[str, ...], seal: Seal) -> None:
    """Take forgotten ids out of every trace, and what was asked in forgotten sessions."""
    if sessions:
        await db.execute("DELETE FROM trace WHERE profile = %s AND session = ANY(%s)", (profile, list(sessions)))
        for session in sessions:
            said = "SELECT n, data FROM event WHERE profile = %s AND position(%s in data) > 0"
            for n, data in await query(db, said, (profile, json.dumps(session, ensure_ascii=False))):
                kept = stored.packed(nameless(json.loads(data)))
                await db.execute("UPDATE event SET data = %s WHERE profile = %s AND n = %s", (kept, profile, n))
    ids = {*gone.memories, *gone.messages}
    if not ids:
        return
    for row in await query(db, f"SELECT {stored.EDIT} FROM edit WHERE profile = %s", (profile,)):
        known = stored.edit(row)
        if (left := known.without(ids)) is not known:
            bound = (*stored.edit_row(left)[3:], profile, left.id)
            await db.execute("UPDATE edit SET gone = %s, data = %s WHERE profile = %s AND id = %s", bound)
    for n, details in await query(db, "SELECT n, details FROM trace WHERE profile = %s", (profile,)):
        held = stored.opened(seal.open(details))
        if not ids.isdisjoint(stored.texts(held)):
            cleaned = seal.shut(stored.squeezed(without(json.loads(held), ids)))
            await db.execute("UPDATE trace SET details = %s WHERE profile = %s AND n = %s", (cleaned, profile, n))
