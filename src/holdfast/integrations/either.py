"""One logic for callers with an event loop and without: written once, to be awaited.

Over a blocking profile nothing it awaits ever waits, so that it runs to its end in one step.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from holdfast import Profile

T = TypeVar("T")


class Awaited:
    """A blocking profile whose methods can be awaited."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._profile, name)

        async def call(*args: Any, **given: Any) -> Any:
            return method(*args, **given)

        return call


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """What this comes to, given that it never waits."""
    try:
        work.send(None)
    except StopIteration as done:
        found: T = done.value
        return found
    work.close()
    raise RuntimeError("This waits for an event loop; use the asynchronous methods.")
