"""A server that is down is left alone for a while, which grows as long as it stays down."""

from __future__ import annotations

import time
from collections.abc import Callable

from ...errors import ModelUnavailable

AFTER = 5
REST = 5.0
LONGEST_REST = 300.0


class Breaker:
    """Opens after some failures in a row. After a rest one call may try: its success closes, its failure doubles
    the rest. A call that neither succeeded nor failed (it was cancelled) leaves everything as it was."""

    def __init__(
        self,
        name: str,
        *,
        after: int = AFTER,
        rest: float = REST,
        longest: float = LONGEST_REST,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name
        self._after, self._first, self._longest = after, rest, longest
        self._rest = rest
        self._clock = clock
        self._failures = 0
        self._until: float | None = None
        self._trying = False

    @property
    def open(self) -> bool:
        return self._until is not None

    def enter(self) -> bool:
        """Raises ModelUnavailable while open; True for the one call that tries whether it is up again."""
        if self._until is None:
            return False
        left = self._until - self._clock()
        if left > 0 or self._trying:
            raise ModelUnavailable(
                f"{self._name} failed {self._failures} times in a row and is left alone; "
                f"it is asked again in {max(1, round(left))} s."
            )
        self._trying = True
        return True

    def answered(self) -> None:
        self._failures, self._until, self._rest = 0, None, self._first
        self._trying = False

    def failed(self, *, trying: bool) -> None:
        self._failures += 1
        if trying:
            self._trying = False
            self._rest = min(self._rest * 2, self._longest)
        elif self._until is not None or self._failures < self._after:
            return
        self._until = self._clock() + self._rest

    def left(self, *, trying: bool) -> None:
        """A call ended without telling anything about the server."""
        if trying:
            self._trying = False
