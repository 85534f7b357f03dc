"""Background work that is not done: of one profile, and in all."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import NamedTuple

MAX_BARE_MESSAGES = 16
"""After so many digested messages their vectors are written. Those of memories are written with them: the next session
compares its statements with them by meaning. Chosen so that one step of embedding takes them all."""


@dataclass(slots=True)
class PendingProfile:
    """A profile with work: how often the worker was notified of it, and the event that is set when the work is done."""

    asked: int = 0
    done: asyncio.Event = field(default_factory=asyncio.Event)
    drained: int = -1
    """What `asked` was when a round left nothing to do but, perhaps, messages to digest."""
    since: float = field(default_factory=time.monotonic)
    """When its oldest work may have been created."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """How much work is not done."""

    profiles: int
    """Profiles with messages to digest, memories to embed or documents to parse, as far as this process knows."""
    seconds: float
    """How long the work that waits longest has waited."""


class Round(NamedTuple):
    """How much a round of work did, and whether it may have left some."""

    done: int
    left: bool
