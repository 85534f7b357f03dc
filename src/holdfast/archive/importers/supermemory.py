"""Parses Supermemory: documents with their text and the memories extracted from them, as its API lists them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from holdfast.archive.importers.types import (
    ImportedConversation,
    ImportedItem,
    ImportedStatement,
    field_error,
    first_moment,
    import_session_id,
    messages_for_ingest,
    optional_text,
    required_text,
)

MARKING_FIELDS = ("createdAt", "updatedAt", "containerTags", "customId", "spaceId", "memoryEntries", "isLatest")
METADATA_FIELDS = ("containerTags", "customId", "type", "url", "source")


def matches(first: dict[str, Any]) -> bool:
    return any(name in first for name in MARKING_FIELDS) and ("id" in first or "memory" in first or "content" in first)


def parse_entry(item: Any, where: str) -> Iterator[ImportedItem]:
    if not isinstance(item, dict):
        raise field_error(where, "entry", item, "an object")
    entries = item.get("memoryEntries") or []
    if not isinstance(entries, list):
        raise field_error(where, "memoryEntries", entries, "a list")
    if isinstance(item.get("memory"), str):
        yield from _statement(item, where)
        return
    text = optional_text(item, "content", "raw", "summary")
    if text is None and not entries:
        raise field_error(where, "content", item.get("content"), "text")
    if text is not None:
        id = required_text(item, "id", where)
        about = _metadata(item, where) | {"title": optional_text(item, "title")}
        messages = messages_for_ingest("document", text, first_moment(item, where, "createdAt"), about)
        yield ImportedConversation(
            import_session_id("supermemory", optional_text(item, "customId") or id), tuple(messages)
        )
    for n, entry in enumerate(entries):
        yield from _statement(entry, f"{where}, memoryEntries[{n}]")


def _statement(item: Any, where: str) -> Iterator[ImportedItem]:
    if not isinstance(item, dict) or not isinstance(item.get("memory"), str):
        raise field_error(where, "memory", item, "text")
    if item.get("isForgotten") is True or item.get("isLatest") is False or not item["memory"].strip():
        return
    yield ImportedStatement(
        required_text(item, "memory", where),
        metadata=_metadata(item, where),
        occurred_at=first_moment(item, where, "createdAt"),
        expires_at=first_moment(item, where, "forgetAfter"),
    )


def _metadata(item: dict[str, Any], where: str) -> dict[str, Any]:
    given = item.get("metadata") or {}
    if not isinstance(given, dict):
        raise field_error(where, "metadata", given, "an object")
    kept = {name: item[name] for name in METADATA_FIELDS if item.get(name) not in (None, [], "")}
    return dict(given) | kept | {"source": "supermemory", "supermemory_id": item.get("id")}
