"""Waiting for what is to come. The limit only ends a test that would hang; no busy machine takes that long."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any

PATIENCE_SECONDS = 120.0


async def until(holds: Callable[[], bool] | Callable[[], Awaitable[Any]]) -> None:
    """Wait until it holds; it may have to be awaited."""
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        found: Any = holds()
        if await found if inspect.isawaitable(found) else found:
            return
        assert time.monotonic() < end, f"not within {PATIENCE_SECONDS:.0f} s"
        await asyncio.sleep(0.01)


def block_until(holds: Callable[[], Any]) -> None:
    """The same for a test without a loop."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < end, f"not within {PATIENCE_SECONDS:.0f} s"
        time.sleep(0.01)
