"""What 0.1.0 wrote: a data folder without witnesses, and what it holds."""

from __future__ import annotations

import gzip
import json
import tarfile
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).parents[1] / "fixtures" / "0.1.0"
NAMESPACE = "clinic"
PROFILES = ("ana", "kim")


def unpack_folder(path: Path) -> Path:
    """Unpack the data folder under `path`, and return where it lies."""
    with tarfile.open(FIXTURES / "folder.tar.gz") as tar:
        tar.extractall(path, filter="data")
    return path / "folder"


def expected_contents() -> dict[str, Any]:
    """What the folder and the database hold, as 0.1.0 told it."""
    found: dict[str, Any] = json.loads(gzip.decompress((FIXTURES / "expected.json.gz").read_bytes()))
    return found


def expected_texts(profile: str) -> list[str]:
    """The current memories and the messages of a profile of the folder, as texts in order."""
    held = expected_contents()["folder"][profile]
    current = [each["content"] for each in held["memories"] if each["id"] in held["current"]]
    return sorted([*current, *(each["content"] for each in held["messages"])])
