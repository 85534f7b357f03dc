"""The schema: migrations under one lock, each table in hash partitions by profile, behind row-level security.

A transaction names its profile by SET LOCAL and acts as a role that owns nothing and cannot bypass the policies: one
that names none sees no row. Migrations are hash-checked and have SQLite's numbers.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable
from functools import cache
from importlib import resources

import psycopg
from psycopg import sql

from ..errors import StorageError, TooNew
from ..moments import micros, now

PARTITIONS = 32
ROLE = "holdfast_profile"
LOCK = 0x686F6C64
LOCK_TRIES = 30
ONLINE = "-- online"
VECTOR = (0, 8, 0)
"""Scans that go on when a filter takes some came with this version of pgvector."""
_CURRENT = "nullif(current_setting('holdfast.profile', true), '')::bigint"
_BY_HASH = " PARTITION BY HASH (profile)"
FIRST = "message"
"""The table beside which Citus places the others."""
_TABLE = re.compile(r"CREATE TABLE (\w+) \([^;]*\) PARTITION BY HASH")
Migration = tuple[str, int, str, str]


@cache
def migrations() -> tuple[Migration, ...]:
    """(family, number, sha256, sql), in order."""
    found = []
    for family in ("catalogue", "profile"):
        for entry in resources.files(__package__).joinpath("migrations", family).iterdir():
            if entry.name.endswith(".sql"):
                text = entry.read_text("utf-8")
                found.append((family, int(entry.name[:4]), hashlib.sha256(text.encode()).hexdigest(), text))
    return tuple(sorted(found))


async def migrate(db: psycopg.AsyncConnection) -> None:
    """Bring the database up to date; others that start at the same moment wait.

    A migration never waits for a table longer than a moment, since everybody else would wait behind it: it gives up and
    tries again. What takes long is marked `-- online`: it runs outside of any transaction, partition by partition, is
    harmless to repeat, and blocks nobody.
    """
    await _patiently(db, lambda: _prepare(db))
    for migration in migrations():
        if migration[3].startswith(ONLINE):
            await _run_online(db, migration)
        else:
            await _patiently(db, lambda migration=migration: _run(db, migration))  # type: ignore[misc]


async def _patiently(db: psycopg.AsyncConnection, step: Callable[[], Awaitable[None]]) -> None:
    for attempt in range(LOCK_TRIES):
        try:
            async with db.transaction():
                await db.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
                await db.execute("SET LOCAL lock_timeout = '2s'")
                await step()
            return
        except psycopg.errors.LockNotAvailable:
            if attempt == LOCK_TRIES - 1:
                raise
            await asyncio.sleep(1)


async def _prepare(db: psycopg.AsyncConnection) -> None:
    await _check_vector(db)
    await db.execute(
        "CREATE TABLE IF NOT EXISTS migration "
        "(family text, number integer, sha256 text NOT NULL, at bigint NOT NULL, PRIMARY KEY (family, number))"
    )
    await _make_role(db)
    rows = await (await db.execute("SELECT family, number FROM migration")).fetchall()
    if {(family, number) for family, number in rows} - {(family, number) for family, number, _, _ in migrations()}:
        raise TooNew("The database was written by a newer Holdfast.", fix="Upgrade with: pip install -U holdfast")


async def _done(db: psycopg.AsyncConnection, migration: Migration) -> bool:
    family, number, sha, _ = migration
    found = "SELECT sha256 FROM migration WHERE family = %s AND number = %s"
    row = await (await db.execute(found, (family, number))).fetchone()
    if row is not None and row[0] != sha:
        raise StorageError(f"Migration {number} ({family}) is not the one this database was built with.")
    return row is not None


async def _note(db: psycopg.AsyncConnection, migration: Migration) -> None:
    await db.execute("INSERT INTO migration VALUES (%s, %s, %s, %s)", (*migration[:3], micros(now())))


async def _run(db: psycopg.AsyncConnection, migration: Migration) -> None:
    """A migration's own statements, then what spreads its tables: over Citus's nodes, or over partitions."""
    if await _done(db, migration):
        return
    family, number, _, text = migration
    citus, tables = await _has_citus(db), _TABLE.findall(text)
    await db.execute(text.replace(_BY_HASH, "") if citus else text)
    for table in tables:
        await (_distribute(db, table) if citus else _divide(db, table))
    if tables:
        await db.execute(sql.SQL("GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {}").format(sql.Identifier(ROLE)))
    if (family, number) == ("catalogue", 1):
        await _guard_profiles(db)
    await _note(db, migration)


async def _run_online(db: psycopg.AsyncConnection, migration: Migration) -> None:
    """Each statement by itself, in every partition where it names {schema}."""
    await db.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
    try:
        if await _done(db, migration):
            return
        schemas = ["public"] if await _has_citus(db) else [schema_of(n) for n in range(PARTITIONS)]
        for statement in filter(None, map(str.strip, migration[3].split(";"))):
            for each in schemas if "{schema}" in statement else [""]:
                await db.execute(statement.replace("{schema}", each))
        await _note(db, migration)
    finally:
        await db.execute("SELECT pg_advisory_unlock(%s)", (LOCK,))


async def _has_citus(db: psycopg.AsyncConnection) -> bool:
    return await (await db.execute("SELECT 1 FROM pg_extension WHERE extname = 'citus'")).fetchone() is not None


async def _check_vector(db: psycopg.AsyncConnection) -> None:
    await db.execute("CREATE EXTENSION IF NOT EXISTS vector")
    row = await (await db.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'")).fetchone()
    version = "0" if row is None else str(row[0])
    if versioned(version) < VECTOR:
        needed = ".".join(map(str, VECTOR))
        raise StorageError(f"pgvector is {version}; Holdfast needs {needed} or newer.", fix="Upgrade the extension.")


def versioned(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


async def _make_role(db: psycopg.AsyncConnection) -> None:
    found = await (await db.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (ROLE,))).fetchone()
    if found is None:
        await db.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(ROLE)))
    await db.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(sql.Identifier(ROLE)))


async def _guard_profiles(db: psycopg.AsyncConnection) -> None:
    """A profile's role sees its own row; the catalogue's owner sees them all."""
    role = sql.Identifier(ROLE)
    await db.execute("ALTER TABLE profile ENABLE ROW LEVEL SECURITY")
    await db.execute(sql.SQL("CREATE POLICY own ON profile TO {} USING ({})").format(role, sql.SQL("id = " + _CURRENT)))
    await db.execute(sql.SQL("GRANT SELECT, UPDATE ON profile TO {}").format(role))


async def _distribute(db: psycopg.AsyncConnection, table: str) -> None:
    """One profile's rows of every table are on one node. The catalogue stays where it is."""
    await _wall(db, sql.Identifier(table), sql.Identifier(ROLE), sql.SQL("profile = " + _CURRENT))
    beside = "none" if table == FIRST else FIRST
    await db.execute("SELECT create_distributed_table(%s, 'profile', colocate_with => %s)", (table, beside))


async def _divide(db: psycopg.AsyncConnection, table: str) -> None:
    """Partitions in schemas of their own, under their table's name: whoever names the schema needs no other.

    No statistics are kept of which profiles a partition holds. A list of yesterday's would make the planner believe
    that one of today's has no rows, and choose plans that take minutes.
    """
    name, role = sql.Identifier(table), sql.Identifier(ROLE)
    own = sql.SQL("profile = " + _CURRENT)
    for n in range(PARTITIONS):
        schema, each = sql.Identifier(schema_of(n)), sql.Identifier(schema_of(n), table)
        await db.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(schema))
        await db.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(schema, role))
        await db.execute(
            sql.SQL("CREATE TABLE {} PARTITION OF {} FOR VALUES WITH (MODULUS {}, REMAINDER {})").format(
                each, name, sql.Literal(PARTITIONS), sql.Literal(n)
            )
        )
        await _wall(db, each, role, own)
    await _wall(db, name, role, own)


async def _wall(db: psycopg.AsyncConnection, table: sql.Identifier, role: sql.Identifier, own: sql.SQL) -> None:
    await db.execute(sql.SQL("ALTER TABLE {} ALTER COLUMN profile SET STATISTICS 0").format(table))
    await db.execute(sql.SQL("ALTER TABLE {} ENABLE ROW LEVEL SECURITY").format(table))
    await db.execute(sql.SQL("ALTER TABLE {} FORCE ROW LEVEL SECURITY").format(table))
    await db.execute(sql.SQL("CREATE POLICY own ON {} TO {} USING ({}) WITH CHECK ({})").format(table, role, own, own))
    await db.execute(sql.SQL("GRANT SELECT, INSERT, UPDATE, DELETE ON {} TO {}").format(table, role))


def schema_of(partition: int) -> str:
    return f"holdfast_{partition:02}"
