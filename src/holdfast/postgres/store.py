"""One profile's memory in the database: the Store port over SQL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from .. import cursors
from ..moments import micros
from ..results import Page, Stats
from ..types import Applied, Change, Item, Memory, Message, Part, Probe, Proposals, Vector, Where
from ..vectors import unpacked
from . import rows
from .apply import Applying
from .base import Base, Db, Row, query
from .journal import PostgresJournal
from .seal import MEMORY, MESSAGE, Seal
from .search import Search
from .where import condition


class Rehearsed(Exception):
    """Ends a transaction that was only to tell what it would do."""

    def __init__(self, applied: Applied) -> None:
        super().__init__()
        self.applied = applied


class PostgresStore:
    def __init__(self, base: Base, profile: int, seal: Seal) -> None:
        self._base = base
        self.profile = profile
        self._seal = seal
        self.journal = PostgresJournal(base, profile, seal)

    async def apply(self, change: Change) -> Applied:
        async def run(db: Db) -> Applied:
            applied = await Applying(change, self.profile, self._seal).run(db)
            if change.rehearsed:
                raise Rehearsed(applied)
            return applied

        try:
            return await self._base.write(self.profile, run)
        except Rehearsed as shown:
            return shown.applied

    async def get(self, ids: Sequence[str]) -> list[Item]:
        bound = (self.profile, list(ids))
        within = "WHERE profile = %s AND id = ANY(%s)"

        async def run(db: Db) -> dict[str, Item]:
            found: dict[str, Item] = {}
            for row in await query(db, f"SELECT {rows.MESSAGE}, {rows.STATE} FROM message {within}", bound):
                found[row[0]] = self._message(row)
            for row in await query(db, f"SELECT {rows.MEMORY}, {rows.SOURCES} FROM memory {within}", bound):
                found[row[0]] = self._memory(row)
            return found

        found = await self._base.read(self.profile, run) if ids else {}
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
        sql, bound = condition(where, "memory", self._seal.mark)
        before = cursors.opened(cursor)
        statement = (
            f"SELECT {rows.MEMORY}, {rows.SOURCES}, memory.n FROM memory WHERE profile = %s "
            f"AND (%s OR superseded_by IS NULL) AND (expires_at IS NULL OR expires_at > %s) AND memory.n < %s "
            f"AND {sql} ORDER BY memory.n DESC LIMIT %s"
        )
        expired = 0 if now is None else micros(now)
        found = await self._read(statement, superseded, expired, before, *bound, min(limit + 1, 2**31))
        more = cursors.sealed(found[limit - 1][-1]) if len(found) > limit else None
        return Page(tuple(self._memory(row[:-1]) for row in found[:limit]), more)

    async def said(self, session_id: str | None, *, before: int | None = None, limit: int = 1000) -> list[Message]:
        order = "ASC" if before is None else "DESC"
        by = "n" if session_id is None else "position"
        statement = (
            f"SELECT {rows.MESSAGE}, {rows.STATE} FROM message WHERE profile = %s "
            f"AND (%s::text IS NULL OR session = %s) AND (%s::bigint IS NULL OR position < %s) ORDER BY {by} {order} "
            "LIMIT %s"
        )
        found = await self._read(statement, session_id, session_id, before, before, limit)
        messages = [self._message(row) for row in found]
        return messages if before is None else messages[::-1]

    async def history(self, id: str) -> list[Memory]:
        statement = f"""
        WITH RECURSIVE mine AS (SELECT %s::bigint AS p), newer (id) AS (
          SELECT id FROM memory, mine WHERE profile = p AND id = %s
          UNION SELECT superseded_by FROM mine, memory JOIN newer USING (id)
           WHERE profile = p AND superseded_by IS NOT NULL
        ), chain (id) AS (
          SELECT id FROM newer
          UNION SELECT memory.id FROM mine, memory JOIN chain ON memory.superseded_by = chain.id
           WHERE memory.profile = p
        )
        SELECT {rows.MEMORY}, {rows.SOURCES} FROM memory WHERE profile = (SELECT p FROM mine)
           AND id IN (SELECT id FROM chain) ORDER BY version DESC, n DESC
        """
        return [self._memory(row) for row in await self._read(statement, id)]

    async def propose(self, probe: Probe) -> Proposals:
        return await self._base.read(self.profile, lambda db: Search(db, self.profile, probe, self._seal).run())

    async def resting_on(self, messages: Sequence[str]) -> list[Memory]:
        statement = (
            f"SELECT {rows.MEMORY}, {rows.SOURCES} FROM memory WHERE profile = %s AND n IN "
            "(SELECT memory FROM source WHERE source.profile = memory.profile AND message = ANY(%s)) ORDER BY n"
        )
        return [self._memory(row) for row in await self._read(statement, list(messages))]

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
        bound = {"p": self.profile, "now": micros(now), "until": micros(now + lease), "limit": limit}
        if not await self._read("SELECT 1 FROM message WHERE profile = %s AND state = 'waiting' LIMIT 1"):
            return []
        found = await self._base.write(self.profile, lambda db: query(db, statement, bound))
        return sorted((self._message(row) for row in found), key=lambda message: message.position)

    async def bare(self, model: str, limit: int) -> list[Part]:
        statement = """
        SELECT coalesce(message.id, memory.id), part.number, part.start, part.stop FROM part
          LEFT JOIN meaning ON meaning.profile = part.profile AND meaning.part = part.n
          LEFT JOIN message ON message.profile = part.profile AND message.n = part.item
          LEFT JOIN memory ON memory.profile = part.profile AND memory.n = part.item
         WHERE part.profile = %s AND part.embed AND meaning.model IS DISTINCT FROM %s ORDER BY part.n LIMIT %s
        """
        return [Part(*row) for row in await self._read(statement, model, limit)]

    async def indexed(self, ids: Sequence[str]) -> list[tuple[Part, Vector | None]]:
        statement = """
        SELECT item.id, part.number, part.start, part.stop, part.embed, meaning.model, meaning.data
          FROM (SELECT profile, id, n FROM message UNION ALL SELECT profile, id, n FROM memory) AS item
          JOIN part ON part.profile = item.profile AND part.item = item.n
          LEFT JOIN meaning ON meaning.profile = part.profile AND meaning.part = part.n
         WHERE item.profile = %s AND item.id = ANY(%s) ORDER BY part.item, part.number
        """
        found = []
        for id, number, start, stop, embed, model, data in await self._read(statement, list(ids)):
            vector = None if data is None else Vector(id, number, model, unpacked([bytes(data)])[0])
            found.append((Part(id, number, start, stop, embed=embed), vector))
        return found

    async def stats(self, model: str) -> Stats:
        p = self.profile

        async def run(db: Db) -> Stats:
            async def one(sql: str, *bound: object) -> int:
                return int((await query(db, sql, (p, *bound)))[0][0])

            grouped = "SELECT kind, count(*) FROM memory WHERE profile = %s AND superseded_by IS NULL GROUP BY kind"
            kinds: dict[str, int] = dict(await query(db, grouped, (p,)))
            states = "SELECT count(*) FROM message WHERE profile = %s AND state = %s"
            return Stats(
                messages=await one("SELECT count(*) FROM message WHERE profile = %s"),
                memories=sum(kinds.values()),
                kinds=kinds,
                superseded=await one("SELECT count(*) FROM memory WHERE profile = %s AND superseded_by IS NOT NULL"),
                sessions=await one("SELECT count(DISTINCT session) FROM message WHERE profile = %s"),
                pending=await one(states, "waiting"),
                failing=await one(f"{states} AND failures > 0", "waiting"),
                set_aside=await one(states, "aside"),
                unembedded=await one(
                    "SELECT count(*) FROM part LEFT JOIN meaning ON meaning.profile = part.profile "
                    "AND meaning.part = part.n WHERE part.profile = %s AND embed AND model IS DISTINCT FROM %s",
                    model,
                ),
                bytes=sum([await one(_SIZE.format(table=table)) for table in ("message", "memory", "part", "meaning")]),
            )

        return await self._base.read(p, run)

    async def close(self) -> None:
        return None

    async def _read(self, statement: str, *bound: Any) -> list[Row]:
        """Of this profile, which is the first thing bound."""
        return await self._base.read(self.profile, lambda db: query(db, statement, (self.profile, *bound)))

    def _message(self, row: Row) -> Message:
        return rows.message(self._seal.open_row(row, MESSAGE))

    def _memory(self, row: Row) -> Memory:
        return rows.memory(self._seal.open_row(row, MEMORY))


_SIZE = "SELECT coalesce(sum(pg_column_size({table})), 0) FROM {table} WHERE profile = %s"
