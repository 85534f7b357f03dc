"""Pure: from what a caller writes to a `Where`, and whether an item passes it.

    {"kind": "fact", "metadata.price": {"gte": 10, "lt": 20}}           fields side by side mean and
    {"or": [{"agent": "sales"}, {"not": {"metadata.tags": {"in": ["x"]}}}]}

Two-valued on purpose: a comparison with something absent is false, and `not` turns it true. Backends compile a Where
to bound parameters; `passes` is the meaning they must agree with.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, get_args

from .errors import InvalidInput, shown
from .moments import moment
from .types import All, Either, Item, Json, Memory, Message, Not, Op, Test, Where

TEXT_FIELDS = ("kind", "key", "session_id", "agent", "trust", "role", "speaker")
TIME_FIELDS = ("time", "created_at", "occurred_at")
OPS: tuple[str, ...] = get_args(Op)
ORDERED = ("gt", "gte", "lt", "lte")
DEEPEST = 16
MOST_TESTS = 500


def parse(filter: object = None, **shorthand: object) -> Where | None:
    """The Where of a filter dict and of keyword shorthands (kind=, key=, key_prefix=, session_id=, agent=, since=…)."""
    tests = [_named(name, _shorthand, name, value) for name, value in shorthand.items() if value is not None]
    if filter is not None:
        tests.append(_clause(filter, depth=0))
    if sum(_size(test) for test in tests) > MOST_TESTS:
        raise InvalidInput(f"filter has more than {MOST_TESTS:,} comparisons and values.", field="filter")
    return None if not tests else tests[0] if len(tests) == 1 else All(tuple(tests))


def says_something(where: Where) -> bool:
    """Whether it has any condition at all."""
    match where:
        case All(parts) | Either(parts):
            return any(says_something(part) for part in parts)
        case Not(part):
            return says_something(part)
        case Test(_, op, value):
            return not (op == "prefix" and not value)


def passes(where: Where | None, item: Item) -> bool:
    match where:
        case None:
            return True
        case All(parts):
            return all(passes(part, item) for part in parts)
        case Either(parts):
            return any(passes(part, item) for part in parts)
        case Not(part):
            return not passes(part, item)
        case Test(field, op, value):
            return _holds(op, _value(item, field), value)


def _shorthand(name: str, value: object) -> Where:
    match name:
        case "key_prefix":
            return _test("key", "prefix", value)
        case "since":
            return _test("time", "gte", moment(value, name))
        case "until":
            return _test("time", "lt", moment(value, name))
        case _:
            return _test(name, "in" if isinstance(value, list | tuple | set) else "eq", value)


def _named(name: str, check: Callable[..., Where], *given: object) -> Where:
    """The check's result; its error names the argument that the caller wrote."""
    try:
        return check(*given)
    except InvalidInput as bad:
        bad.field = name
        raise


def _clause(clause: object, depth: int) -> Where:
    if not isinstance(clause, Mapping):
        raise InvalidInput(f"filter: expected an object of conditions, got {shown(clause)}.", field="filter")
    if depth > DEEPEST:
        raise InvalidInput(f"filter is nested deeper than {DEEPEST} levels.", field="filter")
    parts: list[Where] = []
    for name, value in clause.items():
        if name in ("and", "or"):
            if not isinstance(value, list | tuple) or not value:
                raise InvalidInput(f"filter: {name!r} takes a non-empty list, got {shown(value)}.", field="filter")
            inner = tuple(_clause(part, depth + 1) for part in value)
            parts.append(All(inner) if name == "and" else Either(inner))
        elif name == "not":
            parts.append(Not(_clause(value, depth + 1)))
        elif isinstance(value, Mapping):
            _known(str(name))
            parts += [_test(name, op, operand) for op, operand in value.items()]
        else:
            parts.append(_test(name, "eq", value))
    return parts[0] if len(parts) == 1 else All(tuple(parts))


def _test(field: object, op: object, value: Any) -> Where:
    field = {"session": "session_id"}.get(str(field), str(field))
    if op not in OPS:
        raise InvalidInput(f"filter: {shown(op)} is no operator; use one of {', '.join(OPS)}.", field=f"filter.{field}")
    if op == "exists":
        if not isinstance(value, bool):
            raise InvalidInput(f"filter: exists takes true or false, got {shown(value)}.", field=f"filter.{field}")
        _known(field)
        return Test(field, "exists", True) if value else Not(Test(field, "exists", True))
    if op in ("in", "nin"):
        if not isinstance(value, list | tuple | set):
            raise InvalidInput(f"filter: {op} takes a list, got {shown(value)}.", field=f"filter.{field}")
        _known(field)
        within = Test(field, "in", tuple(_operand(field, "eq", each) for each in value))
        return within if op == "in" else Not(within)
    operand = _operand(field, op, value)
    return Not(Test(field, "eq", operand)) if op == "ne" else Test(field, op, operand)  # type: ignore[arg-type]


def _operand(field: str, op: object, value: Any) -> Json:
    _known(field)
    if field in TIME_FIELDS:
        if op == "prefix":
            raise InvalidInput("filter: prefix is for text, not for a time.", field=f"filter.{field}")
        return moment(value, f"filter.{field}")
    text_only = field in TEXT_FIELDS or op == "prefix"
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InvalidInput(f"filter: {shown(value)} is not valid Unicode.", field=f"filter.{field}") from None
        return unicodedata.normalize("NFC", value.strip() if op != "prefix" else value) if field == "key" else value
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if text_only or not (value is None or isinstance(value, bool) or number):
        wanted = "a string" if text_only else "a string, number, boolean or null"
        raise InvalidInput(f"filter: {field} {op} takes {wanted}, got {shown(value)}.", field=f"filter.{field}")
    if number and not abs(value) < 2**63:
        raise InvalidInput(f"filter: the number {shown(value)} is out of range.", field=f"filter.{field}")
    if op in ORDERED and not number:
        raise InvalidInput(f"filter: {op} takes a number or a string, got {shown(value)}.", field=f"filter.{field}")
    return value


def _known(field: str) -> None:
    if field in TEXT_FIELDS or field in TIME_FIELDS:
        return
    path = field.removeprefix("metadata.")
    if (
        not path.isprintable()
        or not field.startswith("metadata.")
        or not all(path.split("."))
        or any(c in path for c in '"\\\0')
    ):
        known = ", ".join((*TEXT_FIELDS, *TIME_FIELDS, "metadata.<name>"))
        raise InvalidInput(f"filter: {shown(field)} is no field; use one of {known}.", field="filter")


def _size(where: Where) -> int:
    match where:
        case All(parts) | Either(parts):
            return 1 + sum(_size(part) for part in parts)
        case Not(part):
            return 1 + _size(part)
        case Test(_, "in", values):
            return max(1, len(values))
        case _:
            return 1


def _value(item: Item, field: str) -> Any:
    if field.startswith("metadata."):
        found: Any = item.metadata
        for name in field.removeprefix("metadata.").split("."):
            if not isinstance(found, dict) or name not in found:
                return _ABSENT
            found = found[name]
        return found
    if isinstance(item, Message):
        value = {"kind": "message", "time": item.said_at}.get(field) or getattr(item, field, None)
    else:
        value = memory_time(item) if field == "time" else getattr(item, field, None)
    return _ABSENT if value is None else value


def memory_time(memory: Memory) -> datetime:
    """The moment a memory is about: when it happened, else when it was written."""
    return memory.occurred_at or memory.created_at


_ABSENT = object()


def _sort(value: Any) -> str:
    """The JSON type; values of different types never compare equal or ordered."""
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def _holds(op: Op, value: Any, operand: Any) -> bool:
    if value is _ABSENT:
        return False
    if op == "exists":
        return True
    if op == "in":
        return any(_holds("eq", value, each) for each in operand)
    if _sort(value) != _sort(operand):
        return False
    match op:
        case "prefix":
            return bool(value.startswith(operand))
        case "gt":
            return bool(value > operand)
        case "gte":
            return bool(value >= operand)
        case "lt":
            return bool(value < operand)
        case "lte":
            return bool(value <= operand)
        case _:
            return bool(value == operand)
