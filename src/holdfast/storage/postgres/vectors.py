"""Writes the vectors of parts, and builds HNSW indexes for those of very large profiles.

A profile's vectors are compared one by one, exactly, which is fast for almost all profiles. From `MIN_INDEXED_PARTS`
parts on a profile gets an HNSW index of its own vectors only, built without a lock. (One index over all profiles with a
filter would discard most of what it finds.)
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import struct
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

from holdfast.domain.errors import HoldfastError
from holdfast.domain.types import Floats, Vector
from holdfast.domain.vectors import vector_bytes, vector_of_bytes
from holdfast.storage.postgres.connections import Database, Db, query
from holdfast.storage.tasks import end_tasks

log = logging.getLogger("holdfast")
MIN_INDEXED_PARTS = 100_000
"""Measured: at 50,000 parts the index was no faster than comparing all vectors, at 200,000 several times faster."""
BEGIN_INDEX_SCAN = (
    "SET LOCAL hnsw.ef_search = 200; SET LOCAL hnsw.iterative_scan = 'strict_order'; SET LOCAL enable_sort = off"
)
"""`ef_search` is the number of neighbours that the index examines: the higher, the closer to exact. The scan continues
when a filter removes results. The tables have no statistics by profile, since these would mislead the planner elsewhere
(schema.py). So the planner underestimates the rows and would sort them instead of using the index. 200 was chosen by
hand."""
END_INDEX_SCAN = "SET LOCAL enable_sort = on"
_REAL_OID, _REAL_ARRAY_OID = 700, 1021
_UPDATE_VECTORS = """
WITH wanted AS MATERIALIZED (
  SELECT found.n, new.model, new.data, (%(values)b)[new.first + 1 : new.first + new.size]::halfvec AS near
    FROM unnest(%(items)s::text[], %(numbers)s::integer[], %(models)s::text[], %(data)s::bytea[], %(firsts)s::integer[],
                %(sizes)s::integer[]) AS new (id, number, model, data, first, size),
    LATERAL (SELECT n FROM message WHERE profile = %(p)s AND message.id = new.id
             UNION ALL SELECT n FROM memory WHERE profile = %(p)s AND memory.ref = new.id) AS item,
    LATERAL (SELECT n FROM part WHERE profile = %(p)s AND part.item = item.n AND number = new.number OFFSET 0) AS found
)
UPDATE part SET model = wanted.model, near = wanted.near, data = wanted.data FROM wanted
 WHERE part.profile = %(p)s AND part.n = ANY(ARRAY(SELECT n FROM wanted)) AND part.n = wanted.n
"""
"""The numbers of all vectors come in one array, of which each takes its own. Parts are looked up by their keys: with
the last condition alone, the planner compares each vector with every part of the profile."""


class HnswIndexes:
    """Builds and drops the HNSW indexes of profiles."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._building: dict[int, asyncio.Task[None]] = {}

    def build_if_large(self, profile: int, model: str) -> None:
        """Build a large profile's index in the background, if it has none for this model."""
        if profile not in self._building or self._building[profile].done():
            self._building[profile] = asyncio.create_task(self._build_if_needed(profile, model), name="holdfast-index")

    async def drop(self, profile: int) -> None:
        for name in await self._database.read(None, lambda db: _load_index_names(db, profile)):
            await self._database.run_outside_transaction(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")

    async def stop(self) -> None:
        await end_tasks(self._building.values())

    async def _build_if_needed(self, profile: int, model: str) -> None:
        try:
            row = await self._database.read(
                None, lambda db: query(db, "SELECT parts, near_index FROM profile WHERE id = %s", (profile,))
            )
            if row and row[0][0] >= MIN_INDEXED_PARTS and row[0][1] != model:
                await self._build(profile, model)
        except (HoldfastError, psycopg.Error) as failure:
            log.warning("profile %d has no index of its own yet: %s", profile, failure)
        finally:
            self._building.pop(profile, None)

    async def _build(self, profile: int, model: str) -> None:
        name = index_name(profile, model)
        for old in await self._database.read(None, lambda db: _load_index_names(db, profile)):
            # The old index is for another model, or was not finished.
            await self._database.run_outside_transaction(f"DROP INDEX CONCURRENTLY IF EXISTS {old}")
        await self._database.run_outside_transaction(
            f"CREATE INDEX CONCURRENTLY {name} ON {self._database.schema(profile)}.part "
            f"USING hnsw ((near::halfvec({_dimensions(model)})) halfvec_ip_ops) "
            f"WHERE profile = {profile} AND model = {_sql_literal(model).replace('%%', '%')} AND NOT memory"
        )
        await self._database.write(
            None, lambda db: query(db, "UPDATE profile SET near_index = %s WHERE id = %s", (model, profile))
        )


def distance_ordering(profile: int, model: str, memory: bool, indexed: bool) -> tuple[str, str]:
    """The ORDER BY expression and the condition of a vector search, in the form that the HNSW index needs if `indexed`.

    Only messages are in the index: even a large profile has few memories. Every part with a vector is one to embed; the
    condition says so because the index by model has only those.
    """
    which = "part.memory" if memory else "NOT part.memory"
    mine = f"part.profile = {int(profile)} AND part.model = {_sql_literal(model)} AND {which} AND part.embed"
    return (f"(part.near::halfvec({_dimensions(model)}))" if indexed else "part.near"), mine


def _dimensions(model: str) -> int:
    return int(model.rsplit("/", 1)[1])


def _sql_literal(text: str) -> str:
    """A SQL string literal for a statement with placeholders, where % is doubled."""
    return "'" + text.replace("'", "''").replace("%", "%%") + "'"


def index_name(profile: int, model: str) -> str:
    return f"near_{profile}_{hashlib.sha256(model.encode()).hexdigest()[:8]}"


async def _load_index_names(db: Db, profile: int) -> list[str]:
    """The names of this profile's indexes without those being built now."""
    found = await query(
        db,
        "SELECT oid::regclass::text FROM pg_class WHERE relkind = 'i' AND starts_with(relname, %s) "
        "AND NOT EXISTS (SELECT 1 FROM pg_stat_progress_create_index WHERE index_relid = pg_class.oid)",
        (f"near_{profile}_",),
    )
    return [str(name) for (name,) in found]


class RealArray(NamedTuple):
    """Numbers that the database receives as `real[]`. As text, writing and parsing them takes most of a statement."""

    values: Floats


class RealArrayDumper(Dumper):
    """Writes a RealArray in PostgreSQL's binary form: a header, then the length and the value of each number."""

    format = Format.BINARY
    oid = _REAL_ARRAY_OID

    def dump(self, obj: RealArray) -> bytes:
        count = len(obj.values)
        numbers = np.empty(count, [("size", ">i4"), ("value", ">f4")])
        numbers["size"], numbers["value"] = 4, obj.values
        return struct.pack(">iiiii", 1, 0, _REAL_OID, count, 1) + numbers.tobytes()


psycopg.adapters.register_dumper(RealArray, RealArrayDumper)


async def write_vectors(db: Db, profile: int, vectors: Iterable[Vector]) -> None:
    """Set the vectors of existing parts; the last one given for a part counts."""
    last = {(vector.item, vector.number): vector for vector in vectors}
    if not last:
        return
    data = [vector_bytes(vector.values) for vector in last.values()]
    values = [vector_of_bytes([each])[0] for each in data]
    sizes = [len(each) for each in values]
    bound = {
        "p": profile,
        "items": [vector.item for vector in last.values()],
        "numbers": [vector.number for vector in last.values()],
        "models": [vector.model for vector in last.values()],
        "data": data,
        "values": RealArray(np.concatenate(values)),
        "sizes": sizes,
        "firsts": [0, *np.cumsum(sizes)[:-1].tolist()],
    }
    await db.execute(_UPDATE_VECTORS, bound)
