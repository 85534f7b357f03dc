"""A filter, an order and counts written down as plainly as possible: what every backend must agree with.

It shares no code with the package and knows items as dictionaries only.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

from holdfast.domain.types import Memory, Message

SCALARS = (
    "id", "kind", "key", "content", "summary", "session_id", "agent", "trust", "role", "speaker", "created_at",
    "updated_at", "occurred_at", "expires_at", "version",
)  # fmt: skip


def fields_of(item: Memory | Message) -> dict[str, Any]:
    found = {name: getattr(item, name) for name in SCALARS if getattr(item, name, None) is not None}
    if isinstance(item, Message):
        return found | {"kind": "message", "time": item.timestamp or item.created_at, "metadata": item.metadata}
    lists = {name: list(getattr(item, name)) for name in ("keywords", "sources") if getattr(item, name)}
    return found | lists | {"time": item.occurred_at or item.created_at, "metadata": item.metadata}


def is_match(condition: dict[str, Any], item: dict[str, Any]) -> bool:
    return all(_clause(name, value, item) for name, value in condition.items())


def _clause(name: str, value: Any, item: dict[str, Any]) -> bool:
    if name in ("and", "all"):
        return all(is_match(each, item) for each in value)
    if name in ("or", "any"):
        return any(is_match(each, item) for each in value)
    if name == "not":
        return not is_match(value, item)
    tests = value if isinstance(value, dict) else {"eq": value}
    return all(_test(item, name.split("."), op, operand) for op, operand in tests.items())


def _test(item: dict[str, Any], path: list[str], op: str, operand: Any) -> bool:
    if op == "ne":
        return not _test(item, path, "eq", operand)
    if op == "nin":
        return not _test(item, path, "in", operand)
    found = list(_reached(item, path))
    if op == "exists":
        return bool(found) is operand
    return any(_compare_whole(each, op, operand) for each in found)


def _reached(value: Any, path: list[str]) -> Any:
    if not path:
        yield value
    elif isinstance(value, dict):
        if path[0] in value:
            yield from _reached(value[path[0]], path[1:])
    elif isinstance(value, list):
        for member in value:
            if isinstance(member, dict):
                yield from _reached(member, path)


def _compare_whole(value: Any, op: str, operand: Any) -> bool:
    if isinstance(value, list):
        same = {"contains": "eq", "icontains": "equal but for case"}.get(op, op)
        return any(_compare(each, same, operand) for each in value)
    return _compare(value, op, operand)


def _compare(value: Any, op: str, operand: Any) -> bool:
    if op == "in":
        return any(_compare(value, "eq", each) for each in operand)
    types = [bool, (int, float), str, type(None), datetime]
    if not any(_is_a(value, type) and _is_a(operand, type) for type in types):
        return False
    match op:
        case "eq":
            return bool(value == operand)
        case "gt":
            return bool(value > operand)
        case "gte":
            return bool(value >= operand)
        case "lt":
            return bool(value < operand)
        case "lte":
            return bool(value <= operand)
        case "prefix":
            return isinstance(value, str) and value[: len(operand)] == operand
        case "contains":
            return isinstance(value, str) and value.find(operand) >= 0
        case "icontains":
            return value.casefold().find(operand.casefold()) >= 0
        case "equal but for case":
            return isinstance(value, str) and value.casefold() == operand.casefold()
    raise AssertionError(op)


def _is_a(value: Any, type: Any) -> bool:
    return isinstance(value, type) and (type is bool or not isinstance(value, bool))


def in_order(memories: list[Memory], order: str) -> list[Memory]:
    """The memories, which are given in the order of writing."""

    def at(place: int) -> Any:
        memory = memories[place]
        times = {"updated": memory.updated_at, "created": memory.created_at}
        times["occurred"] = memory.occurred_at or memory.created_at
        return times.get(order.removesuffix("_asc"), datetime.min.replace(tzinfo=UTC)), place

    return [memories[n] for n in sorted(range(len(memories)), key=at, reverse=not order.endswith("_asc"))]


def counts_of(memories: list[Memory], messages: dict[str, Message]) -> dict[str, dict[str, int]]:
    found: dict[str, Counter[str]] = {name: Counter() for name in ("kind", "key", "person", "agent", "tag", "month")}
    for memory in memories:
        found["kind"][memory.kind] += 1
        found["key"].update([memory.key] if memory.key is not None else [])
        found["agent"].update([memory.agent] if memory.agent is not None else [])
        said = {messages[id].speaker for id in memory.sources if id in messages}
        found["person"].update(name for name in said if name is not None)
        tags = memory.metadata.get("tags", [])
        found["tag"].update({tag for tag in (tags if isinstance(tags, list) else [tags]) if isinstance(tag, str)})
        found["month"][(memory.occurred_at or memory.created_at).strftime("%Y-%m")] += 1
    return {name: dict(counts) for name, counts in found.items()}
