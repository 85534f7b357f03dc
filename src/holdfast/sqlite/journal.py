"""What happened in one profile, beside its memory in the same file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import apsw

from .. import cursors, stored
from ..errors import Conflict
from ..happened import happened
from ..moments import micros, now
from ..records import EDITS, SUMMARY, Edit, Event, Job, Once, Trace, TracePage, nameless, without
from ..spending import Spent, Usage
from ..types import Applied, Change, Forgotten, Json
from .file import File, query


class SqliteJournal:
    def __init__(self, file: File) -> None:
        self._file = file

    async def events(self, after: int, limit: int) -> list[Event]:
        statement = f"SELECT {stored.EVENT} FROM event WHERE n > ? ORDER BY n LIMIT ?"
        found = await self._file.read(lambda db: query(db, statement, (after, limit)))
        return [stored.event(row) for row in found]

    async def reach(self) -> tuple[int, int]:
        statement = "SELECT coalesce((SELECT min(n) FROM event), 0), coalesce((SELECT max(n) FROM event), 0)"
        ((oldest, newest),) = await self._file.read(lambda db: query(db, statement))
        return oldest, newest

    async def once(self, key: str) -> Once | None:
        statement = f"SELECT {stored.ONCE} FROM once WHERE key = ?"
        found = await self._file.read(lambda db: query(db, statement, (key,)))
        return stored.once(found[0]) if found else None

    async def job(self, id: str) -> Job | None:
        statement = f"SELECT {stored.JOB} FROM job WHERE id = ?"
        found = await self._file.read(lambda db: query(db, statement, (id,)))
        return stored.job(found[0]) if found else None

    async def jobs(self, limit: int) -> list[Job]:
        statement = f"SELECT {stored.JOB} FROM job ORDER BY n DESC LIMIT ?"
        return [stored.job(row) for row in await self._file.read(lambda db: query(db, statement, (limit,)))]

    async def note(self, traces: Sequence[Trace]) -> None:
        places = ", ".join("?" * len(stored.TRACE.split(",")))
        statement = f"INSERT OR IGNORE INTO trace ({stored.TRACE}) VALUES ({places})"
        written = [stored.trace_row(trace) for trace in traces]
        await self._file.write(lambda db: db.executemany(statement, written))

    async def trace(self, id: str) -> Trace | None:
        found = await self._file.read(lambda db: query(db, f"SELECT {stored.TRACE} FROM trace WHERE id = ?", (id,)))
        return stored.trace(found[0]) if found else None

    async def traces(self, session_id: str | None, turn_id: str | None, limit: int, cursor: str | None) -> TracePage:
        statement = (
            f"SELECT {stored.TRACE}, n FROM trace WHERE (?1 IS NULL OR session = ?1) AND (?2 IS NULL OR turn = ?2) "
            "AND n < ?3 ORDER BY n DESC LIMIT ?4"
        )
        before = cursors.opened(cursor)
        found = await self._file.read(lambda db: query(db, statement, (session_id, turn_id, before, limit + 1)))
        more = cursors.sealed(found[limit - 1][-1]) if len(found) > limit else None
        return TracePage(tuple(stored.trace(row[:-1]) for row in found[:limit]), more)

    async def spend(self, month: str, usage: Usage, calls: int = 1) -> None:
        row = (month, usage.model, usage.task, calls, usage.input, usage.output, usage.cached)
        statement = (
            f"INSERT INTO usage ({stored.SPENT}) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (month, model, task) "
            "DO UPDATE SET calls = calls + excluded.calls, input = input + excluded.input, "
            "output = output + excluded.output, cached = cached + excluded.cached"
        )
        await self._file.write(lambda db: db.execute(statement, row))

    async def spent(self, month: str | None) -> list[Spent]:
        statement = f"SELECT {stored.SPENT} FROM usage WHERE ?1 IS NULL OR month = ?1 ORDER BY month, model, task"
        return [Spent(*row) for row in await self._file.read(lambda db: query(db, statement, (month,)))]

    async def settings(self) -> dict[str, Json]:
        found = await self._file.read(lambda db: query(db, "SELECT name, value FROM setting ORDER BY name"))
        return {name: json.loads(value) for name, value in found}

    async def lay_down(self, name: str, value: Json) -> None:
        def write(db: apsw.Connection) -> None:
            db.execute("DELETE FROM setting WHERE name = ?", (name,))
            if value is not None:
                db.execute("INSERT INTO setting VALUES (?, ?)", (name, stored.packed(value)))

        await self._file.write(write)

    async def edits(self, limit: int) -> list[Edit]:
        statement = f"SELECT {stored.EDIT} FROM edit ORDER BY n DESC LIMIT ?"
        return [stored.edit(row) for row in await self._file.read(lambda db: query(db, statement, (limit,)))]

    async def trim(self, before: datetime, traces: int, events: int) -> None:
        def trim(db: apsw.Connection) -> None:
            at = micros(before)
            db.execute("DELETE FROM trace WHERE at < ? OR n <= (SELECT max(n) FROM trace) - ?", (at, traces))
            db.execute("DELETE FROM event WHERE n <= (SELECT max(n) FROM event) - ?", (events,))
            db.execute("DELETE FROM edit WHERE n NOT IN (SELECT n FROM edit ORDER BY n DESC LIMIT ?)", (EDITS,))
            db.execute("DELETE FROM once WHERE at < ?", (at,))
            db.execute("DELETE FROM job WHERE created_at < ?", (at,))

        await self._file.write(trim)


def recorded(db: apsw.Connection, change: Change, applied: Applied) -> None:
    """Write down, inside the change's own transaction, what it did."""
    at = micros(now())
    waiting = "SELECT count(*) FROM message WHERE state = 'waiting'"
    events = happened(change, applied, lambda: int(query(db, waiting)[0][0]))
    db.executemany(
        "INSERT INTO event (at, type, data) VALUES (?, ?, ?)",
        [(at, type, stored.packed(data)) for type, data in events],
    )
    if change.job is not None:
        db.execute(f"INSERT OR IGNORE INTO job ({stored.JOB}) VALUES (?, ?, ?, ?)", stored.job_row(change.job))
    if change.once is not None:
        _keep(db, change.once, applied, at)
    for id in change.undoes:
        if not query(db, "DELETE FROM edit WHERE id = ? RETURNING 1", (id,)):
            raise Conflict(f"The change {id} was taken back meanwhile.")
    if change.edit is not None:
        db.execute(f"INSERT OR IGNORE INTO edit ({stored.EDIT}) VALUES (?, ?, ?, ?, ?)", stored.edit_row(change.edit))
    if change.forget:
        db.execute("DELETE FROM setting WHERE name = ?", (SUMMARY,))
    if change.forget or change.asked_in:
        _scrub(db, applied.gone, change.asked_in)


def _keep(db: apsw.Connection, once: Once, applied: Applied, at: int) -> None:
    done = replace(once, new=applied.new, memories=applied.gone.memories, messages=applied.gone.messages)
    row = (*stored.once_row(done), at)
    try:
        db.execute(f"INSERT INTO once ({stored.ONCE}, at) VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    except apsw.ConstraintError as known:
        raise Conflict(f"The idempotency key {once.key!r} was used meanwhile.") from known


def _scrub(db: apsw.Connection, gone: Forgotten, sessions: tuple[str, ...]) -> None:
    """Take forgotten ids out of every trace, and what was asked in forgotten sessions."""
    for session in sessions:
        db.execute("DELETE FROM trace WHERE session = ?", (session,))
        told = query(db, "SELECT n, data FROM event WHERE instr(data, ?)", (json.dumps(session, ensure_ascii=False),))
        for n, data in told:
            db.execute("UPDATE event SET data = ? WHERE n = ?", (stored.packed(nameless(json.loads(data))), n))
    ids = {*gone.memories, *gone.messages}
    if not ids:
        return
    for row in query(db, f"SELECT {stored.EDIT} FROM edit"):
        known = stored.edit(row)
        if (left := known.without(ids)) is not known:
            db.execute("UPDATE edit SET gone = ?, data = ? WHERE id = ?", (*stored.edit_row(left)[3:], left.id))
    for n, details in query(db, "SELECT n, details FROM trace"):
        held = stored.opened(details)
        if not ids.isdisjoint(stored.texts(held)):
            cleaned = stored.squeezed(without(json.loads(held), ids))
            db.execute("UPDATE trace SET details = ? WHERE n = ?", (cleaned, n))
