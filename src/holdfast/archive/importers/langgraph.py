"""Parses a dump of a LangGraph store: items with a namespace, a key and a value."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from holdfast.archive.importers.types import (
    ImportedItem,
    ImportedStatement,
    clean_text,
    field_error,
    first_moment,
    optional_text,
)

TEXT_FIELDS = ("content", "text", "memory", "data")


def matches(first: dict[str, Any]) -> bool:
    return isinstance(first.get("namespace"), list | str) and isinstance(first.get("key"), str) and "value" in first


def parse_entry(entry: Any, where: str) -> Iterator[ImportedItem]:
    if not isinstance(entry, dict):
        raise field_error(where, "item", entry, "an object")
    space, key, value = entry.get("namespace"), entry.get("key"), entry.get("value")
    names = space.split(".") if isinstance(space, str) else space
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise field_error(where, "namespace", space, "a list of texts")
    if not isinstance(key, str) or not key.strip():
        raise field_error(where, "key", key, "text")
    if not isinstance(value, dict):
        raise field_error(where, "value", value, "an object")
    about = {"source": "langgraph", "namespace": names, "updated_at": entry.get("updated_at")}
    yield ImportedStatement(
        _content(value),
        key=clean_text("/".join([*names, key])),
        value=value,
        metadata={name: each for name, each in about.items() if each not in (None, [])},
        occurred_at=first_moment(entry, where, "created_at", "createdAt"),
    )


def _content(value: dict[str, Any]) -> str:
    """The text of a value, else the whole value as JSON."""
    inner = value.get("content")
    text = optional_text(inner, *TEXT_FIELDS) if isinstance(inner, dict) else optional_text(value, *TEXT_FIELDS)
    return clean_text(json.dumps(value, ensure_ascii=False)) if text is None else text
