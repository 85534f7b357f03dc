"""Converts a memory between versions of its kind's schema: forward, back, and for an older reader."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from typing import Any

from holdfast.domain import identifiers, limits
from holdfast.domain.arguments import Using, validate_metadata, validate_value
from holdfast.domain.errors import InvalidInput, NotFound, quoted_value
from holdfast.domain.ports.storage import Store
from holdfast.domain.types import Json, Memory
from holdfast.ingest.kinds import mapping
from holdfast.ingest.kinds.versions import RegisteredKind, VersionMark, schema_version, version_mark
from holdfast.ingest.remember import first_line, is_value_text, value_text


@dataclass(slots=True)
class Conversion:
    """A conversion to version `to`: which memories it takes, and how it converts one."""

    kind: RegisteredKind
    to: int
    takes: Callable[[Memory], bool]
    convert_memory: Callable[[Memory], Awaitable[Memory]]
    undone: list[str] = field(default_factory=list)


def forward_conversion(kind: RegisteredKind, to: int, using: Using | None, now: Callable[[], datetime]) -> Conversion:
    """Conversion to this version from the version before, and from memories without a version."""
    convert = _converter_function(using)
    before = kind.before(to)

    async def convert_memory(memory: Memory) -> Memory:
        value, metadata = convert(memory.value, memory.metadata)
        return converted_memory(memory, kind, VersionMark(to, schema_version(memory) or 0), value, metadata, now())

    return Conversion(kind, to, lambda memory: schema_version(memory) in (None, before), convert_memory)


def backward_conversion(store: Store, kind: RegisteredKind, to: int, now: Callable[[], datetime]) -> Conversion:
    """Conversion from every higher version: to the value that was migrated, else by reverse mappings, else to the last
    value of that version.

    A value written since the migration follows the newer schema; only a reverse mapping can preserve it.
    """
    undone: list[str] = []

    async def convert_memory(memory: Memory) -> Memory:
        versions = [memory, *(each for each in await store.history(memory.ref) if _is_older_version(each, memory))]
        start = schema_version(memory) or 0
        mark, down = VersionMark(to, start), kind.reverse_mappings(start, to)
        former = _last_unedited(versions, to)
        if former is None and down is not None:
            value, metadata = _reversed_value(down, memory)
            return converted_memory(memory, kind, mark, value, metadata, now())
        if former is None:
            former = next((each for each in versions[1:] if schema_version(each) == to), None)
            if former is None:
                raise InvalidInput(
                    f"It was written at version {start}, and there is neither a former value nor a reverse mapping.",
                    field="value",
                )
            undone.append(memory.id)
        return converted_memory(memory, kind, mark, former.value, former.metadata, now(), former.content)

    return Conversion(kind, to, lambda memory: (schema_version(memory) or 0) > to, convert_memory, undone)


async def convert_for_reader(store: Store, kind: RegisteredKind | None, memory: Memory, version: int) -> Memory:
    """The memory as a reader of this version expects it. Raises NotFound when there is no such value."""
    if kind is None:
        raise NotFound(f"Kind {memory.kind!r} has no schema, so no version {version}.", field="version")
    at, wanted = schema_version(memory) or 0, kind.known(version)
    if at == wanted or (at < wanted and kind.wrong(wanted, memory.value, memory.metadata) is None):
        return memory
    if at > wanted:
        down = kind.reverse_mappings(at, wanted)
        if down is not None:
            value, metadata = _reversed_value(down, memory)
            return replace(memory, value=value, metadata=dict(metadata), **_content_fields(memory, value))
        older = (each for each in await store.history(memory.ref) if _is_older_version(each, memory))
        former = next((each for each in older if schema_version(each) == wanted), None)
        if former is not None:
            return replace(
                memory, value=former.value, metadata=former.metadata, content=former.content, summary=former.summary
            )
    raise NotFound(
        f"Memory {memory.id} is at version {at} of {memory.kind!r} and has no value of version {version}.",
        field="version",
        fix=f"Register version {at} with a reverse mapping." if at > wanted else f"Migrate it to {version} first.",
    )


def converted_memory(
    memory: Memory, kind: RegisteredKind, mark: VersionMark, value: Json, metadata: Mapping[str, Json], at: datetime,
    content: str | None = None,
) -> Memory:  # fmt: skip
    """The next version of a memory, with another value. `created_at` stays: a migration adds no new knowledge."""
    value = validate_value(value)
    metadata = validate_metadata(metadata, "metadata")
    bad = kind.wrong(mark.version, value, metadata)
    if bad is not None:
        raise bad
    text: dict[str, Any] = (
        _content_fields(memory, value) if content is None else {"content": content, "summary": first_line(content)}
    )
    made = replace(
        memory, id=identifiers.memory_id(at), origin=None, value=value, metadata=metadata, updated_at=at,
        extractor=mark.on(memory.extractor, memory.kind), **text,
    )  # fmt: skip
    return made.next_of(memory)


def _converter_function(using: Using | None) -> Callable[[Json, Mapping[str, Json]], tuple[Json, Mapping[str, Json]]]:
    if using is None:
        return lambda value, metadata: (value, metadata)
    if callable(using):
        return lambda value, metadata: (using(copy.deepcopy(value)), metadata)
    return mapping.parse_mapping(using)


def _reversed_value(steps: Sequence[mapping.ValueMapping], memory: Memory) -> tuple[Json, Mapping[str, Json]]:
    value, metadata = memory.value, memory.metadata
    for step in steps:
        value, metadata = step(value, metadata)
    return value, metadata


def _content_fields(memory: Memory, value: Json) -> dict[str, Any]:
    """Content and summary for a new value, if the content was only the text of the old one."""
    if value is None or value == memory.value or not is_value_text(memory.content, memory.value):
        return {}
    text = identifiers.validate_text(value_text(value), "content", limit=limits.MAX_CONTENT_BYTES)
    return {"content": text, "summary": first_line(text)}


def _last_unedited(versions: Sequence[Memory], to: int) -> Memory | None:
    """The version from which migrations alone led to the newest one; None when another write came in between."""
    for newer, older in pairwise(versions):
        mark = version_mark(newer)
        if mark is None or mark.source is None or (schema_version(older) or 0) != mark.source:
            return None
        if mark.source == to:
            return older
    return None


def validate_converter(using: object) -> Using | None:
    """Validate `using`: a function, or a mapping that can be parsed."""
    if using is None or callable(using):
        return using
    if not isinstance(using, Mapping | list | tuple):
        raise InvalidInput(f"using is {quoted_value(using)}; give a mapping or a function.", field="using")
    given = [dict(each) for each in using] if not isinstance(using, Mapping) else dict(using)
    mapping.parse_mapping(given)
    return given


def _is_older_version(version: Memory, memory: Memory) -> bool:
    return version.id == memory.id and version.version < memory.version
