"""How background tasks are ended."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

CANCEL_AGAIN_SECONDS = 3.0
"""Longer than what a cancelled task still does, as releasing a lease: cancelled again, it would not do it. Chosen by
hand; not measured."""


async def end_tasks(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks, again and again until they have ended, and ignore how they ended.

    Once is not enough: before Python 3.12, `asyncio.wait_for` drops a cancellation that comes together with what it
    waits for. The pool of connections to PostgreSQL uses it, and a task that works in rounds would never end.
    """
    running = {task for task in tasks if not task.done()}
    while running:
        for task in running:
            task.cancel()
        ended, running = await asyncio.wait(running, timeout=CANCEL_AGAIN_SECONDS)
        for task in ended:
            if not task.cancelled():
                task.exception()  # seen, so that asyncio does not log it
