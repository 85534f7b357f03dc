"""Where the process that has a data folder open answers, for others of the same user on the same machine.

The note lies in the folder, beside its master key and as private: whoever may read the one may read the other.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

NAME = "server.json"
LOCK = "lock"


class Door(NamedTuple):
    url: str
    token: str


def announce(folder: Path, door: Door) -> None:
    fresh = folder / f"{NAME}.new"
    made = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(made, "w") as out:
        json.dump({"url": door.url, "token": door.token, "process": os.getpid()}, out)
    fresh.replace(folder / NAME)


def withdraw(folder: Path) -> None:
    with suppress(OSError):
        (folder / NAME).unlink()


def found(folder: Path) -> Door | None:
    """As last announced; whoever did so may be gone."""
    held = _held(folder)
    return None if held is None else held[0]


def answering(folder: Path) -> Door | None:
    """The door of the process that has the folder open now; its token is for nobody who took the port after it."""
    held = _held(folder)
    return held[0] if held is not None and held[1] == owner(folder) else None


def owner(folder: Path) -> int | None:
    """The process that opened the folder last; it may be gone."""
    try:
        return int((folder / LOCK).read_text())
    except (OSError, ValueError):
        return None


def _held(folder: Path) -> tuple[Door, int] | None:
    try:
        held = json.loads((folder / NAME).read_text())
        return Door(str(held["url"]), str(held["token"])), int(held["process"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
