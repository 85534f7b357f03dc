"""Values that record what happened: events, traces, jobs, idempotent requests, edits. They hold no text of memories."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

PROFILE_PAGE_SETTING = "summary"
"""The setting that caches a profile's page; every forget deletes it."""
IMPORT_SETTING = "importing"
"""The setting that marks an import in progress; it is not part of the profile's content."""
ORIGINAL_SETTING_PREFIX = "original "
"""The prefix of settings that name an external file of an original that may have to be removed."""


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of a profile's change sequence; `n` only grows."""

    n: int
    at: datetime
    type: str
    """message.added, memory.added, memory.superseded, memory.marked, memory.forgotten, message.forgotten,
    message.shortened, digestion.progress."""
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of an operation: credential, agent, session and turn, where known."""

    credential: str | None = None
    agent: str | None = None
    session_id: str | None = None
    turn_id: str | None = None


@dataclass(frozen=True, slots=True)
class AdminAction:
    """An administrative action: which credential did what to which object; None is the process itself."""

    at: datetime
    credential: str | None
    what: str
    thing: str


@dataclass(frozen=True, slots=True)
class CredentialReach:
    """A credential's rights in a profile. `by` is the reason: `everywhere`, `namespace`, `profile` or `grant`."""

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
    """One operation: caller, request, what each channel found, result, and duration of each stage."""

    id: str
    at: datetime
    operation: str
    caller: Caller
    milliseconds: float
    details: dict[str, Any]


@dataclass(frozen=True, slots=True)
class TracePage:
    """One page of traces, newest first; `cursor` is None on the last page."""

    items: tuple[Trace, ...]
    cursor: str | None = None

    def __iter__(self) -> Iterator[Trace]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True)
class Job:
    """Background work that continues after its request was answered. Its progress is derived from its messages."""

    id: str
    kind: str
    created_at: datetime
    messages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JobStatus:
    """The progress of a job. `state` is `waiting`, `done`, or `failed` when the remaining messages were set aside."""

    id: str
    kind: str
    created_at: datetime
    state: str
    total: int
    done: int
    failed: int
    memories: tuple[str, ...] = ()
    """Ids of the memories extracted from its messages so far."""


@dataclass(frozen=True, slots=True)
class JobPage:
    """One page of jobs, newest first; `cursor` is None on the last page."""

    items: tuple[JobStatus, ...] = ()
    cursor: str | None = None

    def __iter__(self) -> Iterator[JobStatus]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> JobStatus:
        return self.items[index]


@dataclass(frozen=True, slots=True)
class Once:
    """A write that its sender may repeat: idempotency key, hash of the request, and the result of the first one."""

    key: str
    request: str
    answer: str | None = None
    """The reference of the memory, or the id of the job, that was returned."""
    new: frozenset[str] = field(default_factory=frozenset)
    memories: tuple[str, ...] = ()
    """Ids of forgotten memories; `messages` has those of forgotten messages, `shortened` those of shortened ones."""
    messages: tuple[str, ...] = ()
    shortened: tuple[str, ...] = ()


def is_portable_setting(setting: str) -> bool:
    """Whether the profile's owner set this setting, so that archives include it; others are internal."""
    return setting not in (PROFILE_PAGE_SETTING, IMPORT_SETTING) and not setting.startswith(ORIGINAL_SETTING_PREFIX)


MAX_EDITS = 200
"""How many edits of a profile can be undone."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One change to memories, recorded so that it can be undone. It has ids and numbers, no text."""

    id: str
    at: datetime
    verb: str
    made: tuple[tuple[str, int], ...] = ()
    """References of the memories that the edit wrote, each with the number of its sources at that time."""
    judged: tuple[tuple[str, int, datetime | None], ...] = ()
    """References of the memories that the edit marked, each with its marks and review before."""
    gone: bool = False
    """Whether an item of this edit was forgotten since."""

    def without(self, ids: Set[str]) -> Edit:
        made = tuple(each for each in self.made if each[0] not in ids)
        judged = tuple(each for each in self.judged if each[0] not in ids)
        left = (made, judged) == (self.made, self.judged)
        return self if left else replace(self, made=made, judged=judged, gone=True)


def ids_in(value: Any) -> Iterator[str]:
    """Yield every string that may be an id, at any depth: names, list entries and values."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield name
            yield from ids_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from ids_in(each)
    elif isinstance(value, str):
        yield value
