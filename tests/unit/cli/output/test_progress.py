"""How far a command is, told in what its user counts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.cli.output import progress
from holdfast.cli.output.progress import wait_for_digestion


class Busy:
    """A profile whose worker gets on: first with what was said, then with the vectors of it."""

    def __init__(self, *steps: tuple[int, int]) -> None:
        self.steps = list(steps)

    def settle(self, _: float) -> bool:
        return not self.steps

    def stats(self) -> Any:
        pending, unembedded = self.steps.pop(0)
        return SimpleNamespace(pending=pending, unembedded=unembedded)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(progress, "BETWEEN_LINES_SECONDS", 0.0)


def test_three_hundred_messages_are_counted_as_three_hundred(capsys: pytest.CaptureFixture[str]) -> None:
    wait_for_digestion(Busy((300, 300), (172, 236), (0, 300), (0, 0)), quiet=False)  # type: ignore[arg-type]
    assert capsys.readouterr().err.splitlines() == [
        "Digesting: 96 of 300", "Digesting: 150 of 300", "Digesting: 300 of 300",
    ]  # fmt: skip


def test_what_only_lacks_its_meaning_is_counted_too(capsys: pytest.CaptureFixture[str]) -> None:
    wait_for_digestion(Busy((0, 40), (0, 10)), quiet=False)  # type: ignore[arg-type]
    assert capsys.readouterr().err.splitlines() == ["Digesting: 30 of 40"]


def test_machines_are_told_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    wait_for_digestion(Busy((3, 3), (1, 1)), quiet=True)  # type: ignore[arg-type]
    assert capsys.readouterr().err == ""
