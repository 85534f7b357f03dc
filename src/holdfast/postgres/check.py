"""Facts about a database for `holdfast doctor`. Looks, and changes nothing."""

from __future__ import annotations

from dataclasses import dataclass

import psycopg

from ..bookmarks import numbered
from .schema import ROLE, VECTOR, migrations, versioned


@dataclass(frozen=True, slots=True)
class Health:
    """What a database says about itself."""

    server: str
    vector: str | None
    spread: str
    """How tables are spread: over partitions, by Citus, or not yet."""
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
        return self.vector is not None and versioned(self.vector) >= VECTOR


def health(dsn: str) -> Health:
    with psycopg.connect(dsn, connect_timeout=5, autocommit=True, prepare_threshold=None) as db:

        def one(statement: str, *bound: object) -> object:
            found = db.execute(statement, bound).fetchone()
            return None if found is None else found[0]

        begun = one("SELECT to_regclass('migration')") is not None
        done = (
            {(f, n): sha for f, n, sha in db.execute("SELECT family, number, sha256 FROM migration")} if begun else {}
        )
        known = {(family, number): sha for family, number, sha, _ in migrations()}
        safe = "SELECT NOT rolsuper AND NOT rolbypassrls FROM pg_roles WHERE rolname = %s"
        return Health(
            server=str(one("SHOW server_version")),
            vector=_text(one("SELECT extversion FROM pg_extension WHERE extname = 'vector'")),
            spread=_spread(one("SELECT 1 FROM pg_extension WHERE extname = 'citus'") is not None, begun, db),
            level=len(done),
            newest=len(known),
            changed=tuple(f"{family}/{n}" for (family, n), sha in done.items() if known.get((family, n)) != sha),
            walled=bool(one(safe, ROLE)),
            profiles=_count(one("SELECT count(*) FROM profile")) if begun else 0,
            sealed=_count(one("SELECT count(*) FROM profile WHERE key IS NOT NULL")) if begun else 0,
            waiting=_count(one("SELECT count(*) FROM profile WHERE rested_under IS NULL")) if begun else 0,
            processes=_count(one("SELECT count(*) FROM process WHERE seen_at > now() - interval '30 s'"))
            if begun
            else 0,
        )


def lag(dsn: str, replica: str) -> int:
    """How many bytes of the primary's log the replica has not replayed; -1 when it is no replica."""
    with (
        psycopg.connect(dsn, connect_timeout=5, autocommit=True) as primary,
        psycopg.connect(replica, connect_timeout=5, autocommit=True) as other,
    ):
        here = primary.execute("SELECT pg_current_wal_lsn()").fetchone()
        there = other.execute("SELECT pg_last_wal_replay_lsn()").fetchone()
    if here is None or there is None or there[0] is None:
        return -1
    return max(0, numbered(str(here[0])) - numbered(str(there[0])))


def _spread(citus: bool, begun: bool, db: psycopg.Connection[tuple[object, ...]]) -> str:
    if not begun:
        return "not yet: the first start makes them"
    if citus:
        return "distributed by Citus"
    found = db.execute("SELECT count(*) FROM pg_inherits WHERE inhparent = 'message'::regclass").fetchone()
    return f"{_count(found[0]) if found else 0} hash partitions"


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _count(value: object) -> int:
    return int(str(value))
