"""Checks a database for `holdfast doctor`. Nothing is changed."""

from __future__ import annotations

from dataclasses import dataclass

import psycopg

from holdfast.domain.tracing import bookmark_number
from holdfast.storage.postgres.schema import MIN_PGVECTOR_VERSION, ROLE, migrations, version_tuple


@dataclass(frozen=True, slots=True)
class DatabaseHealth:
    """The state of a database."""

    server: str
    vector: str | None
    spread: str
    """How tables are distributed: over partitions, by Citus, or not yet."""
    level: int
    newest: int
    changed: tuple[str, ...]
    walled: bool
    """Whether the profiles' role exists and cannot bypass row-level security."""
    profiles: int
    sealed: int
    waiting: int
    processes: int

    @property
    def vector_will_do(self) -> bool:
        return self.vector is not None and version_tuple(self.vector) >= MIN_PGVECTOR_VERSION


def check_database(dsn: str) -> DatabaseHealth:
    """Read the state of the database; it may be empty or of another version."""
    with psycopg.connect(dsn, connect_timeout=5, autocommit=True, prepare_threshold=None) as db:

        def one(statement: str, *bound: object) -> object:
            found = db.execute(statement, bound).fetchone()
            return None if found is None else found[0]

        migrated = one("SELECT to_regclass('migration')") is not None
        done = (
            {(f, n): sha for f, n, sha in db.execute("SELECT family, number, sha256 FROM migration")}
            if migrated
            else {}
        )
        known = {(family, number): sha for family, number, sha, _ in migrations()}
        cannot_bypass = "SELECT NOT rolsuper AND NOT rolbypassrls FROM pg_roles WHERE rolname = %s"
        return DatabaseHealth(
            server=str(one("SHOW server_version")),
            vector=_optional_text(one("SELECT extversion FROM pg_extension WHERE extname = 'vector'")),
            spread=_table_layout(one("SELECT 1 FROM pg_extension WHERE extname = 'citus'") is not None, migrated, db),
            level=len(done),
            newest=len(known),
            changed=tuple(f"{family}/{n}" for (family, n), sha in done.items() if known.get((family, n)) != sha),
            walled=bool(one(cannot_bypass, ROLE)),
            profiles=_count(one("SELECT count(*) FROM profile")) if migrated else 0,
            sealed=_count(one("SELECT count(*) FROM profile WHERE key IS NOT NULL")) if migrated else 0,
            waiting=_count(one("SELECT count(*) FROM profile WHERE rested_under IS NULL")) if migrated else 0,
            processes=_count(one("SELECT count(*) FROM process WHERE seen_at > now() - interval '30 s'"))
            if migrated
            else 0,
        )


def replica_lag_bytes(dsn: str, replica: str) -> int:
    """The bytes of the primary's log that the replica has not replayed; -1 when the server is not a replica."""
    with (
        psycopg.connect(dsn, connect_timeout=5, autocommit=True) as primary,
        psycopg.connect(replica, connect_timeout=5, autocommit=True) as other,
    ):
        here = primary.execute("SELECT pg_current_wal_lsn()").fetchone()
        there = other.execute("SELECT pg_last_wal_replay_lsn()").fetchone()
    if here is None or there is None or there[0] is None:
        return -1
    return max(0, bookmark_number(str(here[0])) - bookmark_number(str(there[0])))


def _table_layout(citus: bool, migrated: bool, db: psycopg.Connection[tuple[object, ...]]) -> str:
    if not migrated:
        return "not yet: the first start makes them"
    if citus:
        return "distributed by Citus"
    found = db.execute("SELECT count(*) FROM pg_inherits WHERE inhparent = 'message'::regclass").fetchone()
    return f"{_count(found[0]) if found else 0} hash partitions"


def _optional_text(value: object) -> str | None:
    return None if value is None else str(value)


def _count(value: object) -> int:
    return int(str(value))
