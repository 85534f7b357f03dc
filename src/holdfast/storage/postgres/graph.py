"""One profile's entities, under the same row-level security as its memory; names are hashed if it is encrypted."""

from __future__ import annotations

from collections.abc import Sequence, Set
from datetime import datetime

from holdfast.domain.errors import Conflict
from holdfast.domain.graph import (
    EntityChange,
    MemoryReading,
    Mention,
    Scope,
    Tie,
    changes_left,
    folded_name,
)
from holdfast.domain.timestamps import from_micros, to_micros
from holdfast.domain.types import Memory
from holdfast.storage import rows as stored
from holdfast.storage.postgres import rows
from holdfast.storage.postgres.connections import Database, Db, Row, query
from holdfast.storage.postgres.encryption import ENCRYPTED_MEMORY_COLUMNS, ProfileCipher

MAX_MICROS = 2**62
"""Later than any time; stands for "now" in queries as of a moment."""
_VISIBLE = """
  LATERAL (SELECT ref, updated_at, superseded_by, expires_at, agent FROM memory
            WHERE profile = %(p)s AND memory.n = found.memory OFFSET 0) AS memory
  LEFT JOIN LATERAL (SELECT updated_at FROM memory AS later
            WHERE profile = %(p)s AND later.ref = memory.superseded_by OFFSET 0) AS next ON true
 WHERE memory.updated_at <= %(as_of)s
   AND (%(past)s OR memory.superseded_by IS NULL OR next.updated_at > %(as_of)s)
   AND memory.superseded_by IS DISTINCT FROM memory.ref
   AND (memory.expires_at IS NULL OR memory.expires_at > %(moment)s)
   AND (%(agents)s::text[] IS NULL OR memory.agent IS NULL OR memory.agent = ANY(%(agents)s::text[]))
"""
_TIE_COLUMNS = """
memory.ref AS id, found.since, found.relation, found.until,
CASE WHEN next.updated_at <= %(as_of)s THEN next.updated_at END AS ended, found.memory AS at, found.place AS place,
found.subject, found.object
"""
_WITH_SHOWN_NAMES = """
SELECT each.*, one.shown, other.shown FROM ({ties}) AS each,
  LATERAL (SELECT shown FROM mention
            WHERE profile = %(p)s AND name = each.subject AND memory = each.at OFFSET 0) AS one,
  LATERAL (SELECT shown FROM mention
            WHERE profile = %(p)s AND name = each.object AND memory = each.at OFFSET 0) AS other
 ORDER BY each.at DESC, each.place
"""
_TIES_OF_NAME = f"""
SELECT {_TIE_COLUMNS} FROM (SELECT * FROM tie WHERE profile = %(p)s AND subject = wanted.name
  UNION SELECT * FROM tie WHERE profile = %(p)s AND object = wanted.name) AS found, {_VISIBLE}
 ORDER BY found.memory DESC, found.place LIMIT %(limit)s
"""
_TIES = _WITH_SHOWN_NAMES.format(
    ties=f"SELECT DISTINCT of.* FROM unnest(%(names)s::text[]) AS wanted (name), LATERAL ({_TIES_OF_NAME}) AS of"
)
_ALIASES = _WITH_SHOWN_NAMES.format(
    ties=f"SELECT {_TIE_COLUMNS} FROM (SELECT * FROM tie WHERE profile = %(p)s AND relation = 'same-as') AS "
    f"found, {_VISIBLE} "
    "ORDER BY found.memory DESC, found.place LIMIT %(limit)s"
)
_MENTIONS = f"""
SELECT of.* FROM unnest(%(names)s::text[]) WITH ORDINALITY AS wanted (name, place), LATERAL (
  SELECT memory.ref, found.shown, found.type, found.memory AS at
    FROM (SELECT * FROM mention WHERE profile = %(p)s AND mention.name = wanted.name) AS found, {_VISIBLE}
   ORDER BY found.memory DESC LIMIT %(limit)s
) AS of ORDER BY wanted.place, of.at DESC
"""
_NAMES_BY_COUNT = f"""
SELECT found.name, count(*), min(found.shown)
  FROM (SELECT * FROM mention WHERE profile = %(p)s) AS found, {_VISIBLE}
 GROUP BY found.name ORDER BY 2 DESC, 1 LIMIT %(limit)s
"""
_COUNT_MEMORIES = f"""
SELECT wanted.place, count(DISTINCT found.memory)
  FROM unnest(%(names)s::text[], %(places)s::integer[]) AS wanted (name, place),
  LATERAL (SELECT memory FROM mention WHERE profile = %(p)s AND mention.name = wanted.name OFFSET 0) AS found,
  {_VISIBLE}
 GROUP BY wanted.place
"""
# The current state, without reading the memories: a hub entity is mentioned in very many.
_COUNT_LIVE_MEMORIES = """
SELECT wanted.place, count(DISTINCT found.memory)
  FROM unnest(%(names)s::text[], %(places)s::integer[]) AS wanted (name, place),
  LATERAL (SELECT memory FROM mention WHERE profile = %(p)s AND mention.name = wanted.name AND live OFFSET 0) AS found
 GROUP BY wanted.place
"""
_UNREAD = f"""
SELECT {rows.MEMORY}, {rows.SOURCES} FROM memory WHERE profile = %s AND memory.n > %s ORDER BY memory.n LIMIT %s
"""


class PostgresGraphStore:
    def __init__(self, database: Database, profile: int, cipher: ProfileCipher) -> None:
        self._database = database
        self._profile = profile
        self._cipher = cipher

    async def unread(self, version: int, limit: int) -> list[Memory]:
        async def run(db: Db) -> list[Row]:
            return await query(db, _UNREAD, (self._profile, await self._load_read_upto(db, version), limit))

        found = await self._database.read(self._profile, run)
        return [rows.memory(self._cipher.decrypt_row(row, ENCRYPTED_MEMORY_COLUMNS)) for row in found]

    async def learn(self, version: int, read: Sequence[MemoryReading]) -> None:
        p = self._profile

        async def run(db: Db) -> None:
            if not await query(db, "SELECT 1 FROM profile WHERE id = %s FOR UPDATE", (p,)):
                raise Conflict("The profile was deleted at the same time.")
            upto = await self._load_read_upto(db, version)
            if upto == 0:
                for table in ("mention", "tie", "memory_read"):
                    await db.execute(f"DELETE FROM {table} WHERE profile = %s", (p,))
                await db.execute("INSERT INTO memory_read VALUES (%s, %s, 0)", (p, version))
            stored = "SELECT ref, n, superseded_by IS NULL FROM memory WHERE profile = %s AND ref = ANY(%s) AND n > %s"
            found = await query(db, stored, (p, [each.memory for each in read], upto))
            new = {id: (n, live) for id, n, live in found}
            await self._insert_mentions(db, [(*new[each.memory], each) for each in read if each.memory in new])
            upto = max([upto, *(n for n, _ in new.values())])
            await db.execute("UPDATE memory_read SET upto = %s WHERE profile = %s", (upto, p))

        await self._database.write(p, run)

    async def mentions(self, names: Sequence[str], scope: Scope, limit: int) -> list[Mention]:
        found = await self._read(_MENTIONS, scope, names=self._name_hashes(names), limit=limit)
        return [Mention(id, self._cipher.decrypt_text(shown), type) for id, shown, type, _ in found]

    async def ties(self, names: Sequence[str], scope: Scope, limit: int) -> list[Tie]:
        return [self._tie(row) for row in await self._read(_TIES, scope, names=self._name_hashes(names), limit=limit)]

    async def aliases(self, scope: Scope, limit: int) -> list[tuple[str, str]]:
        ties = [self._tie(row) for row in await self._read(_ALIASES, scope, limit=limit)]
        return [(tie.subject, tie.object) for tie in ties]

    async def counted(self, scope: Scope, limit: int) -> list[tuple[str, int]]:
        found = await self._read(_NAMES_BY_COUNT, scope, limit=limit)
        named = [(folded_name(self._cipher.decrypt_text(shown)), int(count)) for _, count, shown in found]
        return sorted(named, key=lambda each: (-each[1], each[0]))

    async def count(self, names: Sequence[Sequence[str]], scope: Scope) -> list[int]:
        pairs = [(self._cipher.keyed_hash(name), place) for place, group in enumerate(names) for name in group]
        listed, places = [name for name, _ in pairs], [place for _, place in pairs]
        statement = _COUNT_LIVE_MEMORIES if scope.plain else _COUNT_MEMORIES
        found: dict[int, int] = dict(await self._read(statement, scope, names=listed, places=places))
        return [found.get(place, 0) for place in range(len(names))]

    async def changes(self) -> list[EntityChange]:
        return await self._database.read(self._profile, lambda db: load_changes(db, self._profile, self._cipher))

    async def keep(self, change: EntityChange) -> None:
        row = (self._profile, change.id, self._cipher.encrypt_text(stored.entity_change_data(change)))
        statement = "INSERT INTO entity_change (profile, id, data) VALUES (%s, %s, %s)"
        await self._database.write(self._profile, lambda db: query(db, statement, row))

    async def undo(self, id: str) -> bool:
        statement = "DELETE FROM entity_change WHERE profile = %s AND id = %s RETURNING n"
        return bool(await self._database.write(self._profile, lambda db: query(db, statement, (self._profile, id))))

    async def _insert_mentions(self, db: Db, read: Sequence[tuple[int, bool, MemoryReading]]) -> None:
        p, keyed_hash, encrypt = self._profile, self._cipher.keyed_hash, self._cipher.encrypt_text
        mentions = [
            (n, keyed_hash(each.name), encrypt(each.shown), each.type, live)
            for n, live, found in read for each in found.mentions
        ]  # fmt: skip
        ties = [
            (n, place, keyed_hash(t.subject), t.relation, keyed_hash(t.object), _optional_micros(t.since),
            _optional_micros(t.until), live)
            for n, live, found in read for place, t in enumerate(found.ties)
        ]  # fmt: skip
        if mentions:
            await db.execute(
                "INSERT INTO mention (profile, memory, name, shown, type, live) SELECT %s, * FROM unnest(%s::bigint[], "
                "%s::text[], %s::text[], %s::text[], %s::boolean[]) ON CONFLICT DO NOTHING",
                (p, *rows.columns(mentions)),
            )
        if ties:
            await db.execute(
                "INSERT INTO tie (profile, memory, place, subject, relation, object, since, until, live) SELECT %s, * "
                "FROM unnest(%s::bigint[], %s::integer[], %s::text[], %s::text[], %s::text[], %s::bigint[], "
                "%s::bigint[], %s::boolean[])",
                (p, *rows.columns(ties)),
            )

    async def _load_read_upto(self, db: Db, version: int) -> int:
        statement = "SELECT upto FROM memory_read WHERE profile = %s AND version = %s"
        found = await query(db, statement, (self._profile, version))
        return int(found[0][0]) if found else 0

    async def _read(self, statement: str, scope: Scope, **bound: object) -> list[Row]:
        as_of = MAX_MICROS if scope.as_of is None else to_micros(scope.as_of)
        moment = to_micros(scope.as_of or scope.now)
        agents = None if scope.agents is None else list(scope.agents)
        given = {"p": self._profile, "as_of": as_of, "past": scope.past, "moment": moment, "agents": agents, **bound}
        return await self._database.read(self._profile, lambda db: query(db, statement, given))

    def _name_hashes(self, names: Sequence[str]) -> list[str]:
        return [self._cipher.keyed_hash(name) for name in dict.fromkeys(names)]

    def _tie(self, row: Row) -> Tie:
        memory, since, relation, until, ended, *_, one, other = row
        subject, object = (folded_name(self._cipher.decrypt_text(shown)) for shown in (one, other))
        ends = [at for at in (until, ended) if at is not None]
        return Tie(memory, subject, relation, object, _optional_time(since), _optional_time(min(ends, default=None)))


async def delete_mentions(db: Db, profile: int, cipher: ProfileCipher, memory: int) -> set[str]:
    """Delete the mentions and ties of a memory; returns the mentioned names."""
    await db.execute("DELETE FROM tie WHERE profile = %s AND memory = %s", (profile, memory))
    deleted = "DELETE FROM mention WHERE profile = %s AND memory = %s RETURNING shown"
    return {folded_name(cipher.decrypt_text(shown)) for (shown,) in await query(db, deleted, (profile, memory))}


async def scrub_changes(
    db: Db, profile: int, cipher: ProfileCipher, names: set[str], memories: Set[str], people: Sequence[str]
) -> None:
    """Remove forgotten names, memories and people from the entity changes."""
    before = await load_changes(db, profile, cipher) if memories or people else []
    if not before:
        return
    hashes = {cipher.keyed_hash(name): name for name in names}
    statement = "SELECT DISTINCT name FROM mention WHERE profile = %s AND name = ANY(%s)"
    mentioned = {hashes[name] for (name,) in await query(db, statement, (profile, list(hashes)))}
    left = {change.id: change for change in changes_left(before, names - mentioned, memories, people)}
    for change in before:
        if change.id not in left:
            await db.execute("DELETE FROM entity_change WHERE profile = %s AND id = %s", (profile, change.id))
        elif left[change.id] != change:
            data = cipher.encrypt_text(stored.entity_change_data(left[change.id]))
            statement = "UPDATE entity_change SET data = %s WHERE profile = %s AND id = %s"
            await db.execute(statement, (data, profile, change.id))


async def load_changes(db: Db, profile: int, cipher: ProfileCipher) -> list[EntityChange]:
    found = await query(db, "SELECT data FROM entity_change WHERE profile = %s ORDER BY n", (profile,))
    return [stored.entity_change(cipher.decrypt_text(data)) for (data,) in found]


def _optional_micros(at: datetime | None) -> int | None:
    return None if at is None else to_micros(at)


def _optional_time(at: int | None) -> datetime | None:
    return None if at is None else from_micros(at)
