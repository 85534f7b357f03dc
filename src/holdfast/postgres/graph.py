"""One profile's entities in the same database, behind the same policies; names are marks where it is sealed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from .. import stored
from ..errors import Conflict
from ..graphs import EntityChange, Mention, Read, Scope, Tie, folded, remaining
from ..moments import at_micros, micros
from ..types import Memory
from . import rows
from .base import Base, Db, Row, query
from .seal import MEMORY, Seal

EVER = 2**62
_SEEN = """
  LATERAL (SELECT id, updated_at, superseded_by, expires_at, agent FROM memory
            WHERE profile = %(p)s AND memory.n = found.memory OFFSET 0) AS memory
  LEFT JOIN LATERAL (SELECT updated_at FROM memory AS later
            WHERE profile = %(p)s AND later.id = memory.superseded_by OFFSET 0) AS next ON true
 WHERE memory.updated_at <= %(as_of)s
   AND (%(past)s OR memory.superseded_by IS NULL OR next.updated_at > %(as_of)s)
   AND (memory.expires_at IS NULL OR memory.expires_at > %(moment)s)
   AND (%(agents)s::text[] IS NULL OR memory.agent IS NULL OR memory.agent = ANY(%(agents)s::text[]))
"""
_TIE = """
memory.id AS id, found.since, found.relation, found.until,
CASE WHEN next.updated_at <= %(as_of)s THEN next.updated_at END AS ended, found.memory AS at, found.place AS place,
found.subject, found.object
"""
_SHOWN = """
SELECT each.*, one.shown, other.shown FROM ({ties}) AS each,
  LATERAL (SELECT shown FROM mention
            WHERE profile = %(p)s AND name = each.subject AND memory = each.at OFFSET 0) AS one,
  LATERAL (SELECT shown FROM mention
            WHERE profile = %(p)s AND name = each.object AND memory = each.at OFFSET 0) AS other
 ORDER BY each.at DESC, each.place
"""
_OF = f"""
SELECT {_TIE} FROM (SELECT * FROM tie WHERE profile = %(p)s AND subject = wanted.name
  UNION SELECT * FROM tie WHERE profile = %(p)s AND object = wanted.name) AS found, {_SEEN}
 ORDER BY found.memory DESC, found.place LIMIT %(limit)s
"""
_TIES = _SHOWN.format(
    ties=f"SELECT DISTINCT of.* FROM unnest(%(names)s::text[]) AS wanted (name), LATERAL ({_OF}) AS of"
)
_ALIASES = _SHOWN.format(
    ties=f"SELECT {_TIE} FROM (SELECT * FROM tie WHERE profile = %(p)s AND relation = 'same-as') AS found, {_SEEN} "
    "ORDER BY found.memory DESC, found.place LIMIT %(limit)s"
)
_MENTIONS = f"""
SELECT of.* FROM unnest(%(names)s::text[]) WITH ORDINALITY AS wanted (name, place), LATERAL (
  SELECT memory.id, found.shown, found.type, found.memory AS at
    FROM (SELECT * FROM mention WHERE profile = %(p)s AND mention.name = wanted.name) AS found, {_SEEN}
   ORDER BY found.memory DESC LIMIT %(limit)s
) AS of ORDER BY wanted.place, of.at DESC
"""
_COUNTED = f"""
SELECT found.name, count(*), min(found.shown)
  FROM (SELECT * FROM mention WHERE profile = %(p)s) AS found, {_SEEN}
 GROUP BY found.name ORDER BY 2 DESC, 1 LIMIT %(limit)s
"""
_COUNT = f"""
SELECT wanted.place, count(DISTINCT found.memory)
  FROM unnest(%(names)s::text[], %(places)s::integer[]) AS wanted (name, place),
  LATERAL (SELECT memory FROM mention WHERE profile = %(p)s AND mention.name = wanted.name OFFSET 0) AS found, {_SEEN}
 GROUP BY wanted.place
"""
# Of now, without looking at the memories: a hub is in very many.
_LIVE = """
SELECT wanted.place, count(DISTINCT found.memory)
  FROM unnest(%(names)s::text[], %(places)s::integer[]) AS wanted (name, place),
  LATERAL (SELECT memory FROM mention WHERE profile = %(p)s AND mention.name = wanted.name AND live OFFSET 0) AS found
 GROUP BY wanted.place
"""
_UNREAD = f"""
SELECT {rows.MEMORY}, {rows.SOURCES} FROM memory WHERE profile = %s AND memory.n > %s ORDER BY memory.n LIMIT %s
"""


class PostgresGraph:
    def __init__(self, base: Base, profile: int, seal: Seal) -> None:
        self._base = base
        self._profile = profile
        self._seal = seal

    async def unread(self, version: int, limit: int) -> list[Memory]:
        async def run(db: Db) -> list[Row]:
            return await query(db, _UNREAD, (self._profile, await self._upto(db, version), limit))

        found = await self._base.read(self._profile, run)
        return [rows.memory(self._seal.open_row(row, MEMORY)) for row in found]

    async def learn(self, version: int, read: Sequence[Read]) -> None:
        p = self._profile

        async def run(db: Db) -> None:
            if not await query(db, "SELECT 1 FROM profile WHERE id = %s FOR UPDATE", (p,)):
                raise Conflict("The profile was deleted meanwhile.")
            upto = await self._upto(db, version)
            if upto == 0:
                for table in ("mention", "tie", "memory_read"):
                    await db.execute(f"DELETE FROM {table} WHERE profile = %s", (p,))
                await db.execute("INSERT INTO memory_read VALUES (%s, %s, 0)", (p, version))
            there = "SELECT id, n, superseded_by IS NULL FROM memory WHERE profile = %s AND id = ANY(%s) AND n > %s"
            found = await query(db, there, (p, [each.memory for each in read], upto))
            new = {id: (n, live) for id, n, live in found}
            await self._keep(db, [(*new[each.memory], each) for each in read if each.memory in new])
            upto = max([upto, *(n for n, _ in new.values())])
            await db.execute("UPDATE memory_read SET upto = %s WHERE profile = %s", (upto, p))

        await self._base.write(p, run)

    async def mentions(self, names: Sequence[str], scope: Scope, limit: int) -> list[Mention]:
        found = await self._read(_MENTIONS, scope, names=self._marks(names), limit=limit)
        return [Mention(id, self._seal.open_text(shown), type) for id, shown, type, _ in found]

    async def ties(self, names: Sequence[str], scope: Scope, limit: int) -> list[Tie]:
        return [self._tie(row) for row in await self._read(_TIES, scope, names=self._marks(names), limit=limit)]

    async def aliases(self, scope: Scope, limit: int) -> list[tuple[str, str]]:
        ties = [self._tie(row) for row in await self._read(_ALIASES, scope, limit=limit)]
        return [(tie.subject, tie.object) for tie in ties]

    async def counted(self, scope: Scope, limit: int) -> list[tuple[str, int]]:
        found = await self._read(_COUNTED, scope, limit=limit)
        named = [(folded(self._seal.open_text(shown)), int(count)) for _, count, shown in found]
        return sorted(named, key=lambda each: (-each[1], each[0]))

    async def count(self, names: Sequence[Sequence[str]], scope: Scope) -> list[int]:
        pairs = [(self._seal.mark(name), place) for place, group in enumerate(names) for name in group]
        listed, places = [name for name, _ in pairs], [place for _, place in pairs]
        asked = _LIVE if scope.plain else _COUNT
        found: dict[int, int] = dict(await self._read(asked, scope, names=listed, places=places))
        return [found.get(place, 0) for place in range(len(names))]

    async def changes(self) -> list[EntityChange]:
        return await self._base.read(self._profile, lambda db: changes(db, self._profile, self._seal))

    async def keep(self, change: EntityChange) -> None:
        row = (self._profile, change.id, self._seal.shut_text(stored.entity_change_data(change)))
        statement = "INSERT INTO entity_change (profile, id, data) VALUES (%s, %s, %s)"
        await self._base.write(self._profile, lambda db: query(db, statement, row))

    async def undo(self, id: str) -> bool:
        statement = "DELETE FROM entity_change WHERE profile = %s AND id = %s RETURNING n"
        return bool(await self._base.write(self._profile, lambda db: query(db, statement, (self._profile, id))))

    async def _keep(self, db: Db, read: Sequence[tuple[int, bool, Read]]) -> None:
        p, mark, shut = self._profile, self._seal.mark, self._seal.shut_text
        mentions = [
            (n, mark(each.name), shut(each.shown), each.type, live)
            for n, live, found in read for each in found.mentions
        ]  # fmt: skip
        ties = [
            (n, place, mark(t.subject), t.relation, mark(t.object), _time(t.since), _time(t.until), live)
            for n, live, found in read for place, t in enumerate(found.ties)
        ]  # fmt: skip
        if mentions:
            await db.execute(
                "INSERT INTO mention (profile, memory, name, shown, type, live) SELECT %s, * FROM unnest(%s::bigint[], "
                "%s::text[], %s::text[], %s::text[], %s::boolean[]) ON CONFLICT DO NOTHING",
                (p, *_columns(mentions)),
            )
        if ties:
            await db.execute(
                "INSERT INTO tie (profile, memory, place, subject, relation, object, since, until, live) SELECT %s, * "
                "FROM unnest(%s::bigint[], %s::integer[], %s::text[], %s::text[], %s::text[], %s::bigint[], "
                "%s::bigint[], %s::boolean[])",
                (p, *_columns(ties)),
            )

    async def _upto(self, db: Db, version: int) -> int:
        statement = "SELECT upto FROM memory_read WHERE profile = %s AND version = %s"
        found = await query(db, statement, (self._profile, version))
        return int(found[0][0]) if found else 0

    async def _read(self, statement: str, scope: Scope, **bound: object) -> list[Row]:
        as_of = EVER if scope.as_of is None else micros(scope.as_of)
        moment = micros(scope.as_of or scope.now)
        agents = None if scope.agents is None else list(scope.agents)
        given = {"p": self._profile, "as_of": as_of, "past": scope.past, "moment": moment, "agents": agents, **bound}
        return await self._base.read(self._profile, lambda db: query(db, statement, given))

    def _marks(self, names: Sequence[str]) -> list[str]:
        return [self._seal.mark(name) for name in dict.fromkeys(names)]

    def _tie(self, row: Row) -> Tie:
        memory, since, relation, until, ended, *_, one, other = row
        subject, object = (folded(self._seal.open_text(shown)) for shown in (one, other))
        ends = [at for at in (until, ended) if at is not None]
        return Tie(memory, subject, relation, object, _moment(since), _moment(min(ends, default=None)))


async def forget_mentions(db: Db, profile: int, seal: Seal, memory: int) -> set[str]:
    """Drop what a memory mentioned and tied; the names that it had."""
    await db.execute("DELETE FROM tie WHERE profile = %s AND memory = %s", (profile, memory))
    deleted = "DELETE FROM mention WHERE profile = %s AND memory = %s RETURNING shown"
    return {folded(seal.open_text(shown)) for (shown,) in await query(db, deleted, (profile, memory))}


async def scrub_changes(db: Db, profile: int, seal: Seal, names: set[str], memories: Sequence[str]) -> None:
    """Take what was forgotten out of what was decided."""
    before = await changes(db, profile, seal) if memories else []
    if not before:
        return
    marks = {seal.mark(name): name for name in names}
    there = "SELECT DISTINCT name FROM mention WHERE profile = %s AND name = ANY(%s)"
    still = {marks[mark] for (mark,) in await query(db, there, (profile, list(marks)))}
    left = {change.id: change for change in remaining(before, names - still, set(memories))}
    for change in before:
        if change.id not in left:
            await db.execute("DELETE FROM entity_change WHERE profile = %s AND id = %s", (profile, change.id))
        elif left[change.id] != change:
            data = seal.shut_text(stored.entity_change_data(left[change.id]))
            statement = "UPDATE entity_change SET data = %s WHERE profile = %s AND id = %s"
            await db.execute(statement, (data, profile, change.id))


async def changes(db: Db, profile: int, seal: Seal) -> list[EntityChange]:
    found = await query(db, "SELECT data FROM entity_change WHERE profile = %s ORDER BY n", (profile,))
    return [stored.entity_change(seal.open_text(data)) for (data,) in found]


def _columns(written: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*written, strict=True)]


def _time(at: datetime | None) -> int | None:
    return None if at is None else micros(at)


def _moment(at: int | None) -> datetime | None:
    return None if at is None else at_micros(at)
