"""Shows the progress of a long command on stderr: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from holdfast.service.sync import Profile

PATIENCE_SECONDS = 1.0
"""A command that ends sooner shows no progress. Chosen by hand; not measured."""
BETWEEN_LINES_SECONDS = 5.0
"""Time between two printed lines. Chosen by hand; not measured."""
POLL_SECONDS = 0.2
"""Time between two polls of the worker's progress. Chosen by hand; not measured."""


class ProgressMeter:
    def __init__(self, label: str, total: int, *, at_once: bool) -> None:
        self._label = label
        self._total = total
        self._due = time.monotonic() + (0 if at_once else PATIENCE_SECONDS)
        self._bar: tuple[Progress, TaskID] | None = None

    def update(self, done: int, *, total: int | None = None, note: str = "") -> None:
        """`note` is printed after the two numbers; a `total` that became known replaces the old one."""
        self._total = self._total if total is None else total
        done = max(0, min(done, self._total))
        if self._bar is not None:
            label = f"{self._label}{note}"
            self._bar[0].update(self._bar[1], completed=done, total=self._total, description=label)
        elif time.monotonic() >= self._due:
            if sys.stderr.isatty():
                self._bar = _start_bar(f"{self._label}{note}", self._total, done)
            else:
                print(f"{self._label}: {done:,} of {self._total:,}{note}", file=sys.stderr)
                self._due = time.monotonic() + BETWEEN_LINES_SECONDS

    def stop(self) -> None:
        if self._bar is not None:
            self._bar[0].stop()


class SilentMeter(ProgressMeter):
    """Shows nothing: a program that asked for JSON reads stderr as well."""

    def update(self, done: int, *, total: int | None = None, note: str = "") -> None: ...


@contextmanager
def progress_meter(label: str, total: int, *, quiet: bool, at_once: bool = False) -> Iterator[ProgressMeter]:
    silent = quiet and not sys.stderr.isatty()
    shown = (SilentMeter if silent else ProgressMeter)(label, total, at_once=at_once and sys.stderr.isatty())
    try:
        yield shown
    finally:
        shown.stop()


def wait_for_digestion(profile: Profile, *, quiet: bool) -> None:
    """Wait for the worker and show how many messages it has digested and embedded."""
    if profile.settle(POLL_SECONDS):
        return
    stats = profile.stats()
    messages, work = stats.pending or stats.unembedded, stats.pending + stats.unembedded
    with progress_meter("Digesting", messages, quiet=quiet) as digesting:
        while not profile.settle(POLL_SECONDS):
            stats = profile.stats()
            left = stats.pending + stats.unembedded
            work = max(work, left)
            digesting.update(messages * (work - left) // max(work, 1))


def _start_bar(label: str, total: int, done: int) -> tuple[Progress, TaskID]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.start()
    return bar, bar.add_task(label, total=total, completed=done)
