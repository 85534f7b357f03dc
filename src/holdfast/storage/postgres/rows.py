"""Adds PostgreSQL's own SQL to the rows of storage/rows.py, and finds rows of memories by reference: `X@3` names a
version, `X` the newest version of X."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from holdfast.domain.types import Json
from holdfast.storage import rows
from holdfast.storage.postgres.connections import Db, Row, query
from holdfast.storage.rows import (
    STATE,
    memory,
    memory_row,
    message,
    message_row,
)

compact_json = rows.compact_json
WRITTEN_MESSAGE, WRITTEN_MEMORY = rows.MESSAGE, rows.MEMORY
MESSAGE = rows.MESSAGE.replace("metadata", "metadata::text")
MEMORY = rows.MEMORY.replace("metadata", "metadata::text")
SOURCES = (
    "(SELECT coalesce(json_agg(s.message ORDER BY s.place)::text, '[]') FROM source s "
    "WHERE s.profile = memory.profile AND s.memory = memory.n)"
)
_TYPES: dict[Any, str] = {
    str: "text", str | None: "text", int: "bigint", datetime: "bigint", datetime | None: "bigint",
    dict[str, Json]: "jsonb", bool: "boolean",
}  # fmt: skip
MESSAGE_ARRAYS = ", ".join(f"%s::{_TYPES[hint]}[]" for hint in rows.MESSAGE_COLUMNS.types.values())
"""Parameters for many messages: one array per column, which unnest turns into rows."""

__all__ = [
    "BY_REFERENCE", "MEMORY", "MESSAGE", "MESSAGE_ARRAYS", "SOURCES", "STATE", "WRITTEN_MEMORY", "WRITTEN_MESSAGE",
    "columns", "memory", "memory_numbers", "memory_row", "message", "message_row", "version_numbers",
]  # fmt: skip
BY_REFERENCE = """
SELECT wanted.ref, found.n, found.id, found.ref
  FROM unnest(%(refs)s::text[]) WITH ORDINALITY AS wanted (ref, place), LATERAL (
  SELECT n, id, ref, 0 AS rank, version FROM memory WHERE profile = %(p)s AND ref = wanted.ref
  UNION ALL
  SELECT n, id, ref, 1, version FROM memory
   WHERE profile = %(p)s AND ref > wanted.ref || '@' AND ref < wanted.ref || 'A' AND id = wanted.ref
  UNION ALL
  SELECT memory.n, memory.id, memory.ref, 2, memory.version
    FROM (SELECT id FROM memory WHERE profile = %(p)s AND origin = wanted.ref OFFSET 0) AS drafted,
    LATERAL (SELECT * FROM memory WHERE profile = %(p)s AND ref > drafted.id || '@' AND ref < drafted.id || 'A'
             AND memory.id = drafted.id OFFSET 0) AS memory
  ORDER BY 4, 5 DESC LIMIT 1
) AS found ORDER BY wanted.place
"""


async def memory_numbers(db: Db, profile: int, references: Sequence[str]) -> dict[str, int]:
    """Reference → the row of that version, or of the newest version of an id; see `Store.get`."""
    found = await query(db, BY_REFERENCE, {"p": profile, "refs": list(references)}) if references else []
    return {reference: n for reference, n, _, _ in found}


async def version_numbers(db: Db, profile: int, references: Sequence[str]) -> list[int]:
    """The rows of the versions that references name, and of all versions of a memory, newest first, for its id."""
    numbers: list[int] = []
    for reference, n, id, ref in await query(db, BY_REFERENCE, {"p": profile, "refs": list(references)}):
        every = "SELECT n FROM memory WHERE profile = %s AND ref > %s AND ref < %s AND id = %s ORDER BY version DESC"
        bound = (profile, f"{id}@", f"{id}A", id)
        numbers += [n] if ref == reference else [each for (each,) in await query(db, every, bound)]
    return list(dict.fromkeys(numbers))


def columns(rows: Sequence[Row]) -> list[list[Any]]:
    """Rows as arrays for unnest, which turns them into rows again: one statement for any number of rows."""
    return [list(column) for column in zip(*rows, strict=True)]
