"""Parses mem0: the answer of `get_all` or an export, a list of memories with their user, agent and run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from holdfast.archive.importers.types import (
    ImportedItem,
    ImportedStatement,
    clean_text,
    field_error,
    first_moment,
    import_session_id,
    optional_text,
)

MARKING_FIELDS = ("hash", "user_id", "agent_id", "run_id", "app_id", "created_at", "updated_at", "categories")
METADATA_FIELDS = ("user_id", "app_id", "actor_id", "categories", "structured_attributes", "updated_at")


def matches(first: dict[str, Any]) -> bool:
    return isinstance(first.get("memory"), str) and any(name in first for name in MARKING_FIELDS)


def parse_entry(entry: Any, where: str) -> Iterator[ImportedItem]:
    if not isinstance(entry, dict) or not isinstance(entry.get("memory"), str):
        raise field_error(where, "memory", entry.get("memory") if isinstance(entry, dict) else entry, "text")
    content = clean_text(entry["memory"])
    if not content.strip():
        return
    given = entry.get("metadata") or {}
    if not isinstance(given, dict):
        raise field_error(where, "metadata", given, "an object")
    about = {"source": "mem0", "mem0_id": entry.get("id")} | {name: entry.get(name) for name in METADATA_FIELDS}
    run = optional_text(entry, "run_id")
    yield ImportedStatement(
        content,
        metadata=dict(given) | {name: value for name, value in about.items() if value not in (None, [], "")},
        session_id=None if run is None else import_session_id("mem0", run),
        agent=optional_text(entry, "agent_id"),
        occurred_at=first_moment(entry, where, "created_at"),
        expires_at=first_moment(entry, where, "expiration_date"),
    )
