"""A Where → SQLite's SQL. `filters.passes` is the meaning; a property test compares the two."""

from __future__ import annotations

from typing import Any

from ..conditions import COLUMNS, SIGNS, Sql, any_of, bound, compiled
from ..types import Test, Where

KNOWN_THEN = (
    "memory.updated_at <= ? AND (memory.superseded_by IS NULL "
    "OR (SELECT next.updated_at FROM memory AS next WHERE next.id = memory.superseded_by) > ?)"
)
"""Whether a memory was known, and not yet superseded, at a moment; given twice."""


def condition(where: Where | None, table: str) -> Sql:
    return compiled(where, table, _tested)


def _tested(test: Test, table: str) -> Sql:
    if "." in test.field:
        return _metadata(test.field, test.op, test.value, table)
    column = COLUMNS[table].get(test.field)
    if column is None:
        return "false", []
    match test.op:
        case "exists":
            return f"{column} IS NOT NULL", []
        case "in":
            return f"{column} IN ({', '.join('?' * len(test.value))})", [bound(each) for each in test.value]
        case "prefix":
            return f"substr({column}, 1, ?) = ?", [len(test.value), test.value]
        case op:
            return f"{column} {SIGNS[op]} ?", [bound(test.value)]


def _metadata(field: str, op: str, value: Any, table: str) -> Sql:
    path = "$" + "".join(f'."{name}"' for name in field.removeprefix("metadata.").split("."))
    column = f"{table}.metadata"
    if op == "exists":
        return f"json_type({column}, ?) IS NOT NULL", [path]
    if op == "in":
        return any_of([_metadata(field, "eq", each, table) for each in value])
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
