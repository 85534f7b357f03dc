"""JSON → values: the inverse of wire.plain, by the type that is wanted."""

from __future__ import annotations

import types
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from .types import Memory, Message

T = TypeVar("T")


def read(wanted: type[T], data: Any) -> T:
    """The data as a value of the wanted type."""
    found: T = _read(wanted, data)
    return found


def _read(wanted: Any, data: Any) -> Any:
    origin = get_origin(wanted)
    if data is None or wanted is Any:
        return data
    if wanted is datetime:
        return datetime.fromisoformat(data)
    if origin in (Union, types.UnionType):
        return _read(_chosen(get_args(wanted), data), data)
    if origin is tuple:
        return tuple(_read(get_args(wanted)[0], each) for each in data)
    if origin is frozenset:
        return frozenset(data)
    if origin is list:
        return [_read(get_args(wanted)[0], each) for each in data]
    if is_dataclass(wanted) and isinstance(wanted, type):
        hints = _hints(wanted)
        return wanted(**{name: _read(hints[name], data[name]) for name in hints if name in data})
    return data


def _chosen(choices: tuple[Any, ...], data: Any) -> Any:
    """Which of several types the data is of."""
    if set(choices) >= {Memory, Message}:
        return Message if "role" in data else Memory
    return next(each for each in choices if each is not type(None))


@cache
def _hints(wanted: type) -> dict[str, Any]:
    known = get_type_hints(wanted)
    return {field.name: known[field.name] for field in fields(wanted)}
