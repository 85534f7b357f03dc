"""One profile's entities, beside its memory in the same file: encrypted with it, and gone with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

import apsw

from .. import stored
from ..graphs import EntityChange, Mention, Read, Scope, Tie, remaining
from ..moments import at_micros, micros
from ..types import Memory
from . import rows
from .file import File, Row, query

EVER = 2**62
_SEEN = """
  LEFT JOIN memory AS next ON next.id = memory.superseded_by
 WHERE memory.updated_at <= ?1 AND (?2 OR memory.superseded_by IS NULL OR next.updated_at > ?1)
   AND (memory.expires_at IS NULL OR memory.expires_at > ?3)
   AND (?4 IS NULL OR memory.agent IS NULL OR memory.agent IN (SELECT value FROM json_each(?4)))
"""
_TIE = """
SELECT memory.id, tie.subject, tie.relation, tie.object, tie.since, tie.until,
       CASE WHEN next.updated_at <= ?1 THEN next.updated_at END, tie.memory, tie.n
  FROM tie JOIN memory ON memory.n = tie.memory
"""
_BY_SUBJECT, _BY_OBJECT = (
    f"{_TIE} {_SEEN} AND tie.{side} = ?5 ORDER BY tie.memory DESC, tie.n LIMIT ?6" for side in ("subject", "object")
)
_ALIASES = f"""
SELECT subject, object FROM tie JOIN memory ON memory.n = tie.memory {_SEEN} AND tie.relation = 'same-as'
 ORDER BY tie.memory DESC LIMIT ?5
"""
_MENTIONS = f"""
SELECT memory.id, mention.shown, mention.type FROM mention JOIN memory ON memory.n = mention.memory {_SEEN}
   AND mention.name = ?5 ORDER BY mention.memory DESC LIMIT ?6
"""
_COUNTED = f"""
SELECT mention.name, count(*) FROM mention JOIN memory ON memory.n = mention.memory {_SEEN}
 GROUP BY mention.name ORDER BY 2 DESC, 1 LIMIT ?5
"""
# Of now, without looking at the memories: a hub is in very many.
_LIVE_ALIASES = "SELECT subject, object FROM tie WHERE relation = 'same-as' AND live ORDER BY memory DESC LIMIT ?"
_LIVE_ONE = "SELECT count(*) FROM mention WHERE live AND name = ?"
_LIVE_MORE = """
SELECT count(*) FROM mention AS one WHERE live AND name = ?1 AND NOT EXISTS (
  SELECT 1 FROM mention WHERE mention.memory = one.memory AND mention.name IN (SELECT value FROM json_each(?2))
)
"""
_COUNT = f"""
SELECT count(DISTINCT mention.memory) FROM mention JOIN memory ON memory.n = mention.memory {_SEEN}
   AND mention.name IN (SELECT value FROM json_each(?5))
"""
_UNREAD = f"SELECT {rows.MEMORY}, {rows.SOURCES} FROM memory WHERE memory.n > ? ORDER BY memory.n LIMIT ?"


class SqliteGraph:
    def __init__(self, file: File) -> None:
        self._file = file

    async def unread(self, version: int, limit: int) -> list[Memory]:
        found = await self._file.read(lambda db: query(db, _UNREAD, (_read_upto(db, version), limit)))
        return [rows.memory(row) for row in found]

    async def learn(self, version: int, read: Sequence[Read]) -> None:
        def write(db: apsw.Connection) -> None:
            upto = _read_upto(db, version)
            if upto == 0:
                for table in ("mention", "tie", "memory_read"):
                    db.execute(f"DELETE FROM {table}")
                db.execute("INSERT INTO memory_read VALUES (?, 0)", (version,))
            for each in read:
                known = "SELECT n, superseded_by IS NULL FROM memory WHERE id = ? AND n > ?"
                for n, live in query(db, known, (each.memory, upto)):
                    _keep(db, n, each, live)
                    upto = n
            db.execute("UPDATE memory_read SET upto = ?", (upto,))

        await self._file.write(write)

    async def mentions(self, names: Sequence[str], scope: Scope, limit: int) -> list[Mention]:
        found = await self._each(names, lambda db, name: query(db, _MENTIONS, (*_bound(scope), name, limit)))
        return [Mention(*row) for row in found]

    async def ties(self, names: Sequence[str], scope: Scope, limit: int) -> list[Tie]:
        bound = _bound(scope)

        def of(db: apsw.Connection, name: str) -> list[Row]:
            found = query(db, _BY_SUBJECT, (*bound, name, limit)) + query(db, _BY_OBJECT, (*bound, name, limit))
            return sorted(found, key=lambda row: (-row[-2], row[-1]))[:limit]

        found = await self._each(names, of)
        once = {row[-1]: row for row in found}.values()
        return [_tie(row) for row in sorted(once, key=lambda row: (-row[-2], row[-1]))]

    async def aliases(self, scope: Scope, limit: int) -> list[tuple[str, str]]:
        asked, bound = (_LIVE_ALIASES, (limit,)) if scope.plain else (_ALIASES, (*_bound(scope), limit))
        return await self._file.read(lambda db: query(db, asked, bound))

    async def counted(self, scope: Scope, limit: int) -> list[tuple[str, int]]:
        found = await self._file.read(lambda db: query(db, _COUNTED, (*_bound(scope), limit)))
        return [(name, count) for name, count in found]

    async def count(self, names: Sequence[Sequence[str]], scope: Scope) -> list[int]:
        bound = _bound(scope)

        def of(db: apsw.Connection, group: Sequence[str]) -> int:
            if not scope.plain:
                return int(query(db, _COUNT, (*bound, rows.packed(list(group))))[0][0])
            first = sum(int(query(db, _LIVE_ONE, (name,))[0][0]) for name in group[:1])
            others = [(name, rows.packed(list(group[:n]))) for n, name in enumerate(group) if n]
            return first + sum(int(query(db, _LIVE_MORE, each)[0][0]) for each in others)

        return await self._file.read(lambda db: [of(db, group) for group in names])

    async def changes(self) -> list[EntityChange]:
        return await self._file.read(_changes)

    async def keep(self, change: EntityChange) -> None:
        row = (change.id, stored.entity_change_data(change))
        await self._file.write(lambda db: query(db, "INSERT INTO entity_change (id, data) VALUES (?, ?)", row))

    async def undo(self, id: str) -> bool:
        statement = "DELETE FROM entity_change WHERE id = ? RETURNING n"
        return bool(await self._file.write(lambda db: query(db, statement, (id,))))

    async def _each(self, names: Sequence[str], of: Callable[[apsw.Connection, str], list[Row]]) -> list[Row]:
        return await self._file.read(lambda db: [row for name in dict.fromkeys(names) for row in of(db, name)])


def forget_mentions(db: apsw.Connection, memory: int) -> set[str]:
    """Drop what a memory mentioned and tied; the names that it had."""
    db.execute("DELETE FROM tie WHERE memory = ?", (memory,))
    return {name for (name,) in query(db, "DELETE FROM mention WHERE memory = ? RETURNING name", (memory,))}


def scrub_changes(db: apsw.Connection, names: set[str], memories: Sequence[str]) -> None:
    """Take what was forgotten out of what was decided, and let numbers that are free again be read again."""
    if not memories:
        return
    db.execute("UPDATE memory_read SET upto = min(upto, (SELECT coalesce(max(n), 0) FROM memory))")
    before = _changes(db)
    if not before:
        return
    lost = {name for name in names if not query(db, "SELECT 1 FROM mention WHERE name = ? LIMIT 1", (name,))}
    left = {change.id: change for change in remaining(before, lost, set(memories))}
    for change in before:
        if change.id not in left:
            db.execute("DELETE FROM entity_change WHERE id = ?", (change.id,))
        elif left[change.id] != change:
            data = stored.entity_change_data(left[change.id])
            db.execute("UPDATE entity_change SET data = ? WHERE id = ?", (data, change.id))


def _changes(db: apsw.Connection) -> list[EntityChange]:
    return [stored.entity_change(data) for (data,) in query(db, "SELECT data FROM entity_change ORDER BY n")]


def _read_upto(db: apsw.Connection, version: int) -> int:
    found = query(db, "SELECT upto FROM memory_read WHERE version = ?", (version,))
    return int(found[0][0]) if found else 0


def _keep(db: apsw.Connection, n: int, read: Read, live: int) -> None:
    db.executemany(
        "INSERT OR IGNORE INTO mention (memory, name, shown, type, live) VALUES (?, ?, ?, ?, ?)",
        [(n, each.name, each.shown, each.type, live) for each in read.mentions],
    )
    db.executemany(
        "INSERT INTO tie (memory, subject, relation, object, since, until, live) VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(n, t.subject, t.relation, t.object, _time(t.since), _time(t.until), live) for t in read.ties],
    )


def _bound(scope: Scope) -> tuple[int, bool, int, str | None]:
    as_of = EVER if scope.as_of is None else micros(scope.as_of)
    agents = None if scope.agents is None else rows.packed(scope.agents)
    return as_of, scope.past, micros(scope.as_of or scope.now), agents


def _tie(row: Row) -> Tie:
    memory, subject, relation, object, since, until, ended, *_ = row
    ends = [at for at in (until, ended) if at is not None]
    return Tie(memory, subject, relation, object, _moment(since), _moment(min(ends, default=None)))


def _time(at: datetime | None) -> int | None:
    return None if at is None else micros(at)


def _moment(at: int | None) -> datetime | None:
    return None if at is None else at_micros(at)
