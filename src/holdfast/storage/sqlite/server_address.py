"""Publishes the address of the server that has a data folder open, for the same user's processes on this machine.

The address file is in the folder beside the master key and has the same permissions: a process that may read one may
read the other.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

ADDRESS_FILE = "server.json"
LOCK_FILE = "lock"


class ServerAddress(NamedTuple):
    """The URL of a server and the token it accepts."""

    url: str
    token: str


def announce(folder: Path, address: ServerAddress) -> None:
    """Write the address file atomically."""
    fresh = folder / f"{ADDRESS_FILE}.new"
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as out:
        json.dump({"url": address.url, "token": address.token, "process": os.getpid()}, out)
    fresh.replace(folder / ADDRESS_FILE)


def withdraw(folder: Path) -> None:
    with suppress(OSError):
        (folder / ADDRESS_FILE).unlink()


def load_address(folder: Path) -> ServerAddress | None:
    """The last announced address; its server may be gone."""
    announced = _load_announcement(folder)
    return None if announced is None else announced[0]


def load_live_address(folder: Path) -> ServerAddress | None:
    """The address of the process that has the folder open now. An older one is ignored: another program may have taken
    its port and must not get the token."""
    announced = _load_announcement(folder)
    return announced[0] if announced is not None and announced[1] == last_owner(folder) else None


def last_owner(folder: Path) -> int | None:
    """The id of the process that opened the folder last; it may be gone."""
    try:
        return int((folder / LOCK_FILE).read_text())
    except (OSError, ValueError):
        return None


def _load_announcement(folder: Path) -> tuple[ServerAddress, int] | None:
    try:
        announced = json.loads((folder / ADDRESS_FILE).read_text())
        return ServerAddress(str(announced["url"]), str(announced["token"])), int(announced["process"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
