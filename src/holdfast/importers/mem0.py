"""mem0: what `get_all` answers or an export holds, a list of memories with who they are about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .found import Found, Statement, clean, maybe_text, session_of, when, wrong

SNAKE = ("hash", "user_id", "agent_id", "run_id", "app_id", "created_at", "updated_at", "categories")
KEPT = ("user_id", "app_id", "actor_id", "categories", "structured_attributes", "updated_at")


def knows(first: dict[str, Any]) -> bool:
    return isinstance(first.get("memory"), str) and any(name in first for name in SNAKE)


def read(told: Any, where: str) -> Iterator[Found]:
    if not isinstance(told, dict) or not isinstance(told.get("memory"), str):
        raise wrong(where, "memory", told.get("memory") if isinstance(told, dict) else told, "text")
    content = clean(told["memory"])
    if not content.strip():
        return
    given = told.get("metadata") or {}
    if not isinstance(given, dict):
        raise wrong(where, "metadata", given, "an object")
    about = {"source": "mem0", "mem0_id": told.get("id")} | {name: told.get(name) for name in KEPT}
    run = maybe_text(told, "run_id")
    yield Statement(
        content,
        metadata=dict(given) | {name: value for name, value in about.items() if value not in (None, [], "")},
        session_id=None if run is None else session_of("mem0", run),
        agent=maybe_text(told, "agent_id"),
        occurred_at=when(told, where, "created_at"),
        expires_at=when(told, where, "expiration_date"),
    )
