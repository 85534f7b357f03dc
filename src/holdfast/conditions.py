"""Pure: a Where → a SQL expression with bound parameters, for backends that say how they test one field."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from .moments import micros
from .types import All, Either, Not, Test, Where

Sql = tuple[str, list[Any]]
COLUMNS = {
    "message": {
        "kind": "'message'", "session_id": "message.session", "agent": "message.agent", "role": "message.role",
        "speaker": "message.speaker", "created_at": "message.created_at",
        "time": "coalesce(message.said_at, message.created_at)",
    },
    "memory": {
        "kind": "memory.kind", "key": "memory.key", "session_id": "memory.session", "agent": "memory.agent",
        "trust": "memory.trust", "expires_at": "memory.expires_at", "fingerprint": "memory.fingerprint",
        "created_at": "memory.created_at", "occurred_at": "memory.occurred_at",
        "time": "coalesce(memory.occurred_at, memory.created_at)", "confidence": "memory.confidence",
        "marks": "memory.marks", "reviewed_at": "memory.reviewed_at", "updated_at": "memory.updated_at",
    },
}  # fmt: skip
SIGNS = {"eq": "=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
Tested = Callable[[Test, str], Sql]
"""How a backend tests one field of `message` or `memory`."""


def compiled(where: Where | None, table: str, tested: Tested) -> Sql:
    """An expression that is true or not; elsewhere than under NOT it may be NULL, which would hide no index."""
    match where:
        case None:
            return "true", []
        case All(parts):
            return _joined([compiled(part, table, tested) for part in parts], "AND", "true")
        case Either(parts):
            return _joined([compiled(part, table, tested) for part in parts], "OR", "false")
        case Not(part):
            sql, bound = compiled(part, table, tested)
            return f"NOT coalesce({sql}, false)", bound
        case Test():
            sql, bound = tested(where, table)
            return f"({sql})", bound


def any_of(tests: list[Sql]) -> Sql:
    return _joined([(f"({sql})", bound) for sql, bound in tests], "OR", "false")


def _joined(parts: list[Sql], word: str, empty: str) -> Sql:
    if not parts:
        return empty, []
    return f"({f' {word} '.join(sql for sql, _ in parts)})", [b for _, bound in parts for b in bound]


def bound(value: Any) -> Any:
    return micros(value) if isinstance(value, datetime) else value
