"""Mappings that turn values of one version into values of another, written as JSON. Pure.

    {"rename": {"colour": "color"},               within its object
     "move": {"unit": "size.unit", "": "text"},   anywhere; "" is the whole value
     "default": {"size.unit": "cm"},              only where the path is missing
     "constant": {"by": "import"},                overwrites any value
     "remove": ["legacy"],
     "convert": {"size.n": "number"},             or string, boolean
     "map": {"size.name": {"S": "small"}},        values not in the table stay
     "metadata": {"rename": {"a": "b"}}}          the same, on the memory's metadata

Steps run in the order written; a list of such objects runs one after the other. A path is names separated by dots, or a
JSON Pointer. A step on a missing path does nothing; a step that is impossible raises an error that names the path.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from holdfast.domain.errors import InvalidInput, quoted_value
from holdfast.domain.types import Json

MAX_MAPPING_BYTES = 65_536
MAX_MAPPING_STEPS = 1_000
"""Both limits were chosen by hand; not measured."""
CONVERSION_TYPES = ("number", "string", "boolean")
BOOLEAN_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
Path = tuple[str, ...]
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class MappingStep:
    """One operation on one path. The meaning of `argument` depends on the operation."""

    operation: str
    path: Path
    argument: Json = None


@dataclass(frozen=True, slots=True)
class ValueMapping:
    """A parsed mapping; call it to apply it."""

    value: tuple[MappingStep, ...] = ()
    metadata: tuple[MappingStep, ...] = ()

    def __call__(self, value: Json, metadata: Mapping[str, Json]) -> tuple[Json, dict[str, Json]]:
        """Returns the new value and metadata. Raises InvalidInput where a step is impossible."""
        return _run(self.value, value, "value"), _run(self.metadata, dict(metadata), "metadata")


def parse_mapping(mapping: object, field: str = "using") -> ValueMapping:
    """Parse a mapping. Raises InvalidInput with the path of what is wrong."""
    try:
        size = len(json.dumps(mapping, ensure_ascii=False, allow_nan=False).encode())
    except (TypeError, ValueError, RecursionError) as bad:
        raise InvalidInput(f"{field} is not JSON: {bad}.", field=field) from None
    if size > MAX_MAPPING_BYTES:
        raise InvalidInput(f"{field} is {size:,} bytes of JSON; the limit is {MAX_MAPPING_BYTES:,}.", field=field)
    value: list[MappingStep] = []
    metadata: list[MappingStep] = []
    parts = mapping if isinstance(mapping, list) else [mapping]
    for part in parts:
        if not isinstance(part, dict):
            raise InvalidInput(
                f"{field} must be an object of steps, or a list of them; not {quoted_value(part)}.", field=field
            )
        for operation, given in part.items():
            if operation == "metadata":
                metadata += parse_mapping(given, f"{field}.metadata").value
            else:
                value += _steps(operation, given, field)
    if len(value) + len(metadata) > MAX_MAPPING_STEPS:
        raise InvalidInput(f"{field} has more than {MAX_MAPPING_STEPS:,} steps.", field=field)
    return ValueMapping(tuple(value), tuple(metadata))


def _steps(operation: str, given: object, field: str) -> Iterator[MappingStep]:
    here = f"{field}.{operation}"
    if operation not in OPERATIONS:
        raise InvalidInput(
            f"{here} is not an operation of a mapping; use {', '.join(OPERATIONS)} or metadata.", field=here
        )
    if operation == "remove":
        if not isinstance(given, list):
            raise InvalidInput(f"{here} takes a list of paths, not {quoted_value(given)}.", field=here)
        given = dict.fromkeys(str(path) for path in given)
    if not isinstance(given, dict):
        raise InvalidInput(f"{here} takes an object with a path for each name, not {quoted_value(given)}.", field=here)
    for name, by in given.items():
        path = _parse_path(name, here)
        if operation == "move":
            by = _parse_path(by, here)
            if path and by[: len(path)] == path:
                raise InvalidInput(f"{here} would move {name!r} into itself.", field=here)
        if operation == "rename" and not (isinstance(by, str) and by and path):
            raise InvalidInput(
                f"{here} gives {name!r} the name {quoted_value(by)}; give a property's name.", field=here
            )
        if operation == "convert" and by not in CONVERSION_TYPES:
            raise InvalidInput(
                f"{here} converts {name!r} to {quoted_value(by)}; use one of {', '.join(CONVERSION_TYPES)}.", field=here
            )
        if operation == "map" and not isinstance(by, dict):
            raise InvalidInput(
                f"{here} needs an object of old and new for {name!r}, not {quoted_value(by)}.", field=here
            )
        yield MappingStep(operation, path, by)


def _parse_path(text: object, field: str) -> Path:
    if not isinstance(text, str):
        raise InvalidInput(f"{field} has the path {quoted_value(text)}; a path is text.", field=field)
    if text.startswith("/"):
        return tuple(name.replace("~1", "/").replace("~0", "~") for name in text[1:].split("/"))
    names = tuple(text.split(".")) if text else ()
    if not all(names):
        raise InvalidInput(f"{field} has the path {text!r}, with an empty name in it.", field=field)
    return names


def _run(steps: tuple[MappingStep, ...], value: Json, root: str) -> Json:
    if not steps:
        return value
    value = copy.deepcopy(value)
    for step in steps:
        try:
            value = OPERATIONS[step.operation](value, step.path, step.argument)
        except _StepImpossible as why:
            where = ".".join((root, *(why.path if why.path is not None else step.path)))
            raise InvalidInput(f"{step.operation}: {where} {why}.", field=where) from None
    return value


class _StepImpossible(Exception):
    """The reason why a step is impossible."""

    def __init__(self, why: str, path: Path | None = None) -> None:
        super().__init__(why)
        self.path = path


def _value_at(value: Json, path: Path) -> Json:
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return _ABSENT
        value = value[name]
    return value


def _put(value: Json, path: Path, new: Json, *, over: bool = False) -> Json:
    if not path:
        return new
    held = value
    for n, name in enumerate(path[:-1]):
        if not isinstance(held, dict):
            raise _StepImpossible(f"is {quoted_value(held)}, which has no {name!r} in it", path[:n])
        held = held.setdefault(name, {})
    if not isinstance(held, dict):
        raise _StepImpossible(f"is {quoted_value(held)}, which has no {path[-1]!r} in it", path[:-1])
    if path[-1] in held and not over:
        raise _StepImpossible(f"already exists: {quoted_value(held[path[-1]])}", path)
    held[path[-1]] = new
    return value


def _without(value: Json, path: Path) -> Json:
    if not path:
        return {}
    held = _value_at(value, path[:-1])
    if isinstance(held, dict):
        held.pop(path[-1], None)
    return value


def _move(value: Json, path: Path, by: Path) -> Json:
    held = _value_at(value, path)
    if held is _ABSENT or path == by:
        return value
    return held if not by else _put(_without(value, path), by, held)


def _rename(value: Json, path: Path, by: str) -> Json:
    return _move(value, path, (*path[:-1], by))


def _default(value: Json, path: Path, by: Json) -> Json:
    held = _value_at(value, path)
    missing = held is _ABSENT or (not path and held is None)
    return _put(value, path, copy.deepcopy(by)) if missing else value


def _constant(value: Json, path: Path, by: Json) -> Json:
    return _put(value, path, copy.deepcopy(by), over=True)


def _remove(value: Json, path: Path, _: Json) -> Json:
    return _without(value, path) if path else None


def _convert(value: Json, path: Path, by: str) -> Json:
    held = _value_at(value, path)
    if held is _ABSENT:
        return value
    return _put(value, path, _converted(held, by), over=True)


def _converted(held: Json, to: str) -> Json:
    kind = type(held)
    if to == "string" and kind in (str, int, float, bool):
        return held if kind is str else json.dumps(held)
    if to == "number" and kind in (int, float, bool):
        return int(held) if kind is bool else held
    if to == "number" and kind is str and _NUMBER.fullmatch(held.strip()) and len(held) < 400:
        number = float(held) if re.search("[.eE]", held) else int(held)
        if isfinite(number):
            return number
    if to == "boolean" and (kind is bool or (kind in (int, float) and held in (0, 1))):
        return bool(held)
    if to == "boolean" and kind is str and held.strip().casefold() in BOOLEAN_WORDS:
        return BOOLEAN_WORDS[held.strip().casefold()]
    raise _StepImpossible(f"is {quoted_value(held)}, which cannot be converted to {to}")


def _map(value: Json, path: Path, by: dict[str, Json]) -> Json:
    held = _value_at(value, path)
    if held is _ABSENT or isinstance(held, dict | list):
        return value
    name = held if isinstance(held, str) else json.dumps(held)
    return _put(value, path, copy.deepcopy(by[name]), over=True) if name in by else value


OPERATIONS: dict[str, Callable[[Json, Path, Any], Json]] = {
    "rename": _rename,
    "move": _move,
    "default": _default,
    "constant": _constant,
    "remove": _remove,
    "convert": _convert,
    "map": _map,
}
