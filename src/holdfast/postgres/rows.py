"""What PostgreSQL's own SQL adds to the rows of stored.py."""

from __future__ import annotations

from .. import stored
from ..stored import STATE, memory, memory_row, message, message_row, packed

WRITTEN_MESSAGE, WRITTEN_MEMORY = stored.MESSAGE, stored.MEMORY
MESSAGE = stored.MESSAGE.replace("metadata", "metadata::text")
MEMORY = stored.MEMORY.replace("metadata", "metadata::text")
SOURCES = (
    "(SELECT coalesce(json_agg(s.message ORDER BY s.place)::text, '[]') FROM source s "
    "WHERE s.profile = memory.profile AND s.memory = memory.n)"
)

__all__ = [
    "MEMORY", "MESSAGE", "SOURCES", "STATE", "WRITTEN_MEMORY", "WRITTEN_MESSAGE", "memory", "memory_row", "message",
    "message_row", "packed",
]  # fmt: skip
