"""What SQLite's own SQL adds to the rows of stored.py."""

from __future__ import annotations

from ..stored import MEMORY, MESSAGE, STATE, memory, memory_row, message, message_row, packed

SOURCES = "(SELECT json_group_array(s.message ORDER BY s.place) FROM source s WHERE s.memory = memory.n)"

__all__ = ["MEMORY", "MESSAGE", "SOURCES", "STATE", "memory", "memory_row", "message", "message_row", "packed"]
