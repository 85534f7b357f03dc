"""One profile's journal, in the same file as its memory."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType

import apsw

from holdfast.domain.erasure import FORGOTTEN_EVENTS, MAX_LOOKBACK_EVENTS, notable_traces
from holdfast.domain.errors import Conflict
from holdfast.domain.records import (
    MAX_EDITS,
    Edit,
    Event,
    Job,
    Once,
    Trace,
    TracePage,
)
from holdfast.domain.timestamps import from_micros, now, to_micros
from holdfast.domain.types import Applied, Change, Json
from holdfast.domain.usage import Spent, Usage
from holdfast.storage import cursors, rows
from holdfast.storage.events import change_events
from holdfast.storage.sqlite.connection import query
from holdfast.storage.sqlite.file import DatabaseFile

_EVENT_PLACES = ", ".join("?" * len(FORGOTTEN_EVENTS))
_MESSAGE_PLACES = ", ".join("?" * len(rows.MESSAGE.split(",")))


class SqliteJournal:
    def __init__(self, file: DatabaseFile) -> None:
        self._file = file

    async def events(self, after: int, limit: int) -> list[Event]:
        statement = f"SELECT {rows.EVENT} FROM event WHERE n > ? ORDER BY n LIMIT ?"
        found = await self._file.read(lambda db: query(db, statement, (after, limit)))
        return [rows.event(row) for row in found]

    async def reach(self) -> tuple[int, int]:
        statement = "SELECT coalesce((SELECT min(n) FROM event), 0), coalesce((SELECT max(n) FROM event), 0)"
        ((oldest, newest),) = await self._file.read(lambda db: query(db, statement))
        return oldest, newest

    async def once(self, key: str) -> Once | None:
        statement = f"SELECT {rows.ONCE} FROM once WHERE key = ?"
        found = await self._file.read(lambda db: query(db, statement, (rows.once_digest(key),)))
        return rows.once(found[0], key) if found else None

    async def job(self, id: str) -> Job | None:
        statement = f"SELECT {rows.JOB} FROM job WHERE id = ?"
        found = await self._file.read(lambda db: query(db, statement, (id,)))
        return rows.job(found[0]) if found else None

    async def jobs(self, limit: int, cursor: str | None = None) -> tuple[list[Job], str | None]:
        statement = f"SELECT {rows.JOB}, n FROM job WHERE n < ? ORDER BY n DESC LIMIT ?"
        bound = (cursors.decode(cursor), min(limit + 1, 2**31))
        found = await self._file.read(lambda db: query(db, statement, bound))
        next_cursor = cursors.encode(found[limit - 1][-1]) if len(found) > limit else None
        return [rows.job(row[:-1]) for row in found[:limit]], next_cursor

    async def note(self, traces: Sequence[Trace], began: Mapping[str, datetime] = MappingProxyType({})) -> None:
        places = ", ".join("?" * len(rows.TRACE.split(",")))
        statement = f"INSERT OR IGNORE INTO trace ({rows.TRACE}) VALUES ({places})"
        told = f"SELECT at, data FROM event WHERE type IN ({_EVENT_PLACES}) ORDER BY n DESC LIMIT ?"

        def write(db: apsw.Connection) -> None:
            found = query(db, told, (*FORGOTTEN_EVENTS, MAX_LOOKBACK_EVENTS))
            forgotten = [(from_micros(at), json.loads(data)) for at, data in found]
            db.executemany(statement, [rows.trace_row(trace) for trace in notable_traces(traces, began, forgotten)])

        await self._file.write(write)

    async def trace(self, id: str) -> Trace | None:
        found = await self._file.read(lambda db: query(db, f"SELECT {rows.TRACE} FROM trace WHERE id = ?", (id,)))
        return rows.trace(found[0]) if found else None

    async def traces(self, session_id: str | None, turn_id: str | None, limit: int, cursor: str | None) -> TracePage:
        statement = (
            f"SELECT {rows.TRACE}, n FROM trace WHERE (?1 IS NULL OR session = ?1) AND (?2 IS NULL OR turn = ?2) "
            "AND n < ?3 ORDER BY n DESC LIMIT ?4"
        )
        before = cursors.decode(cursor)
        found = await self._file.read(lambda db: query(db, statement, (session_id, turn_id, before, limit + 1)))
        next_cursor = cursors.encode(found[limit - 1][-1]) if len(found) > limit else None
        return TracePage(tuple(rows.trace(row[:-1]) for row in found[:limit]), next_cursor)

    async def spend(self, month: str, usage: Usage, calls: int = 1) -> None:
        row = (month, usage.model, usage.task, calls, usage.input, usage.output, usage.cached)
        statement = (
            f"INSERT INTO usage ({rows.SPENT}) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (month, model, task) "
            "DO UPDATE SET calls = calls + excluded.calls, input = input + excluded.input, "
            "output = output + excluded.output, cached = cached + excluded.cached"
        )
        await self._file.write(lambda db: db.execute(statement, row))

    async def spent(self, month: str | None) -> list[Spent]:
        statement = f"SELECT {rows.SPENT} FROM usage WHERE ?1 IS NULL OR month = ?1 ORDER BY month, model, task"
        return [Spent(*row) for row in await self._file.read(lambda db: query(db, statement, (month,)))]

    async def settings(self) -> dict[str, Json]:
        found = await self._file.read(lambda db: query(db, "SELECT name, value FROM setting ORDER BY name"))
        return {name: json.loads(value) for name, value in found}

    async def put_setting(self, name: str, value: Json) -> None:
        def write(db: apsw.Connection) -> None:
            db.execute("DELETE FROM setting WHERE name = ?", (name,))
            if value is not None:
                db.execute("INSERT INTO setting VALUES (?, ?)", (name, rows.compact_json(value)))

        await self._file.write(write)

    async def edits(self, limit: int) -> list[Edit]:
        statement = f"SELECT {rows.EDIT} FROM edit ORDER BY n DESC LIMIT ?"
        return [rows.edit(row) for row in await self._file.read(lambda db: query(db, statement, (limit,)))]

    async def trim(self, before: datetime, traces: int, events: int) -> None:
        def trim(db: apsw.Connection) -> None:
            at = to_micros(before)
            db.execute("DELETE FROM trace WHERE at < ? OR n <= (SELECT max(n) FROM trace) - ?", (at, traces))
            db.execute("DELETE FROM event WHERE n <= (SELECT max(n) FROM event) - ?", (events,))
            # their ids go, and listeners must know
            told = f"SELECT max(n) FROM event WHERE type IN ({_EVENT_PLACES}) AND at < ?"
            db.execute(f"DELETE FROM event WHERE n <= ({told})", (*FORGOTTEN_EVENTS, at))
            db.execute("DELETE FROM edit WHERE n NOT IN (SELECT n FROM edit ORDER BY n DESC LIMIT ?)", (MAX_EDITS,))
            db.execute("DELETE FROM once WHERE at < ?", (at,))
            db.execute("DELETE FROM job WHERE created_at < ?", (at,))

        await self._file.write(trim)


def record_change(db: apsw.Connection, change: Change, applied: Applied) -> None:
    """Write the journal entries of a change inside its own transaction."""
    at = to_micros(now())
    waiting = "SELECT count(*) FROM message WHERE state = 'waiting'"
    events = change_events(change, applied, lambda: int(query(db, waiting)[0][0]))
    db.executemany(
        "INSERT INTO event (at, type, data) VALUES (?, ?, ?)",
        [(at, type, rows.compact_json(data)) for type, data in events],
    )
    if change.job is not None:
        db.execute(f"INSERT OR IGNORE INTO job ({rows.JOB}) VALUES (?, ?, ?, ?)", rows.job_row(change.job))
    if change.once is not None:
        _insert_once(db, change.once, applied, at)
    for id in change.undoes:
        if not query(db, "DELETE FROM edit WHERE id = ? RETURNING 1", (id,)):
            raise Conflict(f"The change {id} was undone by another request.")
    if change.edit is not None:
        db.execute(f"INSERT OR IGNORE INTO edit ({rows.EDIT}) VALUES (?, ?, ?, ?, ?)", rows.edit_row(change.edit))


def _insert_once(db: apsw.Connection, once: Once, applied: Applied, at: int) -> None:
    gone = applied.gone
    done = replace(
        once, new=applied.new, memories=gone.memories, messages=gone.messages, shortened=gone.shortened
    )  # fmt: skip
    row = (*rows.once_row(done), at)
    try:
        db.execute(f"INSERT INTO once ({rows.ONCE}, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    except apsw.ConstraintError as known:
        raise Conflict(f"The idempotency key {once.key!r} was used in the meantime.") from known


def add_messages(db: apsw.Connection, change: Change) -> dict[str, tuple[int, rows.Row]]:
    """Add the messages that are new: id → number and row. A message that was set aside is tried again."""
    ends: dict[str, int] = {}
    if change.follows is not None:
        session, position = change.follows
        ends[session] = _end(db, session)
        if ends[session] != position:
            raise Conflict(rows.SESSION_MOVED_ON)
    known = "SELECT 1 FROM message WHERE id IN (SELECT value FROM json_each(?)) LIMIT 1"
    if change.absent and query(db, known, (rows.compact_json(change.absent),)):
        raise Conflict(rows.MESSAGE_KNOWN)
    places = dict(change.inserted)
    added = {}
    for message in rows.in_insertion_order(change):
        session = message.session_id
        if session not in ends:
            ends[session] = _end(db, session)
        if (place := places.get(message.id)) is not None:
            _move_up(db, session, place)
        row = rows.message_row(message, place or ends[session] + 1)
        inserted = f"INSERT OR IGNORE INTO message ({rows.MESSAGE}) VALUES ({_MESSAGE_PLACES}) RETURNING n"
        if found := query(db, inserted, row):
            ends[session] += 1
            added[message.id] = found[0][0], row
        else:
            again = (
                "UPDATE message SET state = 'waiting', failures = 0, wait_until = 0 WHERE id = ? AND state = 'aside'"
            )
            db.execute(again, (message.id,))
    return added


def _end(db: apsw.Connection, session: str) -> int:
    """The position of a session's last message, or 0."""
    last = query(db, "SELECT max(position) FROM message WHERE session = ?", (session,))
    return int(last[0][0] or 0)


def _move_up(db: apsw.Connection, session: str, place: int) -> None:
    """Free a position; in two steps, because positions are unique at every moment."""
    db.execute("UPDATE message SET position = -position - 1 WHERE session = ? AND position >= ?", (session, place))
    db.execute("UPDATE message SET position = -position WHERE session = ? AND position < 0", (session,))


_CLAIM = f"""
UPDATE message SET wait_until = ?2 WHERE n IN (SELECT n FROM (
    SELECT n, sum(length(content)) OVER (ORDER BY n) - length(content) AS before FROM (
      SELECT n, content FROM message WHERE state = 'waiting' AND wait_until <= ?1 AND session = (
        SELECT session FROM message WHERE state = 'waiting' AND wait_until <= ?1 ORDER BY n LIMIT 1
      ) ORDER BY n LIMIT ?3)
  ) WHERE before < ?4) RETURNING {rows.MESSAGE}, {rows.STATE}
"""


def claim_messages(db: apsw.Connection, bound: tuple[int, int, int, int]) -> tuple[list[rows.Row], float]:
    """Lease messages that wait; returns them, and when others may wait. `bound`: now, the end of the lease, and the
    limits on messages and characters."""
    found = query(db, _CLAIM, bound)
    soonest = query(db, "SELECT min(wait_until) FROM message WHERE state = 'waiting'")[0][0]
    return found, math.inf if soonest is None else soonest


_LEASED_MESSAGES, _LEASED_DOCUMENTS = "state = 'waiting' AND wait_until > 0 AND failures = 0", "lent > 0"


def has_leases(db: apsw.Connection) -> bool:
    """Whether there are leases of a process that is gone. This process owns the folder, so no other lease exists."""
    leased = (("message", _LEASED_MESSAGES), ("document", _LEASED_DOCUMENTS))
    return any(query(db, f"SELECT 1 FROM {table} WHERE {where} LIMIT 1") for table, where in leased)


def release_leases(db: apsw.Connection) -> None:
    db.execute(f"UPDATE message SET wait_until = 0 WHERE {_LEASED_MESSAGES}")
    db.execute(f"UPDATE document SET lent = 0 WHERE {_LEASED_DOCUMENTS}")


def record_digestion(db: apsw.Connection, change: Change) -> None:
    """Settle, defer or requeue messages."""
    lease = None if change.lease is None else to_micros(change.lease)
    lease_matches = "(?1 IS NULL OR (state = 'waiting' AND wait_until = ?1))"
    for id in change.leased:
        if query(db, f"SELECT 1 FROM message WHERE id = ?2 AND NOT {lease_matches}", (lease, id)):
            raise Conflict("The lease on a message expired, and another worker digests it.")
    for id in change.settle:
        db.execute("UPDATE message SET state = 'digested' WHERE id = ?", (id,))
    for deferral in change.defer:
        state, until = ("aside", 0) if deferral.until is None else ("waiting", to_micros(deferral.until))
        db.execute(
            "UPDATE message SET state = ?2, wait_until = ?3, failures = failures + 1, failure = ?4 "
            f"WHERE id = ?5 AND state = 'waiting' AND {lease_matches}",
            (lease, state, until, deferral.reason, deferral.message),
        )
    for id in change.redo:
        db.execute(
            "UPDATE message SET state = 'waiting', wait_until = 0, failures = 0, failure = NULL WHERE id = ?", (id,)
        )
