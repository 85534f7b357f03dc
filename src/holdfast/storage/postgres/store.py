"""One profile's memory in the database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from holdfast.domain.identifiers import DOCUMENT_SESSIONS, is_message_id
from holdfast.domain.ports.search import Probe, Proposals
from holdfast.domain.results import MessagePage, Page, Stats
from holdfast.domain.timestamps import to_micros
from holdfast.domain.types import Applied, Change, Facet, Item, Memory, Message, Order, Part, Vector, Where
from holdfast.domain.vectors import vector_of_bytes
from holdfast.storage import cursors
from holdfast.storage.dry_run import DryRunRollback
from holdfast.storage.facets import TAGS, count_rows
from holdfast.storage.postgres import rows
from holdfast.storage.postgres.apply import PostgresChangeWriter
from holdfast.storage.postgres.cache.loading import LargeProfileLoader
from holdfast.storage.postgres.cache.profile import NumberedRow, StoredItem
from holdfast.storage.postgres.cache.profiles import ProfileCaches
from holdfast.storage.postgres.cache.reader import CachedProfile
from holdfast.storage.postgres.connections import NO_ROWS, BoundStatement, Database, Db, Row, query, run_pipeline
from holdfast.storage.postgres.documents import PostgresDocumentStore
from holdfast.storage.postgres.encryption import ENCRYPTED_MEMORY_COLUMNS, ENCRYPTED_MESSAGE_COLUMNS, ProfileCipher
from holdfast.storage.postgres.graph import PostgresGraphStore
from holdfast.storage.postgres.journal import PostgresJournal
from holdfast.storage.postgres.search import PostgresSearch
from holdfast.storage.postgres.vectors import MIN_INDEXED_PARTS
from holdfast.storage.postgres.where import KNOWN_AT, exact_condition, plain_condition
from holdfast.storage.statistics import MEMORY_GROUPS, MESSAGE_GROUPS, profile_stats, waiting_stats
from holdfast.storage.where import Sql, continuation, ordering, sort_value
from holdfast.text.cache import clear_text_caches

FIRST_POSITION = 1
"""The position of the first message of a session."""


class PostgresStore:
    def __init__(
        self,
        database: Database,
        profile: int,
        cipher: ProfileCipher,
        caches: ProfileCaches,
        loader: LargeProfileLoader,
    ) -> None:
        self._database = database
        self._cached = CachedProfile(database, profile, cipher, caches, loader)
        self.profile = profile
        self._cipher = cipher
        self._parts = 0
        """The number of parts at the last search; it decides whether the next one uses the HNSW index."""
        self.journal = PostgresJournal(database, profile, cipher)
        self.documents = PostgresDocumentStore(database, profile, cipher)
        self.graph = PostgresGraphStore(database, profile, cipher)

    async def apply(self, change: Change) -> Applied:
        async def run(db: Db) -> Applied:
            async with db.pipeline():  # statements whose rows nobody reads wait for no reply
                applied = await PostgresChangeWriter(change, self.profile, self._cipher).run(db)
            if change.dry_run:
                raise DryRunRollback(applied)
            return applied

        try:
            applied = await self._database.write(self.profile, run)
        except DryRunRollback as rollback:
            return rollback.applied
        finally:
            self._cached.note_write(searchable=bool(change.parts or change.vectors))
        if change.erases:
            clear_text_caches()
        return applied

    async def get(self, ids: Sequence[str]) -> list[Item]:
        """A plain id is looked up among messages, then among current memories, then everywhere."""
        cache = self._cached.current()
        known = {} if cache is None else {id: cache.items[id] for id in ids if id in cache.items}
        missing = [id for id in ids if id not in known]
        if missing:
            memories_only = cache is not None and cache.memory_ids.issuperset(missing)
            known |= await self._load_items(missing, memories_only)
        return [self._item(*known[id]) for id in ids if id in known]

    async def _load_items(self, ids: Sequence[str], memories_only: bool) -> dict[str, StoredItem]:
        """Find references to versions together with ids, in one round trip. An id that is neither a message's nor a
        current memory's takes a second one."""
        bound = (self.profile, list(ids))
        versions = [id for id in ids if "@" in id]
        messages = f"SELECT {rows.MESSAGE}, {rows.STATE} FROM message WHERE profile = %s AND id = ANY(%s)"
        memories = f"SELECT {rows.MEMORY}, {rows.SOURCES} FROM memory WHERE profile = %s AND"
        others = [id for id in ids if not is_message_id(id)]
        (said, current, named), cache = await self._cached.read(
            NO_ROWS if memories_only else (messages, bound),
            (f"{memories} id = ANY(%s) AND superseded_by IS NULL", (self.profile, others)) if others else NO_ROWS,
            (memories.replace("SELECT", "SELECT ref,", 1) + " ref = ANY(%s)", (self.profile, versions))
            if versions
            else NO_ROWS,
        )
        found = {row[0]: (False, row) for row in said} | {row[0]: (True, row) for row in current}
        found |= {row[0]: (True, row[1:]) for row in named}
        if cache is not None:
            cache.add_items(found)
        left = [id for id in others if id not in found]
        if left:
            (named,) = await self._database.read_rows(self.profile, self._version_statement(left))
            found |= {row[0]: (True, row[1:]) for row in named}
        return found

    def _version_statement(self, references: Sequence[str]) -> BoundStatement:
        """A statement for references, each with the row of that version, or of the newest version of an id."""
        statement = (
            f"SELECT named.wanted, {rows.MEMORY}, {rows.SOURCES} "
            f"FROM ({rows.BY_REFERENCE}) AS named (wanted, place, named_id, named_ref), "
            "LATERAL (SELECT * FROM memory WHERE profile = %(p)s AND memory.n = named.place OFFSET 0) AS memory"
        )
        return statement, {"p": self.profile, "refs": list(references)}

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
        after, place = continuation(order, cursor, "%s")

        def statements(condition: Sql) -> list[BoundStatement]:
            sql, bound = self._listed(condition, now, superseded, as_of)
            listing = (
                f"SELECT {rows.MEMORY}, {rows.SOURCES}, {sort_value(order)}, memory.n FROM memory WHERE {sql} "
                f"AND {after} ORDER BY {ordering(order)} LIMIT %s"
            )
            counting = [] if count is None else [(_counting(count, sql), bound)]
            return [(listing, [*bound, *place, min(limit + 1, 2**31)]), *counting]

        async def read(db: Db) -> list[list[Row]]:
            condition = await exact_condition(db, self.profile, self._cipher, where, "memory")
            return await run_pipeline(db, *statements(condition))

        plain = plain_condition(self._cipher, where, "memory")
        if plain is None:
            found, *counts = await self._database.read(self.profile, read)
        else:
            found, *counts = await self._database.read_rows(self.profile, *statements(plain))
        next_cursor = cursors.encode_place(order, *found[limit - 1][-2:]) if len(found) > limit else None
        page = Page(tuple(self._memory(row[:-2]) for row in found[:limit]), next_cursor)
        return page if count is None else page.counted(count_rows(count, *counts))

    def _listed(self, condition: Sql, now: datetime | None, superseded: bool, as_of: datetime | None) -> Sql:
        """The condition on the memories that a listing has, of those that pass the filter."""
        sql, bound = condition
        current = "true" if superseded or as_of is not None else "superseded_by IS NULL"
        if as_of is not None:
            then = to_micros(as_of)
            sql += " AND memory.updated_at <= %s" if superseded else f" AND {KNOWN_AT}"
            bound = [*bound, then] if superseded else [*bound, then, then]
        expired = 0 if now is None else to_micros(now)
        return (
            f"memory.profile = %s AND {current} AND (expires_at IS NULL OR expires_at > %s) AND {sql}",
            [self.profile, expired, *bound],
        )

    async def messages(
        self, session_id: str | None, *, before: int | None = None, limit: int = 1000, cursor: str | None = None
    ) -> MessagePage:
        if before is not None and before <= FIRST_POSITION:
            return MessagePage()
        cache = self._cached.current()
        if session_id is not None and before is not None and limit == 1 and cache is not None and cache.complete:
            row = cache.message_before(session_id, before)
            return MessagePage(() if row is None else (self._message(row),))
        by = "n" if session_id is None else "position"
        within, order = (f"{by} > %s", "ASC") if before is None else ("position < %s", "DESC")
        statement = (
            f"SELECT {rows.MESSAGE}, {rows.STATE}, {by} FROM message WHERE profile = %s "
            f"AND (%s::text IS NULL OR session = %s) AND {within} ORDER BY {by} {order} LIMIT %s"
        )
        place = cursors.decode(cursor, start=0) if before is None else before
        found = await self._read(statement, session_id, session_id, place, min(limit + 1, 2**31))
        messages = tuple(self._message(row[:-1]) for row in found[:limit])
        if before is not None:
            return MessagePage(messages[::-1])
        return MessagePage(messages, cursors.encode(found[limit - 1][-1]) if len(found) > limit else None)

    async def history(self, id: str) -> list[Memory]:
        statement = f"""
        WITH RECURSIVE newer (ref) AS (
          SELECT ref FROM memory WHERE profile = %(p)s AND n = %(n)s
          UNION SELECT next.ref FROM newer, LATERAL (SELECT superseded_by AS ref FROM memory
           WHERE profile = %(p)s AND memory.ref = newer.ref AND superseded_by IS NOT NULL OFFSET 0) AS next
        ), chain (ref) AS (
          SELECT ref FROM newer
          UNION SELECT older.ref FROM chain, LATERAL (SELECT ref FROM memory
           WHERE profile = %(p)s AND superseded_by = chain.ref OFFSET 0) AS older
        )
        SELECT {rows.MEMORY}, {rows.SOURCES} FROM chain AS one (version_ref),
          LATERAL (SELECT * FROM memory WHERE profile = %(p)s AND memory.ref = one.version_ref OFFSET 0) AS memory
         ORDER BY superseded_by IS NOT NULL, n DESC
        """

        async def run(db: Db) -> list[Row]:
            n = (await rows.memory_numbers(db, self.profile, [id])).get(id)
            return [] if n is None else await query(db, statement, {"p": self.profile, "n": n})

        return [self._memory(row) for row in await self._database.read(self.profile, run)]

    async def propose(self, probe: Probe) -> Proposals:
        found = await self._cached.propose(probe)
        if found is not None:
            return found
        indexed = max(self._parts, self._cached.parts) >= MIN_INDEXED_PARTS
        found = await self._database.read(
            self.profile, lambda db: PostgresSearch(db, self.profile, probe, self._cipher, indexed).run()
        )
        self._parts = found.parts
        return found

    async def resting_on(self, messages: Sequence[str]) -> list[Memory]:
        cache = self._cached.current()
        known = {} if cache is None else {id: cache.resting[id] for id in messages if id in cache.resting}
        missing = [id for id in messages if id not in known]
        if missing:
            known |= await self._load_resting(missing)
        found = {n: row for each in known.values() for n, row in each}
        return [self._memory(found[n]) for n in sorted(found)]

    async def _load_resting(self, messages: Sequence[str]) -> dict[str, list[NumberedRow]]:
        """Message → the numbers and rows of the memories that rest on it."""
        statement = (
            f"SELECT resting.message, memory.n, {rows.MEMORY}, {rows.SOURCES} "
            "FROM (SELECT message, memory AS n FROM source WHERE profile = %s AND message = ANY(%s)) AS resting, "
            "LATERAL (SELECT * FROM memory WHERE profile = %s AND memory.n = resting.n OFFSET 0) AS memory"
        )
        (loaded,), cache = await self._cached.read((statement, (self.profile, list(messages), self.profile)))
        found: dict[str, list[NumberedRow]] = {id: [] for id in messages}
        for message, n, *row in loaded:
            found[message].append((n, tuple(row)))
        if cache is not None:
            cache.add_resting(found)
        return found

    async def claim(self, *, now: datetime, lease: timedelta, limit: int, max_bytes: int = 2**62) -> list[Message]:
        statement = f"""
        WITH ready AS MATERIALIZED (
          SELECT n, octet_length(content) AS size FROM message
           WHERE profile = %(p)s AND state = 'waiting' AND wait_until <= %(now)s AND session = (
            SELECT session FROM message WHERE profile = %(p)s AND state = 'waiting' AND wait_until <= %(now)s
             ORDER BY n LIMIT 1
          ) ORDER BY n LIMIT %(limit)s FOR UPDATE SKIP LOCKED
        ), chosen AS (
          SELECT n FROM (SELECT n, sum(size) OVER (ORDER BY n) - size AS before FROM ready) AS ordered
           WHERE before < %(bytes)s
        )
        UPDATE message SET wait_until = %(until)s, holder = %(me)s FROM chosen
         WHERE message.profile = %(p)s AND message.n = chosen.n RETURNING {rows.MESSAGE}, {rows.STATE}
        """
        bound = {
            "p": self.profile, "now": to_micros(now), "until": to_micros(now + lease), "limit": limit,
            "bytes": max_bytes,
            "me": self._database.process_id,
        }  # fmt: skip
        _, found = await self._database.write_rows(self.profile, _WITHOUT_SYNC, (statement, bound))
        return sorted((self._message(row) for row in found), key=lambda message: message.position)

    async def waits(self) -> bool:
        """Whether a message waits for digestion that never failed."""
        return bool(
            await self._read("SELECT 1 FROM message WHERE profile = %s AND state = 'waiting' AND failures = 0 LIMIT 1")
        )

    async def unembedded_parts(self, model: str, limit: int) -> list[Part]:
        columns = "profile, n, item, number, start, stop"
        each = " UNION ALL ".join(
            f"(SELECT {columns} FROM part WHERE {each} LIMIT %(limit)s)" for each in _WITHOUT_VECTOR
        )
        found = f"SELECT part.* FROM (VALUES (false), (true)) AS of (memory), LATERAL ({each}) AS part"
        statement = f"""
        SELECT coalesce(message.id, memory.ref), part.number, part.start, part.stop FROM ({found}) AS part
          LEFT JOIN LATERAL (SELECT id FROM message WHERE profile = part.profile AND n = part.item OFFSET 0)
               AS message ON true
          LEFT JOIN LATERAL (SELECT ref FROM memory WHERE profile = part.profile AND n = part.item OFFSET 0)
               AS memory ON true
         ORDER BY part.n LIMIT %(limit)s
        """
        bound = {"p": self.profile, "model": model, "limit": limit}
        (read,) = await self._database.read_rows(self.profile, (statement, bound))
        return [Part(*row) for row in read]

    async def indexed(self, ids: Sequence[str]) -> list[tuple[Part, Vector | None]]:
        statement = """
        SELECT item.ref, part.number, part.start, part.stop, part.embed, part.model, part.data
          FROM (SELECT id AS ref, n FROM message WHERE profile = %(p)s AND id = ANY(%(ids)s)
                UNION ALL SELECT ref, n FROM memory WHERE profile = %(p)s AND n = ANY(%(n)s)) AS item,
          LATERAL (SELECT * FROM part WHERE profile = %(p)s AND part.item = item.n OFFSET 0) AS part
         ORDER BY part.item, part.number
        """

        async def run(db: Db) -> list[Row]:
            numbers = await rows.memory_numbers(db, self.profile, ids)
            bound = {"p": self.profile, "ids": list(ids), "n": list(set(numbers.values()))}
            return await query(db, statement, bound)

        read = await self._database.read(self.profile, run)
        found = []
        for id, number, start, stop, embed, model, data in read:
            vector = None if data is None else Vector(id, number, model, vector_of_bytes([bytes(data)])[0])
            found.append((Part(id, number, start, stop, embed=embed), vector))
        return found

    async def stats(self, model: str, *, only_waiting: bool = False) -> Stats:
        p = self.profile
        if only_waiting:
            pending = await self._read("SELECT 1 FROM message WHERE profile = %s AND state = 'waiting' LIMIT 1")
            return waiting_stats(pending=len(pending), unembedded=len(await self.unembedded_parts(model, 1)))

        async def run(db: Db) -> Stats:
            async def one(sql: str, *bound: object) -> int:
                return int((await query(db, sql, (p, *bound)))[0][0])

            return profile_stats(
                await query(
                    db, f"SELECT {MESSAGE_GROUPS}, count(*) FROM message WHERE profile = %s GROUP BY 1, 2, 3", (p,)
                ),
                await query(
                    db, f"SELECT {MEMORY_GROUPS}, count(*) FROM memory WHERE profile = %s GROUP BY 1, 2, 3", (p,)
                ),
                sessions=await one(
                    "SELECT count(DISTINCT session) FROM message WHERE profile = %s AND session NOT LIKE %s",
                    DOCUMENT_SESSIONS,
                ),
                unembedded=await one(
                    "SELECT count(*) FROM part WHERE profile = %s AND embed "
                    "AND (model IS NULL OR model < %s OR model > %s)",
                    model,
                    model,
                ),
                size=sum([await one(_TABLE_BYTES.format(table=table)) for table in ("message", "memory", "part")]),
            )

        return await self._database.read(p, run)

    async def close(self) -> None:
        return None

    async def _read(self, statement: str, *bound: Any) -> list[Row]:
        """Run a statement whose first parameter is this profile."""
        (found,) = await self._database.read_rows(self.profile, (statement, (self.profile, *bound)))
        return found

    def _item(self, memory: bool, row: Row) -> Item:
        return self._memory(row) if memory else self._message(row)

    def _message(self, row: Row) -> Message:
        return rows.message(self._cipher.decrypt_row(row, ENCRYPTED_MESSAGE_COLUMNS))

    def _memory(self, row: Row) -> Memory:
        return rows.memory(self._cipher.decrypt_row(row, ENCRYPTED_MEMORY_COLUMNS))


_WITHOUT_SYNC: BoundStatement = ("SELECT set_config('synchronous_commit', 'off', true)", ())
"""Makes a commit wait for no disk: a lease that a crash of the database undoes is taken again."""
_FACET_VALUES = {
    "kind": "memory.kind",
    "key": "memory.key",
    "agent": "memory.agent",
    "month": "coalesce(memory.occurred_at, (SELECT min(coalesce(message.said_at, message.created_at)) FROM source "
    "JOIN message ON message.id = source.message AND message.profile = source.profile "
    "WHERE source.profile = memory.profile AND source.memory = memory.n), memory.created_at)",
    "tag": f"(memory.metadata -> '{TAGS}')::text",
    "person": "(SELECT json_agg(DISTINCT message.speaker)::text FROM source JOIN message ON "
    "message.id = source.message AND message.profile = source.profile "
    "WHERE source.profile = memory.profile AND source.memory = memory.n)",
}
"""Facet → the SQL of its raw value."""


def _counting(by: Sequence[Facet], sql: str) -> str:
    """The statement that counts the memories under a condition by the values of these facets."""
    values = "".join(f"{_FACET_VALUES[facet]}, " for facet in by)
    grouped = f" GROUP BY {', '.join(str(n) for n in range(1, len(by) + 1))}" if by else ""
    return f"SELECT {values}count(*) FROM memory WHERE {sql}{grouped}"


_WITHOUT_VECTOR = [
    f"profile = %(p)s AND embed AND {models} AND memory = of.memory ORDER BY model, memory, n"
    for models in ("model IS NULL", "model < %(model)s", "model > %(model)s")
]
"""Each condition is a range of one index, in its order: parts without a vector are found without reading others."""
_TABLE_BYTES = "SELECT coalesce(sum(pg_column_size({table})), 0) FROM {table} WHERE profile = %s"
