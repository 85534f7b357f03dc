"""Compiles a Where into PostgreSQL's SQL. `filters.passes` defines the meaning; a property test compares the two.

Some tests SQL cannot decide: case folding is Python's, and the database sees no word of encrypted columns. For these,
`exact_condition` reads the rows that the rest of the filter leaves, decides in Python, and names the rows that pass.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from holdfast.domain.filters import passes
from holdfast.domain.types import All, Either, Item, Not, Test, Where
from holdfast.storage.postgres import rows
from holdfast.storage.postgres.connections import Db, query
from holdfast.storage.postgres.encryption import ENCRYPTED_MEMORY_COLUMNS, ENCRYPTED_MESSAGE_COLUMNS, ProfileCipher
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
    "memory.updated_at <= %s AND (memory.superseded_by IS NULL OR (SELECT next.updated_at FROM memory AS next "
    "WHERE next.profile = memory.profile AND next.ref = memory.superseded_by) > %s)"
)
"""Whether a memory was written and not yet superseded at a moment; the moment is bound twice."""
ENCRYPTED_FIELDS = ("content", "summary", "keywords")
ROWS_AT_ONCE = 1_000
"""How many rows are read at once to decide in Python. Chosen by hand; not measured."""
_MEMBERS = {
    "keywords": ("member.value", "SELECT 1 FROM jsonb_array_elements_text(memory.keywords::jsonb) AS member WHERE {}"),
    "sources": (
        "member.message",
        "SELECT 1 FROM source AS member WHERE member.profile = memory.profile AND member.memory = memory.n AND {}",
    ),
}
"""Field that is a list → the SQL of a member, and of the members that satisfy a condition."""


async def exact_condition(db: Db, profile: int, cipher: ProfileCipher, where: Where | None, table: str) -> Sql:
    """The condition on rows of a table whose items pass the filter."""
    plain = plain_condition(cipher, where, table)
    if plain is not None:
        return plain
    sql, bound = _condition(_relaxed(where, cipher), table, cipher)
    columns = f"{rows.MEMORY}, {rows.SOURCES}" if table == "memory" else f"{rows.MESSAGE}, {rows.STATE}"
    statement = (
        f"SELECT {columns}, n FROM {table} WHERE profile = %s AND n > %s AND {sql} ORDER BY n LIMIT {ROWS_AT_ONCE}"
    )
    found: list[int] = []
    last = -(2**62)
    while True:
        read = await query(db, statement, (profile, last, *bound))
        found += [row[-1] for row in read if passes(where, _item(row[:-1], table, cipher))]
        if len(read) < ROWS_AT_ONCE:
            return f"{table}.n = ANY(%s::bigint[])", [found]
        last = read[-1][-1]


def plain_condition(cipher: ProfileCipher, where: Where | None, table: str) -> Sql | None:
    """The same without a look at the rows, where SQL decides every test of the filter; otherwise None."""
    return _condition(where, table, cipher) if _is_exact(where, cipher) else None


def _item(row: Any, table: str, cipher: ProfileCipher) -> Item:
    if table == "memory":
        return rows.memory(cipher.decrypt_row(row, ENCRYPTED_MEMORY_COLUMNS))
    return rows.message(cipher.decrypt_row(row, ENCRYPTED_MESSAGE_COLUMNS))


def _is_exact(where: Where | None, cipher: ProfileCipher) -> bool:
    """Whether SQL decides every test of the filter."""
    match where:
        case All(parts) | Either(parts):
            return all(_is_exact(part, cipher) for part in parts)
        case Not(part):
            return _is_exact(part, cipher)
        case Test(field, op, _):
            return op != "icontains" and not _is_hidden(field, cipher)
        case _:
            return True


def _is_hidden(field: str, cipher: ProfileCipher) -> bool:
    return cipher.encrypts and field in ENCRYPTED_FIELDS


def _relaxed(where: Where | None, cipher: ProfileCipher) -> Where | None:
    """A filter that SQL decides and that every passing item passes; None for one that all items pass."""
    match where:
        case All(parts):
            left = tuple(each for part in parts if (each := _relaxed(part, cipher)) is not None)
            return All(left) if left else None
        case Either(parts):
            every = [_relaxed(part, cipher) for part in parts]
            return None if None in every else Either(tuple(each for each in every if each is not None))
        case Not():
            return where if _is_exact(where, cipher) else None
        case Test(field, "icontains", _):
            return None if "." in field or field in _MEMBERS or _is_hidden(field, cipher) else where
        case _:
            return where if _is_exact(where, cipher) else None


def _condition(where: Where | None, table: str, cipher: ProfileCipher) -> Sql:
    def test_sql(test: Test, table: str) -> Sql:
        if test.field == "fingerprint":
            hashed = tuple(map(cipher.keyed_hash, test.value)) if test.op == "in" else cipher.keyed_hash(test.value)
            test = replace(test, value=hashed)
        return _test_sql(test, table)

    return compile_where(where, table, test_sql)


def _test_sql(test: Test, table: str) -> Sql:
    if "." in test.field:
        return _metadata_sql(test.field, test.op, test.value, table)
    if test.field in _MEMBERS:
        return _list_sql(test) if table == "memory" else ("false", [])
    column = COLUMNS[table].get(test.field)
    if column is None:
        return "false", []
    return (f"{column} IS NOT NULL", []) if test.op == "exists" else _value_sql(column, test.op, test.value)


def _value_sql(found: str, op: str, value: Any) -> Sql:
    """Compares one text, number or time; `icontains` is also true of every text that is not ASCII."""
    match op:
        case "in":
            return f"{found} = ANY(%s)", [[sql_value(each) for each in value]]
        case "prefix":
            return f"starts_with({found}, %s)", [value]
        case "contains":
            return f"strpos({found}, %s) > 0", [value]
        case "icontains":
            return (
                f'(octet_length({found}) > char_length({found}) OR strpos(lower({found} COLLATE "C"), %s) > 0)',
                [value.casefold()],
            )
        case "eq":
            return f"{found} = %s", [sql_value(value)]
        case _ if isinstance(value, str):
            return f'{found} COLLATE "C" {OPERATORS[op]} %s', [value]
        case _:
            return f"{found} {OPERATORS[op]} %s", [sql_value(value)]


def _list_sql(test: Test) -> Sql:
    member, having = _MEMBERS[test.field]
    if test.op == "exists":
        return f"EXISTS ({having.format('true')})", []
    sql, bound = _value_sql(member, MEMBERSHIP.get(test.op, test.op), test.value)
    return f"EXISTS ({having.format(sql)})", bound


def _metadata_sql(field: str, op: str, value: Any, table: str) -> Sql:
    """A lax path goes through lists on the way, and its filter looks at the members of a list at its end."""
    path = "lax $" + "".join(f".{json.dumps(name, ensure_ascii=False)}" for name in field.split(".")[1:])
    column = f"{table}.metadata"
    if op == "in":
        return any_of([_metadata_sql(field, "eq", each, table) for each in value])
    if op == "contains":
        holds = "strpos(found #>> '{}', %s) > 0" if isinstance(value, str) else "false"
        return (
            f"EXISTS (SELECT 1 FROM jsonb_path_query({column}, %s::jsonpath) AS found WHERE CASE jsonb_typeof(found) "
            "WHEN 'array' THEN EXISTS (SELECT 1 FROM jsonb_array_elements(found) AS member WHERE member = %s::jsonb) "
            f"WHEN 'string' THEN {holds} ELSE false END)",
            [path, json.dumps(value), *([value] if isinstance(value, str) else [])],
        )
    if op == "exists":
        return f"jsonb_path_exists({column}, %s::jsonpath)", [path]
    compare = {"eq": "@ == $v", "prefix": "@ starts with $v"}.get(op, f"@ {OPERATORS.get(op)} $v")
    return (
        f"jsonb_path_exists({column}, %s::jsonpath, %s::jsonb)",
        [f"{path} ? ({compare})", json.dumps({"v": value})],
    )
