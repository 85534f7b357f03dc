"""One profile's memory in one SQLite file."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import apsw

from holdfast.domain.errors import StorageFull
from holdfast.domain.identifiers import DOCUMENT_SESSIONS
from holdfast.domain.ports.search import Probe, Proposals
from holdfast.domain.ports.storage import PAST_LAST_POSITION
from holdfast.domain.results import Facets, MessagePage, Page, Stats
from holdfast.domain.timestamps import to_micros
from holdfast.domain.types import Applied, Change, Facet, Item, Memory, Message, Order, Part, Vector, Where
from holdfast.storage import cursors, rows
from holdfast.storage.dry_run import DryRunRollback
from holdfast.storage.facets import TAGS, count_rows
from holdfast.storage.item_cache import CacheMiss, ItemCache
from holdfast.storage.sqlite.cache.items import load_items_and_resting, load_resting
from holdfast.storage.sqlite.connection import SOURCES, Row, exact_references, memory_number, query
from holdfast.storage.sqlite.documents import SqliteDocumentStore
from holdfast.storage.sqlite.file import DatabaseFile
from holdfast.storage.sqlite.journal import SqliteJournal, claim_messages
from holdfast.storage.sqlite.where import KNOWN_AT, condition
from holdfast.storage.statistics import MEMORY_GROUPS, MESSAGE_GROUPS, profile_stats, waiting_stats
from holdfast.storage.where import Sql, continuation, ordering, sort_value
from holdfast.text.cache import clear_text_caches

_HISTORY = f"""
WITH RECURSIVE newer (ref) AS (
  SELECT ref FROM memory WHERE n = ?
  UNION SELECT superseded_by FROM memory JOIN newer USING (ref) WHERE superseded_by IS NOT NULL
), chain (ref) AS (
  SELECT ref FROM newer UNION SELECT memory.ref FROM memory JOIN chain ON memory.superseded_by = chain.ref
)
SELECT {rows.MEMORY}, {SOURCES} FROM memory WHERE ref IN (SELECT ref FROM chain)
 ORDER BY superseded_by IS NOT NULL, n DESC
"""
MAX_PARTS_SEARCHED_IN_PLACE = 5_000
"""Up to so many parts, a search that needs no statement runs in the event loop, as its ranking does. Chosen by hand."""

if TYPE_CHECKING:
    from holdfast.storage.sqlite.apply import BareParts
    from holdfast.storage.sqlite.graph import SqliteGraphStore
    from holdfast.storage.sqlite.vector_cache import VectorCache


class SqliteStore:
    def __init__(self, file: DatabaseFile, changed: Callable[[], None] = lambda: None) -> None:
        self._file = file
        self._changed = changed
        self._cache: VectorCache | None = None
        self._cache_lock = threading.Lock()
        self._items = ItemCache()
        self._embedded_below: dict[str, int] = {}
        """Model → the first part that may lack its vector, so that `unembedded_parts` skips the parts before it."""
        self._bare: BareParts = {}
        self._next_claim: float = 0
        """When a message may wait for digestion again, in microseconds, so that `claim` need not look before."""

    async def apply(self, change: Change) -> Applied:
        try:
            return await self._apply(change)
        except StorageFull:
            if not change.erases or not self._file.make_room():
                raise
        return await self._apply(change)

    async def _apply(self, change: Change) -> Applied:
        from holdfast.storage.sqlite.apply import SqliteChangeWriter

        writer = SqliteChangeWriter(change)

        def update_cache() -> None:
            with self._cache_lock:
                if self._cache is not None and not writer.update_cache(self._cache):
                    self._cache = None
            self._items = writer.items_after(self._items)
            self._bare = writer.bare_after(self._bare)
            if change.messages or change.defer or change.redo or change.erases:
                self._next_claim = 0
            self._changed()

        try:
            applied = await self._file.write(writer, then=update_cache)
        except DryRunRollback as rollback:
            return rollback.applied
        models = {vector.model for vector in change.vectors}
        if models:  # a part has one vector: a new model replaces the old one's
            self._embedded_below = {name: n for name, n in self._embedded_below.items() if {name} == models}
        if change.erases:
            clear_text_caches()
            self._embedded_below = {}  # row numbers of deleted parts are used again
            await self._file.scrub()
        return applied

    async def get(self, ids: Sequence[str]) -> list[Item]:
        cache = self._items  # a write in the meantime begins a new one
        missing = [id for id in ids if id not in cache.items]
        known = {id: cache.items[id] for id in ids if id in cache.items}
        if missing:
            found, resting = await self._file.read(lambda db: load_items_and_resting(db, missing))
            cache.add_items(found)
            cache.add_resting(resting)
            known |= found
        return [known[id]() for id in ids if id in known]

    async def scan(
        self,
        where: Where | None,
        *,
        now: datetime | None,
        limit: int,
        cursor: str | None = None,
        superseded: bool = False,
        as_of: datetime | None = None,
        order: Order = "written",
        count: Sequence[Facet] | None = None,
    ) -> Page:
        sql, bound = _listed(where, now, superseded, as_of)
        after, place = continuation(order, cursor, "?")
        statement = (
            f"SELECT {rows.MEMORY}, {SOURCES}, {sort_value(order)}, memory.n FROM memory WHERE {sql} AND {after} "
            f"ORDER BY {ordering(order)} LIMIT ?"
        )

        def read(db: apsw.Connection) -> tuple[list[Row], Facets | None]:
            counted = None if count is None else count_rows(count, query(db, _counting(count, sql), bound))
            return query(db, statement, [*bound, *place, min(limit + 1, 2**31)]), counted

        found, counted = await self._file.read(read)
        next_cursor = cursors.encode_place(order, *found[limit - 1][-2:]) if len(found) > limit else None
        page = Page(tuple(rows.memory(row[:-2]) for row in found[:limit]), next_cursor)
        return page if counted is None else page.counted(counted)

    async def messages(
        self, session_id: str | None, *, before: int | None = None, limit: int = 1000, cursor: str | None = None
    ) -> MessagePage:
        cache = self._items  # a write in the meantime begins a new one
        of_end = session_id if before == PAST_LAST_POSITION and limit == 1 else None
        if of_end is not None and of_end in cache.ends:
            return MessagePage((rows.message(cache.ends[of_end]),))
        of, by = ("?1 IS NULL", "n") if session_id is None else ("session = ?1", "position")
        within, order = (f"{by} > ?2", "ASC") if before is None else ("position < ?2", "DESC")
        statement = (
            f"SELECT {rows.MESSAGE}, {rows.STATE}, {by} FROM message WHERE {of} AND {within} "
            f"ORDER BY {by} {order} LIMIT ?3"
        )
        bound = (session_id, cursors.decode(cursor, start=0) if before is None else before, min(limit + 1, 2**31))
        found = await self._file.read(lambda db: query(db, statement, bound))
        if of_end is not None and found:
            cache.add_end(of_end, found[0][:-1])
        messages = tuple(rows.message(row[:-1]) for row in found[:limit])
        if before is not None:
            return MessagePage(messages[::-1])
        return MessagePage(messages, cursors.encode(found[limit - 1][-1]) if len(found) > limit else None)

    async def history(self, id: str) -> list[Memory]:
        cache = self._items  # a write in the meantime begins a new one
        if id not in cache.histories:
            found = await self._file.read(lambda db: query(db, _HISTORY, (memory_number(db, id),)))
            cache.add_history(id, [rows.memory_maker(row) for row in found])
        return [make() for make in cache.histories[id]]

    async def propose(self, probe: Probe) -> Proposals:
        from holdfast.storage.sqlite.search import propose
        from holdfast.storage.sqlite.vector_cache import VectorCache

        with suppress(CacheMiss):
            return self._propose_from_cache(probe)

        def search(db: apsw.Connection) -> Proposals:
            with self._cache_lock:
                db.execute("BEGIN")  # one snapshot for every channel
                try:
                    cache = self._cache
                    if cache is None or (probe.vector is not None and cache.model != probe.model):
                        self._cache = cache = VectorCache(db, probe.model)
                    return propose(db, cache, probe)
                finally:
                    db.execute("COMMIT")

        return await self._file.read(search)

    def _propose_from_cache(self, probe: Probe) -> Proposals:
        """What a small profile's cache proposes, without the way to a thread and back. Raises CacheMiss when the cache
        lacks something or is being loaded or updated."""
        from holdfast.storage.sqlite.search import propose

        if not self._cache_lock.acquire(blocking=False):
            raise CacheMiss
        try:
            cache = self._cache
            if cache is None or len(cache) > MAX_PARTS_SEARCHED_IN_PLACE or cache.model != probe.model:
                raise CacheMiss
            if not cache.has_words(probe.words):
                raise CacheMiss
            return propose(None, cache, probe)
        finally:
            self._cache_lock.release()

    async def resting_on(self, messages: Sequence[str]) -> list[Memory]:
        cache = self._items  # a write in the meantime begins a new one
        missing = [id for id in messages if id not in cache.resting]
        known = {n: make for id in messages for n, make in cache.resting.get(id, ())}
        if missing:
            found = await self._file.read(lambda db: load_resting(db, missing))
            cache.add_resting(found)
            known |= {n: make for id in missing for n, make in found[id]}
        return [known[n]() for n in sorted(known)]

    async def claim(self, *, now: datetime, lease: timedelta, limit: int, max_bytes: int = 2**62) -> list[Message]:
        bound = to_micros(now), to_micros(now + lease), limit, max_bytes
        if bound[0] < self._next_claim:
            return []
        claimed: list[tuple[list[Row], float]] = []

        def note_next_claim() -> None:
            self._next_claim = claimed[0][1]

        await self._file.write(lambda db: claimed.append(claim_messages(db, bound)), then=note_next_claim)
        return sorted((rows.message(row) for row in claimed[0][0]), key=lambda message: message.position)

    async def unembedded_parts(self, model: str, limit: int) -> list[Part]:
        statement = """
        SELECT part.n, coalesce(message.id, memory.ref), part.number, part.start, part.stop FROM part
          LEFT JOIN vector ON vector.part = part.n LEFT JOIN message ON message.n = part.item
          LEFT JOIN memory ON memory.n = -part.item
         WHERE part.n >= ? AND part.embed AND vector.model IS NOT ? ORDER BY part.n LIMIT ?
        """
        bare = self._bare  # a write in the meantime begins a new one
        if not bare.get(model, (0,)):
            return []
        below = self._embedded_below  # a write that makes it wrong begins a new one
        start = below.get(model, 0)

        def load(db: apsw.Connection) -> tuple[list[Row], int]:
            db.execute("BEGIN")  # one snapshot: a part that is written meanwhile has a higher number
            try:
                return query(db, statement, (start, model, limit)), query(db, "SELECT max(n) FROM part")[0][0] or 0
            finally:
                db.execute("COMMIT")

        found, last = await self._file.read(load)
        below[model] = found[0][0] if found else last + 1
        if len(found) < limit:
            bare[model] = {row[0] for row in found}
        return [Part(item, number, start, stop) for _, item, number, start, stop in found]

    async def indexed(self, ids: Sequence[str]) -> list[tuple[Part, Vector | None]]:
        from holdfast.domain.vectors import vector_of_bytes

        statement = """
        SELECT item.ref, part.number, part.start, part.stop, part.embed, vector.model, vector.data
          FROM (SELECT id AS ref, n FROM message UNION ALL SELECT ref, -n FROM memory) AS item
          JOIN part ON part.item = item.n LEFT JOIN vector ON vector.part = part.n
         WHERE item.ref IN (SELECT value FROM json_each(?)) ORDER BY part.item, part.number
        """

        def load(db: apsw.Connection) -> list[Any]:
            return query(db, statement, (rows.compact_json(exact_references(db, ids)),))

        found = []
        for id, number, start, stop, embed, model, data in await self._file.read(load):
            vector = None if data is None else Vector(id, number, model, vector_of_bytes([data])[0])
            found.append((Part(id, number, start, stop, embed=bool(embed)), vector))
        return found

    async def stats(self, model: str, *, only_waiting: bool = False) -> Stats:
        if only_waiting:
            pending = await self._file.read(
                lambda db: query(db, "SELECT 1 FROM message WHERE state = 'waiting' LIMIT 1")
            )
            return waiting_stats(pending=len(pending), unembedded=len(await self.unembedded_parts(model, 1)))
        start = self._embedded_below.get(model, 0)
        return await self._file.read(lambda db: _load_stats(db, model, start))

    @property
    def journal(self) -> SqliteJournal:
        return SqliteJournal(self._file)

    @property
    def documents(self) -> SqliteDocumentStore:
        return SqliteDocumentStore(self._file)

    @property
    def graph(self) -> SqliteGraphStore:
        from holdfast.storage.sqlite.graph import SqliteGraphStore

        return SqliteGraphStore(self._file)

    async def sleep(self) -> None:
        """Drop the cache and close the connections; the next use opens them again."""
        self._cache, self._items, self._bare = None, ItemCache(), {}
        await self._file.sleep()

    async def close(self) -> None:
        self._cache, self._items, self._bare = None, ItemCache(), {}
        await self._file.close()


_FACET_VALUES = {
    "kind": "memory.kind",
    "key": "memory.key",
    "agent": "memory.agent",
    "month": "coalesce(memory.occurred_at, (SELECT min(coalesce(message.said_at, message.created_at)) FROM source "
    "JOIN message ON message.id = source.message WHERE source.memory = memory.n), memory.created_at)",
    "tag": f"memory.metadata -> '$.{TAGS}'",
    "person": "(SELECT json_group_array(DISTINCT message.speaker) FROM source JOIN message "
    "ON message.id = source.message WHERE source.memory = memory.n AND message.speaker IS NOT NULL)",
}
"""Facet → the SQL of its raw value."""


def _counting(by: Sequence[Facet], sql: str) -> str:
    """The statement that counts the memories under a condition by the values of these facets."""
    values = "".join(f"{_FACET_VALUES[facet]}, " for facet in by)
    grouped = f" GROUP BY {', '.join(str(n) for n in range(1, len(by) + 1))}" if by else ""
    return f"SELECT {values}count(*) FROM memory WHERE {sql}{grouped}"


def _listed(where: Where | None, now: datetime | None, superseded: bool, as_of: datetime | None) -> Sql:
    """The condition on the memories that a listing has."""
    sql, bound = condition(where, "memory")
    current = "true" if superseded or as_of is not None else "superseded_by IS NULL"
    if as_of is not None:
        then = to_micros(as_of)
        sql += " AND memory.updated_at <= ?" if superseded else f" AND {KNOWN_AT}"
        bound = [*bound, then] if superseded else [*bound, then, then]
    expired = 0 if now is None else to_micros(now)
    return f"{current} AND (expires_at IS NULL OR expires_at > ?) AND {sql}", [expired, *bound]


def _load_stats(db: apsw.Connection, model: str, first: int) -> Stats:
    """The counts of a profile; all parts before `first` have their vector."""

    def one(sql: str, *bound: Any) -> int:
        return int(query(db, sql, bound)[0][0])

    return profile_stats(
        query(db, f"SELECT {MESSAGE_GROUPS}, count(*) FROM message GROUP BY 1, 2, 3"),
        query(db, f"SELECT {MEMORY_GROUPS}, count(*) FROM memory GROUP BY 1, 2, 3"),
        sessions=one("SELECT count(DISTINCT session) FROM message WHERE session NOT LIKE ?", DOCUMENT_SESSIONS),
        unembedded=one(
            "SELECT count(*) FROM part LEFT JOIN vector ON vector.part = part.n "
            "WHERE part.n >= ? AND part.embed AND vector.model IS NOT ?",
            first,
            model,
        ),
        size=one("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"),
    )
