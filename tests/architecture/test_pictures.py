"""The moving picture of the README shows what the command line prints today."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from scripts.terminal_picture import PICTURE, recorded_commands, svg_text, timed_lines

from support.varying_text import steady_text

MAX_BYTES = 400_000


def test_the_terminal_shows_what_the_commands_print(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NAMESPACE", "PROFILE", "KEYRING"):
        monkeypatch.delenv(f"HOLDFAST_{name}", raising=False)
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "arctic")
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path))
    kept, written = PICTURE.read_text("utf-8"), svg_text(*timed_lines(recorded_commands()))
    assert steady_text(kept) == steady_text(written), "run `python -m scripts.terminal_picture` and commit the picture"


def test_the_terminal_is_small_and_still_without_motion() -> None:
    kept = PICTURE.read_text("utf-8")
    assert ElementTree.fromstring(kept).tag.endswith("svg")
    assert len(kept) < MAX_BYTES
    assert "prefers-color-scheme: dark" in kept
    assert "prefers-reduced-motion: reduce" in kept
