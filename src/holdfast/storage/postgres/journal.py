"""One profile's journal, in the same database as its memory."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

import psycopg

from holdfast.domain.erasure import FORGOTTEN_EVENTS, FORGOTTEN_LOOKBACK, MAX_LOOKBACK_EVENTS, notable_traces
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
from holdfast.storage.postgres import rows as written_rows
from holdfast.storage.postgres.connections import BoundStatement, Database, Db, query
from holdfast.storage.postgres.encryption import ANSWER_COLUMN, ENCRYPTED_MESSAGE_COLUMNS, ProfileCipher
from holdfast.storage.postgres.notifications import PROFILE_REWRITTEN_PREFIX


class PostgresJournal:
    def __init__(self, database: Database, profile: int, cipher: ProfileCipher) -> None:
        self._database = database
        self._profile = profile
        self._cipher = cipher

    async def events(self, after: int, limit: int) -> list[Event]:
        statement = f"SELECT {rows.EVENT} FROM event WHERE profile = %s AND n > %s ORDER BY n LIMIT %s"
        found = await self._read(statement, min(after, 2**62), limit)
        return [rows.event(row) for row in found]

    async def reach(self) -> tuple[int, int]:
        ((oldest, newest),) = await self._read(
            "SELECT coalesce(min(n), 0), coalesce(max(n), 0) FROM event WHERE profile = %s"
        )
        return oldest, newest

    async def once(self, key: str) -> Once | None:
        found = await self._read(f"SELECT {rows.ONCE} FROM once WHERE profile = %s AND key = %s", rows.once_digest(key))
        return (
            rows.once(self._cipher.decrypt_row(found[0], ANSWER_COLUMN if found[0][2] is not None else ()), key)
            if found
            else None
        )

    async def job(self, id: str) -> Job | None:
        found = await self._read(f"SELECT {rows.JOB} FROM job WHERE profile = %s AND id = %s", id)
        return rows.job(found[0]) if found else None

    async def jobs(self, limit: int, cursor: str | None = None) -> tuple[list[Job], str | None]:
        statement = f"SELECT {rows.JOB}, n FROM job WHERE profile = %s AND n < %s ORDER BY n DESC LIMIT %s"
        found = await self._read(statement, cursors.decode(cursor), min(limit + 1, 2**31))
        next_cursor = cursors.encode(found[limit - 1][-1]) if len(found) > limit else None
        return [rows.job(row[:-1]) for row in found[:limit]], next_cursor

    async def note(self, traces: Sequence[Trace], began: Mapping[str, datetime] = MappingProxyType({})) -> None:
        """Nothing was forgotten lately, almost always: then one message to the database does."""
        rest = traces
        if traces:
            since = min([now() - FORGOTTEN_LOOKBACK, *began.values()])
            added = await self._database.write_rows(
                self._profile, self._lock_statement, self._note_statement(traces, to_micros(since))
            )
            written = {id for (id,) in added[1]}
            rest = [trace for trace in traces if trace.id not in written]
        if not rest:
            return

        async def run(db: Db) -> None:
            if not await query(db, *self._lock_statement):
                return
            notable = notable_traces(rest, began, await self._last_forgotten(db))
            await db.execute(*self._note_statement(notable, None))

        await self._database.write(self._profile, run, skip_bookmark=True)

    @property
    def _lock_statement(self) -> BoundStatement:
        """Lock the profile as `apply` does, so that traces come before a forgetting, which erases in them, or after
        it."""
        return "SELECT 1 FROM profile WHERE id = %s FOR SHARE", (self._profile,)

    def _note_statement(self, traces: Sequence[Trace], since: int | None) -> BoundStatement:
        """Write traces, unless something was forgotten since a time, and return their ids."""
        row = f"({', '.join(['%s'] * (1 + len(rows.TRACE.split(','))))})"
        forgotten = "SELECT 1 FROM event WHERE profile = %s AND type = ANY(%s) AND at >= %s"
        values = [(self._profile, *self._encrypted(rows.trace_row(trace))) for trace in traces]
        return (
            f"INSERT INTO trace (profile, {rows.TRACE}) SELECT * FROM (VALUES {', '.join([row] * len(values))}) AS new "
            f"WHERE NOT EXISTS ({forgotten}) AND EXISTS (SELECT 1 FROM profile WHERE id = %s) "
            "ON CONFLICT DO NOTHING RETURNING id",
            (*(value for each in values for value in each), self._profile, list(FORGOTTEN_EVENTS),
             2**62 if since is None else since, self._profile),
        )  # fmt: skip

    async def trace(self, id: str) -> Trace | None:
        found = await self._read(f"SELECT {rows.TRACE} FROM trace WHERE profile = %s AND id = %s", id)
        return rows.trace(self._decrypted(found[0])) if found else None

    async def traces(self, session_id: str | None, turn_id: str | None, limit: int, cursor: str | None) -> TracePage:
        statement = (
            f"SELECT {rows.TRACE}, n FROM trace WHERE profile = %s AND (%s::text IS NULL OR session = %s) "
            "AND (%s::text IS NULL OR turn = %s) AND n < %s ORDER BY n DESC LIMIT %s"
        )
        before = cursors.decode(cursor)
        found = await self._read(statement, session_id, session_id, turn_id, turn_id, before, limit + 1)
        next_cursor = cursors.encode(found[limit - 1][-1]) if len(found) > limit else None
        return TracePage(tuple(rows.trace(self._decrypted(row[:-1])) for row in found[:limit]), next_cursor)

    async def spend(self, month: str, usage: Usage, calls: int = 1) -> None:
        row = (self._profile, month, usage.model, usage.task, calls, usage.input, usage.output, usage.cached)
        statement = (
            f"INSERT INTO usage (profile, {rows.SPENT}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s) "
            "ON CONFLICT (profile, month, model, task) DO UPDATE SET calls = usage.calls + excluded.calls, "
            "input = usage.input + excluded.input, output = usage.output + excluded.output, "
            "cached = usage.cached + excluded.cached"
        )

        async def run(db: Db) -> None:
            await db.execute(statement, row)

        await self._database.write(self._profile, run, skip_bookmark=True)

    async def spent(self, month: str | None) -> list[Spent]:
        statement = (
            f"SELECT {rows.SPENT} FROM usage WHERE profile = %s AND (%s::text IS NULL OR month = %s) "
            "ORDER BY month, model, task"
        )
        return [Spent(*row) for row in await self._read(statement, month, month)]

    async def settings(self) -> dict[str, Json]:
        found = await self._read("SELECT name, value FROM setting WHERE profile = %s ORDER BY name")
        return {name: json.loads(self._cipher.decrypt_text(value)) for name, value in found}

    async def put_setting(self, name: str, value: Json) -> None:
        async def run(db: Db) -> None:
            if value is None:
                await db.execute("DELETE FROM setting WHERE profile = %s AND name = %s", (self._profile, name))
                return
            row = (self._profile, name, self._cipher.encrypt_text(rows.compact_json(value)))
            instead = "ON CONFLICT (profile, name) DO UPDATE SET value = excluded.value"
            await db.execute(f"INSERT INTO setting VALUES (%s, %s, %s) {instead}", row)

        await self._database.write(self._profile, run)

    async def edits(self, limit: int) -> list[Edit]:
        statement = f"SELECT {rows.EDIT} FROM edit WHERE profile = %s ORDER BY n DESC LIMIT %s"
        return [rows.edit(row) for row in await self._read(statement, limit)]

    async def trim(self, before: datetime, traces: int, events: int) -> None:
        p, at = self._profile, to_micros(before)

        async def run(db: Db) -> None:
            for table, most in (("trace", traces), ("event", events), ("edit", MAX_EDITS)):
                await db.execute(
                    f"DELETE FROM {table} WHERE profile = %s AND n <= coalesce("
                    f"(SELECT n FROM {table} WHERE profile = %s ORDER BY n DESC OFFSET %s LIMIT 1), 0)",
                    (p, p, most),
                )
            told = "SELECT max(n) FROM event WHERE profile = %s AND type = ANY(%s) AND at < %s"
            bound = (p, p, list(FORGOTTEN_EVENTS), at)  # their ids go, and listeners must know
            await db.execute(f"DELETE FROM event WHERE profile = %s AND n <= ({told})", bound)
            await db.execute("DELETE FROM trace WHERE profile = %s AND at < %s", (p, at))
            await db.execute("DELETE FROM once WHERE profile = %s AND at < %s", (p, at))
            await db.execute("DELETE FROM job WHERE profile = %s AND created_at < %s", (p, at))

        await self._database.write(p, run, skip_bookmark=True)

    async def _last_forgotten(self, db: Db) -> list[tuple[datetime, dict[str, Any]]]:
        """What was forgotten last, and when, perhaps by another process."""
        statement = "SELECT at, data FROM event WHERE profile = %s AND type = ANY(%s) ORDER BY n DESC LIMIT %s"
        found = await query(db, statement, (self._profile, list(FORGOTTEN_EVENTS), MAX_LOOKBACK_EVENTS))
        return [(from_micros(at), json.loads(data)) for at, data in found]

    def _encrypted(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*row[:-1], self._cipher.encrypt(row[-1]))

    def _decrypted(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*row[:-1], self._cipher.decrypt(row[-1]))

    async def _read(self, statement: str, *bound: Any) -> list[tuple[Any, ...]]:
        (found,) = await self._database.read_rows(self._profile, (statement, (self._profile, *bound)))
        return found


async def record_change(db: Db, profile: int, change: Change, applied: Applied, cipher: ProfileCipher) -> None:
    """Write the journal entries of a change inside its own transaction; listeners are notified at its commit."""
    at = to_micros(now())
    waiting = 0
    if change.settle or change.defer:
        counted = "SELECT count(*) FROM message WHERE profile = %s AND state = 'waiting'"
        waiting = int((await query(db, counted, (profile,)))[0][0])
    events = [(type, rows.compact_json(data)) for type, data in change_events(change, applied, lambda: waiting)]
    if events:
        types, contents = zip(*events, strict=True)
        await db.execute(
            "INSERT INTO event (profile, at, type, data) SELECT %s, %s, type, data "
            "FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY AS new (type, data, place) ORDER BY place",
            (profile, at, list(types), list(contents)),
        )
    if change.job is not None:
        await db.execute(
            f"INSERT INTO job (profile, {rows.JOB}) VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
            (profile, *rows.job_row(change.job)),
        )
    if change.once is not None:
        await _insert_once(db, profile, change.once, applied, at, cipher)
    await _record_edits(db, profile, change)
    if events and not change.dry_run:
        await db.execute("SELECT pg_notify('holdfast', %s)", (str(profile),))
    if change.erases and not change.dry_run:  # the triggers tell it too, but Citus has none
        await db.execute("SELECT pg_notify('holdfast', %s)", (f"{PROFILE_REWRITTEN_PREFIX}{profile}",))


async def _record_edits(db: Db, profile: int, change: Change) -> None:
    for id in change.undoes:
        if not await query(db, "DELETE FROM edit WHERE profile = %s AND id = %s RETURNING 1", (profile, id)):
            raise Conflict(f"The change {id} was undone by another request.")
    if change.edit is not None:
        await db.execute(
            f"INSERT INTO edit (profile, {rows.EDIT}) VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
            (profile, *rows.edit_row(change.edit)),
        )


async def _insert_once(db: Db, profile: int, once: Once, applied: Applied, at: int, cipher: ProfileCipher) -> None:
    gone = applied.gone
    done = replace(
        once, new=applied.new, memories=gone.memories, messages=gone.messages, shortened=gone.shortened
    )  # fmt: skip
    row = (profile, *cipher.encrypt_row(rows.once_row(done), ANSWER_COLUMN if done.answer is not None else ()), at)
    places = ", ".join(["%s"] * len(row))
    try:
        await query(db, f"INSERT INTO once (profile, {rows.ONCE}, at) VALUES ({places}) RETURNING 1", row)
    except psycopg.errors.UniqueViolation as known:
        raise Conflict(f"The idempotency key {once.key!r} was used in the meantime.") from known


async def add_messages(db: Db, profile: int, change: Change, cipher: ProfileCipher) -> dict[str, int]:
    """Add the messages that are new; returns their numbers by id. A message that was set aside is tried again."""
    messages = {message.id: message for message in change.messages}
    if not messages:
        return {}
    p, ids = profile, list(messages)
    wanted = [*ids, *change.absent]
    held = await query(db, "SELECT id, state FROM message WHERE profile = %s AND id = ANY(%s)", (p, wanted))
    if not {id for id, _ in held}.isdisjoint(change.absent):
        raise Conflict(rows.MESSAGE_KNOWN)
    if any(state == "aside" for _, state in held):  # a message sent again is tried again
        await db.execute(
            "UPDATE message SET state = 'waiting', failures = 0, wait_until = 0 "
            "WHERE profile = %s AND id = ANY(%s) AND state = 'aside'",
            (p, ids),
        )
    known = {id for id, _ in held}
    new = [message for message in rows.in_insertion_order(change) if message.id not in known]
    if not new:
        return {}
    sessions = list({message.session_id for message in new})
    last = "SELECT session, max(position) FROM message WHERE profile = %s AND session = ANY(%s) GROUP BY session"
    positions: dict[str, int] = dict(await query(db, last, (p, sessions)))
    if change.follows is not None and positions.get(change.follows[0], 0) != change.follows[1]:
        raise Conflict(rows.SESSION_MOVED_ON)
    written = []
    places = dict(change.inserted)
    for message in new:
        positions[message.session_id] = positions.get(message.session_id, 0) + 1
        if (place := places.get(message.id)) is not None:
            await _move_up(db, p, message.session_id, place)
        row = rows.message_row(message, place or positions[message.session_id])
        written.append(cipher.encrypt_row(row, ENCRYPTED_MESSAGE_COLUMNS))
    added = await query(
        db,
        f"INSERT INTO message (profile, {written_rows.WRITTEN_MESSAGE}) SELECT %s, {written_rows.WRITTEN_MESSAGE} "
        f"FROM unnest({written_rows.MESSAGE_ARRAYS}) AS new ({written_rows.WRITTEN_MESSAGE}) RETURNING id, n",
        (p, *written_rows.columns(written)),
    )
    return dict(added)


async def _move_up(db: Db, profile: int, session: str, place: int) -> None:
    """Free a position; in two steps, because positions are unique at every moment."""
    of_session = "WHERE profile = %s AND session = %s AND"
    await db.execute(
        f"UPDATE message SET position = -position - 1 {of_session} position >= %s", (profile, session, place)
    )
    await db.execute(f"UPDATE message SET position = -position {of_session} position < 0", (profile, session))


async def record_digestion(db: Db, profile: int, change: Change) -> None:
    """Settle, defer or requeue messages."""
    lease = None if change.lease is None else to_micros(change.lease)
    leased = "AND (%s::bigint IS NULL OR (state = 'waiting' AND wait_until = %s))"
    if lease is not None and change.leased:
        statement = (
            "SELECT 1 FROM message WHERE profile = %s AND id = ANY(%s) AND NOT (state = 'waiting' AND wait_until = %s)"
        )
        if await query(db, statement, (profile, list(change.leased), lease)):
            raise Conflict("The lease on a message expired, and another worker digests it.")
    if change.settle:
        await db.execute(
            "UPDATE message SET state = 'digested' WHERE profile = %s AND id = ANY(%s)", (profile, list(change.settle))
        )
    for deferral in change.defer:
        state, until = ("aside", 0) if deferral.until is None else ("waiting", to_micros(deferral.until))
        await db.execute(
            "UPDATE message SET state = %s, wait_until = %s, failures = failures + 1, failure = %s "
            f"WHERE profile = %s AND id = %s AND state = 'waiting' {leased}",
            (state, until, deferral.reason, profile, deferral.message, lease, lease),
        )
    if change.redo:
        await db.execute(
            "UPDATE message SET state = 'waiting', wait_until = 0, failures = 0, failure = NULL "
            "WHERE profile = %s AND id = ANY(%s)",
            (profile, list(change.redo)),
        )
