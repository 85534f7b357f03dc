"""One profile's memory in the database: the Store port over SQL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from .. import cursors
from ..moments import by_day, micros
from ..names import DOCUMENT_SESSIONS
from ..results import Page, Stats
from ..types import Applied, Change, Item, Memory, Message, Part, Probe, Proposals, Vector, Where
from ..vectors import unpacked
from . import rows
from .apply import Applying
from .base import Base, Db, Row, query
from .graph import PostgresGraph
from .journal import PostgresJournal
from .nearby import GIANT
from .seal import MEMORY, MESSAGE, Seal
from .search import Search
from .shelf import PostgresShelf
from .where import KNOWN_THEN, condition


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
        self._parts = 0
        """As last seen."""
        self.journal = PostgresJournal(base, profile, seal)
        self.shelf = PostgresShelf(base, profile, seal)
        self.graph = PostgresGraph(base, profile, seal)

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
        as_of: datetime | None = None,
    ) -> Page:
        sql, bound = condition(where, "memory", self._seal.mark)
        if as_of is not None:
            then = micros(as_of)
            sql += " AND memory.updated_at <= %s" if superseded else f" AND {KNOWN_THEN}"
            bound = [*bound, then] if superseded else [*bound, then, then]
        before = cursors.opened(cursor)
        statement = (
            f"SELECT {rows.MEMORY}, {rows.SOURCES}, memory.n FROM memory WHERE profile = %s "
            f"AND (%s OR superseded_by IS NULL) AND (expires_at IS NULL OR expires_at > %s) AND memory.n < %s "
            f"AND {sql} ORDER BY memory.n DESC LIMIT %s"
        )
        expired = 0 if now is None else micros(now)
        found = await self._read(
            statement, superseded or as_of is not None, expired, before, *bound, min(limit + 1, 2**31)
        )
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
        WITH RECURSIVE newer (id) AS (
          SELECT id FROM memory WHERE profile = %(p)s AND id = %(id)s
          UNION SELECT next.id FROM newer, LATERAL (SELECT superseded_by AS id FROM memory
           WHERE profile = %(p)s AND memory.id = newer.id AND superseded_by IS NOT NULL OFFSET 0) AS next
        ), chain (id) AS (
          SELECT id FROM newer
          UNION SELECT older.id FROM chain, LATERAL (SELECT id FROM memory
           WHERE profile = %(p)s AND superseded_by = chain.id OFFSET 0) AS older
        )
        SELECT {rows.MEMORY}, {rows.SOURCES} FROM chain AS one (version_id),
          LATERAL (SELECT * FROM memory WHERE profile = %(p)s AND memory.id = one.version_id OFFSET 0) AS memory
         ORDER BY version DESC, n DESC
        """
        bound = {"p": self.profile, "id": id}
        found = await self._base.read(self.profile, lambda db: query(db, statement, bound))
        return [self._memory(row) for row in found]

    async def propose(self, probe: Probe) -> Proposals:
        found = await self._base.read(
            self.profile, lambda db: Search(db, self.profile, probe, self._seal, self._parts >= GIANT).run()
        )
        self._parts = found.parts
        return found

    async def resting_on(self, messages: Sequence[str]) -> list[Memory]:
        statement = (
            f"SELECT {rows.MEMORY}, {rows.SOURCES} "
            "FROM (SELECT DISTINCT memory AS n FROM source WHERE profile = %s AND message = ANY(%s)) AS resting, "
            "LATERAL (SELECT * FROM memory WHERE profile = %s AND memory.n = resting.n OFFSET 0) AS memory "
            "ORDER BY memory.n"
        )
        return [self._memory(row) for row in await self._read(statement, list(messages), self.profile)]

    async def claim(self, *, now: datetime, lease: timedelta, limit: int) -> list[Message]:
        statement = f"""
        WITH ready AS MATERIALIZED (
          SELECT n FROM message WHERE profile = %(p)s AND state = 'waiting' AND wait_until <= %(now)s AND session = (
            SELECT session FROM message WHERE profile = %(p)s AND state = 'waiting' AND wait_until <= %(now)s
             ORDER BY n LIMIT 1
          ) ORDER BY n LIMIT %(limit)s FOR UPDATE SKIP LOCKED
        )
        UPDATE message SET wait_until = %(until)s, holder = %(me)s FROM ready
         WHERE message.profile = %(p)s AND message.n = ready.n RETURNING {rows.MESSAGE}, {rows.STATE}
        """
        bound = {
            "p": self.profile, "now": micros(now), "until": micros(now + lease), "limit": limit, "me": self._base.me,
        }  # fmt: skip
        if not await self.waits(failed=True):
            return []
        found = await self._base.write(self.profile, lambda db: query(db, statement, bound))
        return sorted((self._message(row) for row in found), key=lambda message: message.position)

    async def waits(self, *, failed: bool = False) -> bool:
        """Whether a message waits to be digested, counting those or not for which that has failed before."""
        statement = "SELECT 1 FROM message WHERE profile = %s AND state = 'waiting' AND (%s OR failures = 0) LIMIT 1"
        return bool(await self._read(statement, failed))

    async def bare(self, model: str, limit: int) -> list[Part]:
        found = " UNION ALL ".join(f"(SELECT * FROM part WHERE {each} LIMIT %(limit)s)" for each in _BARE)
        statement = f"""
        SELECT coalesce(message.id, memory.id), part.number, part.start, part.stop FROM ({found}) AS part
          LEFT JOIN LATERAL (SELECT id FROM message WHERE profile = part.profile AND n = part.item OFFSET 0)
               AS message ON true
          LEFT JOIN LATERAL (SELECT id FROM memory WHERE profile = part.profile AND n = part.item OFFSET 0)
               AS memory ON true
         ORDER BY part.n LIMIT %(limit)s
        """
        bound = {"p": self.profile, "model": model, "limit": limit}
        read = await self._base.read(self.profile, lambda db: query(db, statement, bound))
        return [Part(*row) for row in read]

    async def indexed(self, ids: Sequence[str]) -> list[tuple[Part, Vector | None]]:
        statement = """
        SELECT wanted.id, part.number, part.start, part.stop, part.embed, part.model, part.data
          FROM unnest(%(ids)s::text[]) AS wanted (id),
          LATERAL (SELECT n FROM message WHERE profile = %(p)s AND message.id = wanted.id
                   UNION ALL SELECT n FROM memory WHERE profile = %(p)s AND memory.id = wanted.id) AS item,
          LATERAL (SELECT * FROM part WHERE profile = %(p)s AND part.item = item.n OFFSET 0) AS part
         ORDER BY part.item, part.number
        """
        bound = {"p": self.profile, "ids": list(ids)}
        read = await self._base.read(self.profile, lambda db: query(db, statement, bound))
        found = []
        for id, number, start, stop, embed, model, data in read:
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
            conversations = "SELECT count(DISTINCT session) FROM message WHERE profile = %s AND session NOT LIKE %s"
            return Stats(
                messages=await one("SELECT count(*) FROM message WHERE profile = %s"),
                memories=sum(kinds.values()),
                kinds=kinds,
                superseded=await one("SELECT count(*) FROM memory WHERE profile = %s AND superseded_by IS NOT NULL"),
                sessions=await one(conversations, DOCUMENT_SESSIONS),
                pending=await one(states, "waiting"),
                failing=await one(f"{states} AND failures > 0", "waiting"),
                set_aside=await one(states, "aside"),
                unembedded=await one(
                    "SELECT count(*) FROM part WHERE profile = %s AND embed "
                    "AND (model IS NULL OR model < %s OR model > %s)",
                    model,
                    model,
                ),
                bytes=sum([await one(_SIZE.format(table=table)) for table in ("message", "memory", "part")]),
                said_on=by_day(await query(db, _DAYS.format(table="message"), (p,))),
                written_on=by_day(await query(db, _DAYS.format(table="memory"), (p,))),
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


_BARE = [
    f"profile = %(p)s AND embed AND {models} AND memory = {memory} ORDER BY model, memory, n"
    for models in ("model IS NULL", "model < %(model)s", "model > %(model)s")
    for memory in ("false", "true")
]
"""Each a piece of one index, in its order: what has no vector is found without looking at what has."""
_DAYS = "SELECT created_at / 86400000000, count(*) FROM {table} WHERE profile = %s GROUP BY 1"
_SIZE = "SELECT coalesce(sum(pg_column_size({table})), 0) FROM {table} WHERE profile = %s"
