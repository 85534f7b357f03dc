"""An index of its own for a giant profile's vectors.

A profile's vectors are compared one by one, exactly: fast for almost all of them. From `GIANT` parts on a profile gets
an HNSW index with nothing but its own vectors in it, built without a lock while everything goes on. (One index over all
profiles with a filter on top would throw away most of what it finds.)
"""

from __future__ import annotations

import asyncio
import hashlib
import logging

import psycopg

from ..errors import HoldfastError
from .base import Base, Db, query

log = logging.getLogger("holdfast")
GIANT = 100_000
"""Parts. At 50,000 the index was no faster than comparing them all, at 200,000 several times."""
SCANNING = "SET LOCAL hnsw.ef_search = 200; SET LOCAL hnsw.iterative_scan = 'strict_order'; SET LOCAL enable_sort = off"
"""How many neighbours the index looks at, the more the nearer to exact; it goes on when a filter takes some. Without
statistics by profile, which mislead in all other cases, the planner would rather sort what it thinks are few."""
SCANNED = "SET LOCAL enable_sort = on"


class Indexes:
    def __init__(self, base: Base) -> None:
        self._base = base
        self._building: dict[int, asyncio.Task[None]] = {}

    def consider(self, profile: int, model: str) -> None:
        """Give a giant its index, in the background."""
        if profile not in self._building or self._building[profile].done():
            self._building[profile] = asyncio.create_task(self._see_to(profile, model), name="holdfast-index")

    async def drop(self, profile: int) -> None:
        for name in await self._base.read(None, lambda db: _held(db, profile)):
            await self._base.alone(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")

    async def stop(self) -> None:
        for task in self._building.values():
            task.cancel()
        await asyncio.gather(*self._building.values(), return_exceptions=True)

    async def _see_to(self, profile: int, model: str) -> None:
        try:
            row = await self._base.read(
                None, lambda db: query(db, "SELECT parts, near_index FROM profile WHERE id = %s", (profile,))
            )
            if row and row[0][0] >= GIANT and row[0][1] != model:
                await self._build(profile, model)
        except (HoldfastError, psycopg.Error) as failure:
            log.warning("profile %d has no index of its own yet: %s", profile, failure)
        finally:
            self._building.pop(profile, None)

    async def _build(self, profile: int, model: str) -> None:
        name = index_name(profile, model)
        for old in await self._base.read(None, lambda db: _held(db, profile)):
            await self._base.alone(f"DROP INDEX CONCURRENTLY IF EXISTS {old}")  # of another model, or half built
        await self._base.alone(
            f"CREATE INDEX CONCURRENTLY {name} ON {self._base.home(profile)}.part "
            f"USING hnsw ((near::halfvec({_dimensions(model)})) halfvec_ip_ops) "
            f"WHERE profile = {profile} AND model = {_literal(model).replace('%%', '%')} AND NOT memory"
        )
        await self._base.write(
            None, lambda db: query(db, "UPDATE profile SET near_index = %s WHERE id = %s", (model, profile))
        )


def ordering(profile: int, model: str, memory: bool, giant: bool) -> tuple[str, str]:
    """(what to order by, which rows), written so that a giant's index fits; without one they are read one by one.

    Only its messages are in the index: even a giant has few memories.
    """
    which = "part.memory" if memory else "NOT part.memory"
    mine = f"part.profile = {int(profile)} AND part.model = {_literal(model)} AND {which}"
    return (f"(part.near::halfvec({_dimensions(model)}))" if giant else "part.near"), mine


def _dimensions(model: str) -> int:
    return int(model.rsplit("/", 1)[1])


def _literal(text: str) -> str:
    """As SQL writes it; a statement with placeholders around it."""
    return "'" + text.replace("'", "''").replace("%", "%%") + "'"


def index_name(profile: int, model: str) -> str:
    return f"near_{profile}_{hashlib.sha256(model.encode()).hexdigest()[:8]}"


async def _held(db: Db, profile: int) -> list[str]:
    """Indexes that this profile has, unless somebody is building them right now."""
    found = await query(
        db,
        "SELECT oid::regclass::text FROM pg_class WHERE relkind = 'i' AND starts_with(relname, %s) "
        "AND NOT EXISTS (SELECT 1 FROM pg_stat_progress_create_index WHERE index_relid = pg_class.oid)",
        (f"near_{profile}_",),
    )
    return [str(name) for (name,) in found]
