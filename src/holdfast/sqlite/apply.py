"""One Change as SQL inside one transaction, and what it means for the board."""

from __future__ import annotations

import apsw
import numpy as np

from ..errors import Conflict
from ..moments import micros
from ..types import Applied, Change, Forgotten, Memory, Part, Supersede
from ..vectors import packed, unpacked
from . import rows
from .board import Board
from .file import query
from .graph import forget_mentions, scrub_changes
from .journal import recorded

_PLACES = ", ".join("?" * len(rows.MEMORY.split(",")))

REWRITE = 50
"""Writing a part anew costs a hundredth of taking one out: measured with passages of 1,200 characters."""

_IN_ITS_PLACE = """
SELECT other.id FROM memory JOIN memory AS other ON other.superseded_by IS NULL AND other.n != memory.n
   AND ((other.kind = memory.kind AND other.key = memory.key)
        OR (other.key IS NULL AND memory.key IS NULL AND other.fingerprint = memory.fingerprint))
 WHERE memory.n = ?
"""
_RESTING_ONLY_ON = """
SELECT id FROM memory WHERE n IN (SELECT memory FROM source WHERE message = ?1)
   AND NOT EXISTS (SELECT 1 FROM source WHERE memory = memory.n AND message != ?1)
"""


class Rehearsed(Exception):
    """Ends a transaction that was only to tell what it would do."""

    def __init__(self, applied: Applied) -> None:
        super().__init__()
        self.applied = applied


class Applying:
    """Call it with a connection that is in a transaction; then let a board follow."""

    def __init__(self, change: Change) -> None:
        self._change = change
        self._new: set[str] = set()
        self._items: dict[str, int] = {}
        self._parts: list[tuple[int, int, bool, bool]] = []
        self._vectors: list[tuple[int, bytes]] = []
        self._dead: list[int] = []
        self._dropped: list[int] = []
        """Items whose parts go: message.n, or -memory.n."""
        self._unsaid: set[str] = set()

    def __call__(self, db: apsw.Connection) -> Applied:
        change = self._change
        self._add_messages(db)
        self._add_memories(db)
        for part in {(part.item, part.number): part for part in change.parts}.values():
            if part.item in self._new:
                self._add_part(db, part)
        for pair in change.supersede:  # what came and went in one change
            if {pair.old, pair.new} <= self._new:
                self._dead += self._set_live(db, pair.old, False)
        self._add_vectors(db)
        for item, number in change.refused:
            db.execute(
                "UPDATE part SET embed = 0 WHERE number = ?1 AND item = "
                "coalesce((SELECT n FROM message WHERE id = ?2), (SELECT -n FROM memory WHERE id = ?2))",
                (number, item),
            )
        db.executemany(
            "INSERT OR IGNORE INTO source (memory, place, message) SELECT memory.n, "
            "(SELECT coalesce(max(place) + 1, 0) FROM source WHERE memory = memory.n), message.id FROM memory, message "
            "WHERE memory.id = ? AND message.id = ?",
            change.sources,
        )
        self._note_digestion(db)
        self._judge(db)
        applied = Applied(frozenset(self._new), self._forget(db))
        recorded(db, change, applied)
        if change.rehearsed:
            raise Rehearsed(applied)
        return applied

    def _note_digestion(self, db: apsw.Connection) -> None:
        lease = None if self._change.lease is None else micros(self._change.lease)
        ours = "(?1 IS NULL OR (state = 'waiting' AND wait_until = ?1))"
        for id in self._change.settle:
            if query(db, f"SELECT 1 FROM message WHERE id = ?2 AND NOT {ours}", (lease, id)):
                raise Conflict("The lease on a message ran out, and somebody else digests it.")
            db.execute("UPDATE message SET state = 'digested' WHERE id = ?", (id,))
        for late in self._change.defer:
            state, until = ("aside", 0) if late.until is None else ("waiting", micros(late.until))
            db.execute(
                "UPDATE message SET state = ?2, wait_until = ?3, failures = failures + 1, failure = ?4 "
                f"WHERE id = ?5 AND state = 'waiting' AND {ours}",
                (lease, state, until, late.reason, late.message),
            )

        for id in self._change.redo:
            db.execute(
                "UPDATE message SET state = 'waiting', wait_until = 0, failures = 0, failure = NULL WHERE id = ?", (id,)
            )

    def _judge(self, db: apsw.Connection) -> None:
        for id in self._change.current:
            if not query(db, "SELECT 1 FROM memory WHERE id = ? AND superseded_by IS NULL", (id,)):
                raise Conflict(f"Memory {id} is no longer current; somebody superseded or forgot it first.")
        db.executemany(
            "UPDATE memory SET marks = ?, reviewed_at = ? WHERE id = ?",
            [(each.marks, each.reviewed_at and micros(each.reviewed_at), each.memory) for each in self._change.judged],
        )

    def follow(self, board: Board) -> bool:
        """Bring the board up to date; False when loading it afresh is simpler."""
        change = self._change
        if change.forget:
            return False
        if self._parts:
            board.add(self._parts)
        board.live[board.rows(np.array(sorted(self._dead), np.int64))] = 0
        if self._vectors and change.vectors[0].model == board.model:
            values = unpacked([data for _, data in self._vectors])
            board.put(np.array([n for n, _ in self._vectors], np.int64), values)
        return True

    def _add_messages(self, db: apsw.Connection) -> None:
        places: dict[str, int] = {}
        for message in self._change.messages:
            if message.session_id not in places:
                last = query(db, "SELECT max(position) FROM message WHERE session = ?", (message.session_id,))
                places[message.session_id] = (last[0][0] or 0) + 1
            added = query(
                db,
                f"INSERT OR IGNORE INTO message ({rows.MESSAGE}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING n",
                rows.message_row(message, places[message.session_id]),
            )
            if not added:  # known; saying it again gives one that was set aside another chance
                db.execute(
                    "UPDATE message SET state = 'waiting', failures = 0, wait_until = 0 "
                    "WHERE id = ? AND state = 'aside'",
                    (message.id,),
                )
            if added:
                places[message.session_id] += 1
                self._new.add(message.id)
                self._items[message.id] = added[0][0]

    def _add_memories(self, db: apsw.Connection) -> None:
        """Each memory after what it supersedes, so that one change may carry several versions of a key."""
        known = self._known(db)
        for memory in self._change.memories:
            if memory.id in known or not self._rests_on_something(db, memory):
                continue
            for pair in self._change.supersede:
                if pair.new == memory.id:
                    self._supersede(db, pair)
            self._add_memory(db, memory)

    def _known(self, db: apsw.Connection) -> set[str]:
        listed = rows.packed([memory.id for memory in self._change.memories])
        return {
            id for (id,) in query(db, "SELECT id FROM memory WHERE id IN (SELECT value FROM json_each(?))", (listed,))
        }

    def _rests_on_something(self, db: apsw.Connection, memory: Memory) -> bool:
        """Not on messages that were all forgotten while the memory was being drawn from them."""
        found = "SELECT 1 FROM message WHERE id IN (SELECT value FROM json_each(?)) LIMIT 1"
        return not memory.sources or bool(query(db, found, (rows.packed(memory.sources),)))

    def _supersede(self, db: apsw.Connection, pair: Supersede) -> None:
        statement = "UPDATE memory SET superseded_by = ? WHERE id = ? AND superseded_by IS NULL RETURNING n"
        if not query(db, statement, (pair.new, pair.old)):
            raise Conflict(f"Memory {pair.old} is no longer current; somebody superseded or forgot it first.")
        self._dead += self._set_live(db, pair.old, False)

    def _add_memory(self, db: apsw.Connection, memory: Memory) -> None:
        try:
            added = query(
                db, f"INSERT INTO memory ({rows.MEMORY}) VALUES ({_PLACES}) RETURNING n", rows.memory_row(memory)
            )
        except apsw.ConstraintError as taken:
            what = "The same thing" if memory.key is None else f"The key {memory.key!r} of kind {memory.kind!r}"
            raise Conflict(f"{what} was written meanwhile.") from taken
        n = added[0][0]
        self._new.add(memory.id)
        self._items[memory.id] = -n
        db.executemany(
            "INSERT OR IGNORE INTO source (memory, place, message) VALUES (?, ?, ?)",
            [(n, place, message) for place, message in enumerate(memory.sources)],
        )

    def _add_part(self, db: apsw.Connection, part: Part) -> None:
        item = self._items[part.item]
        text = " ".join(part.words)
        n = query(
            db,
            "INSERT INTO part (item, number, start, stop, length, embed, asks, words, tokens) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "
            "RETURNING n",
            (item, part.number, part.start, part.stop, len(part.words), part.embed, part.asks, text, part.tokens),
        )[0][0]
        db.execute("INSERT INTO word (rowid, words) VALUES (?, ?)", (n, text))
        self._parts.append((n, len(part.words), True, item < 0))

    def _add_vectors(self, db: apsw.Connection) -> None:
        for vector in self._change.vectors:
            data = packed(vector.values)
            stored = query(
                db,
                "INSERT OR REPLACE INTO vector (part, model, data) SELECT part.n, ?, ? FROM part WHERE number = ? "
                "AND item = coalesce((SELECT n FROM message WHERE id = ?4), (SELECT -n FROM memory WHERE id = ?4)) "
                "RETURNING part",
                (vector.model, data, vector.number, vector.item),
            )
            if stored:
                self._vectors.append((stored[0][0], data))

    def _forget(self, db: apsw.Connection) -> Forgotten:
        """Decided here, inside the transaction: a memory drawn meanwhile from a forgotten message goes with it."""
        messages, memories = [], list(self._change.forget)
        for id in self._change.forget:
            for n, session in query(db, "DELETE FROM message WHERE id = ? RETURNING n, session", (id,)):
                messages.append(id)
                db.execute(
                    "DELETE FROM original WHERE document IN (SELECT id FROM document WHERE session = ?)", (session,)
                )
                self._dropped.append(n)
                memories += [memory for (memory,) in query(db, _RESTING_ONLY_ON, (id,))]
                db.execute("DELETE FROM source WHERE message = ?", (id,))
        gone = [id for id in dict.fromkeys(memories) if self._forget_memory(db, id)]
        for id in self._change.documents:
            db.execute("DELETE FROM original WHERE document = ?", (id,))
            db.execute("DELETE FROM document WHERE id = ?", (id,))
        if self._dropped and not self._change.rehearsed:
            self._drop_parts(db)
        scrub_changes(db, self._unsaid, gone)
        return Forgotten(tuple(gone), tuple(messages))

    def _forget_memory(self, db: apsw.Connection, id: str) -> bool:
        for n, successor in query(db, "DELETE FROM memory WHERE id = ? RETURNING n, superseded_by", (id,)):
            self._dropped.append(-n)
            db.execute("DELETE FROM source WHERE memory = ?", (n,))
            self._unsaid |= forget_mentions(db, n)
            self._relink(db, id, successor)
            return True
        return False

    def _relink(self, db: apsw.Connection, id: str, successor: str | None) -> None:
        """What the forgotten one superseded is current again, unless something else stands in its place by now."""
        for n, older in query(db, "SELECT n, id FROM memory WHERE superseded_by = ? ORDER BY n DESC", (id,)):
            found = [] if successor else query(db, _IN_ITS_PLACE, (n,))
            next_one = found[0][0] if found else successor
            db.execute("UPDATE memory SET superseded_by = ? WHERE n = ?", (next_one, n))
            self._set_live(db, older, next_one is None)

    def _drop_parts(self, db: apsw.Connection) -> None:
        """Taking words out one by one leaves none behind at once, but costs milliseconds a part.

        Many are marked as deleted, and the index is written anew as one segment, which leaves out what is marked.
        """
        of_items = "SELECT n FROM part WHERE item IN (SELECT value FROM json_each(?))"
        parts = [n for (n,) in query(db, of_items, (rows.packed(self._dropped),))]
        dropped, listed = (rows.packed(parts),), "(SELECT value FROM json_each(?))"
        anew = len(parts) * REWRITE >= query(db, "SELECT count(*) FROM part")[0][0]
        if anew:
            db.execute("INSERT INTO word (word, rank) VALUES ('secure-delete', 0)")
        marked = f"SELECT 'delete', n, words FROM part WHERE n IN {listed}"
        db.execute(f"INSERT INTO word (word, rowid, words) {marked}", dropped)
        if anew:
            db.execute("INSERT INTO word (word) VALUES ('optimize')")
            db.execute("INSERT INTO word (word, rank) VALUES ('secure-delete', 1)")
        db.execute(f"DELETE FROM vector WHERE part IN {listed}", dropped)
        db.execute(f"DELETE FROM part WHERE n IN {listed}", dropped)

    def _set_live(self, db: apsw.Connection, id: str, live: bool) -> list[int]:
        for table in ("mention", "tie"):
            db.execute(f"UPDATE {table} SET live = ? WHERE memory = (SELECT n FROM memory WHERE id = ?)", (live, id))
        statement = "UPDATE part SET live = ? WHERE item = (SELECT -n FROM memory WHERE id = ?) RETURNING n"
        return [n for (n,) in query(db, statement, (live, id))]
