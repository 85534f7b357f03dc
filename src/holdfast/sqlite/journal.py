"""What happened in one profile, beside its memory in the same file."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import apsw

from ..errors import Conflict, InvalidInput
from ..happened import happened
from ..moments import at_micros, micros, now
from ..records import Caller, Event, Job, Once, Trace, TracePage, without
from ..types import Applied, Change, Forgotten
from . import rows
from .file import File, query

_TRACE = "n, id, at, operation, credential, agent, session, turn, took, details"
_ID = re.compile(r'"([^"\\]+)"')
_ONCE = "key, request, answer, new, memories, messages"


class SqliteJournal:
    def __init__(self, file: File) -> None:
        self._file = file

    async def events(self, after: int, limit: int) -> list[Event]:
        statement = "SELECT n, at, type, data FROM event WHERE n > ? ORDER BY n LIMIT ?"
        found = await self._file.read(lambda db: query(db, statement, (after, limit)))
        return [Event(n, at_micros(at), type, json.loads(data)) for n, at, type, data in found]

    async def reach(self) -> tuple[int, int]:
        statement = "SELECT coalesce((SELECT min(n) FROM event), 0), coalesce((SELECT max(n) FROM event), 0)"
        ((oldest, newest),) = await self._file.read(lambda db: query(db, statement))
        return oldest, newest

    async def once(self, key: str) -> Once | None:
        found = await self._file.read(lambda db: query(db, f"SELECT {_ONCE} FROM once WHERE key = ?", (key,)))
        if not found:
            return None
        key, request, answer, new, memories, messages = found[0]
        return Once(
            key, request, answer, frozenset(json.loads(new)), tuple(json.loads(memories)), tuple(json.loads(messages))
        )

    async def job(self, id: str) -> Job | None:
        statement = "SELECT id, kind, created_at, messages FROM job WHERE id = ?"
        found = await self._file.read(lambda db: query(db, statement, (id,)))
        return _job(found[0]) if found else None

    async def jobs(self, limit: int) -> list[Job]:
        statement = "SELECT id, kind, created_at, messages FROM job ORDER BY n DESC LIMIT ?"
        return [_job(row) for row in await self._file.read(lambda db: query(db, statement, (limit,)))]

    async def note(self, traces: Sequence[Trace]) -> None:
        written = [
            (
                t.id, micros(t.at), t.operation, t.caller.credential, t.caller.agent, t.caller.session_id,
                t.caller.turn_id, round(t.milliseconds * 1000), _squeezed(t.details),
            )
            for t in traces
        ]  # fmt: skip
        columns = _TRACE.removeprefix("n, ")
        statement = f"INSERT OR IGNORE INTO trace ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        await self._file.write(lambda db: db.executemany(statement, written))

    async def trace(self, id: str) -> Trace | None:
        found = await self._file.read(lambda db: query(db, f"SELECT {_TRACE} FROM trace WHERE id = ?", (id,)))
        return _trace(found[0]) if found else None

    async def traces(self, session_id: str | None, turn_id: str | None, limit: int, cursor: str | None) -> TracePage:
        if cursor is not None and not (cursor.isdecimal() and len(cursor) < 20):
            raise InvalidInput(
                f"cursor {cursor!r} is none of ours; pass the cursor of the page before, unchanged.", field="cursor"
            )
        statement = (
            f"SELECT {_TRACE} FROM trace WHERE (?1 IS NULL OR session = ?1) AND (?2 IS NULL OR turn = ?2) AND n < ?3 "
            "ORDER BY n DESC LIMIT ?4"
        )
        before = min(int(cursor), 2**62) if cursor else 2**62
        found = await self._file.read(lambda db: query(db, statement, (session_id, turn_id, before, limit + 1)))
        more = str(found[limit - 1][0]) if len(found) > limit else None
        return TracePage(tuple(_trace(row) for row in found[:limit]), more)

    async def trim(self, before: datetime, traces: int, events: int) -> None:
        def trim(db: apsw.Connection) -> None:
            at = micros(before)
            db.execute("DELETE FROM trace WHERE at < ? OR n <= (SELECT max(n) FROM trace) - ?", (at, traces))
            db.execute("DELETE FROM event WHERE n <= (SELECT max(n) FROM event) - ?", (events,))
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
        [(at, type, rows.packed(data)) for type, data in events],
    )
    if change.job is not None:
        job = change.job
        listed = rows.packed(job.messages)
        db.execute(
            "INSERT OR IGNORE INTO job (id, kind, created_at, messages) VALUES (?, ?, ?, ?)",
            (job.id, job.kind, micros(job.created_at), listed),
        )
    if change.once is not None:
        _keep(db, change.once, applied, at)
    if change.forget or change.asked_in:
        _scrub(db, applied.gone, change.asked_in)


def _keep(db: apsw.Connection, once: Once, applied: Applied, at: int) -> None:
    gone = applied.gone
    row = (
        once.key, once.request, once.answer, rows.packed(sorted(applied.new)), rows.packed(gone.memories),
        rows.packed(gone.messages), at,
    )  # fmt: skip
    try:
        db.execute(f"INSERT INTO once ({_ONCE}, at) VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    except apsw.ConstraintError as known:
        raise Conflict(f"The idempotency key {once.key!r} was used meanwhile.") from known


def _scrub(db: apsw.Connection, gone: Forgotten, sessions: tuple[str, ...]) -> None:
    """Take forgotten ids out of every trace, and what was asked in forgotten sessions."""
    for session in sessions:
        db.execute("DELETE FROM trace WHERE session = ?", (session,))
    ids = {*gone.memories, *gone.messages}
    if not ids:
        return
    for n, details in query(db, "SELECT n, details FROM trace"):
        held = zlib.decompress(details).decode()
        if not ids.isdisjoint(_ID.findall(held)):
            db.execute("UPDATE trace SET details = ? WHERE n = ?", (_squeezed(without(json.loads(held), ids)), n))


def _squeezed(details: dict[str, Any]) -> bytes:
    return zlib.compress(json.dumps(details, ensure_ascii=False, separators=(",", ":")).encode(), 1)


def _job(row: tuple[Any, ...]) -> Job:
    id, kind, created, messages = row
    return Job(id, kind, at_micros(created), tuple(json.loads(messages)))


def _trace(row: tuple[Any, ...]) -> Trace:
    _, id, at, operation, credential, agent, session, turn, took, details = row
    caller = Caller(credential, agent, session, turn)
    return Trace(id, at_micros(at), operation, caller, took / 1000, json.loads(zlib.decompress(details)))
