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


class _Announcement(NamedTuple):
    address: ServerAddress
    process: int
    background: bool


def announce(folder: Path, address: ServerAddress, *, background: bool = False) -> None:
    """Write the address file atomically. A background process makes way for a server that its user starts."""
    folder.mkdir(parents=True, exist_ok=True)
    fresh = folder / f"{ADDRESS_FILE}.new"
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as out:
        announced = {"url": address.url, "token": address.token, "process": os.getpid(), "background": background}
        json.dump(announced, out)
    fresh.replace(folder / ADDRESS_FILE)


def withdraw(folder: Path) -> None:
    with suppress(OSError):
        (folder / ADDRESS_FILE).unlink()


def load_address(folder: Path) -> ServerAddress | None:
    """The last announced address; its server may be gone."""
    announced = _load_announcement(folder)
    return None if announced is None else announced.address


def load_live_address(folder: Path) -> ServerAddress | None:
    """The address of the process that has the folder open now. An older one is ignored: another program may have taken
    its port and must not get the token."""
    announced = _load_announcement(folder)
    return announced.address if announced is not None and announced.process == last_owner(folder) else None


def background_process(folder: Path) -> int | None:
    """The id of the background process that has the folder open."""
    announced = _load_announcement(folder)
    if announced is None or not announced.background or announced.process != last_owner(folder):
        return None
    return announced.process


def last_owner(folder: Path) -> int | None:
    """The id of the process that opened the folder last; it may be gone."""
    try:
        return int((folder / LOCK_FILE).read_text())
    except (OSError, ValueError):
        return None


def _load_announcement(folder: Path) -> _Announcement | None:
    try:
        found = json.loads((folder / ADDRESS_FILE).read_text())
        address = ServerAddress(str(found["url"]), str(found["token"]))
        return _Announcement(address, int(found["process"]), found.get("background") is True)
    except (OSError, ValueError, KeyError, TypeError):
        return None
