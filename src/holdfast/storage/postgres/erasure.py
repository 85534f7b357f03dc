"""Removes every mention of what a change forgot, inside the change's own transaction."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence

from holdfast.domain.erasure import LABEL_FIELDS, Erasure, Leftovers
from holdfast.domain.records import PROFILE_PAGE_SETTING, Caller
from holdfast.domain.results import Document
from holdfast.domain.types import BUILT_IN_KINDS, Change
from holdfast.storage import rows
from holdfast.storage.postgres.connections import Db, query
from holdfast.storage.postgres.encryption import ANSWER_COLUMN, ProfileCipher

_FIRST_SOURCE_SESSION = (
    "SELECT message.session FROM source "
    "JOIN message ON message.profile = source.profile AND message.id = source.message "
    "WHERE source.profile = memory.profile AND source.memory = memory.n ORDER BY source.place LIMIT 1"
)


async def delete_documents(
    db: Db, profile: int, cipher: ProfileCipher, ids: Sequence[str], sessions: Collection[str]
) -> list[Document]:
    """Delete these documents, those read into one of these sessions whose last passage was forgotten, and the originals
    of all that were read into one: they have the words of the passages."""
    await db.execute(
        "DELETE FROM original WHERE profile = %s AND document IN "
        "(SELECT id FROM document WHERE profile = %s AND session = ANY(%s))",
        (profile, profile, list(sessions)),
    )
    statement = (
        "DELETE FROM document WHERE profile = %(p)s AND (id = ANY(%(ids)s) OR (state = 'done' "
        "AND session = ANY(%(sessions)s) AND NOT EXISTS "
        "(SELECT 1 FROM message WHERE profile = %(p)s AND message.session = document.session))) RETURNING data"
    )
    deleted = await query(db, statement, {"p": profile, "ids": list(ids), "sessions": list(sessions)})
    found = [rows.document(cipher.decrypt_text(data), False) for (data,) in deleted]
    listed = [*ids, *(document.id for document in found)]
    await db.execute("DELETE FROM original WHERE profile = %s AND document = ANY(%s)", (profile, listed))
    return found


class PostgresEraser:
    """Erases in one profile, in the transaction of one connection."""

    def __init__(self, db: Db, profile: int, cipher: ProfileCipher) -> None:
        self._db = db
        self._profile = profile
        self._cipher = cipher

    async def find_erasure(
        self, change: Change, ids: frozenset[str], shortened: Iterable[str], left: Leftovers
    ) -> Erasure:
        """What nothing may mention any more, now that the items with these ids are deleted and messages shortened."""
        await self._db.execute(
            f"UPDATE memory SET session = ({_FIRST_SOURCE_SESSION}) WHERE profile = %(p)s AND session = ANY(%(s)s) "
            "AND NOT EXISTS (SELECT 1 FROM message AS other WHERE other.profile = %(p)s "
            "AND other.session = memory.session)",
            {"p": self._profile, "s": list(change.asked_in)},
        )
        left.add_all(session=change.asked_in)
        lost = {name: left.labels[name] - await self._values_in_use(name, left.labels[name]) for name in LABEL_FIELDS}
        statement = "SELECT DISTINCT word FROM posting WHERE profile = %s AND word = ANY(%s)"
        words = {word for (word,) in await query(self._db, statement, (self._profile, list(left.words)))}
        return Erasure(
            ids=ids,
            shortened=frozenset(shortened),
            sessions=frozenset(lost["session"]),
            labels=frozenset((lost["key"] | lost["agent"] | lost["kind"]).difference(BUILT_IN_KINDS)),
            words=frozenset(left.words - words),
            people=change.people,
            asked_in=frozenset(change.asked_in),
            asked_by=change.asked_by,
            word_hash=self._cipher.keyed_hash,
        )

    async def erase(self, erasure: Erasure) -> None:
        """Take it out of the profile's page, traces, events, jobs, idempotency records and edits."""
        db, p = self._db, self._profile
        await db.execute("DELETE FROM setting WHERE profile = %s AND name = %s", (p, PROFILE_PAGE_SETTING))
        await self._erase_in_traces(erasure)
        for n, type, text in await query(db, "SELECT n, type, data FROM event WHERE profile = %s", (p,)):
            data = json.loads(text)
            if (event := erasure.event_left(type, data)) != data:
                bound = (rows.compact_json(event), p, n)
                await db.execute("UPDATE event SET data = %s WHERE profile = %s AND n = %s", bound)
        if erasure.ids:
            await self._erase_ids(erasure)

    async def _erase_ids(self, erasure: Erasure) -> None:
        db, p = self._db, self._profile
        for row in await query(db, f"SELECT {rows.JOB} FROM job WHERE profile = %s", (p,)):
            job = rows.job(row)
            if (job_left := erasure.job_left(job)) != job:
                bound = (rows.job_row(job_left)[-1], p, job.id)
                await db.execute("UPDATE job SET messages = %s WHERE profile = %s AND id = %s", bound)
        for row in await query(db, f"SELECT {rows.ONCE} FROM once WHERE profile = %s", (p,)):
            once = rows.once(self._cipher.decrypt_row(row, ANSWER_COLUMN if row[2] is not None else ()), "")
            if (once_left := erasure.once_left(once)) != once:
                new = rows.once_row(once_left)[3]
                statement = "UPDATE once SET answer = %s, new = %s WHERE profile = %s AND key = %s"
                await db.execute(statement, (None if once_left.answer is None else row[2], new, p, row[0]))
        for row in await query(db, f"SELECT {rows.EDIT} FROM edit WHERE profile = %s", (p,)):
            edit = rows.edit(row)
            if (edit_left := edit.without(erasure.ids)) is not edit:
                bound_edit = (*rows.edit_row(edit_left)[3:], p, edit.id)
                await db.execute("UPDATE edit SET gone = %s, data = %s WHERE profile = %s AND id = %s", bound_edit)

    async def _erase_in_traces(self, erasure: Erasure) -> None:
        db, p = self._db, self._profile
        for n, *row in await query(db, f"SELECT n, {rows.TRACE} FROM trace WHERE profile = %s", (p,)):
            row[-1] = self._cipher.decrypt(row[-1])
            if not erasure.may_concern(Caller(*row[3:7]), rows.decompressed_text(row[-1])):
                continue
            trace = rows.trace(tuple(row))
            left = erasure.trace_left(trace)
            if left is None:
                await db.execute("DELETE FROM trace WHERE profile = %s AND n = %s", (p, n))
            elif left is not trace:
                await db.execute(
                    "UPDATE trace SET agent = %s, session = %s, turn = %s, details = %s WHERE profile = %s AND n = %s",
                    (*rows.trace_row(left)[4:7], self._cipher.encrypt(rows.compressed_json(left.details)), p, n),
                )

    async def _values_in_use(self, column: str, values: set[str]) -> set[str]:
        """Those of the values that an item still has in this column."""
        tables = ("memory", "message") if column in ("session", "agent") else ("memory",)
        each = f"SELECT {column} FROM {{}} WHERE profile = %(p)s AND {column} = ANY(%(values)s)"
        statement = " UNION ".join(each.format(table) for table in tables)
        found = await query(self._db, statement, {"p": self._profile, "values": list(values)}) if values else []
        return {value for (value,) in found}
