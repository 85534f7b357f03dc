"""The command line run in the test's own process: fixtures and what a run gave."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest

from holdfast.cli import main
from holdfast.cli.parameters import Commands

PATIENT_HOLDFAST = "import sys; from holdfast.cli import main; sys.exit(main(sys.argv[1:]))"
"""The program of `python -m holdfast`, without the time limit of hooks: it ends when its work is done."""


@dataclass
class CliResult:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        return json.loads(self.err)["error"]


Run = Callable[..., CliResult]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HOLDFAST_NAMESPACE", "HOLDFAST_PROFILE", "HOLDFAST_KEYRING"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "potion")
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def run(data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr("holdfast.cli.commands.memories.SETTLE_SECONDS", 120.0)

    def run(*arguments: str, stdin: str | bytes = b"") -> CliResult:
        given = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        code = main(arguments)
        return CliResult(code, *capsys.readouterr())

    return run


def all_commands(commands: Commands) -> dict[str, click.Command]:
    """Name → command, also of those that the help does not show."""
    context = click.Context(commands)
    found = {name: commands.get_command(context, name) for name in commands.list_commands(context)}
    return {name: command for name, command in found.items() if command is not None}
