"""Writes one Change as SQL inside one transaction, under the lock of its profile."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest

import psycopg

from holdfast.domain.erasure import Leftovers, RemovedVersion, removed_ids, removed_references
from holdfast.domain.errors import Conflict
from holdfast.domain.timestamps import to_micros
from holdfast.domain.types import Applied, Change, Forgotten, Memory, Part, Shortened, Supersede
from holdfast.storage import rows as stored
from holdfast.storage.postgres import rows
from holdfast.storage.postgres.connections import Db, Row, query
from holdfast.storage.postgres.encryption import (
    ENCRYPTED_MEMORY_COLUMNS,
    FINGERPRINT_COLUMN,
    ProfileCipher,
)
from holdfast.storage.postgres.erasure import PostgresEraser, delete_documents
from holdfast.storage.postgres.graph import delete_mentions, scrub_changes
from holdfast.storage.postgres.journal import add_messages, record_change, record_digestion
from holdfast.storage.postgres.vectors import write_vectors

MEMORIES_PER_INSERT = 500
"""A statement may have 65,535 parameters."""
_PLACEHOLDERS = ", ".join(["%s"] * len(rows.WRITTEN_MEMORY.split(",")))
_CURRENT_RIVAL = """
SELECT other.ref FROM memory AS old, LATERAL (
  SELECT ref FROM memory WHERE profile = %(p)s AND id = old.id AND superseded_by IS NULL
   UNION ALL
  SELECT ref FROM memory WHERE profile = %(p)s AND kind = old.kind AND key = old.key AND superseded_by IS NULL
   UNION ALL
  SELECT ref FROM memory WHERE profile = %(p)s AND fingerprint = old.fingerprint AND key IS NULL AND old.key IS NULL
     AND superseded_by IS NULL
) AS other WHERE old.profile = %(p)s AND old.n = %(n)s AND other.ref <> old.ref
"""
_RESTING_ON = (
    "SELECT ref FROM memory WHERE profile = %s AND n IN (SELECT memory FROM source WHERE profile = %s AND message = %s)"
)
_NOT_REPLACED = "(superseded_by IS NULL OR superseded_by = ref)"
"""Whether a version is current or retired."""
_RESTING_ONLY_ON = """
SELECT memory.ref FROM (SELECT memory AS n FROM source WHERE profile = %(p)s AND message = %(message)s) AS resting,
  LATERAL (SELECT ref FROM memory WHERE profile = %(p)s AND memory.n = resting.n OFFSET 0) AS memory
 WHERE NOT EXISTS (
   SELECT 1 FROM source WHERE source.profile = %(p)s AND source.memory = resting.n AND message <> %(message)s
 )
"""
_ITEM_BY_REFERENCE = (
    "coalesce((SELECT n FROM message WHERE profile = %(p)s AND id = %(ref)s), "
    "(SELECT n FROM memory WHERE profile = %(p)s AND ref = %(ref)s))"
)


class PostgresChangeWriter:
    """`run` must be called in a transaction of the change's profile."""

    def __init__(self, change: Change, profile: int, cipher: ProfileCipher) -> None:
        self._change = change
        self._profile = profile
        self._cipher = cipher
        self._new: set[str] = set()
        self._items: dict[str, int] = {}
        self._new_memories: set[str] = set()
        self._lost_names: set[str] = set()
        self._left = Leftovers()
        self._lost_documents: list[str] = []
        self._removed: list[RemovedVersion] = []
        self._remaining: set[str] = set()
        """Ids of memories of which versions were removed and others stay."""
        self._passage_sessions: set[str] = set()
        """Sessions of messages that were deleted or shortened."""
        self._parts_added, self._words_added = 0, 0

    async def run(self, db: Db) -> Applied:
        change, p = self._change, self._profile
        if not await query(db, "SELECT 1 FROM profile WHERE id = %s FOR UPDATE", (p,)):
            raise Conflict("The profile was deleted at the same time.")
        added = await add_messages(db, p, change, self._cipher)
        self._new |= added.keys()
        self._items |= added
        await self._add_memories(db)
        await self._add_parts(db)
        ended = [pair.old for pair in change.supersede if {pair.old, pair.new} <= self._new]
        ended += [memory.ref for memory in change.memories if memory.retired and memory.ref in self._new]
        for ref in ended:  # added, and superseded or retired, in the same change
            await self._set_live(db, self._items[ref], False)
        await write_vectors(db, p, change.vectors)
        for item, number in change.refused:
            await db.execute(
                f"UPDATE part SET embed = false WHERE profile = %(p)s AND number = %(number)s "
                f"AND item = {_ITEM_BY_REFERENCE}",
                {"p": p, "number": number, "ref": item},
            )
        numbers = await rows.memory_numbers(db, p, [memory for memory, _ in change.sources])
        for memory, message in change.sources:
            await db.execute(
                "INSERT INTO source (profile, memory, place, message) SELECT %(p)s, %(n)s, "
                "(SELECT coalesce(max(place) + 1, 0) FROM source WHERE profile = %(p)s AND memory = %(n)s), "
                "message.id FROM message WHERE message.profile = %(p)s AND message.id = %(message)s "
                "AND %(n)s::bigint IS NOT NULL ON CONFLICT DO NOTHING",
                {"p": p, "n": numbers.get(memory), "message": message},
            )
        await record_digestion(db, p, change)
        await self._check_current(db)
        applied = Applied(frozenset(self._new), await self._forget(db))
        await self._apply_judgements(db)
        await self._count_parts(db)
        await record_change(db, p, change, applied, self._cipher)
        if change.erases and not change.dry_run:
            eraser = PostgresEraser(db, p, self._cipher)
            ids = removed_ids(self._removed, self._remaining) | {*applied.gone.messages, *self._lost_documents}
            await eraser.erase(await eraser.find_erasure(change, ids, applied.gone.shortened, self._left))
        return applied

    async def _check_current(self, db: Db) -> None:
        if self._change.current:
            numbers = await rows.memory_numbers(db, self._profile, self._change.current)
            statement = f"SELECT n FROM memory WHERE profile = %s AND n = ANY(%s) AND {_NOT_REPLACED}"
            found = {n for (n,) in await query(db, statement, (self._profile, list(numbers.values())))}
            for id in self._change.current:
                if numbers.get(id) not in found:
                    raise Conflict(f"Memory {id} is no longer current; another write superseded or forgot it first.")

    async def _apply_judgements(self, db: Db) -> None:
        """Set marks, after the forgetting: what is current again may take the place of what is gone."""
        marked = await rows.memory_numbers(db, self._profile, [each.memory for each in self._change.judged])
        for each in self._change.judged:
            at = None if each.reviewed_at is None else to_micros(each.reviewed_at)
            await db.execute(
                "UPDATE memory SET marks = %s, reviewed_at = %s WHERE profile = %s AND n = %s",
                (each.marks, at, self._profile, marked.get(each.memory)),
            )
            before, after = ("superseded_by IS NULL", "ref") if each.marks < 0 else ("superseded_by = ref", "NULL")
            retire = f"UPDATE memory SET superseded_by = {after} WHERE profile = %s AND n = %s AND {before} RETURNING n"
            try:
                for (n,) in await query(db, retire, (self._profile, marked.get(each.memory))):
                    await self._set_live(db, n, each.marks >= 0)
            except psycopg.errors.UniqueViolation as taken:
                raise Conflict(
                    f"Memory {each.memory} cannot be current again: another memory has its place."
                ) from taken

    async def _add_memories(self, db: Db) -> None:
        """Add each memory after it superseded others, so that one change may contain several versions of a key."""
        drafts = [memory.draft_id for memory in self._change.memories]
        if not drafts:
            return
        # Sources may be forgotten while a memory is extracted.
        sources = list({source for memory in self._change.memories for source in memory.sources})
        statement = (
            "SELECT true, origin FROM memory WHERE profile = %s AND origin = ANY(%s) "
            "UNION ALL SELECT false, id FROM message WHERE profile = %s AND id = ANY(%s)"
        )
        found = await query(db, statement, (self._profile, drafts, self._profile, sources))
        known = {id for is_draft, id in found if is_draft}
        existing = {id for is_draft, id in found if not is_draft}
        together: list[Memory] = []
        for memory in self._change.memories:
            if memory.draft_id in known or (memory.sources and existing.isdisjoint(memory.sources)):
                continue
            if replaced := [pair for pair in self._change.supersede if pair.new == memory.ref]:
                await self._insert_memories(db, together)
                together = []
                for pair in replaced:
                    await self._supersede(db, pair)
            together.append(memory)
            known.add(memory.draft_id)
        await self._insert_memories(db, together)
        await self._add_sources(db)

    async def _supersede(self, db: Db, pair: Supersede) -> None:
        n = (await rows.memory_numbers(db, self._profile, [pair.old])).get(pair.old)
        taken = f"UPDATE memory SET superseded_by = %s WHERE profile = %s AND n = %s AND {_NOT_REPLACED} RETURNING n"
        if n is None or not await query(db, taken, (pair.new, self._profile, n)):
            raise Conflict(f"Memory {pair.old} is no longer current; another write superseded or forgot it first.")
        await self._set_live(db, n, False)

    async def _insert_memories(self, db: Db, memories: Sequence[Memory]) -> None:
        """Insert memories with as few statements as there may be: to plan one takes the database longer than a row."""
        for start in range(0, len(memories), MEMORIES_PER_INSERT):
            await self._insert_together(db, memories[start : start + MEMORIES_PER_INSERT])

    async def _insert_together(self, db: Db, memories: Sequence[Memory]) -> None:
        values = ", ".join([f"(%s, {_PLACEHOLDERS})"] * len(memories))
        bound = [value for memory in memories for value in (self._profile, *self._memory_row(memory))]
        try:
            added = await query(
                db, f"INSERT INTO memory (profile, {rows.WRITTEN_MEMORY}) VALUES {values} RETURNING ref, n", bound
            )
        except psycopg.errors.UniqueViolation as taken:
            keys = [f"the key {memory.key!r} of kind {memory.kind!r}" for memory in memories if memory.key is not None]
            what = " or ".join(["the same thing"] * (len(keys) < len(memories)) + keys)
            raise Conflict(f"{what[0].upper()}{what[1:]} was written by another request at the same time.") from taken
        self._items |= dict(added)
        self._new |= {memory.ref for memory in memories}
        self._new_memories |= {memory.ref for memory in memories}

    async def _add_sources(self, db: Db) -> None:
        """Add the sources of the new memories."""
        based = [
            (self._items[memory.ref], place, source)
            for memory in self._change.memories
            if memory.ref in self._new_memories
            for place, source in enumerate(dict.fromkeys(memory.sources))
        ]
        if based:
            await db.execute(
                "INSERT INTO source (profile, memory, place, message) "
                "SELECT %s, * FROM unnest(%s::bigint[], %s::integer[], %s::text[])",
                (self._profile, *rows.columns(based)),
            )

    def _memory_row(self, memory: Memory) -> Row:
        row = self._cipher.encrypt_row(rows.memory_row(memory), ENCRYPTED_MEMORY_COLUMNS)
        return (
            *row[:FINGERPRINT_COLUMN],
            self._cipher.keyed_hash(row[FINGERPRINT_COLUMN]),
            *row[FINGERPRINT_COLUMN + 1 :],
        )

    async def _add_parts(self, db: Db) -> None:
        await self._insert_parts(db, [part for part in self._change.parts if part.item in self._new])

    async def _insert_parts(self, db: Db, new: Sequence[Part], places: Sequence[int] = ()) -> None:
        """Add parts with their words, the first ones in the given places."""
        parts = {(self._items[part.item], part.number): part for part in new}
        if not parts:
            return
        numbered = [(*self._part_row(part), n) for part, n in zip_longest(parts.values(), places[: len(parts)])]
        added = await query(
            db,
            "INSERT INTO part (profile, item, memory, number, start, stop, length, embed, asks, tokens, n) "
            "SELECT %s, item, memory, number, start, stop, length, embed, asks, tokens, "
            "coalesce(n, nextval('item_number')) FROM unnest(%s::bigint[], %s::boolean[], %s::integer[], "
            "%s::integer[], %s::integer[], %s::integer[], %s::boolean[], %s::boolean[], %s::bytea[], %s::bigint[]) "
            "AS new (item, memory, number, start, stop, length, embed, asks, tokens, n) RETURNING n, item, number",
            (self._profile, *rows.columns(numbered)),
        )
        postings: list[Row] = []
        for n, item, number in added:
            words = parts[item, number].words
            about = (n, len(words), parts[item, number].item in self._new_memories)
            postings += [(self._cipher.keyed_hash(word), times, *about) for word, times in Counter(words).items()]
        if postings:
            await db.execute(
                "INSERT INTO posting (profile, word, times, part, length, memory) SELECT %s, * FROM unnest("
                "%s::text[], %s::integer[], %s::bigint[], %s::integer[], %s::boolean[])",
                (self._profile, *rows.columns(postings)),
            )
        self._parts_added += len(parts)
        self._words_added += sum(len(part.words) for part in parts.values())

    def _part_row(self, part: Part) -> Row:
        return (
            self._items[part.item], part.item in self._new_memories, part.number, part.start, part.stop,
            len(part.words), part.embed, part.asks, self._cipher.encrypt(part.tokens),
        )  # fmt: skip

    async def _count_parts(self, db: Db) -> None:
        if self._parts_added or self._words_added:
            await db.execute(
                "UPDATE profile SET parts = parts + %s, words = words + %s WHERE id = %s",
                (self._parts_added, self._words_added, self._profile),
            )

    async def _forget(self, db: Db) -> Forgotten:
        """Delete items, inside the transaction: it must include memories extracted meanwhile from a message."""
        p, memories = self._profile, list(self._change.forget)
        messages: list[str] = []
        for id in self._change.forget:
            resting = await self._delete_message(db, id)
            if resting is not None:
                messages.append(id)
                memories += resting
        shortened: list[str] = []
        for each in self._change.shorten:
            if await self._is_due(db, each):
                if each.content is None:
                    await self._delete_message(db, each.message)
                    messages.append(each.message)
                else:
                    await self._replace_text(db, each, each.content)
                    shortened.append(each.message)
        if self._passage_sessions or self._change.documents:
            sessions = self._passage_sessions
            for document in await delete_documents(db, p, self._cipher, self._change.documents, sessions):
                self._lost_documents.append(document.id)
                self._add_lost_words(stored.document_words(document))
        for n in await rows.version_numbers(db, p, list(dict.fromkeys(memories))) if memories else ():
            await self._forget_version(db, n)
        ids = list({each.id for each in self._removed})
        self._remaining = set(await rows.memory_numbers(db, p, ids)).intersection(ids)
        people = self._change.people if self._change.asked_by is None else ()
        gone = removed_ids(self._removed, self._remaining)
        await scrub_changes(db, p, self._cipher, self._lost_names, gone, people)
        forgotten = removed_references(self._removed, self._remaining)
        return Forgotten(forgotten, tuple(messages), tuple(shortened))

    async def _delete_message(self, db: Db, id: str) -> list[str] | None:
        """Delete a message. Returns references of the memories that rested on nothing else; None without a message."""
        p = self._profile
        returned = "n, session, agent, speaker, metadata::text"
        deleted = f"DELETE FROM message WHERE profile = %s AND id = %s RETURNING {returned}"
        for n, session, agent, speaker, metadata in await query(db, deleted, (p, id)):
            self._left.add(session=session, agent=agent)
            self._add_lost_words(stored.words_in(speaker, json.loads(metadata), session))
            self._passage_sessions.add(session)
            await self._drop_parts(db, n)
            resting = [memory for (memory,) in await query(db, _RESTING_ONLY_ON, {"p": p, "message": id})]
            await db.execute("DELETE FROM source WHERE profile = %s AND message = %s", (p, id))
            return resting
        return None

    async def _is_due(self, db: Db, each: Shortened) -> bool:
        p = self._profile
        found = await query(db, "SELECT content FROM message WHERE profile = %s AND id = %s", (p, each.message))
        resting = frozenset(id for (id,) in await query(db, _RESTING_ON, (p, p, each.message)))
        return each.is_due(self._cipher.decrypt_text(found[0][0]) if found else None, resting)

    async def _replace_text(self, db: Db, each: Shortened, content: str) -> None:
        """Write what is left of a message, with new parts in the places of the old ones, so that the order of the parts
        stays that of the messages. A worker that digests the old text loses its lease."""
        p = self._profile
        found = "SELECT n, session, metadata::text FROM message WHERE profile = %s AND id = %s"
        ((n, session, metadata),) = await query(db, found, (p, each.message))
        lost = {name: value for name, value in json.loads(metadata).items() if name not in each.metadata}
        self._add_lost_words(stored.words_in(lost))
        self._passage_sessions.add(session)
        await db.execute(
            "UPDATE message SET content = %s, metadata = %s, shortened = true, failure = NULL, wait_until = 0 "
            "WHERE profile = %s AND n = %s",
            (self._cipher.encrypt_text(content), rows.compact_json(each.metadata), p, n),
        )
        self._items[each.message] = n
        await self._insert_parts(db, each.parts, await self._drop_parts(db, n))

    async def _forget_version(self, db: Db, n: int) -> None:
        returned = "id, version, origin, superseded_by, session, agent, key, kind, value, metadata::text"
        statement = f"DELETE FROM memory WHERE profile = %s AND n = %s RETURNING {returned}"
        for row in await query(db, statement, (self._profile, n)):
            id, version, draft, successor, session, agent, key, kind, value, metadata = row
            removed = RemovedVersion(id, version, draft)
            self._removed.append(removed)
            self._left.add(session=session, agent=agent, key=key, kind=kind)
            held = json.loads(self._cipher.decrypt_text(value))
            self._add_lost_words(stored.words_in(key, held, json.loads(metadata), session))
            await self._drop_parts(db, n)
            await db.execute("DELETE FROM source WHERE profile = %s AND memory = %s", (self._profile, n))
            self._lost_names |= await delete_mentions(db, self._profile, self._cipher, n)
            numbered = "UPDATE memory SET last_version = greatest(last_version, %s) WHERE profile = %s AND id = %s"
            await db.execute(numbered, (version, self._profile, id))
            await self._relink(db, removed.ref, successor)

    def _add_lost_words(self, words: set[str]) -> None:
        self._left.words |= {self._cipher.keyed_hash(word) for word in words}

    async def _relink(self, db: Db, ref: str, successor: str | None) -> None:
        """Make what the forgotten version superseded current again, unless it was marked wrong, which retires it, or
        another memory has its key by now."""
        successor = None if successor == ref else successor
        kept_ended = {pair.old: pair.new for pair in self._change.kept_ended}
        older = "SELECT n, ref, marks FROM memory WHERE profile = %s AND superseded_by = %s ORDER BY n DESC"
        for n, own, marks in await query(db, older, (self._profile, ref)):
            found = [(own,)] if marks < 0 else await query(db, _CURRENT_RIVAL, {"p": self._profile, "n": n})
            replacement = successor or (found[0][0] if found else kept_ended.get(own))
            await db.execute(
                "UPDATE memory SET superseded_by = %s WHERE profile = %s AND n = %s", (replacement, self._profile, n)
            )
            await self._set_live(db, n, replacement is None)

    async def _drop_parts(self, db: Db, item: int) -> list[int]:
        deleted = await query(
            db, "DELETE FROM part WHERE profile = %s AND item = %s RETURNING n, length", (self._profile, item)
        )
        parts = [n for n, _ in deleted]
        statement = "DELETE FROM posting WHERE profile = %s AND part = ANY(%s) RETURNING word"
        self._left.words.update(word for (word,) in await query(db, statement, (self._profile, parts)))
        self._parts_added -= len(parts)
        self._words_added -= sum(length for _, length in deleted)
        return sorted(parts)

    async def _set_live(self, db: Db, memory: int, live: bool) -> None:
        for table, column in (("part", "item"), ("mention", "memory"), ("tie", "memory")):
            statement = f"UPDATE {table} SET live = %s WHERE profile = %s AND {column} = %s"
            await db.execute(statement, (live, self._profile, memory))
