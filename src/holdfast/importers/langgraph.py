"""A dump of a LangGraph store: items with a namespace, a key and a value."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .found import Found, Statement, clean, maybe_text, when, wrong

SAYING = ("content", "text", "memory", "data")


def knows(first: dict[str, Any]) -> bool:
    return isinstance(first.get("namespace"), list | str) and isinstance(first.get("key"), str) and "value" in first


def read(told: Any, where: str) -> Iterator[Found]:
    if not isinstance(told, dict):
        raise wrong(where, "item", told, "an object")
    space, key, value = told.get("namespace"), told.get("key"), told.get("value")
    names = space.split(".") if isinstance(space, str) else space
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise wrong(where, "namespace", space, "a list of texts")
    if not isinstance(key, str) or not key.strip():
        raise wrong(where, "key", key, "text")
    if not isinstance(value, dict):
        raise wrong(where, "value", value, "an object")
    about = {"source": "langgraph", "namespace": names, "updated_at": told.get("updated_at")}
    yield Statement(
        _content(value),
        key=clean("/".join([*names, key])),
        value=value,
        metadata={name: each for name, each in about.items() if each not in (None, [])},
        occurred_at=when(told, where, "created_at", "createdAt"),
    )


def _content(value: dict[str, Any]) -> str:
    """What it says in words, else the whole of it."""
    inner = value.get("content")
    found = maybe_text(inner, *SAYING) if isinstance(inner, dict) else maybe_text(value, *SAYING)
    return clean(json.dumps(value, ensure_ascii=False)) if found is None else found
