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
from .journal import recorded
from .seal import FINGERPRINT, MEMORY, MESSAGE, Seal

_PLACES = ", ".join(["%s"] * len(rows.WRITTEN_MEMORY.split(",")))
_IN_ITS_PLACE = """
SELECT other.id FROM memory JOIN memory AS other ON other.profile = memory.profile AND other.superseded_by IS NULL
   AND other.n != memory.n
   AND ((other.kind = memory.kind AND other.key = memory.key)
        OR (other.key IS NULL AND memory.key IS NULL AND other.fingerprint = memory.fingerprint))
 WHERE memory.profile = %s AND memory.n = %s
"""
_RESTING_ONLY_ON = """
SELECT id FROM memory WHERE profile = %s AND n IN (SELECT memory FROM source WHERE profile = %s AND message = %s)
   AND NOT EXISTS (
     SELECT 1 FROM source WHERE source.profile = memory.profile AND source.memory = memory.n AND message != %s
   )
"""
_ITEM = (
    "coalesce((SELECT n FROM message WHERE profile = %(p)s AND id = %(id)s), "
    "(SELECT -n FROM memory WHERE profile = %(p)s AND id = %(id)s))"
)


class Applying:
    """Run it in a transaction of its profile."""

    def __init__(self, change: Change, profile: int, seal: Seal) -> None:
        self._change = change
        self._profile = profile
        self._seal = seal
        self._new: set[str] = set()
        self._items: dict[str, int] = {}

    async def run(self, db: Db) -> Applied:
        change, p = self._change, self._profile
        if not await query(db, "SELECT 1 FROM profile WHERE id = %s FOR UPDATE", (p,)):
            raise Conflict("The profile was deleted meanwhile.")
        await self._add_messages(db)
        await self._add_memories(db)
        await self._add_parts(db)
        await self._add_vectors(db)
        for item, number in change.refused:
            await db.execute(
                f"UPDATE part SET embed = false WHERE profile = %(p)s AND number = %(number)s AND item = {_ITEM}",
                {"p": p, "number": number, "id": item},
            )
        for id, message in change.sources:
            await db.execute(
                "INSERT INTO source (profile, memory, place, message) SELECT %(p)s, memory.n, "
                "(SELECT count(*) FROM source WHERE profile = %(p)s AND memory = memory.n), message.id "
                "FROM memory, message WHERE memory.profile = %(p)s AND message.profile = %(p)s "
                "AND memory.id = %(memory)s AND message.id = %(message)s ON CONFLICT DO NOTHING",
                {"p": p, "memory": id, "message": message},
            )
        await self._note_digestion(db)
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

    async def _add_messages(self, db: Db) -> None:
        places: dict[str, int] = {}
        for message in self._change.messages:
            if message.session_id not in places:
                last = await query(
                    db,
                    "SELECT max(position) FROM message WHERE profile = %s AND session = %s",
                    (self._profile, message.session_id),
                )
                places[message.session_id] = (last[0][0] or 0) + 1
            added = await query(
                db,
                f"INSERT INTO message (profile, {rows.WRITTEN_MESSAGE}) VALUES ({', '.join(['%s'] * 11)}) "
                "ON CONFLICT (profile, id) DO NOTHING RETURNING n",
                (self._profile, *self._seal.shut_row(rows.message_row(message, places[message.session_id]), MESSAGE)),
            )
            if added:
                places[message.session_id] += 1
                self._new.add(message.id)
                self._items[message.id] = added[0][0]
            else:  # known; saying it again gives one that was set aside another chance
                await db.execute(
                    "UPDATE message SET state = 'waiting', failures = 0, wait_until = 0 "
                    "WHERE profile = %s AND id = %s AND state = 'aside'",
                    (self._profile, message.id),
                )

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
        self._items[memory.id] = -n
        await self._many(
            db,
            "INSERT INTO source (profile, memory, place, message) VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING",
            [(self._profile, n, place, message) for place, message in enumerate(memory.sources)],
        )

    def _memory_row(self, memory: Memory) -> Row:
        row = self._seal.shut_row(rows.memory_row(memory), MEMORY)
        return (*row[:FINGERPRINT], self._seal.mark(row[FINGERPRINT]), *row[FINGERPRINT + 1 :])

    async def _add_parts(self, db: Db) -> None:
        parts = {(part.item, part.number): part for part in self._change.parts if part.item in self._new}
        if not parts:
            return
        postings: list[Row] = []
        for part in parts.values():
            n = (await query(db, _PART, self._part_row(part)))[0][0]
            postings += [
                (self._profile, self._seal.mark(word), n, times, len(part.words))
                for word, times in Counter(part.words).items()
            ]
        await self._many(
            db, "INSERT INTO posting (profile, word, part, times, length) VALUES (%s, %s, %s, %s, %s)", postings
        )
        length = sum(len(part.words) for part in parts.values())
        await self._count(db, len(parts), length)

    def _part_row(self, part: Part) -> Row:
        return (
            self._profile, self._items[part.item], part.number, part.start, part.stop, len(part.words), part.embed,
            part.asks, self._seal.shut(part.tokens),
        )  # fmt: skip

    async def _count(self, db: Db, parts: int, words: int) -> None:
        await db.execute(
            "UPDATE profile SET parts = parts + %s, words = words + %s WHERE id = %s", (parts, words, self._profile)
        )

    async def _add_vectors(self, db: Db) -> None:
        for vector in self._change.vectors:
            data = packed(vector.values)
            near = "[" + ",".join(f"{value:.6g}" for value in unpacked([data])[0].tolist()) + "]"
            await db.execute(
                "INSERT INTO meaning (profile, part, memory, model, near, data) "
                "SELECT %(p)s, part.n, part.item < 0, %(model)s, %(near)s::halfvec, %(data)s FROM part "
                f"WHERE profile = %(p)s AND number = %(number)s AND item = {_ITEM} "
                "ON CONFLICT (profile, part) DO UPDATE SET model = excluded.model, near = excluded.near, "
                "data = excluded.data",
                {"p": self._profile, "model": vector.model, "near": near, "data": data, "number": vector.number,
                 "id": vector.item},
            )  # fmt: skip

    async def _forget(self, db: Db) -> Forgotten:
        """Decided here, inside the transaction: a memory drawn meanwhile from a forgotten message goes with it."""
        p, messages, memories = self._profile, [], list(self._change.forget)
        for id in self._change.forget:
            for (n,) in await query(db, "DELETE FROM message WHERE profile = %s AND id = %s RETURNING n", (p, id)):
                messages.append(id)
                await self._drop_parts(db, n)
                memories += [memory for (memory,) in await query(db, _RESTING_ONLY_ON, (p, p, id, id))]
                await db.execute("DELETE FROM source WHERE profile = %s AND message = %s", (p, id))
        gone = [id for id in dict.fromkeys(memories) if await self._forget_memory(db, id)]
        return Forgotten(tuple(gone), tuple(messages))

    async def _forget_memory(self, db: Db, id: str) -> bool:
        statement = "DELETE FROM memory WHERE profile = %s AND id = %s RETURNING n, superseded_by"
        for n, successor in await query(db, statement, (self._profile, id)):
            await self._drop_parts(db, -n)
            await db.execute("DELETE FROM source WHERE profile = %s AND memory = %s", (self._profile, n))
            await self._relink(db, id, successor)
            return True
        return False

    async def _relink(self, db: Db, id: str, successor: str | None) -> None:
        """What the forgotten one superseded is current again, unless something else stands in its place by now."""
        older = "SELECT n, id FROM memory WHERE profile = %s AND superseded_by = %s ORDER BY n DESC"
        for n, old in await query(db, older, (self._profile, id)):
            found = [] if successor else await query(db, _IN_ITS_PLACE, (self._profile, n))
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
        await db.execute("DELETE FROM meaning WHERE profile = %s AND part = ANY(%s)", (self._profile, parts))
        await self._count(db, -len(parts), -sum(length for _, length in gone))

    async def _set_live(self, db: Db, id: str, live: bool) -> None:
        await db.execute(
            "UPDATE part SET live = %s WHERE profile = %s AND item = "
            "(SELECT -n FROM memory WHERE profile = %s AND id = %s)",
            (live, self._profile, self._profile, id),
        )

    async def _many(self, db: Db, statement: str, bound: Sequence[Any]) -> None:
        if bound:
            async with db.cursor() as cursor:
                await cursor.executemany(statement, bound)


_PART = """
INSERT INTO part (profile, item, number, start, stop, length, embed, asks, tokens)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s) RETURNING n
"""
