"""Removes every mention of what a change forgot, inside the change's own transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import apsw

from holdfast.domain.erasure import LABEL_FIELDS, Erasure, Leftovers
from holdfast.domain.records import PROFILE_PAGE_SETTING, Caller
from holdfast.domain.results import Document
from holdfast.domain.types import BUILT_IN_KINDS, Change
from holdfast.storage import rows
from holdfast.storage.sqlite.connection import query

_LISTED = "(SELECT value FROM json_each(?1))"
_FIRST_SOURCE_SESSION = (
    "SELECT message.session FROM source JOIN message ON message.id = source.message "
    "WHERE source.memory = memory.n ORDER BY source.place LIMIT 1"
)


def delete_documents(db: apsw.Connection, ids: Sequence[str], sessions: set[str]) -> list[Document]:
    """Delete these documents, and those read into one of these sessions whose last passage was forgotten."""
    bound = (rows.compact_json(sorted(sessions)), rows.compact_json(ids))
    empty = f"session IN {_LISTED} AND NOT EXISTS (SELECT 1 FROM message WHERE message.session = document.session)"
    which = f"id IN (SELECT value FROM json_each(?2)) OR (state = 'done' AND {empty})"
    found = [
        rows.document(data, False) for (data,) in query(db, f"DELETE FROM document WHERE {which} RETURNING data", bound)
    ]
    listed = {*ids, *(document.id for document in found)}
    db.executemany("DELETE FROM original WHERE document = ?", [(id,) for id in listed])
    return found


def delete_originals(db: apsw.Connection, session: str) -> None:
    """Delete the originals of the documents read into this session: they have the words of the passages."""
    db.execute("DELETE FROM original WHERE document IN (SELECT id FROM document WHERE session = ?)", (session,))


def find_erasure(
    db: apsw.Connection, change: Change, ids: frozenset[str], shortened: Iterable[str], left: Leftovers
) -> Erasure:
    """What nothing may mention any more, now that the items with these ids are deleted and messages shortened."""
    for session in change.asked_in:
        if not query(db, "SELECT 1 FROM message WHERE session = ? LIMIT 1", (session,)):
            db.execute(f"UPDATE memory SET session = ({_FIRST_SOURCE_SESSION}) WHERE session = ?", (session,))
    left.add_all(session=change.asked_in)
    lost = {name: left.labels[name] - _values_in_use(db, name, left.labels[name]) for name in LABEL_FIELDS}
    return Erasure(
        ids=ids,
        shortened=frozenset(shortened),
        sessions=frozenset(lost["session"]),
        labels=frozenset((lost["key"] | lost["agent"] | lost["kind"]).difference(BUILT_IN_KINDS)),
        words=frozenset(
            word for word in left.words if not query(db, "SELECT 1 FROM word_count WHERE term = ?", (word,))
        ),
        people=change.people,
        asked_in=frozenset(change.asked_in),
        asked_by=change.asked_by,
    )


def erase(db: apsw.Connection, erasure: Erasure) -> None:
    """Take it out of the profile's page, traces, events, jobs, idempotency records and edits."""
    db.execute("DELETE FROM setting WHERE name = ?", (PROFILE_PAGE_SETTING,))
    _erase_in_traces(db, erasure)
    for n, type, text in query(db, "SELECT n, type, data FROM event"):
        data = json.loads(text)
        if (event := erasure.event_left(type, data)) != data:
            db.execute("UPDATE event SET data = ? WHERE n = ?", (rows.compact_json(event), n))
    if not erasure.ids:
        return
    for row in query(db, f"SELECT {rows.JOB} FROM job"):
        job = rows.job(row)
        if (job_left := erasure.job_left(job)) != job:
            db.execute("UPDATE job SET messages = ? WHERE id = ?", (rows.job_row(job_left)[-1], job.id))
    for row in query(db, f"SELECT {rows.ONCE} FROM once"):
        once = rows.once(row, "")
        if (once_left := erasure.once_left(once)) != once:
            bound = (*rows.once_row(once_left)[2:4], row[0])
            db.execute("UPDATE once SET answer = ?, new = ? WHERE key = ?", bound)
    for row in query(db, f"SELECT {rows.EDIT} FROM edit"):
        edit = rows.edit(row)
        if (edit_left := edit.without(erasure.ids)) is not edit:
            db.execute("UPDATE edit SET gone = ?, data = ? WHERE id = ?", (*rows.edit_row(edit_left)[3:], edit.id))


def _erase_in_traces(db: apsw.Connection, erasure: Erasure) -> None:
    for n, *row in query(db, f"SELECT n, {rows.TRACE} FROM trace"):
        caller, details = Caller(*row[3:7]), rows.decompressed_text(row[-1])
        if not erasure.may_concern(caller, details):
            continue
        trace = rows.trace(tuple(row))
        left = erasure.trace_left(trace)
        if left is None:
            db.execute("DELETE FROM trace WHERE n = ?", (n,))
        elif left is not trace:
            db.execute(
                "UPDATE trace SET agent = ?, session = ?, turn = ?, details = ? WHERE n = ?",
                (*rows.trace_row(left)[4:7], rows.compressed_json(left.details), n),
            )


def _values_in_use(db: apsw.Connection, column: str, values: set[str]) -> set[str]:
    """Those of the values that an item still has in this column."""
    if not values:
        return set()
    tables = ("memory", "message") if column in ("session", "agent") else ("memory",)
    found = " UNION ".join(f"SELECT {column} FROM {table} WHERE {column} IN {_LISTED}" for table in tables)
    return {value for (value,) in query(db, found, (rows.compact_json(sorted(values)),))}
