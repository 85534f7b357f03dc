"""One profile's entities, in the same file as its memory: encrypted with it and deleted with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from datetime import datetime

import apsw

from holdfast.domain.graph import (
    EntityChange,
    MemoryReading,
    Mention,
    Scope,
    Tie,
    changes_left,
)
from holdfast.domain.timestamps import from_micros, to_micros
from holdfast.domain.types import Memory
from holdfast.storage import rows
from holdfast.storage import rows as stored
from holdfast.storage.sqlite.connection import SOURCES, Row, query
from holdfast.storage.sqlite.file import DatabaseFile

MAX_MICROS = 2**62
"""Later than any time; stands for "now" in queries as of a moment."""
_VISIBLE = """
  LEFT JOIN memory AS next ON next.ref = memory.superseded_by
 WHERE memory.updated_at <= ?1 AND (?2 OR memory.superseded_by IS NULL OR next.updated_at > ?1)
   AND memory.superseded_by IS NOT memory.ref
   AND (memory.expires_at IS NULL OR memory.expires_at > ?3)
   AND (?4 IS NULL OR memory.agent IS NULL OR memory.agent IN (SELECT value FROM json_each(?4)))
"""
_TIE_COLUMNS = """
SELECT memory.ref, tie.subject, tie.relation, tie.object, tie.since, tie.until,
       CASE WHEN next.updated_at <= ?1 THEN next.updated_at END, tie.memory, tie.n
  FROM tie JOIN memory ON memory.n = tie.memory
"""
_TIES_BY_SUBJECT, _TIES_BY_OBJECT = (
    f"{_TIE_COLUMNS} {_VISIBLE} AND tie.{side} = ?5 ORDER BY tie.memory DESC, tie.n LIMIT ?6"
    for side in ("subject", "object")
)
_ALIASES = f"""
SELECT subject, object FROM tie JOIN memory ON memory.n = tie.memory {_VISIBLE} AND tie.relation = 'same-as'
 ORDER BY tie.memory DESC LIMIT ?5
"""
_MENTIONS = f"""
SELECT memory.ref, mention.shown, mention.type FROM mention JOIN memory ON memory.n = mention.memory {_VISIBLE}
   AND mention.name = ?5 ORDER BY mention.memory DESC LIMIT ?6
"""
_NAMES_BY_COUNT = f"""
SELECT mention.name, count(*) FROM mention JOIN memory ON memory.n = mention.memory {_VISIBLE}
 GROUP BY mention.name ORDER BY 2 DESC, 1 LIMIT ?5
"""
# The current state, without reading the memories: a hub entity is mentioned in very many.
_LIVE_ALIASES = "SELECT subject, object FROM tie WHERE relation = 'same-as' AND live ORDER BY memory DESC LIMIT ?"
_COUNT_LIVE = "SELECT count(*) FROM mention WHERE live AND name = ?"
_COUNT_MORE_LIVE = """
SELECT count(*) FROM mention AS one WHERE live AND name = ?1 AND NOT EXISTS (
  SELECT 1 FROM mention WHERE mention.memory = one.memory AND mention.name IN (SELECT value FROM json_each(?2))
)
"""
_COUNT_MEMORIES = f"""
SELECT count(DISTINCT mention.memory) FROM mention JOIN memory ON memory.n = mention.memory {_VISIBLE}
   AND mention.name IN (SELECT value FROM json_each(?5))
"""
_UNREAD = f"SELECT {rows.MEMORY}, {SOURCES} FROM memory WHERE memory.n > ? ORDER BY memory.n LIMIT ?"


class SqliteGraphStore:
    def __init__(self, file: DatabaseFile) -> None:
        self._file = file

    async def unread(self, version: int, limit: int) -> list[Memory]:
        found = await self._file.read(lambda db: query(db, _UNREAD, (_load_read_upto(db, version), limit)))
        return [rows.memory(row) for row in found]

    async def learn(self, version: int, read: Sequence[MemoryReading]) -> None:
        def write(db: apsw.Connection) -> None:
            upto = _load_read_upto(db, version)
            if upto == 0:
                for table in ("mention", "tie", "memory_read"):
                    db.execute(f"DELETE FROM {table}")
                db.execute("INSERT INTO memory_read VALUES (?, 0)", (version,))
            for each in read:
                statement = "SELECT n, superseded_by IS NULL FROM memory WHERE ref = ? AND n > ?"
                for n, live in query(db, statement, (each.memory, upto)):
                    _insert_mentions(db, n, each, live)
                    upto = n
            db.execute("UPDATE memory_read SET upto = ?", (upto,))

        await self._file.write(write)

    async def mentions(self, names: Sequence[str], scope: Scope, limit: int) -> list[Mention]:
        found = await self._read_each(
            names, lambda db, name: query(db, _MENTIONS, (*_scope_parameters(scope), name, limit))
        )
        return [Mention(*row) for row in found]

    async def ties(self, names: Sequence[str], scope: Scope, limit: int) -> list[Tie]:
        bound = _scope_parameters(scope)

        def of(db: apsw.Connection, name: str) -> list[Row]:
            found = query(db, _TIES_BY_SUBJECT, (*bound, name, limit)) + query(
                db, _TIES_BY_OBJECT, (*bound, name, limit)
            )
            return sorted(found, key=lambda row: (-row[-2], row[-1]))[:limit]

        found = await self._read_each(names, of)
        unique = {row[-1]: row for row in found}.values()
        return [_tie(row) for row in sorted(unique, key=lambda row: (-row[-2], row[-1]))]

    async def aliases(self, scope: Scope, limit: int) -> list[tuple[str, str]]:
        statement, bound = (_LIVE_ALIASES, (limit,)) if scope.plain else (_ALIASES, (*_scope_parameters(scope), limit))
        return await self._file.read(lambda db: query(db, statement, bound))

    async def counted(self, scope: Scope, limit: int) -> list[tuple[str, int]]:
        found = await self._file.read(lambda db: query(db, _NAMES_BY_COUNT, (*_scope_parameters(scope), limit)))
        return [(name, count) for name, count in found]

    async def count(self, names: Sequence[Sequence[str]], scope: Scope) -> list[int]:
        bound = _scope_parameters(scope)

        def of(db: apsw.Connection, group: Sequence[str]) -> int:
            if not scope.plain:
                return int(query(db, _COUNT_MEMORIES, (*bound, rows.compact_json(list(group))))[0][0])
            first = sum(int(query(db, _COUNT_LIVE, (name,))[0][0]) for name in group[:1])
            others = [(name, rows.compact_json(list(group[:n]))) for n, name in enumerate(group) if n]
            return first + sum(int(query(db, _COUNT_MORE_LIVE, each)[0][0]) for each in others)

        return await self._file.read(lambda db: [of(db, group) for group in names])

    async def changes(self) -> list[EntityChange]:
        return await self._file.read(load_changes)

    async def keep(self, change: EntityChange) -> None:
        row = (change.id, stored.entity_change_data(change))
        await self._file.write(lambda db: query(db, "INSERT INTO entity_change (id, data) VALUES (?, ?)", row))

    async def undo(self, id: str) -> bool:
        statement = "DELETE FROM entity_change WHERE id = ? RETURNING n"
        return bool(await self._file.write(lambda db: query(db, statement, (id,))))

    async def _read_each(self, names: Sequence[str], of: Callable[[apsw.Connection, str], list[Row]]) -> list[Row]:
        return await self._file.read(lambda db: [row for name in dict.fromkeys(names) for row in of(db, name)])


def delete_mentions(db: apsw.Connection, memory: int) -> set[str]:
    """Delete the mentions and ties of a memory; returns the mentioned names."""
    db.execute("DELETE FROM tie WHERE memory = ?", (memory,))
    return {name for (name,) in query(db, "DELETE FROM mention WHERE memory = ? RETURNING name", (memory,))}


def scrub_changes(db: apsw.Connection, names: set[str], memories: Set[str], people: Sequence[str]) -> None:
    """Remove forgotten names, memories and people from the entity changes.

    Row numbers that are free again count as unread.
    """
    if not memories and not people:
        return
    db.execute("UPDATE memory_read SET upto = min(upto, (SELECT coalesce(max(n), 0) FROM memory))")
    before = load_changes(db)
    if not before:
        return
    unmentioned = {name for name in names if not query(db, "SELECT 1 FROM mention WHERE name = ? LIMIT 1", (name,))}
    left = {change.id: change for change in changes_left(before, unmentioned, memories, people)}
    for change in before:
        if change.id not in left:
            db.execute("DELETE FROM entity_change WHERE id = ?", (change.id,))
        elif left[change.id] != change:
            data = stored.entity_change_data(left[change.id])
            db.execute("UPDATE entity_change SET data = ? WHERE id = ?", (data, change.id))


def load_changes(db: apsw.Connection) -> list[EntityChange]:
    return [stored.entity_change(data) for (data,) in query(db, "SELECT data FROM entity_change ORDER BY n")]


def _load_read_upto(db: apsw.Connection, version: int) -> int:
    found = query(db, "SELECT upto FROM memory_read WHERE version = ?", (version,))
    return int(found[0][0]) if found else 0


def _insert_mentions(db: apsw.Connection, n: int, read: MemoryReading, live: int) -> None:
    db.executemany(
        "INSERT OR IGNORE INTO mention (memory, name, shown, type, live) VALUES (?, ?, ?, ?, ?)",
        [(n, each.name, each.shown, each.type, live) for each in read.mentions],
    )
    db.executemany(
        "INSERT INTO tie (memory, subject, relation, object, since, until, live) VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (n, t.subject, t.relation, t.object, _optional_micros(t.since), _optional_micros(t.until), live)
            for t in read.ties
        ],
    )


def _scope_parameters(scope: Scope) -> tuple[int, bool, int, str | None]:
    as_of = MAX_MICROS if scope.as_of is None else to_micros(scope.as_of)
    agents = None if scope.agents is None else rows.compact_json(scope.agents)
    return as_of, scope.past, to_micros(scope.as_of or scope.now), agents


def _tie(row: Row) -> Tie:
    memory, subject, relation, object, since, until, ended, *_ = row
    ends = [at for at in (until, ended) if at is not None]
    return Tie(memory, subject, relation, object, _optional_time(since), _optional_time(min(ends, default=None)))


def _optional_micros(at: datetime | None) -> int | None:
    return None if at is None else to_micros(at)


def _optional_time(at: int | None) -> datetime | None:
    return None if at is None else from_micros(at)
