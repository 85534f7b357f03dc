"""Versions of a kind's schema in one profile, and the version under which a value is valid. Pure.

A memory names its version in `extractor`: `user/1:preference@2`, or `user/1:preference@1>2` when a migration converted
it from version 1 (0 means: written before there was a schema). New values must be valid under the current version;
while a migration is under way, its target version is accepted as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from holdfast.domain.errors import InvalidInput, NotFound, quoted_value
from holdfast.domain.reports import KindInfo, KindVersion
from holdfast.domain.types import Json, Memory
from holdfast.ingest.kinds import mapping, validation

SETTING_PREFIX = "kind/"
MAX_VERSION = 1_000_000
MAX_VERSIONS = 100
"""How many versions a kind may have. Chosen by hand; not measured."""
RESERVED_METADATA = ("pinned",)
"""Metadata fields that Holdfast itself writes; schemas are not applied to them."""
_validation_off: ContextVar[bool] = ContextVar("free", default=False)


@dataclass(frozen=True, slots=True)
class RegisteredKind:
    """The schemas of one kind, as registered in a profile."""

    name: str
    current: int
    schemas: dict[int, str]
    """Version → JSON text."""
    reverse: dict[int, Json]
    """Version → the mapping to the previous version, where there is one."""
    migrating: int | None = None
    """The target version of an unfinished migration."""
    using: Json = None
    """The mapping of the unfinished migration, if it has one."""

    def before(self, version: int) -> int:
        """The version before this one; 0 when there is none."""
        return max((each for each in self.schemas if each < version), default=0)

    def known(self, version: int, field: str = "version") -> int:
        """Returns the version. Raises NotFound when it is not registered."""
        if version not in self.schemas:
            there = ", ".join(map(str, sorted(self.schemas)))
            raise NotFound(f"Kind {self.name!r} has no version {version}; it has {there}.", field=field)
        return version

    def wrong(self, version: int, value: Json, metadata: Mapping[str, Json]) -> InvalidInput | None:
        """Why value and metadata are invalid under this version; None when they are valid."""
        checked = {name: each for name, each in metadata.items() if name not in RESERVED_METADATA}
        bad = validation.validation_error(self.schemas[version], value, checked)
        return None if bad is None else InvalidInput(f"{bad} ({self.name}, version {version})", field=bad.field)

    def valid_version(self, value: Json, metadata: Mapping[str, Json]) -> int:
        """The version under which a new value is written. Raises InvalidInput when it is valid under none in use."""
        if self.migrating is not None and self.wrong(self.migrating, value, metadata) is None:
            return self.migrating
        bad = self.wrong(self.current, value, metadata)
        if bad is not None:
            raise bad
        return self.current

    def reverse_mappings(self, start: int, to: int) -> list[mapping.ValueMapping] | None:
        """The mappings from a version down to a lower one; None when one is missing."""
        mappings = []
        for version in sorted((each for each in self.schemas if to < each <= start), reverse=True):
            if version not in self.reverse:
                return None
            mappings.append(mapping.parse_mapping(self.reverse[version], "reverse"))
        return mappings

    @property
    def info(self) -> KindInfo:
        versions = (KindVersion(n, json.loads(text), self.reverse.get(n)) for n, text in sorted(self.schemas.items()))
        return KindInfo(self.name, self.current, tuple(versions), self.migrating)

    def encode(self) -> dict[str, Any]:
        """Returns the JSON form that is stored in the profile's settings."""
        versions = {
            str(n): {"schema": text, **({"reverse": self.reverse[n]} if n in self.reverse else {})}
            for n, text in self.schemas.items()
        }
        migration = {} if self.migrating is None else {"migrating": {"to": self.migrating, "using": self.using}}
        return {"versions": versions, "current": self.current, **migration}


def registered_kinds(settings: Mapping[str, Json]) -> dict[str, RegisteredKind]:
    """Every kind that has a schema in these settings, by name."""
    return {
        name.removeprefix(SETTING_PREFIX): _registered_kind(name.removeprefix(SETTING_PREFIX), stored)
        for name, stored in settings.items()
        if name.startswith(SETTING_PREFIX)
    }


def _registered_kind(name: str, stored: dict[str, Any]) -> RegisteredKind:
    versions = {int(n): each for n, each in stored["versions"].items()}
    migration = stored.get("migrating") or {}
    return RegisteredKind(
        name,
        stored["current"],
        {n: each["schema"] for n, each in versions.items()},
        {n: each["reverse"] for n, each in versions.items() if "reverse" in each},
        migration.get("to"),
        migration.get("using"),
    )


@contextmanager
def without_validation() -> Iterator[None]:
    """Switch schema validation off inside the block: an import writes memories as they are."""
    token = _validation_off.set(True)
    try:
        yield
    finally:
        _validation_off.reset(token)


def validation_is_off() -> bool:
    return _validation_off.get()


def validate_version(given: object, field: str = "version") -> int:
    if not isinstance(given, int) or isinstance(given, bool) or not 1 <= given <= MAX_VERSION:
        raise InvalidInput(f"{field} is {quoted_value(given)}; give a number from 1 to {MAX_VERSION:,}.", field=field)
    return given


@dataclass(frozen=True, slots=True)
class VersionMark:
    """The schema version of a memory, and the version from which a migration converted it."""

    version: int
    source: int | None = None

    def on(self, extractor: str, kind: str) -> str:
        versions = str(self.version) if self.source is None else f"{self.source}>{self.version}"
        return f"{extractor.partition(':')[0]}:{kind}@{versions}"


_VERSION_MARK = re.compile(r"[^:]*:(.+)@(?:(\d+)>)?(\d+)")


def version_mark(memory: Memory) -> VersionMark | None:
    """The version mark of a memory; None when it was written without a schema."""
    found = _VERSION_MARK.fullmatch(memory.extractor)
    if found is None or found[1] != memory.kind:
        return None
    return VersionMark(int(found[3]), None if found[2] is None else int(found[2]))


def schema_version(memory: Memory) -> int | None:
    mark = version_mark(memory)
    return None if mark is None else mark.version
