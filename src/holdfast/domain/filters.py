"""Pure: parses a caller's filter into a `Where`, and checks whether an item passes it.

    {"kind": "fact", "metadata.price": {"gte": 10, "lt": 20}}           all fields must match
    {"or": [{"agent": "sales"}, {"not": {"metadata.tags": {"in": ["x"]}}}]}

Logic is two-valued on purpose: a comparison with an absent field is false, and `not` makes it true. A comparison with a
list holds when it holds for one of its members; for `contains` and `icontains` that is membership. Backends compile a
Where to SQL with bound parameters and must agree with `passes`, which defines its meaning.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, get_args

from holdfast.domain import limits
from holdfast.domain.errors import InvalidInput, nearest_names, quoted_value
from holdfast.domain.timestamps import parse_moment
from holdfast.domain.types import (
    All,
    Either,
    Item,
    Json,
    Memory,
    Message,
    Not,
    Op,
    Test,
    Where,
)

TEXT_FIELDS = ("id", "kind", "key", "content", "summary", "session_id", "agent", "trust", "role", "speaker")
LIST_FIELDS = ("keywords", "sources")
"""Lists of texts. An empty one counts as absent."""
TIME_FIELDS = ("time", "created_at", "updated_at", "occurred_at", "expires_at")
NUMBER_FIELDS = ("version",)
FIELDS = (*TEXT_FIELDS, *LIST_FIELDS, *TIME_FIELDS, *NUMBER_FIELDS)
OPS: tuple[str, ...] = get_args(Op)
ORDERED = ("gt", "gte", "lt", "lte")
SUBSTRING = ("prefix", "contains", "icontains")
CONDITIONS = ("kind", "key", "key_prefix", "session_id", "agent", "since", "until", "filter")
"""The conditions that a verb takes as arguments."""
OTHER_ARGUMENTS = (
    "query", "limit", "min_relevance", "reference_date", "as_of", "order", "exclude_session", "thinking_level",
    "response_length", "tokens", "summaries", "cursor", "superseded", "expired", "total", "by", "dry_run",
)  # fmt: skip
"""What else the verbs with conditions take, for proposals in errors."""
GROUPS: dict[str, type[All | Either]] = {"and": All, "all": All, "or": Either, "any": Either}
"""Name of a list of conditions → what joins them; `all` and `any` are other names of `and` and `or`."""


def parse_filter(filter: object = None, **shorthand: object) -> Where | None:
    """Parse a filter dict and shorthands (kind=, key=, key_prefix=, session_id=, agent=, since=…) into a Where."""
    for name in shorthand:
        _check_argument(name)
    tests = [_named(name, _shorthand, name, value) for name, value in shorthand.items() if value is not None]
    if filter is not None:
        tests.append(_clause(filter, depth=0))
    if sum(_size(test) for test in tests) > limits.MAX_FILTER_TESTS:
        raise InvalidInput(f"filter has more than {limits.MAX_FILTER_TESTS:,} comparisons and values.", field="filter")
    return None if not tests else tests[0] if len(tests) == 1 else All(tuple(tests))


def is_restrictive(where: Where) -> bool:
    """Whether the filter has any condition at all."""
    match where:
        case All(parts) | Either(parts):
            return any(is_restrictive(part) for part in parts)
        case Not(part):
            return is_restrictive(part)
        case Test(_, op, value):
            return not (op in SUBSTRING and value == "")


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
            return any(holds_for(op, each, value) for each in _values(item, field))


def _check_argument(name: str) -> None:
    """Refuse a keyword that no verb takes, in terms of a call: its caller gave no filter."""
    if name in (*CONDITIONS, *FIELDS, "session") or name.startswith("metadata."):
        return
    alike = nearest_names(name, [each for each in (*CONDITIONS, *OTHER_ARGUMENTS) if each != name])
    raise InvalidInput(
        f"{quoted_value(name)} is not an argument of this call.{alike}", field=name,
        fix=f"Conditions are {', '.join(CONDITIONS)}.",
    )  # fmt: skip


def _shorthand(name: str, value: object) -> Where:
    match name:
        case "key_prefix":
            return _test("key", "prefix", value)
        case "since":
            return _test("time", "gte", parse_moment(value, name))
        case "until":
            return _test("time", "lt", parse_moment(value, name))
        case _:
            return _test(name, "in" if isinstance(value, list | tuple | set) else "eq", value)


def _named(name: str, check: Callable[..., Where], *given: object) -> Where:
    """Return the check's result; an error names the argument that the caller gave."""
    try:
        return check(*given)
    except InvalidInput as bad:
        bad.field = name
        raise


def _clause(clause: object, depth: int) -> Where:
    if not isinstance(clause, Mapping):
        raise InvalidInput(f"filter: expected an object of conditions, got {quoted_value(clause)}.", field="filter")
    if depth > limits.MAX_FILTER_DEPTH:
        raise InvalidInput(f"filter is nested deeper than {limits.MAX_FILTER_DEPTH} levels.", field="filter")
    parts: list[Where] = []
    for name, value in clause.items():
        if name in GROUPS:
            if not isinstance(value, list | tuple) or not value:
                raise InvalidInput(
                    f"filter: {name!r} takes a non-empty list of conditions, got {quoted_value(value)}.",
                    field=f"filter.{name}",
                )
            parts.append(GROUPS[name](tuple(_clause(part, depth + 1) for part in value)))
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
        raise InvalidInput(
            f"filter: {quoted_value(op)} is not an operator of {field}; use one of {', '.join(OPS)}.",
            field=f"filter.{field}",
        )
    if op == "exists":
        if not isinstance(value, bool):
            raise InvalidInput(
                f"filter: exists takes true or false, got {quoted_value(value)}.", field=f"filter.{field}"
            )
        _known(field)
        return Test(field, "exists", True) if value else Not(Test(field, "exists", True))
    if op in ("in", "nin"):
        if not isinstance(value, list | tuple | set):
            raise InvalidInput(f"filter: {op} takes a list, got {quoted_value(value)}.", field=f"filter.{field}")
        _known(field)
        within = Test(field, "in", tuple(_operand(field, "eq", each) for each in value))
        return within if op == "in" else Not(within)
    operand = _operand(field, op, value)
    return Not(Test(field, "eq", operand)) if op == "ne" else Test(field, op, operand)  # type: ignore[arg-type]


def _operand(field: str, op: object, value: Any) -> Json:
    _known(field)
    where = f"filter.{field}"
    if field in TIME_FIELDS:
        if op in SUBSTRING:
            raise InvalidInput(
                f"filter: {op} is for text, and {field} is a time; use eq, in, gt, gte, lt or lte.", field=where
            )
        return parse_moment(value, where)
    if isinstance(value, str) and field not in NUMBER_FIELDS:
        return _text(field, op, value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    plain = value is None or isinstance(value, bool) or number
    wanted = _wanted_operand(field, op)
    if not (number if wanted == "a number" else plain and wanted != "a string"):
        raise InvalidInput(f"filter: {field} {op} takes {wanted}, got {quoted_value(value)}.", field=where)
    if number and not abs(value) < 2**63:
        raise InvalidInput(f"filter: the number {quoted_value(value)} is out of range.", field=where)
    if op in ORDERED and not number:
        raise InvalidInput(f"filter: {op} takes a number or a string, got {quoted_value(value)}.", field=where)
    return value


def _wanted_operand(field: str, op: object) -> str:
    """What an operator on a field compares with, in words."""
    if field in NUMBER_FIELDS and op not in SUBSTRING:
        return "a number"
    if field in NUMBER_FIELDS:
        raise InvalidInput(
            f"filter: {op} is for text, and {field} is a number; use eq, in, gt, gte, lt or lte.",
            field=f"filter.{field}",
        )
    text_only = field in TEXT_FIELDS or field in LIST_FIELDS or op in ("prefix", "icontains")
    return "a string" if text_only else "a string, number, boolean or null"


def _text(field: str, op: object, value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"filter: {quoted_value(value)} is not valid Unicode.", field=f"filter.{field}") from None
    if "\0" in value:
        raise InvalidInput(
            f"filter: the text has a NUL character at {value.index(chr(0))}; remove it.", field=f"filter.{field}"
        )
    if field != "key":
        return value
    return unicodedata.normalize("NFC", value if op in SUBSTRING else value.strip())


def _known(field: str) -> None:
    if field in FIELDS:
        return
    path = field.removeprefix("metadata.")
    if (
        not path.isprintable()
        or not field.startswith("metadata.")
        or not all(path.split("."))
        or any(c in path for c in '"\\\0')
    ):
        known = ", ".join((*FIELDS, "metadata.<name>"))
        raise InvalidInput(f"filter: {quoted_value(field)} is not a field; use one of {known}.", field="filter")


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


def _values(item: Item, field: str) -> list[Any]:
    """What a field holds; more than one value where a path leads through a list of objects, none where it is absent."""
    if field.startswith("metadata."):
        return values_at(item.metadata, field.removeprefix("metadata.").split("."))
    if isinstance(item, Message):
        value = {"kind": "message", "time": item.said_at}.get(field) or getattr(item, field, None)
    else:
        value = memory_time(item) if field == "time" else getattr(item, field, None)
    return [] if value is None or value == () else [value]


def values_at(data: Json, path: Sequence[str]) -> list[Any]:
    """The values at a path in JSON. A list on the way stands for its members."""
    found = [data]
    for name in path:
        inner = [each for value in found for each in (value if isinstance(value, list) else [value])]
        found = [each[name] for each in inner if isinstance(each, dict) and name in each]
    return found


def memory_time(memory: Memory) -> datetime:
    """The time that a memory is about: when it happened, else when it was written."""
    return memory.occurred_at or memory.created_at


def _sort(value: Any) -> str:
    """The JSON type; values of different types never compare equal or ordered."""
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def holds_for(op: str, value: Any, operand: Any) -> bool:
    """Whether a comparison holds for a value that is there."""
    if op == "exists":
        return True
    if isinstance(value, list | tuple):
        inner = {"contains": "eq", "icontains": "ieq"}.get(op, op)
        return any(holds_for(inner, each, operand) for each in value if not isinstance(each, list | tuple))
    if op == "in":
        return any(holds_for("eq", value, each) for each in operand)
    if _sort(value) != _sort(operand):
        return False
    match op:
        case "prefix":
            return bool(value.startswith(operand))
        case "contains":
            return isinstance(value, str) and operand in value
        case "icontains":
            return operand.casefold() in value.casefold()
        case "ieq":
            return bool(operand.casefold() == value.casefold())
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


def keyless(where: Where) -> Where:
    """The same, for memories without a key only: an index has their fingerprints."""
    return All((where, Not(Test("key", "exists", True))))
