"""Context variables of an operation: its caller, stages, notes for the trace, and replica bookmarks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

from holdfast.domain.errors import InvalidInput, quoted_value
from holdfast.domain.records import Caller


@dataclass(slots=True)
class Operation:
    operation: str
    started: float = field(default_factory=time.perf_counter)
    stages: dict[str, float] = field(default_factory=dict)
    """Milliseconds spent in each stage."""
    spans: list[tuple[str, float, float]] = field(default_factory=list)
    """Start of each stage in milliseconds from the beginning, and its duration; at most MAX_SPANS."""
    details: dict[str, Any] = field(default_factory=dict)
    session_id: str | None = None
    """The session of the operation, when its caller named none."""

    @property
    def milliseconds(self) -> float:
        return round((time.perf_counter() - self.started) * 1000, 3)


@dataclass(slots=True)
class Bookmarks:
    """Positions in a database's log: the one that reads must have reached, and the one that writes reached."""

    needed: str | None = None
    bookmark: str | None = None


READ_OPERATIONS = frozenset((
    "search", "recall", "context", "list", "get", "history", "messages", "sessions", "summary", "stats", "review",
    "edits",
))  # fmt: skip
STEADY_OPERATIONS = READ_OPERATIONS | {"digest"}
MAX_SPANS = 64
_bookmarks: ContextVar[Bookmarks | None] = ContextVar("marks", default=None)
_caller: ContextVar[Caller] = ContextVar("caller", default=Caller())  # noqa: B039  (frozen)
_operation: ContextVar[Operation | None] = ContextVar("trail", default=None)


@contextmanager
def acting(
    *,
    agent: str | None = None,
    session_id: str | None = None,
    turn_id: str | None = None,
    credential: str | None = None,
    after: str | None = None,
) -> Iterator[Bookmarks]:
    """Record the operations inside the block as this agent's, in this session and turn.

    With a replica, reads inside see at least the writes up to the bookmark `after`. The yielded value gets the bookmark
    of the writes made inside.
    """
    given = {"agent": agent, "session_id": session_id, "turn_id": turn_id, "credential": credential}
    known: dict[str, Any] = {name: str(value) for name, value in given.items() if value is not None}
    token = _caller.set(replace(_caller.get(), **known))
    marks = Bookmarks(after or needed_bookmark())
    marked = _bookmarks.set(marks)
    try:
        yield marks
    finally:
        _bookmarks.reset(marked)
        _caller.reset(token)


def set_caller(who: Caller) -> None:
    """Set the caller for the rest of this task."""
    _caller.set(who)


def caller() -> Caller:
    return _caller.get()


def needed_bookmark() -> str | None:
    """The position that a read must have reached: that of the last write here, else the one the caller sent."""
    marks = _bookmarks.get()
    return None if marks is None else marks.bookmark or marks.needed


def note_bookmark(bookmark: str) -> None:
    """Record the log position that a write has reached."""
    marks = _bookmarks.get()
    if marks is not None:
        marks.bookmark = bookmark


def only_reads() -> bool:
    """Whether the operation only reads, so that no write depends on what it sees."""
    trail = _operation.get()
    return trail is not None and trail.operation in READ_OPERATIONS


def steady_operation() -> Operation | None:
    """The current operation, if it may see one state of the memory for a moment: it only reads, or what it writes is
    checked for conflicts."""
    trail = _operation.get()
    return trail if trail is not None and trail.operation in STEADY_OPERATIONS else None


@contextmanager
def traced_operation(operation: str) -> Iterator[Operation]:
    trail = Operation(operation)
    token = _operation.set(trail)
    try:
        yield trail
    finally:
        _operation.reset(token)


class Stage:
    """Counts the time spent inside the block as one stage of the current operation. A class: a search enters several,
    and a generator takes three times as long."""

    __slots__ = ("_name", "_start", "_trail")

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        self._trail, self._start = _operation.get(), time.perf_counter()

    def __exit__(self, *_: object) -> None:
        trail, name, start = self._trail, self._name, self._start
        if trail is None:
            return
        spent = (time.perf_counter() - start) * 1000
        trail.stages[name] = round(trail.stages.get(name, 0.0) + spent, 3)
        if len(trail.spans) < MAX_SPANS:
            trail.spans.append((name, round((start - trail.started) * 1000, 3), round(spent, 3)))


def stage(name: str) -> Stage:
    """Count the time spent inside the block as this stage of the current operation."""
    return Stage(name)


def is_traced() -> bool:
    """Whether an operation is being traced, so that notes are used."""
    return _operation.get() is not None


def note(**facts: Any) -> None:
    trail = _operation.get()
    if trail is not None:
        trail.details |= facts


def note_session(session_id: str) -> None:
    """Set the operation's session, for the case that its caller names none."""
    trail = _operation.get()
    if trail is not None:
        trail.session_id = session_id


def append_note(name: str, fact: Any) -> None:
    """Append to a list in the operation's notes."""
    trail = _operation.get()
    if trail is not None:
        trail.details.setdefault(name, []).append(fact)


def bookmark_number(bookmark: str) -> int:
    """A log position as a number; 0 for an empty bookmark."""
    if not bookmark:
        return 0
    high, slash, low = bookmark.partition("/")
    try:
        if slash and len(bookmark) <= 17:
            return (int(high, 16) << 32) | int(low, 16)
    except ValueError:
        pass
    raise InvalidInput(
        f"{quoted_value(bookmark)} is not a valid bookmark.",
        field="bookmark",
        fix="Send a bookmark that a write returned, or none.",
    )


def later_bookmark(*bookmarks: str | None) -> str:
    """The latest of these bookmarks; empty when there is none."""
    return max((each for each in bookmarks if each), key=bookmark_number, default="")
