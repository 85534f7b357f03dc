"""Pure: how values of one version become values of another, as JSON that anybody can write down and keep.

    {"rename": {"colour": "color"},               within its object
     "move": {"unit": "size.unit", "": "text"},   anywhere; "" is the whole value
     "default": {"size.unit": "cm"},              where nothing is
     "constant": {"by": "import"},                whatever is there
     "remove": ["legacy"],
     "convert": {"size.n": "number"},             or string, boolean
     "map": {"size.name": {"S": "small"}},        what is not in the table stays
     "metadata": {"rename": {"a": "b"}}}          the same, on the memory's metadata

Steps run in the order written; a list of such objects runs one after the other. A path is names with dots between, or
a JSON Pointer. What is not there is left alone; what cannot be done is an error that names the path.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from .errors import InvalidInput, shown
from .types import Json

MAPPING_BYTES = 65_536
MOST_STEPS = 1_000
TYPES = ("number", "string", "boolean")
WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
Path = tuple[str, ...]
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Step:
    act: str
    path: Path
    by: Json = None


@dataclass(frozen=True, slots=True)
class Mapped:
    """A mapping, read."""

    value: tuple[Step, ...] = ()
    metadata: tuple[Step, ...] = ()

    def __call__(self, value: Json, metadata: Mapping[str, Json]) -> tuple[Json, dict[str, Json]]:
        """What they become. Raises InvalidInput where a step cannot be done."""
        return _run(self.value, value, "value"), _run(self.metadata, dict(metadata), "metadata")


def read(mapping: object, field: str = "using") -> Mapped:
    """The mapping that somebody wrote; anything else is refused with the place of what is wrong."""
    try:
        size = len(json.dumps(mapping, ensure_ascii=False, allow_nan=False).encode())
    except (TypeError, ValueError, RecursionError) as bad:
        raise InvalidInput(f"{field} is not JSON: {bad}.", field=field) from None
    if size > MAPPING_BYTES:
        raise InvalidInput(f"{field} is {size:,} bytes of JSON; the limit is {MAPPING_BYTES:,}.", field=field)
    value: list[Step] = []
    metadata: list[Step] = []
    parts = mapping if isinstance(mapping, list) else [mapping]
    for part in parts:
        if not isinstance(part, dict):
            raise InvalidInput(
                f"{field} must be an object of steps, or a list of them; not {shown(part)}.", field=field
            )
        for act, given in part.items():
            if act == "metadata":
                metadata += read(given, f"{field}.metadata").value
            else:
                value += _steps(act, given, field)
    if len(value) + len(metadata) > MOST_STEPS:
        raise InvalidInput(f"{field} has more than {MOST_STEPS:,} steps.", field=field)
    return Mapped(tuple(value), tuple(metadata))


def _steps(act: str, given: object, field: str) -> Iterator[Step]:
    here = f"{field}.{act}"
    if act not in ACTS:
        raise InvalidInput(f"{here} is nothing a mapping does; use {', '.join(ACTS)} or metadata.", field=here)
    if act == "remove":
        if not isinstance(given, list):
            raise InvalidInput(f"{here} takes a list of paths, not {shown(given)}.", field=here)
        given = dict.fromkeys(str(path) for path in given)
    if not isinstance(given, dict):
        raise InvalidInput(f"{here} takes an object with a path for each name, not {shown(given)}.", field=here)
    for name, by in given.items():
        path = _path(name, here)
        if act == "move":
            by = _path(by, here)
            if path and by[: len(path)] == path:
                raise InvalidInput(f"{here} would move {name!r} into itself.", field=here)
        if act == "rename" and not (isinstance(by, str) and by and path):
            raise InvalidInput(f"{here} gives {name!r} the name {shown(by)}; give a property's name.", field=here)
        if act == "convert" and by not in TYPES:
            raise InvalidInput(f"{here} makes {name!r} {shown(by)}; use one of {', '.join(TYPES)}.", field=here)
        if act == "map" and not isinstance(by, dict):
            raise InvalidInput(f"{here} needs an object of old and new for {name!r}, not {shown(by)}.", field=here)
        yield Step(act, path, by)


def _path(text: object, field: str) -> Path:
    if not isinstance(text, str):
        raise InvalidInput(f"{field} has the path {shown(text)}; a path is text.", field=field)
    if text.startswith("/"):
        return tuple(name.replace("~1", "/").replace("~0", "~") for name in text[1:].split("/"))
    names = tuple(text.split(".")) if text else ()
    if not all(names):
        raise InvalidInput(f"{field} has the path {text!r}, with an empty name in it.", field=field)
    return names


def _run(steps: tuple[Step, ...], value: Json, root: str) -> Json:
    if not steps:
        return value
    value = copy.deepcopy(value)
    for step in steps:
        try:
            value = ACTS[step.act](value, step.path, step.by)
        except _Cannot as why:
            where = ".".join((root, *(why.path if why.path is not None else step.path)))
            raise InvalidInput(f"{step.act}: {where} {why}.", field=where) from None
    return value


class _Cannot(Exception):
    """Why a step cannot be done."""

    def __init__(self, why: str, path: Path | None = None) -> None:
        super().__init__(why)
        self.path = path


def _at(value: Json, path: Path) -> Json:
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
            raise _Cannot(f"is {shown(held)}, which has no {name!r} in it", path[:n])
        held = held.setdefault(name, {})
    if not isinstance(held, dict):
        raise _Cannot(f"is {shown(held)}, which has no {path[-1]!r} in it", path[:-1])
    if path[-1] in held and not over:
        raise _Cannot(f"is there already: {shown(held[path[-1]])}", path)
    held[path[-1]] = new
    return value


def _without(value: Json, path: Path) -> Json:
    if not path:
        return {}
    held = _at(value, path[:-1])
    if isinstance(held, dict):
        held.pop(path[-1], None)
    return value


def _move(value: Json, path: Path, by: Path) -> Json:
    held = _at(value, path)
    if held is _ABSENT or path == by:
        return value
    return held if not by else _put(_without(value, path), by, held)


def _rename(value: Json, path: Path, by: str) -> Json:
    return _move(value, path, (*path[:-1], by))


def _default(value: Json, path: Path, by: Json) -> Json:
    held = _at(value, path)
    missing = held is _ABSENT or (not path and held is None)
    return _put(value, path, copy.deepcopy(by)) if missing else value


def _constant(value: Json, path: Path, by: Json) -> Json:
    return _put(value, path, copy.deepcopy(by), over=True)


def _remove(value: Json, path: Path, _: Json) -> Json:
    return _without(value, path) if path else None


def _convert(value: Json, path: Path, by: str) -> Json:
    held = _at(value, path)
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
    if to == "boolean" and kind is str and held.strip().casefold() in WORDS:
        return WORDS[held.strip().casefold()]
    raise _Cannot(f"is {shown(held)}, of which no {to} can be made")


def _map(value: Json, path: Path, by: dict[str, Json]) -> Json:
    held = _at(value, path)
    if held is _ABSENT or isinstance(held, dict | list):
        return value
    name = held if isinstance(held, str) else json.dumps(held)
    return _put(value, path, copy.deepcopy(by[name]), over=True) if name in by else value


ACTS: dict[str, Callable[[Json, Path, Any], Json]] = {
    "rename": _rename,
    "move": _move,
    "default": _default,
    "constant": _constant,
    "remove": _remove,
    "convert": _convert,
    "map": _map,
}
