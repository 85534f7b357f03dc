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
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def milliseconds(self) -> float:
        return round((time.perf_counter() - self.started) * 1000, 3)


_caller: ContextVar[Caller] = ContextVar("caller", default=Caller())  # noqa: B039  (frozen)
_trail: ContextVar[Trail | None] = ContextVar("trail", default=None)


@contextmanager
def acting(
    *,
    agent: str | None = None,
    session_id: str | None = None,
    turn_id: str | None = None,
    credential: str | None = None,
) -> Iterator[None]:
    """What is done inside is traced as done by this agent, in this session and turn."""
    given = {"agent": agent, "session_id": session_id, "turn_id": turn_id, "credential": credential}
    known: dict[str, Any] = {name: str(value) for name, value in given.items() if value is not None}
    token = _caller.set(replace(_caller.get(), **known))
    try:
        yield
    finally:
        _caller.reset(token)


def act(who: Caller) -> None:
    """The rest of this task is done on behalf of this caller."""
    _caller.set(who)


def caller() -> Caller:
    return _caller.get()


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
        trail.stages[name] = round(trail.stages.get(name, 0.0) + (time.perf_counter() - start) * 1000, 3)


def followed() -> bool:
    """Whether anybody will read what is noted."""
    return _trail.get() is not None


def note(**facts: Any) -> None:
    trail = _trail.get()
    if trail is not None:
        trail.details |= facts


def append(name: str, fact: Any) -> None:
    """One more of something that may happen several times in an operation."""
    trail = _trail.get()
    if trail is not None:
        trail.details.setdefault(name, []).append(fact)
