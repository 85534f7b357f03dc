"""Runs asynchronous code over a blocking profile, so that an adapter is written only once.

Over a blocking profile no await ever suspends, so a coroutine runs to its end in one step.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from holdfast import Profile

T = TypeVar("T")


class AwaitableProfile:
    """A blocking profile whose methods can be awaited."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._profile, name)

        async def call(*args: Any, **given: Any) -> Any:
            return method(*args, **given)

        return call


def run_without_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends, and return its result."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    work.close()
    raise RuntimeError("This call would block a running event loop; use the asynchronous methods.")
