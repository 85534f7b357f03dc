"""Pure: the versions of a kind that a profile's owner has laid down, and which of them a value keeps.

A memory says in its `extractor` under which version it was written: `user/1:preference@2`, or `user/1:preference@1>2`
when a migration brought it there from 1 (0 stands for: from before there was a schema). New values must keep the
current version; while a migration is under way, the one that it leads to will do as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from . import conforming, mappings
from .errors import InvalidInput, NotFound, shown
from .types import Json, Memory

PREFIX = "kind/"
HIGHEST = 1_000_000
MOST_VERSIONS = 100
OURS = ("pinned",)
"""Metadata that Holdfast itself writes; no schema is about them."""
_free: ContextVar[bool] = ContextVar("free", default=False)


@dataclass(frozen=True, slots=True)
class KindVersion:
    """One version: its schema, and the mapping that leads from it down to the version before, if there is one."""

    version: int
    schema: dict[str, Json]
    reverse: Json = None


@dataclass(frozen=True, slots=True)
class KindInfo:
    """What is registered of a kind. New values must keep version `current`."""

    kind: str
    current: int
    versions: tuple[KindVersion, ...]
    migrating: int | None = None
    """The version that an unfinished migration leads to; it is kept by new values as well as the current one."""
    memories: dict[str, int] = field(default_factory=dict)
    """How many current memories each version has, "" for those of none; counted where one kind is asked for."""


@dataclass(frozen=True, slots=True)
class Kind:
    name: str
    current: int
    schemas: dict[int, str]
    """JSON text by version."""
    reverse: dict[int, Json]
    migrating: int | None = None
    using: Json = None
    """The mapping of the unfinished migration, if it has one."""

    def before(self, version: int) -> int:
        """The version that comes before this one; 0 when there is none."""
        return max((each for each in self.schemas if each < version), default=0)

    def known(self, version: int, field: str = "version") -> int:
        if version not in self.schemas:
            there = ", ".join(map(str, sorted(self.schemas)))
            raise NotFound(f"Kind {self.name!r} has no version {version}; it has {there}.", field=field)
        return version

    def wrong(self, version: int, value: Json, metadata: Mapping[str, Json]) -> InvalidInput | None:
        theirs = {name: each for name, each in metadata.items() if name not in OURS}
        bad = conforming.wrong(self.schemas[version], value, theirs)
        return None if bad is None else InvalidInput(f"{bad} ({self.name}, version {version})", field=bad.field)

    def version_kept(self, value: Json, metadata: Mapping[str, Json]) -> int:
        """The version under which a new value is written. Raises InvalidInput when it keeps none that is in use."""
        if self.migrating is not None and self.wrong(self.migrating, value, metadata) is None:
            return self.migrating
        bad = self.wrong(self.current, value, metadata)
        if bad is not None:
            raise bad
        return self.current

    def down(self, start: int, to: int) -> list[mappings.Mapped] | None:
        """The reverse mappings from a version to a lower one; None when one is lacking."""
        found = []
        for version in sorted((each for each in self.schemas if to < each <= start), reverse=True):
            if version not in self.reverse:
                return None
            found.append(mappings.read(self.reverse[version], "reverse"))
        return found

    @property
    def info(self) -> KindInfo:
        versions = (KindVersion(n, json.loads(text), self.reverse.get(n)) for n, text in sorted(self.schemas.items()))
        return KindInfo(self.name, self.current, tuple(versions), self.migrating)

    def laid_down(self) -> dict[str, Any]:
        """As it is kept among the profile's settings."""
        versions = {
            str(n): {"schema": text, **({"reverse": self.reverse[n]} if n in self.reverse else {})}
            for n, text in self.schemas.items()
        }
        way = {} if self.migrating is None else {"migrating": {"to": self.migrating, "using": self.using}}
        return {"versions": versions, "current": self.current, **way}


def opened(settings: Mapping[str, Json]) -> dict[str, Kind]:
    """Every kind that has a schema, by name."""
    return {
        name.removeprefix(PREFIX): _opened(name.removeprefix(PREFIX), held)
        for name, held in settings.items()
        if name.startswith(PREFIX)
    }


def _opened(name: str, held: dict[str, Any]) -> Kind:
    versions = {int(n): each for n, each in held["versions"].items()}
    way = held.get("migrating") or {}
    return Kind(
        name,
        held["current"],
        {n: each["schema"] for n, each in versions.items()},
        {n: each["reverse"] for n, each in versions.items() if "reverse" in each},
        way.get("to"),
        way.get("using"),
    )


@contextmanager
def unheld() -> Iterator[None]:
    """What is written inside is held to no schema: an import brings what there is."""
    token = _free.set(True)
    try:
        yield
    finally:
        _free.reset(token)


def free() -> bool:
    return _free.get()


def version_number(given: object, field: str = "version") -> int:
    if not isinstance(given, int) or isinstance(given, bool) or not 1 <= given <= HIGHEST:
        raise InvalidInput(f"{field} is {shown(given)}; give a number from 1 to {HIGHEST:,}.", field=field)
    return given


@dataclass(frozen=True, slots=True)
class Mark:
    """Under which version a memory is, and from which a migration brought it there."""

    version: int
    source: int | None = None

    def on(self, extractor: str, kind: str) -> str:
        way = str(self.version) if self.source is None else f"{self.source}>{self.version}"
        return f"{extractor.partition(':')[0]}:{kind}@{way}"


_MARK = re.compile(r"[^:]*:(.+)@(?:(\d+)>)?(\d+)")


def mark_of(memory: Memory) -> Mark | None:
    """None when it was written without a schema."""
    found = _MARK.fullmatch(memory.extractor)
    if found is None or found[1] != memory.kind:
        return None
    return Mark(int(found[3]), None if found[2] is None else int(found[2]))


def version_of(memory: Memory) -> int | None:
    mark = mark_of(memory)
    return None if mark is None else mark.version
