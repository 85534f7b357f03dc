"""The nouns of what happened: events, traces, jobs, requests that must count once. No memory's text is in them."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

SUMMARY = "summary"
"""The setting that holds a profile's page; it goes with whatever is forgotten."""
IMPORTING = "importing"
"""The setting that an import keeps while it is under way; it is no part of what the profile holds."""
PARCEL = "original "
"""How settings begin that name a file of an original elsewhere which may have to be removed."""


@dataclass(frozen=True, slots=True)
class Event:
    """One step of a profile's change sequence; `n` only grows."""

    n: int
    at: datetime
    type: str
    """message.added, memory.added, memory.superseded, memory.marked, memory.forgotten, message.forgotten,
    digestion.progress."""
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, as far as anybody told."""

    credential: str | None = None
    agent: str | None = None
    session_id: str | None = None
    turn_id: str | None = None


@dataclass(frozen=True, slots=True)
class Act:
    """An administrative act: which credential did what to which thing; None is the process itself."""

    at: datetime
    credential: str | None
    what: str
    thing: str


@dataclass(frozen=True, slots=True)
class Reach:
    """What a credential may do in a profile. `by` says why: `everywhere`, `namespace`, `profile`, or `grant`."""

    id: str
    kind: str
    name: str
    rights: frozenset[str]
    by: str
    agent: str | None = None
    reads: tuple[str, ...] | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """One operation: who asked for what, what every channel found, what came of it, and how long each stage took."""

    id: str
    at: datetime
    operation: str
    caller: Caller
    milliseconds: float
    details: dict[str, Any]


@dataclass(frozen=True, slots=True)
class TracePage:
    """One page of traces, newest first; `cursor` is None on the last."""

    items: tuple[Trace, ...]
    cursor: str | None = None

    def __iter__(self) -> Iterator[Trace]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True)
class Job:
    """Work that goes on after its request was answered; its messages say how far it is."""

    id: str
    kind: str
    created_at: datetime
    messages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JobStatus:
    """How far a job is. `state` is `waiting`, `done`, or `failed` when what is left was set aside."""

    id: str
    kind: str
    created_at: datetime
    state: str
    total: int
    done: int
    failed: int
    memories: tuple[str, ...] = ()
    """Ids of the memories drawn from its messages so far."""


@dataclass(frozen=True, slots=True)
class Once:
    """A write that its sender may repeat: the key they chose, a hash of the request, and what the first one did."""

    key: str
    request: str
    answer: str | None = None
    """The id of the memory or job it answered with."""
    new: frozenset[str] = field(default_factory=frozenset)
    memories: tuple[str, ...] = ()
    """Forgotten memories, and messages."""
    messages: tuple[str, ...] = ()


def travels(setting: str) -> bool:
    """Whether it is something that a profile's owner laid down, and not of the place where the profile lies."""
    return setting not in (SUMMARY, IMPORTING) and not setting.startswith(PARCEL)


EDITS = 200
"""How many edits of a profile can be taken back."""


@dataclass(frozen=True, slots=True)
class Edit:
    """What one change did, as far as taking it back needs to know: ids and numbers, no text."""

    id: str
    at: datetime
    verb: str
    made: tuple[tuple[str, int], ...] = ()
    """The memories that it wrote, each with the number of sources it had."""
    judged: tuple[tuple[str, int, datetime | None], ...] = ()
    """The memories that it marked, each with the marks and the review it had before."""
    gone: bool = False
    """Whether something of it has been forgotten since."""

    def without(self, ids: Set[str]) -> Edit:
        made = tuple(each for each in self.made if each[0] not in ids)
        judged = tuple(each for each in self.judged if each[0] not in ids)
        left = (made, judged) == (self.made, self.judged)
        return self if left else replace(self, made=made, judged=judged, gone=True)


def without(value: Any, ids: Set[str]) -> Any:
    """The value with every name, text and object that is one of these ids left out, at any depth."""
    if isinstance(value, dict):
        return {name: without(each, ids) for name, each in value.items() if name not in ids and not _is(each, ids)}
    if isinstance(value, list):
        return [without(each, ids) for each in value if not _is(each, ids)]
    return value


def _is(value: Any, ids: Set[str]) -> bool:
    named = value.get("id") if isinstance(value, dict) else value
    return isinstance(named, str) and named in ids


def named(value: Any) -> Iterator[str]:
    """Every text that stands where ids stand, at any depth: names, list entries and values."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield name
            yield from named(each)
    elif isinstance(value, list):
        for each in value:
            yield from named(each)
    elif isinstance(value, str):
        yield value


def nameless(data: dict[str, Any]) -> dict[str, Any]:
    """An event of a session that was forgotten: its number and what it was, without the session's name."""
    return {name: value for name, value in data.items() if name != "session_id"}
