"""Background work that is not done: of one profile, and in all."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

MAX_BARE_MESSAGES = 16
"""After so many digested messages their vectors are written. Those of memories are written with them: the next session
compares its statements with them by meaning. Chosen so that one step of embedding takes them all."""

WAIT_POLL_SECONDS = 0.05
MAX_MODEL_LOAD_SECONDS = 30.0
"""The longest wait for the first work of a process, which loads the models."""
MAX_SLOWDOWN = 10
"""On a busy machine, a read waits at most this many times its usual wait for background work."""


@dataclass(slots=True)
class PendingProfile:
    """A profile with work: how often the worker was notified of it, and the event that is set when the work is done."""

    asked: int = 0
    done: asyncio.Event = field(default_factory=asyncio.Event)
    drained: int = -1
    """What `asked` was when a round left nothing to do but, perhaps, messages to digest."""
    since: float = field(default_factory=time.monotonic)
    """When its oldest work may have been created."""

    async def wait(self, patience: float | None, warm: Callable[[], bool], *, works_elsewhere: bool) -> bool:
        """Wait until the work is done; False when `patience`, in seconds of work, runs out first. The models may still
        have to be loaded unless `warm()`."""
        began = start = time.monotonic()
        spent = time.process_time()
        while not self.done.is_set():
            if not warm() and time.monotonic() - start < MAX_MODEL_LOAD_SECONDS:
                began, spent = time.monotonic(), time.process_time()
            cpu = None if works_elsewhere else time.process_time() - spent
            left = None if patience is None else _patience_left(patience, began, cpu, warm=warm())
            if left == 0:
                return False
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self.done.wait()
        return True


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


def _patience_left(patience: float, began: float, cpu: float | None, *, warm: bool) -> float:
    """How many seconds to wait before the next check; 0 when patience has run out. `cpu`: the CPU seconds of this
    process since the wait began, None where the work runs on another machine."""
    waited = time.monotonic() - began
    if waited < patience:
        return WAIT_POLL_SECONDS if not warm else patience - waited
    over = cpu is None or cpu >= patience or waited >= MAX_SLOWDOWN * patience
    return 0 if over else WAIT_POLL_SECONDS
