"""Folders that evaluations read from and write to."""

from __future__ import annotations

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
DATA = REPOSITORY / "evals" / "data"
EXTRACTION = DATA / "extraction"
CACHE = REPOSITORY / "evals" / ".cache"
RESULTS = REPOSITORY / "docs" / "results"
PACKAGE = REPOSITORY / "src" / "holdfast"
