"""One profile's memory in the database: the Store port over SQL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from .. import cursors
from ..moments import micros
from ..results import Page, Stats
from ..types import Applied, Change, Item, Memory, Message, Part, Probe, Proposals, Where
from . import rows
from .apply import Applying
from .base import Base, query
from .journal import PostgresJournal
from .search import propose
from .where import condition


class Rehearsed(Exception):
    """Ends a transaction that was only to tell what it would do."""

    def __init__(self, applied: Applied) -> None:
        super().__init__()
        self.applied = applied


class PostgresStore:
    def __init__(self, base: Base, profile: int) -> None:
        self._base = base
        self._profile = profile
        self.journal = PostgresJournal(base, profile)

    async def apply(self, change: Change) -> Applied:
        try:
            async with self._base.transaction(self._profile) as db:
                applied = await Applying(change, self._profile).run(db)
                if change.rehearsed:
                    raise Rehearsed(applied)
                return applied
        except Rehearsed as shown:
            return shown.applied

    async def get(self, ids: Sequence[str]) -> list[Item]:
        found: dict[str, Item] = {}
        async with self._base.transaction(self._profile) as db:
            bound = (self._profile, list(ids))
            within = "WHERE profile = %s AND id = ANY(%s)"
            for row in await query(db, f"SELECT {rows.MESSAGE}, {rows.STATE} FROM message {within}", bound):
                found[row[0]] = rows.message(row)
            for row in await query(db, f"SELECT {rows.MEMORY}, {rows.SOURCES} FROM memory {within}", bound):
                found[row[0]] = rows.memory(row)
        return [found[id] for id in ids if id in found]

    async def scan(
        self,
        where: Where | None,
        *,
        now: datetime | None,
        limit: int,
        cursor: str | None = None,
        superseded: bool = False,
    ) -> Page:
        sql, bound = condition(where, "memory")
        before = cursors.opened(cursor)
        statement = (
            f"SELECT {rows.MEMORY}, {rows.SOURCES}, memory.n FROM memory WHERE profile = %s "
            f"AND (%s OR superseded_by IS NULL) AND (expires_at IS NULL OR expires_at > %s) AND memory.n < %s "
            f"AND {sql} ORDER BY memory.n DESC LIMIT %s"
        )
        expired = 0 if now is None else micros(now)
        given = [self._profile, superseded, expired, before, *bound, min(limit + 1, 2**31)]
        async with self._base.transaction(self._profile) as db:
            found = await query(db, statement, given)
        more = cursors.sealed(found[limit - 1][-1]) if len(found) > limit else None
        return Page(tuple(rows.memory(row[:-1]) for row in found[:limit]), more)

    async def said(self, session_id: str | None, *, before: int | None = None, limit: int = 1000) -> list[Message]:
        order = "ASC" if before is None else "DESC"
        by = "n" if session_id is None else "position"
        statement = (
            f"SELECT {rows.MESSAGE}, {rows.STATE} FROM message WHERE profile = %s "
            f"AND (%s::text IS NULL OR session = %s) AND (%s::bigint IS NULL OR position < %s) ORDER BY {by} {order} "
            "LIMIT %s"
        )
        async with self._base.transaction(self._profile) as db:
            found = await query(db, statement, (self._profile, session_id, session_id, before, before, limit))
        messages = [rows.message(row) for row in found]
        return messages if before is None else messages[::-1]

    async def history(self, id: str) -> list[Memory]:
        statement = f"""
        WITH RECURSIVE newer (id) AS (
          SELECT id FROM memory WHERE profile = %(p)s AND id = %(id)s
          UNION SELECT superseded_by FROM memory JOIN newer USING (id)
           WHERE profile = %(p)s AND superseded_by IS NOT NULL
        ), chain (id) AS (
          SELECT id FROM newer
          UNION SELECT memory.id FROM memory JOIN chain ON memory.superseded_by = chain.id WHERE memory.profile = %(p)s
        )
        SELECT {rows.MEMORY}, {rows.SOURCES} FROM memory WHERE profile = %(p)s AND id IN (SELECT id FROM chain)
         ORDER BY version DESC, n DESC
        """
        async with self._base.transaction(self._profile) as db:
            return [rows.memory(row) for row in await query(db, statement, {"p": self._profile, "id": id})]

    async def propose(self, probe: Probe) -> Proposals:
        async with self._base.transaction(self._profile) as db:
            await db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")  # one snapshot for every channel
            return await propose(db, self._profile, probe)

    async def resting_on(self, messages: Sequence[str]) -> list[Memory]:
        statement = (
            f"SELECT {rows.MEMORY}, {rows.SOURCES} FROM memory WHERE profile = %s AND n IN "
            "(SELECT memory FROM source WHERE profile = %s AND message = ANY(%s)) ORDER BY n"
        )
        async with self._base.transaction(self._profile) as db:
            found = await query(db, statement, (self._profile, self._profile, list(messages)))
        return [rows.memory(row) for row in found]

    async def claim(self, *, now: datetime, lease: timedelta, limit: int) -> list[Message]:
        statement = f"""
        WITH ready AS MATERIALIZED (
          SELECT n FROM message WHERE profile = %(p)s AND state = 'waiting' AND wait_until <= %(now)s AND session = (
            SELECT session FROM message WHERE profile = %(p)s AND state = 'waiting' AND wait_until <= %(now)s
             ORDER BY n LIMIT 1
          ) ORDER BY n LIMIT %(limit)s FOR UPDATE SKIP LOCKED
        )
        UPDATE message SET wait_until = %(until)s FROM ready
         WHERE message.profile = %(p)s AND message.n = ready.n RETURNING {rows.MESSAGE}, {rows.STATE}
        """
        bound = {"p": self._profile, "now": micros(now), "until": micros(now + lease), "limit": limit}
        async with self._base.transaction(self._profile) as db:
            found = await query(db, statement, bound)
        return sorted((rows.message(row) for row in found), key=lambda message: message.position)

    async def bare(self, model: str, limit: int) -> list[Part]:
        statement = """
        SELECT coalesce(message.id, memory.id), part.number, part.start, part.stop FROM part
          LEFT JOIN meaning ON meaning.profile = part.profile AND meaning.part = part.n
          LEFT JOIN message ON message.profile = part.profile AND message.n = part.item
          LEFT JOIN memory ON memory.profile = part.profile AND memory.n = -part.item
         WHERE part.profile = %s AND part.embed AND meaning.model IS DISTINCT FROM %s ORDER BY part.n LIMIT %s
        """
        async with self._base.transaction(self._profile) as db:
            return [Part(*row) for row in await query(db, statement, (self._profile, model, limit))]

    async def stats(self, model: str) -> Stats:
        async with self._base.transaction(self._profile) as db:

            async def one(sql: str, *bound: object) -> int:
                return int((await query(db, sql, (self._profile, *bound)))[0][0])

            grouped = "SELECT kind, count(*) FROM memory WHERE profile = %s AND superseded_by IS NULL GROUP BY kind"
            kinds: dict[str, int] = dict(await query(db, grouped, (self._profile,)))
            states = "SELECT count(*) FROM message WHERE profile = %s AND state = %s"
            return Stats(
                messages=await one("SELECT count(*) FROM message WHERE profile = %s"),
                memories=sum(kinds.values()),
                kinds=kinds,
                superseded=await one("SELECT count(*) FROM memory WHERE profile = %s AND superseded_by IS NOT NULL"),
                sessions=await one("SELECT count(DISTINCT session) FROM message WHERE profile = %s"),
                pending=await one(states, "waiting"),
                set_aside=await one(states, "aside"),
                unembedded=await one(
                    "SELECT count(*) FROM part LEFT JOIN meaning ON meaning.profile = part.profile "
                    "AND meaning.part = part.n WHERE part.profile = %s AND embed AND model IS DISTINCT FROM %s",
                    model,
                ),
                bytes=0,
            )

    async def close(self) -> None:
        return None
