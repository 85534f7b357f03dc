"""One Change as SQL inside one transaction, under the lock of its profile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import psycopg

from ..errors import Conflict
from ..moments import micros
from ..types import Applied, Change, Forgotten, Memory, Part, Supersede
from ..vectors import packed, unpacked
from . import rows
from .base import Db, Row, query
from .graph import forget_mentions, scrub_changes
from .journal import recorded
from .seal import FINGERPRINT, MEMORY, MESSAGE, Seal

_PLACES = ", ".join(["%s"] * len(rows.WRITTEN_MEMORY.split(",")))
_IN_ITS_PLACE = """
SELECT other.id FROM memory AS old, LATERAL (
  SELECT id FROM memory WHERE profile = %(p)s AND kind = old.kind AND key = old.key AND superseded_by IS NULL
   UNION ALL
  SELECT id FROM memory WHERE profile = %(p)s AND fingerprint = old.fingerprint AND key IS NULL AND old.key IS NULL
     AND superseded_by IS NULL
) AS other WHERE old.profile = %(p)s AND old.n = %(n)s AND other.id <> old.id
"""
_RESTING_ONLY_ON = """
SELECT memory.id FROM (SELECT memory AS n FROM source WHERE profile = %(p)s AND message = %(message)s) AS resting,
  LATERAL (SELECT id FROM memory WHERE profile = %(p)s AND memory.n = resting.n OFFSET 0) AS memory
 WHERE NOT EXISTS (
   SELECT 1 FROM source WHERE source.profile = %(p)s AND source.memory = resting.n AND message <> %(message)s
 )
"""
_ITEM = (
    "coalesce((SELECT n FROM message WHERE profile = %(p)s AND id = %(id)s), "
    "(SELECT n FROM memory WHERE profile = %(p)s AND id = %(id)s))"
)


class Applying:
    """Run it in a transaction of its profile."""

    def __init__(self, change: Change, profile: int, seal: Seal) -> None:
        self._change = change
        self._profile = profile
        self._seal = seal
        self._new: set[str] = set()
        self._items: dict[str, int] = {}
        self._memories: set[str] = set()
        self._unsaid: set[str] = set()

    async def run(self, db: Db) -> Applied:
        change, p = self._change, self._profile
        if not await query(db, "SELECT 1 FROM profile WHERE id = %s FOR UPDATE", (p,)):
            raise Conflict("The profile was deleted meanwhile.")
        await self._add_messages(db)
        await self._add_memories(db)
        await self._add_parts(db)
        for pair in change.supersede:  # what came and went in one change
            if {pair.old, pair.new} <= self._new:
                await self._set_live(db, pair.old, False)
        await self._add_vectors(db)
        for item, number in change.refused:
            await db.execute(
                f"UPDATE part SET embed = false WHERE profile = %(p)s AND number = %(number)s AND item = {_ITEM}",
                {"p": p, "number": number, "id": item},
            )
        for id, message in change.sources:
            await db.execute(
                "INSERT INTO source (profile, memory, place, message) SELECT %(p)s, memory.n, "
                "(SELECT coalesce(max(place) + 1, 0) FROM source WHERE profile = %(p)s AND memory = memory.n), "
                "message.id FROM memory, message WHERE memory.profile = %(p)s AND message.profile = %(p)s "
                "AND memory.id = %(memory)s AND message.id = %(message)s ON CONFLICT DO NOTHING",
                {"p": p, "memory": id, "message": message},
            )
        await self._note_digestion(db)
        await self._judge(db)
        applied = Applied(frozenset(self._new), await self._forget(db))
        await recorded(db, p, change, applied, self._seal)
        return applied

    async def _note_digestion(self, db: Db) -> None:
        lease = None if self._change.lease is None else micros(self._change.lease)
        still_ours = "AND (%s::bigint IS NULL OR (state = 'waiting' AND wait_until = %s))"
        if self._change.settle:
            ids = list(self._change.settle)
            there = await query(db, "SELECT id FROM message WHERE profile = %s AND id = ANY(%s)", (self._profile, ids))
            done = await query(
                db,
                f"UPDATE message SET state = 'digested' WHERE profile = %s AND id = ANY(%s) {still_ours} RETURNING id",
                (self._profile, ids, lease, lease),
            )
            if len(done) < len(there):
                raise Conflict("The lease on a message ran out, and somebody else digests it.")
        for late in self._change.defer:
            state, until = ("aside", 0) if late.until is None else ("waiting", micros(late.until))
            await db.execute(
                "UPDATE message SET state = %s, wait_until = %s, failures = failures + 1, failure = %s "
                f"WHERE profile = %s AND id = %s AND state = 'waiting' {still_ours}",
                (state, until, late.reason, self._profile, late.message, lease, lease),
            )

        if self._change.redo:
            await db.execute(
                "UPDATE message SET state = 'waiting', wait_until = 0, failures = 0, failure = NULL "
                "WHERE profile = %s AND id = ANY(%s)",
                (self._profile, list(self._change.redo)),
            )

    async def _judge(self, db: Db) -> None:
        if self._change.current:
            still = "SELECT id FROM memory WHERE profile = %s AND id = ANY(%s) AND superseded_by IS NULL"
            found = {id for (id,) in await query(db, still, (self._profile, list(self._change.current)))}
            for id in set(self._change.current) - found:
                raise Conflict(f"Memory {id} is no longer current; somebody superseded or forgot it first.")
        for each in self._change.judged:
            at = None if each.reviewed_at is None else micros(each.reviewed_at)
            await db.execute(
                "UPDATE memory SET marks = %s, reviewed_at = %s WHERE profile = %s AND id = %s",
                (each.marks, at, self._profile, each.memory),
            )

    async def _add_messages(self, db: Db) -> None:
        said = {message.id: message for message in self._change.messages}
        if not said:
            return
        p, ids = self._profile, list(said)
        held = await query(db, "SELECT id, state FROM message WHERE profile = %s AND id = ANY(%s)", (p, ids))
        if any(state == "aside" for _, state in held):  # saying it again gives it another chance
            await db.execute(
                "UPDATE message SET state = 'waiting', failures = 0, wait_until = 0 "
                "WHERE profile = %s AND id = ANY(%s) AND state = 'aside'",
                (p, ids),
            )
        known = {id for id, _ in held}
        new = [message for message in said.values() if message.id not in known]
        if not new:
            return
        sessions = list({message.session_id for message in new})
        last = "SELECT session, max(position) FROM message WHERE profile = %s AND session = ANY(%s) GROUP BY session"
        places: dict[str, int] = dict(await query(db, last, (p, sessions)))
        written = []
        for message in new:
            places[message.session_id] = places.get(message.session_id, 0) + 1
            row = rows.message_row(message, places[message.session_id])
            written.append(self._seal.shut_row(row, MESSAGE))
        added = await query(
            db,
            f"INSERT INTO message (profile, {rows.WRITTEN_MESSAGE}) SELECT %s, {rows.WRITTEN_MESSAGE} "
            f"FROM unnest(%s::text[], %s::text[], %s::bigint[], %s::text[], %s::text[], %s::text[], %s::text[], "
            f"%s::bigint[], %s::bigint[], %s::jsonb[]) AS new ({rows.WRITTEN_MESSAGE}) RETURNING id, n",
            (p, *columns(written)),
        )
        for id, n in added:
            self._new.add(id)
            self._items[id] = n

    async def _add_memories(self, db: Db) -> None:
        """Each memory after what it supersedes, so that one change may carry several versions of a key."""
        ids = [memory.id for memory in self._change.memories]
        if not ids:
            return
        held = await query(db, "SELECT id FROM memory WHERE profile = %s AND id = ANY(%s)", (self._profile, ids))
        known = {id for (id,) in held}
        for memory in self._change.memories:
            if memory.id in known or not await self._rests_on_something(db, memory):
                continue
            for pair in self._change.supersede:
                if pair.new == memory.id:
                    await self._supersede(db, pair)
            await self._add_memory(db, memory)

    async def _rests_on_something(self, db: Db, memory: Memory) -> bool:
        """Not on messages that were all forgotten while the memory was being drawn from them."""
        found = "SELECT 1 FROM message WHERE profile = %s AND id = ANY(%s) LIMIT 1"
        return not memory.sources or bool(await query(db, found, (self._profile, list(memory.sources))))

    async def _supersede(self, db: Db, pair: Supersede) -> None:
        statement = (
            "UPDATE memory SET superseded_by = %s WHERE profile = %s AND id = %s AND superseded_by IS NULL RETURNING n"
        )
        if not await query(db, statement, (pair.new, self._profile, pair.old)):
            raise Conflict(f"Memory {pair.old} is no longer current; somebody superseded or forgot it first.")
        await self._set_live(db, pair.old, False)

    async def _add_memory(self, db: Db, memory: Memory) -> None:
        try:
            added = await query(
                db,
                f"INSERT INTO memory (profile, {rows.WRITTEN_MEMORY}) VALUES (%s, {_PLACES}) RETURNING n",
                (self._profile, *self._memory_row(memory)),
            )
        except psycopg.errors.UniqueViolation as taken:
            what = "The same thing" if memory.key is None else f"The key {memory.key!r} of kind {memory.kind!r}"
            raise Conflict(f"{what} was written meanwhile.") from taken
        n = added[0][0]
        self._new.add(memory.id)
        self._items[memory.id] = n
        self._memories.add(memory.id)
        sources = list(dict.fromkeys(memory.sources))
        await db.execute(
            "INSERT INTO source (profile, memory, place, message) SELECT %s, %s, place - 1, message "
            "FROM unnest(%s::text[]) WITH ORDINALITY AS new (message, place)",
            (self._profile, n, sources),
        )

    def _memory_row(self, memory: Memory) -> Row:
        row = self._seal.shut_row(rows.memory_row(memory), MEMORY)
        return (*row[:FINGERPRINT], self._seal.mark(row[FINGERPRINT]), *row[FINGERPRINT + 1 :])

    async def _add_parts(self, db: Db) -> None:
        parts = {(self._items[part.item], part.number): part for part in self._change.parts if part.item in self._new}
        if not parts:
            return
        added = await query(
            db,
            "INSERT INTO part (profile, item, memory, number, start, stop, length, embed, asks, tokens) "
            "SELECT %s, * FROM unnest(%s::bigint[], %s::boolean[], %s::integer[], %s::integer[], %s::integer[], "
            "%s::integer[], %s::boolean[], %s::boolean[], %s::bytea[]) RETURNING n, item, number",
            (self._profile, *columns([self._part_row(part) for part in parts.values()])),
        )
        postings: list[Row] = []
        for n, item, number in added:
            words = parts[item, number].words
            about = (n, len(words), parts[item, number].item in self._memories)
            postings += [(self._seal.mark(word), times, *about) for word, times in Counter(words).items()]
        if postings:
            await db.execute(
                "INSERT INTO posting (profile, word, times, part, length, memory) SELECT %s, * FROM unnest("
                "%s::text[], %s::integer[], %s::bigint[], %s::integer[], %s::boolean[])",
                (self._profile, *columns(postings)),
            )
        await self._count(db, len(parts), sum(len(part.words) for part in parts.values()))

    def _part_row(self, part: Part) -> Row:
        return (
            self._items[part.item], part.item in self._memories, part.number, part.start, part.stop, len(part.words),
            part.embed, part.asks, self._seal.shut(part.tokens),
        )  # fmt: skip

    async def _count(self, db: Db, parts: int, words: int) -> None:
        await db.execute(
            "UPDATE profile SET parts = parts + %s, words = words + %s WHERE id = %s", (parts, words, self._profile)
        )

    async def _add_vectors(self, db: Db) -> None:
        vectors = {(vector.item, vector.number): vector for vector in self._change.vectors}
        if not vectors:
            return
        written = []
        for vector in vectors.values():
            data = packed(vector.values)
            near = "[" + ",".join([f"{value:.6g}" for value in unpacked([data])[0].tolist()]) + "]"
            written.append((vector.item, vector.number, vector.model, near, data))
        ids, *rest = columns(written)
        await db.execute(_VECTORS, {"p": self._profile, "ids": ids, **dict(zip("nmvd", rest, strict=True))})

    async def _forget(self, db: Db) -> Forgotten:
        """Decided here, inside the transaction: a memory drawn meanwhile from a forgotten message goes with it."""
        p, messages, memories = self._profile, [], list(self._change.forget)
        sessions: set[str] = set()
        for id in self._change.forget:
            deleted = "DELETE FROM message WHERE profile = %s AND id = %s RETURNING n, session"
            for n, session in await query(db, deleted, (p, id)):
                messages.append(id)
                sessions.add(session)
                await self._drop_parts(db, n)
                memories += [memory for (memory,) in await query(db, _RESTING_ONLY_ON, {"p": p, "message": id})]
                await db.execute("DELETE FROM source WHERE profile = %s AND message = %s", (p, id))
        if sessions:
            await db.execute(
                "DELETE FROM original WHERE profile = %s AND document IN "
                "(SELECT id FROM document WHERE profile = %s AND session = ANY(%s))",
                (p, p, list(sessions)),
            )
        if documents := list(self._change.documents):
            await db.execute("DELETE FROM original WHERE profile = %s AND document = ANY(%s)", (p, documents))
            await db.execute("DELETE FROM document WHERE profile = %s AND id = ANY(%s)", (p, documents))
        gone = [id for id in dict.fromkeys(memories) if await self._forget_memory(db, id)]
        await scrub_changes(db, p, self._seal, self._unsaid, gone)
        return Forgotten(tuple(gone), tuple(messages))

    async def _forget_memory(self, db: Db, id: str) -> bool:
        statement = "DELETE FROM memory WHERE profile = %s AND id = %s RETURNING n, superseded_by"
        for n, successor in await query(db, statement, (self._profile, id)):
            await self._drop_parts(db, n)
            await db.execute("DELETE FROM source WHERE profile = %s AND memory = %s", (self._profile, n))
            self._unsaid |= await forget_mentions(db, self._profile, self._seal, n)
            await self._relink(db, id, successor)
            return True
        return False

    async def _relink(self, db: Db, id: str, successor: str | None) -> None:
        """What the forgotten one superseded is current again, unless something else stands in its place by now."""
        older = "SELECT n, id FROM memory WHERE profile = %s AND superseded_by = %s ORDER BY n DESC"
        for n, old in await query(db, older, (self._profile, id)):
            found = [] if successor else await query(db, _IN_ITS_PLACE, {"p": self._profile, "n": n})
            next_one = found[0][0] if found else successor
            await db.execute(
                "UPDATE memory SET superseded_by = %s WHERE profile = %s AND n = %s", (next_one, self._profile, n)
            )
            await self._set_live(db, old, next_one is None)

    async def _drop_parts(self, db: Db, item: int) -> None:
        gone = await query(
            db, "DELETE FROM part WHERE profile = %s AND item = %s RETURNING n, length", (self._profile, item)
        )
        parts = [n for n, _ in gone]
        await db.execute("DELETE FROM posting WHERE profile = %s AND part = ANY(%s)", (self._profile, parts))
        await self._count(db, -len(parts), -sum(length for _, length in gone))

    async def _set_live(self, db: Db, id: str, live: bool) -> None:
        for table, column in (("part", "item"), ("mention", "memory"), ("tie", "memory")):
            await db.execute(
                f"UPDATE {table} SET live = %s WHERE profile = %s AND {column} = "
                "(SELECT n FROM memory WHERE profile = %s AND id = %s)",
                (live, self._profile, self._profile, id),
            )


def columns(rows: Sequence[Row]) -> list[list[Any]]:
    """Rows as the arrays that unnest turns into rows again: one statement for any number of them."""
    return [list(column) for column in zip(*rows, strict=True)]


_VECTORS = """
UPDATE part SET model = new.model, near = new.near::halfvec, data = new.data
  FROM unnest(%(ids)s::text[], %(n)s::integer[], %(m)s::text[], %(v)s::text[], %(d)s::bytea[])
       AS new (id, number, model, near, data),
  LATERAL (SELECT n FROM message WHERE profile = %(p)s AND message.id = new.id
           UNION ALL SELECT n FROM memory WHERE profile = %(p)s AND memory.id = new.id) AS item,
  LATERAL (SELECT n FROM part WHERE profile = %(p)s AND part.item = item.n AND number = new.number OFFSET 0) AS found
 WHERE part.profile = %(p)s AND part.n = found.n
"""
