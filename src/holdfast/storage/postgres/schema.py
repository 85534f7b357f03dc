"""Creates the schema: migrations under one lock, tables in hash partitions by profile, with row-level security.

A transaction sets its profile with SET LOCAL and runs as a role that owns nothing and cannot bypass the policies: one
without a profile sees no row. Migrations are checked by hash; those of the profiles' tables have SQLite's numbers. The
triggers of these tables come after them, in a family of their own.
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

from holdfast.domain.errors import UPGRADE_FIX, StorageError, TooNew
from holdfast.domain.timestamps import now, to_micros

PARTITION_COUNT = 32
"""Chosen by hand; not measured. It cannot change once a database has tables."""
ROLE = "holdfast_profile"
MIGRATION_LOCK_ID = 0x686F6C64
"""The key of the advisory lock: "hold" in ASCII."""
MAX_LOCK_TRIES = 30
"""Attempts at a table lock, each of two seconds and one second apart. Chosen by hand; not measured."""
ONLINE_MARKER = "-- online"
"""A migration that begins with it runs outside of a transaction."""
MIN_PGVECTOR_VERSION = (0, 8, 0)
"""The first pgvector with iterative index scans, which go on when a filter removes results."""
_CURRENT_PROFILE = "nullif(current_setting('holdfast.profile', true), '')::bigint"
_BY_HASH = " PARTITION BY HASH (profile)"
COLOCATION_TABLE = "message"
"""The table that Citus colocates the others with."""
_TABLE = re.compile(r"CREATE TABLE (\w+) \([^;]*\) PARTITION BY HASH")
Migration = tuple[str, int, str, str]


@cache
def migrations() -> tuple[Migration, ...]:
    """(family, number, sha256, sql), in order."""
    found = []
    for family in ("catalogue", "profile", "trigger"):
        for entry in resources.files(__package__).joinpath("migrations", family).iterdir():
            if entry.name.endswith(".sql"):
                text = entry.read_text("utf-8")
                found.append((family, int(entry.name[:4]), hashlib.sha256(text.encode()).hexdigest(), text))
    return tuple(sorted(found))


async def migrate(db: psycopg.AsyncConnection) -> None:
    """Apply the missing migrations; other processes that start at the same time wait.

    A migration waits only briefly for a table's lock, since all other statements would queue behind it: it gives up and
    tries again. A long migration is marked `-- online`: it runs outside of any transaction, partition by partition, can
    be repeated, and blocks no statement for long.
    """
    await _run_with_lock(db, lambda: _prepare(db))
    for migration in await _missing_migrations(db):
        if migration[3].startswith(ONLINE_MARKER):
            await _run_online_migration(db, migration)
        else:
            await _run_with_lock(db, lambda migration=migration: _run_migration(db, migration))  # type: ignore[misc]


async def _run_with_lock(db: psycopg.AsyncConnection, step: Callable[[], Awaitable[None]]) -> None:
    async def run() -> None:
        async with db.transaction():
            await db.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK_ID,))
            await db.execute("SET LOCAL lock_timeout = '2s'")
            await step()

    await _retry_lock(run)


async def _retry_lock(step: Callable[[], Awaitable[object]]) -> None:
    """Run a step again until it gets the locks of its tables."""
    for attempt in range(MAX_LOCK_TRIES):
        try:
            await step()
            return
        except psycopg.errors.LockNotAvailable:
            if attempt == MAX_LOCK_TRIES - 1:
                raise
            await asyncio.sleep(1)


async def _prepare(db: psycopg.AsyncConnection) -> None:
    await _check_vector(db)
    await db.execute(
        "CREATE TABLE IF NOT EXISTS migration "
        "(family text, number integer, sha256 text NOT NULL, at bigint NOT NULL, PRIMARY KEY (family, number))"
    )
    await _make_role(db)


async def _missing_migrations(db: psycopg.AsyncConnection) -> list[Migration]:
    """The migrations to apply, in order. Each is looked up again under the lock: another process may apply it first."""
    rows = await (await db.execute("SELECT family, number, sha256 FROM migration")).fetchall()
    if {row[:2] for row in rows} - {migration[:2] for migration in migrations()}:
        raise TooNew("The database was written by a newer Holdfast.", fix=UPGRADE_FIX)
    return [migration for migration in migrations() if migration[:3] not in rows]


async def _is_applied(db: psycopg.AsyncConnection, migration: Migration) -> bool:
    family, number, sha, _ = migration
    found = "SELECT sha256 FROM migration WHERE family = %s AND number = %s"
    row = await (await db.execute(found, (family, number))).fetchone()
    if row is not None and row[0] != sha:
        raise StorageError(f"Migration {number} ({family}) is not the one this database was built with.")
    return row is not None


async def _record_migration(db: psycopg.AsyncConnection, migration: Migration) -> None:
    await db.execute("INSERT INTO migration VALUES (%s, %s, %s, %s)", (*migration[:3], to_micros(now())))


async def _run_migration(db: psycopg.AsyncConnection, migration: Migration) -> None:
    """Run a migration's statements, then distribute its new tables over Citus nodes or partitions."""
    if await _is_applied(db, migration):
        return
    family, number, _, text = migration
    citus, tables = await _has_citus(db), _TABLE.findall(text)
    await db.execute(text.replace(_BY_HASH, "") if citus else text)
    for table in tables:
        await (_distribute(db, table) if citus else _partition(db, table))
    if tables:
        await db.execute(sql.SQL("GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {}").format(sql.Identifier(ROLE)))
    if (family, number) == ("catalogue", 1):
        await _protect_profile_table(db)
    await _record_migration(db, migration)


async def _run_online_migration(db: psycopg.AsyncConnection, migration: Migration) -> None:
    """Run each statement by itself, once per partition if it contains {schema}."""
    await db.execute("SELECT pg_advisory_lock(%s)", (MIGRATION_LOCK_ID,))
    try:
        if await _is_applied(db, migration):
            return
        schemas = ["public"] if await _has_citus(db) else [partition_schema(n) for n in range(PARTITION_COUNT)]
        for statement in filter(None, map(str.strip, migration[3].split(";"))):
            for each in schemas if "{schema}" in statement else [""]:
                await _retry_lock(lambda run=statement.replace("{schema}", each): db.execute(run))  # type: ignore[misc]
        await _record_migration(db, migration)
    finally:
        await db.execute("SELECT pg_advisory_unlock(%s)", (MIGRATION_LOCK_ID,))


async def _has_citus(db: psycopg.AsyncConnection) -> bool:
    return await (await db.execute("SELECT 1 FROM pg_extension WHERE extname = 'citus'")).fetchone() is not None


async def _check_vector(db: psycopg.AsyncConnection) -> None:
    await db.execute("CREATE EXTENSION IF NOT EXISTS vector")
    row = await (await db.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'")).fetchone()
    version = "0" if row is None else str(row[0])
    if version_tuple(version) < MIN_PGVECTOR_VERSION:
        needed = ".".join(map(str, MIN_PGVECTOR_VERSION))
        raise StorageError(f"pgvector is {version}; Holdfast needs {needed} or newer.", fix="Upgrade the extension.")


def version_tuple(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


async def _make_role(db: psycopg.AsyncConnection) -> None:
    found = await (await db.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (ROLE,))).fetchone()
    if found is None:
        await db.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(ROLE)))
    await db.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(sql.Identifier(ROLE)))


async def _protect_profile_table(db: psycopg.AsyncConnection) -> None:
    """Let the profiles' role see the current profile's row only; the catalogue's owner sees all rows."""
    role = sql.Identifier(ROLE)
    await db.execute("ALTER TABLE profile ENABLE ROW LEVEL SECURITY")
    await db.execute(
        sql.SQL("CREATE POLICY own ON profile TO {} USING ({})").format(role, sql.SQL("id = " + _CURRENT_PROFILE))
    )
    await db.execute(sql.SQL("GRANT SELECT, UPDATE ON profile TO {}").format(role))


async def _distribute(db: psycopg.AsyncConnection, table: str) -> None:
    """Distribute a table by profile: a profile's rows of all tables are on one node. The catalogue stays local."""
    await _enable_row_security(
        db, sql.Identifier(table), sql.Identifier(ROLE), sql.SQL("profile = " + _CURRENT_PROFILE)
    )
    beside = "none" if table == COLOCATION_TABLE else COLOCATION_TABLE
    await db.execute("SELECT create_distributed_table(%s, 'profile', colocate_with => %s)", (table, beside))


async def _partition(db: psycopg.AsyncConnection, table: str) -> None:
    """Create a table's partitions, each with the table's name in a schema of its own: the search path selects one.

    No statistics are kept on which profiles a partition holds. With an old list, the planner would assume that a new
    profile has no rows, and choose plans that take minutes.
    """
    name, role = sql.Identifier(table), sql.Identifier(ROLE)
    own = sql.SQL("profile = " + _CURRENT_PROFILE)
    for n in range(PARTITION_COUNT):
        schema, each = sql.Identifier(partition_schema(n)), sql.Identifier(partition_schema(n), table)
        await db.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(schema))
        await db.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(schema, role))
        await db.execute(
            sql.SQL("CREATE TABLE {} PARTITION OF {} FOR VALUES WITH (MODULUS {}, REMAINDER {})").format(
                each, name, sql.Literal(PARTITION_COUNT), sql.Literal(n)
            )
        )
        await _enable_row_security(db, each, role, own)
    await _enable_row_security(db, name, role, own)


async def _enable_row_security(
    db: psycopg.AsyncConnection, table: sql.Identifier, role: sql.Identifier, own: sql.SQL
) -> None:
    await db.execute(sql.SQL("ALTER TABLE {} ALTER COLUMN profile SET STATISTICS 0").format(table))
    await db.execute(sql.SQL("ALTER TABLE {} ENABLE ROW LEVEL SECURITY").format(table))
    await db.execute(sql.SQL("ALTER TABLE {} FORCE ROW LEVEL SECURITY").format(table))
    await db.execute(sql.SQL("CREATE POLICY own ON {} TO {} USING ({}) WITH CHECK ({})").format(table, role, own, own))
    await db.execute(sql.SQL("GRANT SELECT, INSERT, UPDATE, DELETE ON {} TO {}").format(table, role))


def partition_schema(partition: int) -> str:
    return f"holdfast_{partition:02}"
