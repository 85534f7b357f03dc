"""A Where → SQL with bound parameters. `filters.passes` is the meaning; a property test compares the two."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from ..moments import micros
from ..types import All, Either, Not, Test, Where

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
        "time": "coalesce(memory.occurred_at, memory.created_at)",
    },
}  # fmt: skip
SIGNS = {"eq": "=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


def condition(where: Where | None, table: str) -> Sql:
    """A two-valued SQL expression over `message` or `memory`."""
    match where:
        case None:
            return "true", []
        case All(parts):
            return _joined(parts, table, "AND", "true")
        case Either(parts):
            return _joined(parts, table, "OR", "false")
        case Not(part):
            sql, bound = condition(part, table)
            return f"NOT coalesce({sql}, false)", bound
        case Test(field, op, value):
            sql, bound = _metadata(field, op, value, table) if "." in field else _column(field, op, value, table)
            return f"({sql})", bound


def _joined(parts: tuple[Where, ...], table: str, word: str, empty: str) -> Sql:
    compiled = [condition(part, table) for part in parts]
    if not compiled:
        return empty, []
    return f"({f' {word} '.join(sql for sql, _ in compiled)})", [b for _, bound in compiled for b in bound]


def _column(field: str, op: str, value: Any, table: str) -> Sql:
    column = COLUMNS[table].get(field)
    if column is None:
        return "false", []
    match op:
        case "exists":
            return f"{column} IS NOT NULL", []
        case "in":
            return f"{column} = ANY(%s)", [[_bound(each) for each in value]]
        case "prefix":
            return f"starts_with({column}, %s)", [value]
        case _:
            return f"{column} {SIGNS[op]} %s", [_bound(value)]


def _metadata(field: str, op: str, value: Any, table: str) -> Sql:
    path = field.removeprefix("metadata.").split(".")
    found = f"{table}.metadata #> %s"
    if op == "exists":
        return f"{found} IS NOT NULL", [path]
    if op == "in":
        tests = [_metadata(field, "eq", each, table) for each in value]
        return " OR ".join(f"({sql})" for sql, _ in tests) or "false", [b for _, bound in tests for b in bound]
    if value is None or isinstance(value, bool):
        return f"{found} = %s::jsonb", [path, json.dumps(value)]
    text = f"({table}.metadata #>> %s)"
    if isinstance(value, str):
        holds = f"starts_with({text}, %s)" if op == "prefix" else f'{text} COLLATE "C" {SIGNS[op]} %s'
        return f"CASE WHEN jsonb_typeof({found}) = 'string' THEN {holds} ELSE false END", [path, path, value]
    holds = f"{text}::numeric {SIGNS[op]} %s::numeric"
    return f"CASE WHEN jsonb_typeof({found}) = 'number' THEN {holds} ELSE false END", [path, path, str(value)]


def _bound(value: Any) -> Any:
    return micros(value) if isinstance(value, datetime) else value
