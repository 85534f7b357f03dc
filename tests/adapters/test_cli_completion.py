"""Completion as a shell asks for it: the real bash runs the script, every shell's protocol is answered."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.cli.completion import SHELLS
from support.cli import Run, data, run
from support.paths import SOURCE

__all__ = ["data", "run"]
ASK_BASH = """
eval "$(holdfast completion bash)"
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
compopt() { echo "compopt $*"; }
_holdfast_completion "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""
Ask = Callable[..., list[str]]


@pytest.fixture
def program(tmp_path: Path, data: Path) -> dict[str, str]:
    """The environment of a shell that finds `holdfast`, whose data lie in `data`."""
    file = tmp_path / "bin" / "holdfast"
    file.parent.mkdir()
    file.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m holdfast "$@"\n')
    file.chmod(0o755)
    return {**os.environ, "PYTHONPATH": str(SOURCE), "PATH": f"{file.parent}:{os.environ['PATH']}"}


@pytest.fixture
def ask_bash(program: dict[str, str]) -> Ask:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")

    def ask(*words: str) -> list[str]:
        asked = subprocess.run(
            [bash, "-c", ASK_BASH, "bash", *words], env=program, capture_output=True, text=True, timeout=400
        )
        assert asked.stderr == ""
        return asked.stdout.split()

    return ask


def test_bash_completes_commands_options_and_values(run: Run, ask_bash: Ask, tmp_path: Path) -> None:
    run("remember", "something", "-p", "alice")
    assert set(ask_bash("holdfast", "re")) >= {"remember", "recall", "review", "redigest"}
    assert ask_bash("holdfast", "list", "--lim") == ["--limit"]
    assert ask_bash("holdfast", "ingest", "--format", "js") == ["json", "jsonl"]
    assert ask_bash("holdfast", "namespaces", "d") == ["delete"]
    assert ask_bash("holdfast", "list", "-n", "") == ["default"]
    assert ask_bash("holdfast", "list", "--profile", "al") == ["alice"]
    assert ask_bash("holdfast", "import", "conv")[:3] == ["compopt", "-o", "default"]  # bash completes file names


def test_completion_in_a_folder_without_data_makes_nothing(ask_bash: Ask, data: Path) -> None:
    assert ask_bash("holdfast", "list", "--profile", "") == []
    assert not data.exists()


@pytest.mark.parametrize(
    ("shell", "words", "answer"),
    [
        ("zsh", "holdfast reca", "plain\nrecall\nAnswer a question"),
        ("fish", "holdfast reca", "plain"),
        ("bash", "holdfast reca", "plain,recall"),
    ],
)
def test_every_shell_is_answered_in_its_own_way(
    run: Run, monkeypatch: pytest.MonkeyPatch, shell: str, words: str, answer: str
) -> None:
    monkeypatch.setenv("_HOLDFAST_COMPLETE", f"{shell}_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", "reca" if shell == "fish" else "1")
    told = run()
    assert (told.code, told.err) == (0, "")
    assert told.out.startswith(answer)
    assert "recall" in told.out


def test_the_script_of_every_shell_asks_this_program(run: Run) -> None:
    for shell in SHELLS:
        script = run("completion", shell)
        assert script.code == 0
        assert f"_HOLDFAST_COMPLETE={shell}_complete" in script.out
    assert run("completion", "tcsh", "--json").error["field"] == "shell"


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_a_shell_that_is_installed_accepts_its_script(run: Run, tmp_path: Path, shell: str) -> None:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    script.write_text(run("completion", shell).out)
    assert subprocess.run([path, "-n", str(script)], timeout=60).returncode == 0
