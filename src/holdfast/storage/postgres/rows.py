"""Adds PostgreSQL's own SQL to the rows of storage/rows.py."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from holdfast.domain.types import Json
from holdfast.storage import rows
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
    "MEMORY", "MESSAGE", "MESSAGE_ARRAYS", "SOURCES", "STATE", "WRITTEN_MEMORY", "WRITTEN_MESSAGE", "memory",
    "memory_row", "message", "message_row",
]  # fmt: skip
