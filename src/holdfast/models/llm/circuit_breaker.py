"""The circuit breaker of a server: after failures in a row, calls pause for a time that
doubles with each failed trial."""

from __future__ import annotations

import time
from collections.abc import Callable

from holdfast.domain.errors import ModelUnavailable

FAILURES_TO_OPEN = 5
FIRST_REST_SECONDS = 5.0
MAX_REST_SECONDS = 300.0
"""Failures in a row that open the breaker; seconds until the first trial call, and the maximum.
Chosen by hand; not measured."""


class CircuitBreaker:
    """Opens after several failures in a row. After a pause, one trial call is allowed: its success closes the breaker,
    its failure doubles the pause. A call that neither succeeded nor failed (it was cancelled) changes nothing."""

    def __init__(
        self,
        name: str,
        *,
        after: int = FAILURES_TO_OPEN,
        rest: float = FIRST_REST_SECONDS,
        longest: float = MAX_REST_SECONDS,
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
        """Raises ModelUnavailable while open; returns True for the one trial call that tests
        whether the server is up again."""
        if self._until is None:
            return False
        left = self._until - self._clock()
        if left > 0 or self._trying:
            raise ModelUnavailable(
                f"{self._name} failed {self._failures} times in a row and is paused; "
                f"the next attempt is in {max(1, round(left))} s."
            )
        self._trying = True
        return True

    def answered(self) -> None:
        """Records a call that the server answered; closes the breaker."""
        self._failures, self._until, self._rest = 0, None, self._first
        self._trying = False

    def failed(self, *, trying: bool) -> None:
        """Records a failed call; opens the breaker after enough of them."""
        self._failures += 1
        if trying:
            self._trying = False
            self._rest = min(self._rest * 2, self._longest)
        elif self._until is not None or self._failures < self._after:
            return
        self._until = self._clock() + self._rest

    def left(self, *, trying: bool) -> None:
        """Records a call that ended without showing whether the server is up."""
        if trying:
            self._trying = False
