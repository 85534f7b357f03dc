"""Pure: compiles a Where into a SQL expression with bound parameters; a backend supplies the test of one field."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from holdfast.domain.timestamps import to_micros
from holdfast.domain.types import All, Either, Not, Order, Test, Where
from holdfast.storage import cursors, rows

Sql = tuple[str, list[Any]]
"""An expression and its parameters."""
COLUMNS = {
    "message": rows.MESSAGE_COLUMNS.scalars | {
        "kind": "'message'", "time": "coalesce(message.said_at, message.created_at)",
    },
    "memory": rows.MEMORY_COLUMNS.scalars | {
        "fingerprint": "memory.fingerprint", "time": "coalesce(memory.occurred_at, memory.created_at)",
    },
}  # fmt: skip
"""Field → the SQL that a test of it compares."""
OPERATORS = {"eq": "=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
MEMBERSHIP = {"contains": "eq", "icontains": "ieq"}
"""What these operators compare a list's members with."""
SORT_VALUES = {
    "written": "memory.n",
    "updated": "memory.updated_at",
    "created": "memory.created_at",
    "occurred": "coalesce(memory.occurred_at, memory.created_at)",
}
"""Order → the SQL by whose value memories are listed; equal ones by `memory.n`."""
FieldTestCompiler = Callable[[Test, str], Sql]
"""Compiles the test of one field of the table `message` or `memory`."""

_HAS_VALUE = re.compile(r"\(([\w.]+) IS NOT NULL\)")


def compile_where(where: Where | None, table: str, test_sql: FieldTestCompiler) -> Sql:
    """An expression for WHERE. It may be NULL except under NOT: coalesce would keep an index from being used."""
    match where:
        case None:
            return "true", []
        case All(parts):
            return _combined([compile_where(part, table, test_sql) for part in parts], "AND", "true")
        case Either(parts):
            return _combined([compile_where(part, table, test_sql) for part in parts], "OR", "false")
        case Not(part):
            sql, bound = compile_where(part, table, test_sql)
            if column := _HAS_VALUE.fullmatch(sql):
                return f"({column[1]} IS NULL)", bound  # an index may be of rows without a value
            return f"NOT coalesce({sql}, false)", bound
        case Test():
            sql, bound = test_sql(where, table)
            return f"({sql})", bound


def sort_value(order: Order) -> str:
    return SORT_VALUES[order.removesuffix("_asc")]


def ordering(order: Order) -> str:
    """An expression for ORDER BY."""
    way = "ASC" if order.endswith("_asc") else "DESC"
    return f"memory.n {way}" if sort_value(order) == "memory.n" else f"{sort_value(order)} {way}, memory.n {way}"


def continuation(order: Order, cursor: str | None, mark: str) -> Sql:
    """The condition on rows after the cursor; `mark` stands for a parameter."""
    if cursor is None:
        return "true", []
    value, n = cursors.decode_place(cursor, order)
    after = ">" if order.endswith("_asc") else "<"
    if sort_value(order) == "memory.n":
        return f"memory.n {after} {mark}", [n]
    return f"({sort_value(order)}, memory.n) {after} ({mark}, {mark})", [value, n]


def any_of(tests: list[Sql]) -> Sql:
    return _combined([(f"({sql})", bound) for sql, bound in tests], "OR", "false")


def _combined(parts: list[Sql], word: str, empty: str) -> Sql:
    if not parts:
        return empty, []
    return f"({f' {word} '.join(sql for sql, _ in parts)})", [b for _, bound in parts for b in bound]


def sql_value(value: Any) -> Any:
    return to_micros(value) if isinstance(value, datetime) else value
