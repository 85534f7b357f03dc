"""A Where → SQL with bound parameters. `filters.passes` is the meaning; a property test compares the two."""

from __future__ import annotations

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
            return "1", []
        case All(parts):
            return _joined(parts, table, "AND", "1")
        case Either(parts):
            return _joined(parts, table, "OR", "0")
        case Not(part):
            sql, bound = condition(part, table)
            return f"NOT coalesce({sql}, 0)", bound  # two-valued here only: elsewhere it would hide the indexes
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
        return "0", []
    match op:
        case "exists":
            return f"{column} IS NOT NULL", []
        case "in":
            return f"{column} IN ({', '.join('?' * len(value))})", [_bound(each) for each in value]
        case "prefix":
            return f"substr({column}, 1, ?) = ?", [len(value), value]
        case _:
            return f"{column} {SIGNS[op]} ?", [_bound(value)]


def _metadata(field: str, op: str, value: Any, table: str) -> Sql:
    path = "$" + "".join(f'."{name}"' for name in field.removeprefix("metadata.").split("."))
    column = f"{table}.metadata"
    if op == "exists":
        return f"json_type({column}, ?) IS NOT NULL", [path]
    if op == "in":
        tests = [_metadata(field, "eq", each, table) for each in value]
        sql = " OR ".join(f"({sql})" for sql, _ in tests) or "0"
        return f"({sql})", [b for _, bound in tests for b in bound]
    if value is None or isinstance(value, bool):
        return f"json_type({column}, ?) = ?", [path, {None: "null", True: "true", False: "false"}[value]]
    found = f"json_extract({column}, ?)"
    if isinstance(value, str):
        typed = f"json_type({column}, ?) = 'text'"
        if op == "prefix":
            return f"{typed} AND substr({found}, 1, ?) = ?", [path, path, len(value), value]
    else:
        typed = f"json_type({column}, ?) IN ('integer', 'real')"
    return f"{typed} AND {found} {SIGNS[op]} ?", [path, path, value]


def _bound(value: Any) -> Any:
    return micros(value) if isinstance(value, datetime) else value
