"""Writes one Change as SQL inside one transaction, and updates the vector cache after it."""

from __future__ import annotations

import json

import apsw
import numpy as np

from holdfast.domain.erasure import Leftovers, RemovedVersion, removed_ids, removed_references
from holdfast.domain.errors import Conflict
from holdfast.domain.timestamps import to_micros
from holdfast.domain.types import Applied, Change, Forgotten, Memory, Part, Shortened, Supersede
from holdfast.domain.vectors import vector_bytes, vector_of_bytes
from holdfast.storage import rows
from holdfast.storage import rows as stored
from holdfast.storage.dry_run import DryRunRollback
from holdfast.storage.item_cache import ItemCache
from holdfast.storage.sqlite.cache.blocks import write_complete_blocks
from holdfast.storage.sqlite.connection import item_numbers, memory_number, query, version_numbers
from holdfast.storage.sqlite.erasure import delete_documents, delete_originals, erase, find_erasure
from holdfast.storage.sqlite.graph import delete_mentions, scrub_changes
from holdfast.storage.sqlite.journal import add_messages, record_change, record_digestion
from holdfast.storage.sqlite.vector_cache import VectorCache

BareParts = dict[str, set[int]]
"""Model → the parts that lack its vector, where all of them are known."""
MAX_KNOWN_BARE_PARTS = 1000
"""With more, they are read again. Chosen by hand; not measured."""
_PLACEHOLDERS = ", ".join("?" * len(rows.MEMORY.split(",")))

REWRITE_RATIO = 50
"""The word index is rewritten when at least 1/50 of all parts are deleted. Deleting a part's words costs a hundred
times as much as rewriting them, measured with passages of 1,200 characters."""

_CURRENT_RIVAL = """
SELECT other.ref FROM memory JOIN memory AS other ON other.superseded_by IS NULL AND other.n != memory.n
   AND (other.id = memory.id OR (other.kind = memory.kind AND other.key = memory.key)
        OR (other.key IS NULL AND memory.key IS NULL AND other.fingerprint = memory.fingerprint))
 WHERE memory.n = ?
"""
_RESTING_ON = "SELECT ref FROM memory WHERE n IN (SELECT memory FROM source WHERE message = ?)"
_NOT_REPLACED = "(superseded_by IS NULL OR superseded_by = ref)"
"""Whether a version is current or retired."""
_RESTING_ONLY_ON = """
SELECT ref FROM memory WHERE n IN (SELECT memory FROM source WHERE message = ?1)
   AND NOT EXISTS (SELECT 1 FROM source WHERE memory = memory.n AND message != ?1)
"""


class SqliteChangeWriter:
    """Call it with a connection that is in a transaction; after the commit, call `update_cache`."""

    def __init__(self, change: Change) -> None:
        self._change = change
        self._new: set[str] = set()
        self._items: dict[str, int] = {}
        self._messages: list[stored.Row] = []
        self._memories: dict[str, stored.Row] = {}
        self._parts: list[tuple[int, int, bool, bool]] = []
        self._words: list[tuple[str, ...]] = []
        """The words of each of these parts."""
        self._added_parts: list[tuple[int, Part]] = []
        """The same parts as given, each with its number."""
        self._vectors: list[tuple[int, bytes]] = []
        self._superseded_parts: list[int] = []
        self._restored_parts: list[int] = []
        self._deleted_items: list[int] = []
        """Items whose parts are deleted: message.n, or -memory.n."""
        self._lost_names: set[str] = set()
        self._left = Leftovers()
        self._lost_documents: list[str] = []
        self._removed: list[RemovedVersion] = []
        self._remaining: set[str] = set()
        """Ids of memories of which versions were removed and others stay."""

    def __call__(self, db: apsw.Connection) -> Applied:
        change = self._change
        for id, (number, row) in add_messages(db, change).items():
            self._new.add(id)
            self._items[id] = number
            self._messages.append(row)
        self._add_memories(db)
        for part in {(part.item, part.number): part for part in change.parts}.values():
            if part.item in self._new:
                self._add_part(db, part)
        ended = [pair.old for pair in change.supersede if {pair.old, pair.new} <= self._new]
        ended += [memory.ref for memory in change.memories if memory.retired and memory.ref in self._new]
        for ref in ended:  # added, and superseded or retired, in the same change
            self._superseded_parts += self._set_live(db, -self._items[ref], False)
        self._add_vectors(db)
        for item, number in change.refused:
            db.execute("UPDATE part SET embed = 0 WHERE number = ? AND item = ?", (number, self._item(db, item)))
        db.executemany(
            "INSERT OR IGNORE INTO source (memory, place, message) SELECT ?1, "
            "(SELECT coalesce(max(place) + 1, 0) FROM source WHERE memory = ?1), id FROM message WHERE id = ?2",
            [(n, message) for memory, message in change.sources if (n := memory_number(db, memory)) is not None],
        )
        record_digestion(db, change)
        self._check_current(db)
        applied = Applied(frozenset(self._new), self._forget(db))
        self._apply_judgements(db)
        record_change(db, change, applied)
        if change.dry_run:
            raise DryRunRollback(applied)
        if change.erases:
            ids = removed_ids(self._removed, self._remaining) | {*applied.gone.messages, *self._lost_documents}
            erase(db, find_erasure(db, change, ids, applied.gone.shortened, self._left))
        return applied

    def _check_current(self, db: apsw.Connection) -> None:
        for id in self._change.current:
            if not query(db, f"SELECT 1 FROM memory WHERE n = ? AND {_NOT_REPLACED}", (memory_number(db, id),)):
                raise Conflict(f"Memory {id} is no longer current; another write superseded or forgot it first.")

    def _apply_judgements(self, db: apsw.Connection) -> None:
        """Set marks, after the forgetting: what is current again may take the place of what is gone."""
        for each in self._change.judged:
            n = memory_number(db, each.memory)
            at = each.reviewed_at and to_micros(each.reviewed_at)
            db.execute("UPDATE memory SET marks = ?, reviewed_at = ? WHERE n = ?", (each.marks, at, n))
            before, after = ("superseded_by IS NULL", "ref") if each.marks < 0 else ("superseded_by = ref", "NULL")
            try:
                found = query(
                    db, f"UPDATE memory SET superseded_by = {after} WHERE n = ? AND {before} RETURNING 1", (n,)
                )
            except apsw.ConstraintError as taken:
                rival = query(db, _CURRENT_RIVAL, (n,))[0][0]
                raise Conflict(f"Memory {each.memory} cannot be current again: {rival} has its place.") from taken
            if found and n is not None:
                parts = self._set_live(db, n, each.marks >= 0)
                (self._superseded_parts if each.marks < 0 else self._restored_parts).extend(parts)

    def items_after(self, items: ItemCache) -> ItemCache:
        """What is known of items after the change, from what was known before."""
        return items.after(self._change, self._messages, self._memories)

    def bare_after(self, bare: BareParts) -> BareParts:
        """Which parts lack a vector after the change, from what was known before."""
        change = self._change
        if change.erases or change.refused:
            return {}
        models = {vector.model for vector in change.vectors}
        added = {n for n, part in self._added_parts if part.embed}
        embedded = {n for n, _ in self._vectors}
        known = {model: (some | added) - embedded for model, some in [*bare.items()] if models <= {model}}
        return {model: some for model, some in known.items() if len(some) <= MAX_KNOWN_BARE_PARTS}

    def update_cache(self, cache: VectorCache) -> bool:
        """Apply the change to the vector cache; False when the cache must be loaded again."""
        change = self._change
        if change.erases:
            return False
        cache.note_change(change)
        if self._parts:
            cache.add(self._parts, self._words)
            cache.add_details(self._details())
        cache.live[cache.rows(np.array(sorted(self._superseded_parts), np.int64))] = 0
        cache.live[cache.rows(np.array(sorted(self._restored_parts), np.int64))] = 1
        if self._vectors and change.vectors[0].model == cache.model:
            values = vector_of_bytes([data for _, data in self._vectors])
            cache.put(np.array([n for n, _ in self._vectors], np.int64), values)
        return True

    def _details(self) -> list[stored.Row]:
        """The details of the memories' parts, as a search reads them: the next digestion looks among them."""
        memories = {memory.ref: memory for memory in self._change.memories}
        found = []
        for n, part in self._added_parts:
            memory = memories.get(part.item)
            if memory is None:
                continue
            at = to_micros(memory.occurred_at or memory.created_at)
            found.append((
                n, self._items[part.item], part.number, part.tokens, memory.id, True, memory.session_id, -1, None, None,
                part.asks, at,
            ))  # fmt: skip
        return found

    def _add_memories(self, db: apsw.Connection) -> None:
        """Add each memory after it superseded others, so that one change may contain several versions of a key."""
        known = self._known_drafts(db)
        for memory in self._change.memories:
            if memory.draft_id in known or not self._has_source(db, memory):
                continue
            for pair in self._change.supersede:
                if pair.new == memory.ref:
                    self._supersede(db, pair)
            self._add_memory(db, memory)
            known.add(memory.draft_id)

    def _known_drafts(self, db: apsw.Connection) -> set[str]:
        ids = rows.compact_json([memory.draft_id for memory in self._change.memories])
        found = query(db, "SELECT origin FROM memory WHERE origin IN (SELECT value FROM json_each(?))", (ids,))
        return {id for (id,) in found}

    def _has_source(self, db: apsw.Connection, memory: Memory) -> bool:
        """Whether a memory has no sources, or one that still exists: they may be forgotten while it is extracted."""
        found = "SELECT 1 FROM message WHERE id IN (SELECT value FROM json_each(?)) LIMIT 1"
        return not memory.sources or bool(query(db, found, (rows.compact_json(memory.sources),)))

    def _supersede(self, db: apsw.Connection, pair: Supersede) -> None:
        n = memory_number(db, pair.old)
        statement = f"UPDATE memory SET superseded_by = ? WHERE n = ? AND {_NOT_REPLACED} RETURNING n"
        if n is None or not query(db, statement, (pair.new, n)):
            raise Conflict(f"Memory {pair.old} is no longer current; another write superseded or forgot it first.")
        self._superseded_parts += self._set_live(db, n, False)

    def _add_memory(self, db: apsw.Connection, memory: Memory) -> None:
        row = rows.memory_row(memory)
        try:
            added = query(db, f"INSERT INTO memory ({rows.MEMORY}) VALUES ({_PLACEHOLDERS}) RETURNING n", row)
        except apsw.ConstraintError as taken:
            what = "The same thing" if memory.key is None else f"The key {memory.key!r} of kind {memory.kind!r}"
            raise Conflict(f"{what} was written by another request at the same time.") from taken
        n = added[0][0]
        self._new.add(memory.ref)
        self._items[memory.ref] = -n
        self._memories[memory.id] = row
        db.executemany(
            "INSERT OR IGNORE INTO source (memory, place, message) VALUES (?, ?, ?)",
            [(n, place, message) for place, message in enumerate(memory.sources)],
        )

    def _add_part(self, db: apsw.Connection, part: Part, n: int | None = None) -> None:
        item = self._items[part.item]
        text = " ".join(part.words)
        n = query(
            db,
            "INSERT INTO part (n, item, number, start, stop, length, embed, asks, words, tokens) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
            "RETURNING n",
            (n, item, part.number, part.start, part.stop, len(part.words), part.embed, part.asks, text, part.tokens),
        )[0][0]
        db.execute("INSERT INTO word (rowid, words) VALUES (?, ?)", (n, text))
        self._parts.append((n, len(part.words), True, item < 0))
        self._words.append(part.words)
        self._added_parts.append((n, part))

    def _add_vectors(self, db: apsw.Connection) -> None:
        self._items |= item_numbers(db, {vector.item for vector in self._change.vectors} - self._items.keys())
        for vector in self._change.vectors:
            data = vector_bytes(vector.values)
            stored = query(
                db,
                "INSERT OR REPLACE INTO vector (part, model, data) SELECT part.n, ?, ? FROM part WHERE number = ? "
                "AND item = ? RETURNING part",
                (vector.model, data, vector.number, self._item(db, vector.item)),
            )
            if stored:
                self._vectors.append((stored[0][0], data))
        if self._vectors:
            write_complete_blocks(db, self._change.vectors[0].model, [part for part, _ in self._vectors])

    def _item(self, db: apsw.Connection, reference: str) -> int | None:
        """The item of a part: message.n, or -memory.n."""
        if reference not in self._items:
            for (n,) in query(db, "SELECT n FROM message WHERE id = ?", (reference,)):
                return int(n)
            n = memory_number(db, reference)
            return None if n is None else -n
        return self._items[reference]

    def _forget(self, db: apsw.Connection) -> Forgotten:
        """Delete items, inside the transaction: it must include memories extracted meanwhile from a message."""
        messages, memories = [], list(self._change.forget)
        for id in self._change.forget:
            resting = self._delete_message(db, id)
            if resting is not None:
                messages.append(id)
                memories += resting
        due = [each for each in self._change.shorten if self._is_due(db, each)]
        messages += [each.message for each in due if each.content is None]
        for each in due:
            if each.content is None:
                self._delete_message(db, each.message)
        left = [each for each in due if each.content is not None]
        places = [self._replace_text(db, each) for each in left]
        lost_sessions = self._left.labels["session"]
        emptied = self._change.documents or lost_sessions
        gone_documents = delete_documents(db, self._change.documents, lost_sessions) if emptied else []
        for n in dict.fromkeys(n for memory in memories for n in version_numbers(db, memory)):
            self._forget_version(db, n)
        ids = {each.id for each in self._removed}
        self._remaining = {id for id in ids if memory_number(db, id) is not None}
        for document in gone_documents:
            self._lost_documents.append(document.id)
            self._left.words |= stored.document_words(document)
        if self._deleted_items and not self._change.dry_run:
            self._drop_parts(db)
            for each, numbers in zip(left, places, strict=True):
                for place, part in enumerate(each.parts):
                    self._add_part(db, part, numbers[place] if place < len(numbers) else None)
        people = self._change.people if self._change.asked_by is None else ()
        scrub_changes(db, self._lost_names, removed_ids(self._removed, self._remaining), people)
        forgotten = removed_references(self._removed, self._remaining)
        return Forgotten(forgotten, tuple(messages), tuple(each.message for each in left))

    def _delete_message(self, db: apsw.Connection, id: str) -> list[str] | None:
        """Delete a message. Returns references of the memories that rested on nothing else; None without a message."""
        deleted = "DELETE FROM message WHERE id = ? RETURNING n, session, agent, speaker, metadata"
        for n, session, agent, speaker, metadata in query(db, deleted, (id,)):
            self._left.add(session=session, agent=agent)
            self._left.words |= stored.words_in(speaker, json.loads(metadata), session)
            delete_originals(db, session)
            self._deleted_items.append(n)
            resting = [memory for (memory,) in query(db, _RESTING_ONLY_ON, (id,))]
            db.execute("DELETE FROM source WHERE message = ?", (id,))
            return resting
        return None

    def _is_due(self, db: apsw.Connection, each: Shortened) -> bool:
        found = query(db, "SELECT content FROM message WHERE id = ?", (each.message,))
        resting = frozenset(id for (id,) in query(db, _RESTING_ON, (each.message,)))
        return each.is_due(found[0][0] if found else None, resting)

    def _replace_text(self, db: apsw.Connection, each: Shortened) -> list[int]:
        """Write what is left of a message; the numbers of its parts, which go. The new ones take them over, so that the
        order of the parts stays that of the messages. A worker that digests the old text loses its lease."""
        ((n, session, metadata),) = query(db, "SELECT n, session, metadata FROM message WHERE id = ?", (each.message,))
        lost = {name: value for name, value in json.loads(metadata).items() if name not in each.metadata}
        self._left.words |= stored.words_in(lost)
        db.execute(
            "UPDATE message SET content = ?, metadata = ?, shortened = 1, failure = NULL, wait_until = 0 WHERE n = ?",
            (each.content, rows.compact_json(each.metadata), n),
        )
        delete_originals(db, session)
        self._items[each.message] = n
        self._deleted_items.append(n)
        return [part for (part,) in query(db, "SELECT n FROM part WHERE item = ? ORDER BY n", (n,))]

    def _forget_version(self, db: apsw.Connection, n: int) -> None:
        returned = "id, version, origin, superseded_by, session, agent, key, kind, value, metadata"
        for row in query(db, f"DELETE FROM memory WHERE n = ? RETURNING {returned}", (n,)):
            id, version, draft, successor, session, agent, key, kind, value, metadata = row
            removed = RemovedVersion(id, version, draft)
            self._removed.append(removed)
            self._deleted_items.append(-n)
            self._left.add(session=session, agent=agent, key=key, kind=kind)
            self._left.words |= stored.words_in(key, json.loads(value), json.loads(metadata), session)
            db.execute("DELETE FROM source WHERE memory = ?", (n,))
            self._lost_names |= delete_mentions(db, n)
            db.execute("UPDATE memory SET last_version = max(last_version, ?) WHERE id = ?", (version, id))
            self._relink(db, removed.ref, successor)

    def _relink(self, db: apsw.Connection, ref: str, successor: str | None) -> None:
        """Make what the forgotten version superseded current again, unless it was marked wrong, which retires it, or
        another memory has its key by now."""
        successor = None if successor == ref else successor
        kept_ended = {pair.old: pair.new for pair in self._change.kept_ended}
        older = "SELECT n, ref, marks FROM memory WHERE superseded_by = ? ORDER BY n DESC"
        for n, own, marks in query(db, older, (ref,)):
            found = [] if successor else [(own,)] if marks < 0 else query(db, _CURRENT_RIVAL, (n,))
            replacement = found[0][0] if found else successor or kept_ended.get(own)
            db.execute("UPDATE memory SET superseded_by = ? WHERE n = ?", (replacement, n))
            self._set_live(db, n, replacement is None)

    def _drop_parts(self, db: apsw.Connection) -> None:
        """Delete parts with their words and vectors.

        FTS5's secure-delete removes words from the index at once, but costs milliseconds per part. For many parts the
        words are only marked as deleted, and `optimize` then rewrites the index as one segment without them.
        """
        of_items = "SELECT n FROM part WHERE item IN (SELECT value FROM json_each(?))"
        parts = [n for (n,) in query(db, of_items, (rows.compact_json(self._deleted_items),))]
        bound, listed = (rows.compact_json(parts),), "(SELECT value FROM json_each(?))"
        for (words,) in query(db, f"SELECT words FROM part WHERE n IN {listed}", bound):
            self._left.words.update(words.split())
        rewrite = len(parts) * REWRITE_RATIO >= query(db, "SELECT count(*) FROM part")[0][0]
        if rewrite:
            db.execute("INSERT INTO word (word, rank) VALUES ('secure-delete', 0)")
        marked = f"SELECT 'delete', n, words FROM part WHERE n IN {listed}"
        db.execute(f"INSERT INTO word (word, rowid, words) {marked}", bound)
        if rewrite:
            db.execute("INSERT INTO word (word) VALUES ('optimize')")
            db.execute("INSERT INTO word (word, rank) VALUES ('secure-delete', 1)")
        db.execute(f"DELETE FROM vector WHERE part IN {listed}", bound)
        db.execute(f"DELETE FROM part WHERE n IN {listed}", bound)

    def _set_live(self, db: apsw.Connection, memory: int, live: bool) -> list[int]:
        for table in ("mention", "tie"):
            db.execute(f"UPDATE {table} SET live = ? WHERE memory = ?", (live, memory))
        return [n for (n,) in query(db, "UPDATE part SET live = ? WHERE item = ? RETURNING n", (live, -memory))]
