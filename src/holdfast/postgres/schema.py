"""The schema: migrations under one lock, each table in hash partitions by profile, behind row-level security.

A transaction names its profile by SET LOCAL and acts as a role that owns nothing and cannot bypass the policies: one
that names none sees no row. Migrations are hash-checked and have SQLite's numbers.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib import resources

import psycopg
from psycopg import sql

from ..errors import StorageError, TooNew
from ..moments import micros, now

PARTITIONS = 32
ROLE = "holdfast_profile"
LOCK = 0x686F6C64
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
    """Bring the database up to date; others that start at the same moment wait."""
    async with db.transaction():
        await db.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        await _check_vector(db)
        await db.execute(
            "CREATE TABLE IF NOT EXISTS migration "
            "(family text, number integer, sha256 text NOT NULL, at bigint NOT NULL, PRIMARY KEY (family, number))"
        )
        await _make_role(db)
        citus = await (await db.execute("SELECT 1 FROM pg_extension WHERE extname = 'citus'")).fetchone() is not None
        rows = await (await db.execute("SELECT family, number, sha256 FROM migration")).fetchall()
        done = {(family, number): sha for family, number, sha in rows}
        known = {(family, number) for family, number, _, _ in migrations()}
        if set(done) - known:
            raise TooNew("The database was written by a newer Holdfast.", fix="Upgrade with: pip install -U holdfast")
        for family, number, sha, text in migrations():
            if done.get((family, number), sha) != sha:
                raise StorageError(f"Migration {number} ({family}) is not the one this database was built with.")
            if (family, number) not in done:
                await _run(db, text, citus)
                if (family, number) == ("catalogue", 1):
                    await _guard_profiles(db)
                row = (family, number, sha, micros(now()))
                await db.execute("INSERT INTO migration VALUES (%s, %s, %s, %s)", row)


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


async def _run(db: psycopg.AsyncConnection, text: str, citus: bool) -> None:
    """A migration's own statements, then what spreads its tables: over Citus's nodes, or over partitions."""
    tables = _TABLE.findall(text)
    await db.execute(text.replace(_BY_HASH, "") if citus else text)
    for table in tables:
        await (_distribute(db, table) if citus else _divide(db, table))
    if tables:
        await db.execute(sql.SQL("GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {}").format(sql.Identifier(ROLE)))


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
