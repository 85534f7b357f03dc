"""Encodes Holdfast's values as JSON and decodes JSON by type, for REST, its client, rows, archives and CLI.

A dataclass becomes an object with its fields in order, a time ISO 8601 in UTC, a tuple a list, a set a sorted list.
Decoding ignores unknown names, so that a client understands a newer server, and leaves out missing ones, so that
defaults apply. It does not validate: code that reads untrusted data (archive/validation.py) checks each field.
docs/decisions/0018 explains why this is not pydantic.
"""

from __future__ import annotations

import json
import types
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from holdfast.domain.timestamps import iso_text

T = TypeVar("T")
Decoder = Callable[[Any], Any]
_SCALARS = frozenset({str, int, float, bool, type(None)})
compact_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
"""JSON text without spaces. Raises ValueError for NaN and infinities, which JSON does not have."""
sorted_json = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode
"""JSON text with sorted names, the same for equal values: for hashing."""


def encode(value: Any) -> Any:
    """Convert a value into dicts, lists, strings and numbers; unknown types stay as they are."""
    if type(value) in _SCALARS:
        return value
    if isinstance(value, datetime):
        return iso_text(value)
    if isinstance(value, dict):
        return {name: each if type(each) in _SCALARS else encode(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [encode(each) for each in value]
    if isinstance(value, frozenset | set):
        return sorted(encode(each) for each in value)
    if is_dataclass(value) and not isinstance(value, type):
        names, values_of = _getter(type(value))
        given = zip(names, values_of(value), strict=True)
        return {name: each if type(each) in _SCALARS else encode(each) for name, each in given}  # mostly scalars
    return value


def encode_outermost(value: Any) -> Any:
    """Convert a dataclass, time or set as `encode` does, but leave what is in it to the writer that calls this for each
    value it does not know."""
    if isinstance(value, datetime):
        return iso_text(value)
    if is_dataclass(value) and not isinstance(value, type):
        names, values_of = _getter(type(value))
        return dict(zip(names, values_of(value), strict=True))
    if isinstance(value, frozenset | set):
        return encode(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def decode(wanted: type[T], data: Any) -> T:
    """Convert a JSON value into the wanted type."""
    kind: Any = wanted
    found: T = _decoder(kind)(data)
    return found


def public_fields(kind: Any) -> tuple[Field[Any], ...]:
    """The fields of a dataclass that are encoded: those that are not marked as internal."""
    return tuple(field for field in fields(kind) if not field.metadata.get("internal"))


@cache
def field_types(kind: Any) -> dict[str, Any]:
    """The fields of a dataclass in order, with their types."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in public_fields(kind)}


@cache
def required_fields(kind: Any) -> frozenset[str]:
    """The fields of a dataclass that have no default."""
    without = (field for field in fields(kind) if field.default is MISSING and field.default_factory is MISSING)
    return frozenset(field.name for field in without)


def attributes(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """A function that returns these attributes of a value as a tuple, even for one attribute or none."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


@cache
def _getter(kind: type) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    names = tuple(field.name for field in public_fields(kind))
    return names, attributes(names)


@cache
def _decoder(wanted: Any) -> Decoder:
    """The decoder for a type, built once per type. None decodes to None whatever the type."""
    origin, args = get_origin(wanted), get_args(wanted)
    if wanted is datetime:
        return _maybe(datetime.fromisoformat)
    if origin in (Union, types.UnionType):
        return _one_of(args)
    if origin in (tuple, list):
        return _maybe(_every(args[0], origin))
    if origin is frozenset:
        return _maybe(frozenset)
    if is_dataclass(wanted) and isinstance(wanted, type):
        return _maybe(_object(wanted))
    return _same


def _one_of(choices: tuple[Any, ...]) -> Decoder:
    """For a union of dataclasses, such as Memory | Message: the first one whose required fields are all present."""
    kinds: list[Any] = [each for each in choices if is_dataclass(each)]
    objects = [(required_fields(each), _decoder(each)) for each in kinds]
    if len(objects) > 1:
        last = objects[-1][1]
        return _maybe(lambda data: next((of for needs, of in objects if needs <= data.keys()), last)(data))
    return _decoder(next(each for each in choices if each is not type(None)))


def _every(wanted: Any, make: Callable[[Any], Any]) -> Decoder:
    of_each = _decoder(wanted)
    return make if of_each is _same else lambda data: make([of_each(each) for each in data])


def _object(wanted: type) -> Decoder:
    decoders: dict[str, Decoder] | None = None

    def decode_fields(data: Any) -> Any:
        nonlocal decoders
        if decoders is None:  # built at first use, because a type may contain itself
            decoders = {name: _decoder(hint) for name, hint in field_types(wanted).items()}
        return wanted(**{name: of(data[name]) for name, of in decoders.items() if name in data})

    return decode_fields


def _maybe(of_value: Decoder) -> Decoder:
    return lambda data: None if data is None else of_value(data)


def _same(data: Any) -> Any:
    return data
