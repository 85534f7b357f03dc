"""Compiles a Where into SQLite's SQL. `filters.passes` defines the meaning; a property test compares the two."""

from __future__ import annotations

import json
from typing import Any

import apsw

from holdfast.domain.filters import holds_for, values_at
from holdfast.domain.types import Test, Where
from holdfast.storage.where import (
    COLUMNS,
    MEMBERSHIP,
    OPERATORS,
    Sql,
    any_of,
    compile_where,
    sql_value,
)

KNOWN_AT = (
    "memory.updated_at <= ? AND (memory.superseded_by IS NULL "
    "OR (SELECT next.updated_at FROM memory AS next WHERE next.ref = memory.superseded_by) > ?)"
)
"""Whether a memory was written and not yet superseded at a moment; the moment is bound twice."""
_MEMBERS = {
    "keywords": ("json_each.value", "SELECT 1 FROM json_each(memory.keywords) WHERE {}"),
    "sources": ("source.message", "SELECT 1 FROM source WHERE source.memory = memory.n AND {}"),
}
"""Field that is a list → the SQL of a member, and of the members that satisfy a condition."""
_JSON_TYPES = {None: "null", True: "true", False: "false"}


def add_functions(db: apsw.Connection) -> None:
    """Register the functions that conditions need and SQLite does not have."""
    db.create_scalar_function("casefold", _casefold, 1, deterministic=True)
    db.create_scalar_function("json_holds", _json_holds, 2, deterministic=True)


def _casefold(*given: Any) -> str | None:
    (text,) = given
    return text.casefold() if isinstance(text, str) else None


def _json_holds(*given: Any) -> bool:
    data, test = map(json.loads, given)
    path, op, operand = test
    return any(holds_for(op, each, operand) for each in values_at(data, path))


def condition(where: Where | None, table: str) -> Sql:
    return compile_where(where, table, _test_sql)


def _test_sql(test: Test, table: str) -> Sql:
    if "." in test.field:
        return _metadata_sql(test, table)
    if test.field in _MEMBERS:
        return _list_sql(test) if table == "memory" else ("false", [])
    column = COLUMNS[table].get(test.field)
    if column is None:
        return "false", []
    return (f"{column} IS NOT NULL", []) if test.op == "exists" else _value_sql(column, test.op, test.value)


def _value_sql(found: str, op: str, value: Any) -> Sql:
    """Compares one text, number or time."""
    match op:
        case "in":
            return f"{found} IN ({', '.join('?' * len(value))})", [sql_value(each) for each in value]
        case "prefix":
            return f"substr({found}, 1, ?) = ?", [len(value), value]
        case "contains":
            return f"instr({found}, ?) > 0", [value]
        case "icontains":
            return f"instr(casefold({found}), ?) > 0", [value.casefold()]
        case "ieq":
            return f"casefold({found}) = ?", [value.casefold()]
        case _:
            return f"{found} {OPERATORS[op]} ?", [sql_value(value)]


def _list_sql(test: Test) -> Sql:
    member, having = _MEMBERS[test.field]
    if test.op == "exists":
        return f"EXISTS ({having.format('true')})", []
    sql, bound = _value_sql(member, MEMBERSHIP.get(test.op, test.op), test.value)
    return f"EXISTS ({having.format(sql)})", bound


def _metadata_sql(test: Test, table: str) -> Sql:
    names = test.field.removeprefix("metadata.").split(".")
    paths = ["$" + "".join(f'."{name}"' for name in names[:n]) for n in range(1, len(names) + 1)]
    column = f"{table}.metadata"
    sql, bound = _path_sql(column, paths[-1], test.op, test.value)
    if len(paths) == 1:
        return sql, bound
    through_list = " OR ".join([f"json_type({column}, ?) = 'array'"] * (len(paths) - 1))
    given = json.dumps([names, test.op, test.value])
    return f"CASE WHEN {through_list} THEN json_holds({column}, ?) ELSE {sql} END", [*paths[:-1], given, *bound]


def _path_sql(column: str, path: str, op: str, value: Any) -> Sql:
    """Compares the value at a path with no list on the way: itself, or its members when it is a list."""
    if op == "exists":
        return f"json_type({column}, ?) IS NOT NULL", [path]
    if op == "in":
        return any_of([_path_sql(column, path, "eq", each) for each in value])
    inner, inner_bound = _json_sql("json_each.type", "json_each.value", MEMBERSHIP.get(op, op), value)
    alone, alone_bound = _json_sql(f"json_type({column}, ?)", f"json_extract({column}, ?)", op, value)
    places = [path] * (alone.count("?") - len(alone_bound))
    return (
        f"CASE json_type({column}, ?) WHEN 'array' THEN "
        f"EXISTS (SELECT 1 FROM json_each({column}, ?) WHERE {inner}) ELSE {alone} END",
        [path, path, *inner_bound, *places, *alone_bound],
    )


def _json_sql(type: str, found: str, op: str, value: Any) -> Sql:
    """Compares a JSON value that is no list; places of `type` and `found` come before those of the operand."""
    if value is None or isinstance(value, bool):
        return (f"{type} = ?", [_JSON_TYPES[value]]) if op == "eq" else ("false", [])
    if isinstance(value, str):
        sql, bound = _value_sql(found, op, value)
        return f"{type} = 'text' AND {sql}", bound
    if op == "contains":
        return "false", []
    return f"{type} IN ('integer', 'real') AND {found} {OPERATORS[op]} ?", [value]
