"""A Where → PostgreSQL's SQL. `filters.passes` is the meaning; a property test compares the two."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..conditions import COLUMNS, SIGNS, Sql, any_of, bound, compiled
from ..types import Test, Where

KNOWN_THEN = (
    "memory.updated_at <= %s AND (memory.superseded_by IS NULL OR (SELECT next.updated_at FROM memory AS next "
    "WHERE next.profile = memory.profile AND next.id = memory.superseded_by) > %s)"
)
"""Whether a memory was known, and not yet superseded, at a moment; given twice."""


def condition(where: Where | None, table: str, mark: Callable[[str], str]) -> Sql:
    """`mark` makes of a fingerprint what the table holds of it."""

    def tested(test: Test, table: str) -> Sql:
        if test.field == "fingerprint":
            marked = tuple(map(mark, test.value)) if test.op == "in" else mark(test.value)
            test = replace(test, value=marked)
        return _tested(test, table)

    return compiled(where, table, tested)


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
            return f"{column} = ANY(%s)", [[bound(each) for each in test.value]]
        case "prefix":
            return f"starts_with({column}, %s)", [test.value]
        case op:
            return f"{column} {SIGNS[op]} %s", [bound(test.value)]


def _metadata(field: str, op: str, value: Any, table: str) -> Sql:
    path = field.removeprefix("metadata.").split(".")
    found = f"{table}.metadata #> %s"
    if op == "exists":
        return f"{found} IS NOT NULL", [path]
    if op == "in":
        return any_of([_metadata(field, "eq", each, table) for each in value])
    if value is None or isinstance(value, bool):
        return f"{found} = %s::jsonb", [path, json.dumps(value)]
    text = f"({table}.metadata #>> %s)"
    if isinstance(value, str):
        holds = f"starts_with({text}, %s)" if op == "prefix" else f'{text} COLLATE "C" {SIGNS[op]} %s'
        return f"CASE WHEN jsonb_typeof({found}) = 'string' THEN {holds} ELSE false END", [path, path, value]
    holds = f"{text}::numeric {SIGNS[op]} %s::numeric"
    return f"CASE WHEN jsonb_typeof({found}) = 'number' THEN {holds} ELSE false END", [path, path, str(value)]
