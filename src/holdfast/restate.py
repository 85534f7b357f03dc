"""What becomes of a memory when its kind's schema has another version: forward, back, and for an older reader."""

from __future__ import annotations

import copy
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from typing import Any

from . import mappings, names
from .errors import InvalidInput, NotFound, shown
from .ingest import json_text, metadata_of
from .kinds import Kind, Mark, mark_of, version_of
from .ports import Store
from .remember import VALUE_BYTES, first_line, tells, told
from .types import Json, Memory

Using = Callable[[Any], Any] | Mapping[str, Json] | Sequence[Mapping[str, Json]]


@dataclass(slots=True)
class Way:
    """From where to where: which memories go, and what becomes of one."""

    kind: Kind
    to: int
    takes: Callable[[Memory], bool]
    become: Callable[[Memory], Awaitable[Memory]]
    undone: list[str] = field(default_factory=list)


def forward(kind: Kind, to: int, using: Using | None, now: Callable[[], datetime]) -> Way:
    """From the version before, and from before there was a schema, to this one."""
    turned = _turned(using)
    before = kind.before(to)

    async def become(memory: Memory) -> Memory:
        value, metadata = turned(memory.value, memory.metadata)
        return restated(memory, kind, Mark(to, version_of(memory) or 0), value, metadata, now())

    return Way(kind, to, lambda memory: version_of(memory) in (None, before), become)


def backward(store: Store, kind: Kind, to: int, now: Callable[[], datetime]) -> Way:
    """From every higher version: to the very value that was migrated, else by reverse mappings, else to the last one.

    Whoever wrote since did so by the newer schema; only a reverse mapping can save it.
    """
    undone: list[str] = []

    async def become(memory: Memory) -> Memory:
        versions = [memory, *(each for each in await store.history(memory.id) if each.version < memory.version)]
        start = version_of(memory) or 0
        mark, down = Mark(to, start), kind.down(start, to)
        former = _untouched(versions, to)
        if former is None and down is not None:
            value, metadata = _down(down, memory)
            return restated(memory, kind, mark, value, metadata, now())
        if former is None:
            former = next((each for each in versions[1:] if version_of(each) == to), None)
            if former is None:
                raise InvalidInput(
                    f"It was written at version {start}, and there is neither a former value nor a reverse mapping.",
                    field="value",
                )
            undone.append(memory.id)
        return restated(memory, kind, mark, former.value, former.metadata, now(), former.content)

    return Way(kind, to, lambda memory: (version_of(memory) or 0) > to, become, undone)


async def understood(store: Store, kind: Kind | None, memory: Memory, version: int) -> Memory:
    """The memory as a reader of this version knows it."""
    if kind is None:
        raise NotFound(f"Kind {memory.kind!r} has no schema, so no version {version}.", field="version")
    at, wanted = version_of(memory) or 0, kind.known(version)
    if at == wanted or (at < wanted and kind.wrong(wanted, memory.value, memory.metadata) is None):
        return memory
    if at > wanted:
        down = kind.down(at, wanted)
        if down is not None:
            value, metadata = _down(down, memory)
            return replace(memory, value=value, metadata=dict(metadata), **_content(memory, value))
        older = (each for each in await store.history(memory.id) if each.version < memory.version)
        former = next((each for each in older if version_of(each) == wanted), None)
        if former is not None:
            return replace(
                memory, value=former.value, metadata=former.metadata, content=former.content, summary=former.summary
            )
    raise NotFound(
        f"Memory {memory.id} is at version {at} of {memory.kind!r} and has no value of version {version}.",
        field="version",
        fix=f"Register version {at} with a reverse mapping." if at > wanted else f"Migrate it to {version} first.",
    )


def restated(
    memory: Memory, kind: Kind, mark: Mark, value: Json, metadata: Mapping[str, Json], at: datetime,
    content: str | None = None,
) -> Memory:  # fmt: skip
    """The next version of a memory, with another value. It is as old as before: nothing new has been learnt."""
    value = json.loads(json_text(value, "value", limit=VALUE_BYTES))
    metadata = metadata_of(metadata, "metadata")
    bad = kind.wrong(mark.version, value, metadata)
    if bad is not None:
        raise bad
    text: dict[str, Any] = (
        _content(memory, value) if content is None else {"content": content, "summary": first_line(content)}
    )
    return replace(
        memory, id=names.memory_id(at), value=value, metadata=metadata, updated_at=at, version=memory.version + 1,
        extractor=mark.on(memory.extractor, memory.kind), **text,
    )  # fmt: skip


def _turned(using: Using | None) -> Callable[[Json, Mapping[str, Json]], tuple[Json, Mapping[str, Json]]]:
    if using is None:
        return lambda value, metadata: (value, metadata)
    if callable(using):
        return lambda value, metadata: (using(copy.deepcopy(value)), metadata)
    return mappings.read(using)


def _down(steps: Sequence[mappings.Mapped], memory: Memory) -> tuple[Json, Mapping[str, Json]]:
    value, metadata = memory.value, memory.metadata
    for step in steps:
        value, metadata = step(value, metadata)
    return value, metadata


def _content(memory: Memory, value: Json) -> dict[str, Any]:
    """A text that only told the value tells the new one."""
    if value is None or value == memory.value or not tells(memory.content, memory.value):
        return {}
    text = names.text(told(value), "content", limit=names.CONTENT_BYTES)
    return {"content": text, "summary": first_line(text)}


def _untouched(versions: Sequence[Memory], to: int) -> Memory | None:
    """The version from which migrations alone led to the newest one."""
    for newer, older in pairwise(versions):
        mark = mark_of(newer)
        if mark is None or mark.source is None or (version_of(older) or 0) != mark.source:
            return None
        if mark.source == to:
            return older
    return None


def checked_using(using: object) -> Using | None:
    """A function, or a mapping that can be read."""
    if using is None or callable(using):
        return using
    if not isinstance(using, Mapping | list | tuple):
        raise InvalidInput(f"using is {shown(using)}; give a mapping or a function.", field="using")
    given = [dict(each) for each in using] if not isinstance(using, Mapping) else dict(using)
    mappings.read(given)
    return given
