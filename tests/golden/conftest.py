"""The golden files: compared, or written anew with --renew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
Compare = Callable[[str, str], None]


@pytest.fixture
def compare(pytestconfig: pytest.Config) -> Compare:
    """Compares a text with the golden file of that name."""

    def compare(name: str, text: str) -> None:
        path = FOLDER / name
        if pytestconfig.getoption("--renew"):
            path.write_text(text, "utf-8")
        held = path.read_text("utf-8") if path.exists() else ""
        assert text.split("\n") == held.split("\n"), (
            f"tests/golden/{name} says otherwise. If the change is meant, run `pytest tests/golden --renew`, "
            "read the difference, and commit it."
        )

    return compare
