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
    try:
        held = json.loads((folder / NAME).read_text())
        return Door(str(held["url"]), str(held["token"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
