"""Supermemory: documents with what they say, and the memories drawn from them, as its API lists them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .found import Conversation, Found, Statement, maybe_text, said, session_of, text_of, when, wrong

CAMEL = ("createdAt", "updatedAt", "containerTags", "customId", "spaceId", "memoryEntries", "isLatest")
KEPT = ("containerTags", "customId", "type", "url", "source")


def knows(first: dict[str, Any]) -> bool:
    return any(name in first for name in CAMEL) and ("id" in first or "memory" in first or "content" in first)


def read(told: Any, where: str) -> Iterator[Found]:
    if not isinstance(told, dict):
        raise wrong(where, "entry", told, "an object")
    entries = told.get("memoryEntries") or []
    if not isinstance(entries, list):
        raise wrong(where, "memoryEntries", entries, "a list")
    if isinstance(told.get("memory"), str):
        yield from _statement(told, where)
        return
    text = maybe_text(told, "content", "raw", "summary")
    if text is None and not entries:
        raise wrong(where, "content", told.get("content"), "text")
    if text is not None:
        id = text_of(told, "id", where)
        about = _about(told, where) | {"title": maybe_text(told, "title")}
        messages = said("document", text, when(told, where, "createdAt"), about)
        yield Conversation(session_of("supermemory", maybe_text(told, "customId") or id), tuple(messages))
    for n, entry in enumerate(entries):
        yield from _statement(entry, f"{where}, memoryEntries[{n}]")


def _statement(told: Any, where: str) -> Iterator[Found]:
    if not isinstance(told, dict) or not isinstance(told.get("memory"), str):
        raise wrong(where, "memory", told, "text")
    if told.get("isForgotten") is True or told.get("isLatest") is False or not told["memory"].strip():
        return
    yield Statement(
        text_of(told, "memory", where),
        metadata=_about(told, where),
        occurred_at=when(told, where, "createdAt"),
        expires_at=when(told, where, "forgetAfter"),
    )


def _about(told: dict[str, Any], where: str) -> dict[str, Any]:
    given = told.get("metadata") or {}
    if not isinstance(given, dict):
        raise wrong(where, "metadata", given, "an object")
    kept = {name: told[name] for name in KEPT if told.get(name) not in (None, [], "")}
    return dict(given) | kept | {"source": "supermemory", "supermemory_id": told.get("id")}
