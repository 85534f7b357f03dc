"""How far a long command is, on stderr: a bar on a terminal, a line now and then elsewhere, nothing when quick."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE_SECONDS = 1.0
BETWEEN_LINES_SECONDS = 5.0


class Meter:
    def __init__(self, label: str, total: int, *, at_once: bool) -> None:
        self._label = label
        self._total = total
        self._due = time.monotonic() + (0 if at_once else PATIENCE_SECONDS)
        self._bar: tuple[Progress, TaskID] | None = None

    def reached(self, done: int, *, total: int | None = None, note: str = "") -> None:
        """`note` tells more than the two numbers; a `total` that became known takes the place of the old one."""
        self._total = self._total if total is None else total
        done = max(0, min(done, self._total))
        if self._bar is not None:
            label = f"{self._label}{note}"
            self._bar[0].update(self._bar[1], completed=done, total=self._total, description=label)
        elif time.monotonic() >= self._due:
            if sys.stderr.isatty():
                self._bar = _bar(f"{self._label}{note}", self._total, done)
            else:
                print(f"{self._label}: {done:,} of {self._total:,}{note}", file=sys.stderr)
                self._due = time.monotonic() + BETWEEN_LINES_SECONDS

    def stop(self) -> None:
        if self._bar is not None:
            self._bar[0].stop()


class Silence(Meter):
    """Machines read stderr as well; they get no progress."""

    def reached(self, done: int, *, total: int | None = None, note: str = "") -> None: ...


@contextmanager
def meter(label: str, total: int, *, quiet: bool, at_once: bool = False) -> Iterator[Meter]:
    silent = quiet and not sys.stderr.isatty()
    shown = (Silence if silent else Meter)(label, total, at_once=at_once and sys.stderr.isatty())
    try:
        yield shown
    finally:
        shown.stop()


def _bar(label: str, total: int, done: int) -> tuple[Progress, TaskID]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.start()
    return bar, bar.add_task(label, total=total, completed=done)
