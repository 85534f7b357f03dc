"""Folders of the repository that tests read from."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
SOURCE = ROOT / "src"
EVALS_DATA = ROOT / "evals" / "data"
CHILDREN = TESTS / "support" / "children"
VENDOR_EXPORTS = TESTS / "support" / "vendor_exports"
