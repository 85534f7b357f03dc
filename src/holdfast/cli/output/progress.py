"""Shows on a terminal that a long command is at work, and how far it is; elsewhere nothing. All of it is on stderr."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from holdfast.service.sync import Profile

PATIENCE_SECONDS = 1.0
"""A command that ends sooner shows no progress. Chosen by hand; not measured."""
FRAME_SECONDS = 0.1
"""Time between two pictures of the spinner. Chosen by hand; not measured."""
POLL_SECONDS = 0.2
"""Time between two polls of the worker's progress. Chosen by hand; not measured."""
SPINNER_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
ERASE_LINE = "\r\x1b[2K"


class Interrupted(KeyboardInterrupt):
    """The user pressed Ctrl-C; the message says what is stored and what waits."""


class Spinner:
    """A line that moves while a command works and shows nothing else. It runs in a thread of its own."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._draw, name="holdfast-spinner", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Erase the line; whoever prints to the terminal calls this first."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _draw(self) -> None:
        start = time.monotonic()
        if self._ended.wait(PATIENCE_SECONDS):
            return
        step = 0
        while not self._ended.wait(FRAME_SECONDS):
            seconds = time.monotonic() - start
            frame = SPINNER_FRAMES[step % len(SPINNER_FRAMES)]
            sys.stderr.write(f"{ERASE_LINE}{frame} {self._label} … {seconds:.0f} s")
            sys.stderr.flush()
            step += 1
        sys.stderr.write(ERASE_LINE)
        sys.stderr.flush()


_spinners: list[Spinner] = []
"""The spinner of the running command; empty where there is none."""


@contextmanager
def spinner(label: str) -> Iterator[None]:
    """Show on a terminal that a command is at work, until something else is shown."""
    if not sys.stderr.isatty():
        yield
        return
    shown = Spinner(label)
    _spinners.append(shown)
    shown.start()
    try:
        yield
    finally:
        stop_spinner()


def stop_spinner() -> None:
    """Call this before anything is printed or asked on the terminal."""
    while _spinners:
        _spinners.pop().stop()


class ProgressMeter:
    """A bar on a terminal; elsewhere nothing."""

    def __init__(self, label: str, total: int, *, at_once: bool) -> None:
        self._label = label
        self._total = total
        self._due = time.monotonic() + (0 if at_once else PATIENCE_SECONDS)
        self._bar: tuple[Progress, TaskID] | None = None
        self._visible = sys.stderr.isatty()

    def update(self, done: int, *, total: int | None = None, note: str = "") -> None:
        """`note` is shown after the label; a `total` that became known replaces the old one."""
        self._total = self._total if total is None else total
        done = max(0, min(done, self._total))
        label = f"{self._label}{note}"
        if self._bar is not None:
            self._bar[0].update(self._bar[1], completed=done, total=self._total, description=label)
        elif self._visible and time.monotonic() >= self._due:
            stop_spinner()
            self._bar = _start_bar(label, self._total, done)

    def stop(self) -> None:
        if self._bar is not None:
            self._bar[0].stop()


@contextmanager
def progress_meter(label: str, total: int, *, at_once: bool = False) -> Iterator[ProgressMeter]:
    shown = ProgressMeter(label, total, at_once=at_once)
    try:
        yield shown
    finally:
        shown.stop()


def wait_for_digestion(profile: Profile) -> None:
    """Wait for the worker and show how many messages it has digested and embedded."""
    try:
        if profile.settle(POLL_SECONDS):
            return
        stats = profile.stats()
        messages, work = stats.pending or stats.unembedded, stats.pending + stats.unembedded
        with progress_meter("Digesting", messages) as digesting:
            while not profile.settle(POLL_SECONDS):
                stats = profile.stats()
                left = stats.pending + stats.unembedded
                work = max(work, left)
                digesting.update(messages * (work - left) // max(work, 1))
    except KeyboardInterrupt:
        raise Interrupted(f"Interrupted. Everything is stored. {waiting_work(profile)}") from None


def waiting_work(profile: Profile) -> str:
    """What of a profile still waits, and when it is done."""
    stats = profile.stats()
    if not stats.pending and not stats.unembedded:
        return "Nothing is waiting."
    waiting = f"{stats.pending:,} to be digested" if stats.pending else f"{stats.unembedded:,} to be embedded"
    return f"Waiting: {waiting}; the next command on this profile, or a server, does it."


def _start_bar(label: str, total: int, done: int) -> tuple[Progress, TaskID]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.start()
    return bar, bar.add_task(label, total=total, completed=done)
