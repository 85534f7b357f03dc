"""What an operation does, gathered as it goes, and on whose behalf. It travels with the call; nobody passes it on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

from .records import Caller


@dataclass(slots=True)
class Trail:
    operation: str
    started: float = field(default_factory=time.perf_counter)
    stages: dict[str, float] = field(default_factory=dict)
    """Milliseconds spent in each."""
    spans: list[tuple[str, float, float]] = field(default_factory=list)
    """When each began, in milliseconds from the start, and how long it took; the first ones of very many."""
    details: dict[str, Any] = field(default_factory=dict)
    session_id: str | None = None
    """The session it is about, when its caller named none."""

    @property
    def milliseconds(self) -> float:
        return round((time.perf_counter() - self.started) * 1000, 3)


@dataclass(slots=True)
class Marks:
    """Places in the change of a whole database: which one readers must have reached, and which one writers reached."""

    needed: str | None = None
    bookmark: str | None = None


READS = frozenset((
    "search", "recall", "context", "list", "get", "history", "messages", "sessions", "summary", "stats", "review",
    "edits",
))  # fmt: skip
SPANS = 64
_marks: ContextVar[Marks | None] = ContextVar("marks", default=None)
_caller: ContextVar[Caller] = ContextVar("caller", default=Caller())  # noqa: B039  (frozen)
_trail: ContextVar[Trail | None] = ContextVar("trail", default=None)


@contextmanager
def acting(
    *,
    agent: str | None = None,
    session_id: str | None = None,
    turn_id: str | None = None,
    credential: str | None = None,
    after: str | None = None,
) -> Iterator[Marks]:
    """What is done inside is traced as done by this agent, in this session and turn.

    With a replica, reads inside see at least what was written up to the bookmark `after`; the bookmark of what was
    written inside is the result's.
    """
    given = {"agent": agent, "session_id": session_id, "turn_id": turn_id, "credential": credential}
    known: dict[str, Any] = {name: str(value) for name, value in given.items() if value is not None}
    token = _caller.set(replace(_caller.get(), **known))
    marks = Marks(after or needed())
    marked = _marks.set(marks)
    try:
        yield marks
    finally:
        _marks.reset(marked)
        _caller.reset(token)


def act(who: Caller) -> None:
    """The rest of this task is done on behalf of this caller."""
    _caller.set(who)


def caller() -> Caller:
    return _caller.get()


def needed() -> str | None:
    """What a read must see: up to where its caller was told of a write, and to what was written on the way."""
    marks = _marks.get()
    return None if marks is None else marks.bookmark or marks.needed


def reached(bookmark: str) -> None:
    """A write is this far."""
    marks = _marks.get()
    if marks is not None:
        marks.bookmark = bookmark


def reads() -> bool:
    """Whether the operation only reads: nothing is decided by what it sees."""
    trail = _trail.get()
    return trail is not None and trail.operation in READS


@contextmanager
def following(operation: str) -> Iterator[Trail]:
    trail = Trail(operation)
    token = _trail.set(trail)
    try:
        yield trail
    finally:
        _trail.reset(token)


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Time spent inside counts as this stage of whatever operation runs."""
    trail = _trail.get()
    if trail is None:
        yield
        return
    start = time.perf_counter()
    try:
        yield
    finally:
        spent = (time.perf_counter() - start) * 1000
        trail.stages[name] = round(trail.stages.get(name, 0.0) + spent, 3)
        if len(trail.spans) < SPANS:
            trail.spans.append((name, round((start - trail.started) * 1000, 3), round(spent, 3)))


def followed() -> bool:
    """Whether anybody will read what is noted."""
    return _trail.get() is not None


def note(**facts: Any) -> None:
    trail = _trail.get()
    if trail is not None:
        trail.details |= facts


def about(session_id: str) -> None:
    """The operation is part of this session, unless its caller says of which."""
    trail = _trail.get()
    if trail is not None:
        trail.session_id = session_id


def append(name: str, fact: Any) -> None:
    """One more of something that may happen several times in an operation."""
    trail = _trail.get()
    if trail is not None:
        trail.details.setdefault(name, []).append(fact)
