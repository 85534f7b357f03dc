"""One profile's memory in one file: the Store port over SQL."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import apsw

from .. import cursors
from ..moments import by_day, micros
from ..names import DOCUMENT_SESSIONS
from ..results import Page, Stats
from ..types import Applied, Change, Item, Memory, Message, Part, Probe, Proposals, Vector, Where
from ..vectors import unpacked
from . import rows
from .apply import Applying, Rehearsed
from .board import Board
from .file import File, query
from .graph import SqliteGraph
from .journal import SqliteJournal
from .search import propose
from .shelf import SqliteShelf
from .where import KNOWN_THEN, condition


class SqliteStore:
    def __init__(self, file: File, changed: Callable[[], None] = lambda: None) -> None:
        self._file = file
        self._changed = changed
        self._board: Board | None = None
        self._board_lock = threading.Lock()
        self._embedded_below: dict[str, int] = {}
        """Model → the first part that may lack its vector; spares walking over all that have one."""

    async def apply(self, change: Change) -> Applied:
        applying = Applying(change)

        def follow() -> None:
            with self._board_lock:
                if self._board is not None and not applying.follow(self._board):
                    self._board = None
            self._changed()

        try:
            applied = await self._file.write(applying, then=follow)
        except Rehearsed as shown:
            return shown.applied
        models = {vector.model for vector in change.vectors}
        if models:  # a part has one vector: under another model it is bare again
            self._embedded_below = {name: n for name, n in self._embedded_below.items() if {name} == models}
        if change.forget or change.documents:
            self._embedded_below.clear()  # numbers of forgotten parts are used again
            await self._file.scrub()
        return applied

    async def get(self, ids: Sequence[str]) -> list[Item]:
        found = await self._file.read(lambda db: _items(db, ids))
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
        sql, bound = condition(where, "memory")
        if as_of is not None:
            then = micros(as_of)
            sql += " AND memory.updated_at <= ?" if superseded else f" AND {KNOWN_THEN}"
            bound = [*bound, then] if superseded else [*bound, then, then]
        before = cursors.opened(cursor)
        statement = (
            f"SELECT {rows.MEMORY}, {rows.SOURCES}, memory.n FROM memory WHERE (? OR superseded_by IS NULL) "
            f"AND (expires_at IS NULL OR expires_at > ?) AND memory.n < ? AND {sql} ORDER BY memory.n DESC LIMIT ?"
        )
        expired = 0 if now is None else micros(now)
        found = await self._file.read(
            lambda db: query(
                db, statement, [superseded or as_of is not None, expired, before, *bound, min(limit + 1, 2**31)]
            )
        )
        more = cursors.sealed(found[limit - 1][-1]) if len(found) > limit else None
        return Page(tuple(rows.memory(row[:-1]) for row in found[:limit]), more)

    async def said(self, session_id: str | None, *, before: int | None = None, limit: int = 1000) -> list[Message]:
        order = "ASC" if before is None else "DESC"
        of, by = ("?1 IS NULL", "n") if session_id is None else ("session = ?1", "position")
        statement = (
            f"SELECT {rows.MESSAGE}, {rows.STATE} FROM message WHERE {of} AND (?2 IS NULL OR position < ?2) "
            f"ORDER BY {by} {order} LIMIT ?3"
        )
        found = await self._file.read(lambda db: query(db, statement, (session_id, before, limit)))
        messages = [rows.message(row) for row in found]
        return messages if before is None else messages[::-1]

    async def history(self, id: str) -> list[Memory]:
        statement = f"""
        WITH RECURSIVE newer (id) AS (
          SELECT id FROM memory WHERE id = ?
          UNION SELECT superseded_by FROM memory JOIN newer USING (id) WHERE superseded_by IS NOT NULL
        ), chain (id) AS (
          SELECT id FROM newer UNION SELECT memory.id FROM memory JOIN chain ON memory.superseded_by = chain.id
        )
        SELECT {rows.MEMORY}, {rows.SOURCES} FROM memory WHERE id IN (SELECT id FROM chain)
         ORDER BY version DESC, n DESC
        """
        found = await self._file.read(lambda db: query(db, statement, (id,)))
        return [rows.memory(row) for row in found]

    async def propose(self, probe: Probe) -> Proposals:
        def search(db: apsw.Connection) -> Proposals:
            with self._board_lock:
                db.execute("BEGIN")  # one snapshot for every channel
                try:
                    board = self._board
                    if board is None or (probe.vector is not None and board.model != probe.model):
                        self._board = board = Board(db, probe.model)
                    return propose(db, board, probe)
                finally:
                    db.execute("COMMIT")

        return await self._file.read(search)

    async def resting_on(self, messages: Sequence[str]) -> list[Memory]:
        statement = (
            f"SELECT {rows.MEMORY}, {rows.SOURCES} FROM memory WHERE n IN "
            "(SELECT memory FROM source WHERE message IN (SELECT value FROM json_each(?))) ORDER BY n"
        )
        found = await self._file.read(lambda db: query(db, statement, (rows.packed(list(messages)),)))
        return [rows.memory(row) for row in found]

    async def claim(self, *, now: datetime, lease: timedelta, limit: int) -> list[Message]:
        statement = f"""
        UPDATE message SET wait_until = ?2 WHERE n IN (
          SELECT n FROM message WHERE state = 'waiting' AND wait_until <= ?1 AND session = (
            SELECT session FROM message WHERE state = 'waiting' AND wait_until <= ?1 ORDER BY n LIMIT 1
          ) ORDER BY n LIMIT ?3
        ) RETURNING {rows.MESSAGE}, {rows.STATE}
        """
        until = micros(now + lease)
        found = await self._file.write(lambda db: query(db, statement, (micros(now), until, limit)))
        return sorted((rows.message(row) for row in found), key=lambda message: message.position)

    async def bare(self, model: str, limit: int) -> list[Part]:
        statement = """
        SELECT part.n, coalesce(message.id, memory.id), part.number, part.start, part.stop FROM part
          LEFT JOIN vector ON vector.part = part.n LEFT JOIN message ON message.n = part.item
          LEFT JOIN memory ON memory.n = -part.item
         WHERE part.n >= ? AND part.embed AND vector.model IS NOT ? ORDER BY part.n LIMIT ?
        """
        start = self._embedded_below.get(model, 0)
        found = await self._file.read(lambda db: query(db, statement, (start, model, limit)))
        if found:
            self._embedded_below[model] = found[0][0]
        return [Part(item, number, start, stop) for _, item, number, start, stop in found]

    async def indexed(self, ids: Sequence[str]) -> list[tuple[Part, Vector | None]]:
        statement = """
        SELECT item.id, part.number, part.start, part.stop, part.embed, vector.model, vector.data
          FROM (SELECT id, n FROM message UNION ALL SELECT id, -n FROM memory) AS item
          JOIN part ON part.item = item.n LEFT JOIN vector ON vector.part = part.n
         WHERE item.id IN (SELECT value FROM json_each(?)) ORDER BY part.item, part.number
        """
        found = []
        listed = (rows.packed(list(ids)),)
        for id, number, start, stop, embed, model, data in await self._file.read(
            lambda db: query(db, statement, listed)
        ):
            vector = None if data is None else Vector(id, number, model, unpacked([data])[0])
            found.append((Part(id, number, start, stop, embed=bool(embed)), vector))
        return found

    async def stats(self, model: str) -> Stats:
        return await self._file.read(lambda db: _stats(db, model))

    @property
    def journal(self) -> SqliteJournal:
        return SqliteJournal(self._file)

    @property
    def shelf(self) -> SqliteShelf:
        return SqliteShelf(self._file)

    @property
    def graph(self) -> SqliteGraph:
        return SqliteGraph(self._file)

    async def sleep(self) -> None:
        """Give up what a hot profile holds; the next use wakes it."""
        self._board = None
        await self._file.sleep()

    async def close(self) -> None:
        self._board = None
        await self._file.close()


def release(db: apsw.Connection) -> None:
    """End the leases of a process that is gone: whoever owns the folder now is alone."""
    db.execute("UPDATE message SET wait_until = 0 WHERE state = 'waiting' AND wait_until > 0 AND failures = 0")
    db.execute("UPDATE document SET lent = 0 WHERE lent > 0")


def _items(db: apsw.Connection, ids: Sequence[str]) -> dict[str, Item]:
    listed = (rows.packed(list(ids)),)
    within = "WHERE id IN (SELECT value FROM json_each(?))"
    found: dict[str, Item] = {}
    for row in db.execute(f"SELECT {rows.MESSAGE}, {rows.STATE} FROM message {within}", listed):
        found[row[0]] = rows.message(row)
    for row in db.execute(f"SELECT {rows.MEMORY}, {rows.SOURCES} FROM memory {within}", listed):
        found[row[0]] = rows.memory(row)
    return found


def _stats(db: apsw.Connection, model: str) -> Stats:
    def one(sql: str, *bound: Any) -> int:
        return int(query(db, sql, bound)[0][0])

    kinds: dict[str, int] = dict(
        query(db, "SELECT kind, count(*) FROM memory WHERE superseded_by IS NULL GROUP BY kind")
    )
    return Stats(
        messages=one("SELECT count(*) FROM message"),
        memories=sum(kinds.values()),
        kinds=kinds,
        superseded=one("SELECT count(*) FROM memory WHERE superseded_by IS NOT NULL"),
        sessions=one("SELECT count(DISTINCT session) FROM message WHERE session NOT LIKE ?", DOCUMENT_SESSIONS),
        pending=one("SELECT count(*) FROM message WHERE state = 'waiting'"),
        failing=one("SELECT count(*) FROM message WHERE state = 'waiting' AND failures > 0"),
        set_aside=one("SELECT count(*) FROM message WHERE state = 'aside'"),
        unembedded=one("SELECT count(*) FROM part WHERE embed")
        - one("SELECT count(*) FROM vector JOIN part ON part.n = vector.part WHERE part.embed AND model = ?", model),
        bytes=one("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"),
        said_on=by_day(query(db, "SELECT created_at / 86400000000, count(*) FROM message GROUP BY 1")),
        written_on=by_day(query(db, "SELECT created_at / 86400000000, count(*) FROM memory GROUP BY 1")),
    )
