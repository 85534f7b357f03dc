"""Starts, finds and ends the background process: it serves the data folder to hooks, clients and commands of a user.

A hook that finds no server starts one and does not wait for it. A second one for the same folder ends at once.
Every hook loads this module, so it imports nothing heavy.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from holdfast.cli.hooks.clients import program_command
from holdfast.service.settings import Settings
from holdfast.storage.sqlite.server_address import (
    ServerAddress,
    background_process,
    load_address,
    load_live_address,
)

IDLE_SECONDS = 3600
"""A process that was started on demand ends after so long without a request. Chosen by hand; not measured."""
POLL_SECONDS = 0.05
MAX_STOP_SECONDS = 10.0
"""How long to wait for the process to end after asking it to. Chosen by hand; not measured."""


def running_server(settings: Settings) -> ServerAddress | None:
    """The server that has the data folder, or the database of the settings, open for this user; None when none does."""
    found = load_live_address(settings.folder) if settings.store is None else load_address(settings.folder)
    return found if found is not None and _accepts_connections(found.url) else None


def start_background(data: str | None) -> None:
    """Start the process and return at once."""
    command = [*program_command(), "background", "--idle", str(IDLE_SECONDS), *(["--data", data] if data else [])]
    if sys.platform == "win32":
        import subprocess

        subprocess.Popen(command, creationflags=subprocess.DETACHED_PROCESS, close_fds=True)
        return
    if detach():
        with suppress(OSError):
            os.execv(command[0], command)
        os._exit(1)


def detach() -> bool:
    """Fork a process that outlives this one, without its input and output; True in the new process."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return False
    os.setsid()
    if os.fork():
        os._exit(0)  # nobody has to wait for the new process
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    return True


def wait_for_server(settings: Settings, left: Callable[[], float]) -> ServerAddress | None:
    """The server, as soon as there is one; None when time is up."""
    while (found := running_server(settings)) is None and left() > 0:
        time.sleep(POLL_SECONDS)
    return found


def stop_background(folder: Path) -> bool:
    """End the background process of the folder, if there is one, and wait until it has closed the folder."""
    from holdfast.storage.sqlite.health import lock_owner

    process = background_process(folder)
    if process is None or lock_owner(folder) != str(process):
        return False
    os.kill(process, signal.SIGTERM)
    deadline = time.monotonic() + MAX_STOP_SECONDS
    while lock_owner(folder) == str(process) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    return True


def _accepts_connections(url: str) -> bool:
    import socket

    host, _, port = url.rpartition("//")[2].rpartition(":")
    try:
        socket.create_connection((host, int(port)), 0.1).close()
    except OSError:
        return False
    return True
