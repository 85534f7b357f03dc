"""How far a command is, told in what its user counts, on a terminal only."""

from __future__ import annotations

import io
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.cli.output import progress
from holdfast.cli.output.progress import Interrupted, spinner, stop_spinner, wait_for_digestion


class Busy:
    """A profile whose worker gets on: first with what was said, then with the vectors of it."""

    def __init__(self, *steps: tuple[int, int]) -> None:
        self.steps = list(steps)

    def settle(self, _: float) -> bool:
        return not self.steps

    def stats(self) -> Any:
        pending, unembedded = self.steps.pop(0)
        return SimpleNamespace(pending=pending, unembedded=unembedded)


class Stopped(Busy):
    """A profile whose user presses Ctrl-C while it works."""

    def settle(self, _: float) -> bool:
        raise KeyboardInterrupt


class Terminal(io.StringIO):
    def __init__(self) -> None:
        super().__init__()
        self.drawn = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        written = super().write(text)
        self.drawn.set()
        return written


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    shown = Terminal()
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(progress, "FRAME_SECONDS", 0.001)
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=shown))
    return shown


@pytest.fixture
def bars(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """What the bar shows: done, total."""
    shown: list[tuple[int, int]] = []

    class Bar:
        def update(self, _: int, *, completed: int, total: int, description: str) -> None:
            assert description == "Digesting"
            shown.append((completed, total))

        def stop(self) -> None: ...

    def start_bar(label: str, total: int, done: int) -> Any:
        shown.append((done, total))
        return Bar(), 0

    monkeypatch.setattr(progress, "_start_bar", start_bar)
    return shown


def test_three_hundred_messages_are_counted_as_three_hundred(bars: list[tuple[int, int]]) -> None:
    wait_for_digestion(Busy((300, 300), (172, 236), (0, 300), (0, 0)))  # type: ignore[arg-type]
    assert bars == [(96, 300), (150, 300), (300, 300)]


def test_what_only_lacks_its_meaning_is_counted_too(bars: list[tuple[int, int]]) -> None:
    wait_for_digestion(Busy((0, 40), (0, 10)))  # type: ignore[arg-type]
    assert bars == [(30, 40)]


def test_without_a_terminal_nothing_is_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.0)
    with spinner("holdfast recall"):
        wait_for_digestion(Busy((3, 3), (1, 1)))  # type: ignore[arg-type]
    assert capsys.readouterr().err == ""


def test_a_spinner_moves_until_something_else_is_shown_and_leaves_nothing(terminal: Terminal) -> None:
    with spinner("holdfast recall"):
        assert terminal.drawn.wait(60)
        stop_spinner()
        text = terminal.getvalue()
    assert "⠋ holdfast recall … 0 s" in text
    assert text.endswith(progress.ERASE_LINE)
    assert terminal.getvalue() == text


def test_after_an_interrupt_the_user_learns_what_waits() -> None:
    with pytest.raises(Interrupted, match=r"^Interrupted\. Everything is stored\. Waiting: 7 to be digested; "):
        wait_for_digestion(Stopped((7, 9)))  # type: ignore[arg-type]
    with pytest.raises(Interrupted, match="Nothing is waiting"):
        wait_for_digestion(Stopped((0, 0)))  # type: ignore[arg-type]
