"""A clock of the running loop that can be put forward, so that a test of a timeout neither waits nor hurries."""

from __future__ import annotations

import asyncio


class LoopClock:
    """Timeouts that end before the new time run out at once. The loop is the test's own and ends with it."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self._real, self._ahead = loop.time, 0.0
        loop.time = self.time  # type: ignore[method-assign]

    def time(self) -> float:
        return self._real() + self._ahead

    def advance(self, seconds: float) -> None:
        self._ahead += seconds
