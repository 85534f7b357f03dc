"""What the proofs start and end: a process of its own that is ready when it says so, and a Holdfast server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2 as httpx

from .paths import ROOT
from .server_process import free_port

WORKERS = ROOT / "integrations" / "workers"
READY_SECONDS = 300
"""Seconds that a process may take to get ready."""


@dataclass(frozen=True)
class AgentMemoryServer:
    """A running `holdfast serve`."""

    base: str
    token: str

    def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        """A call of the Agent Memory contract."""
        url = f"{self.base}/client/v4/accounts/local/agent-memory{path}"
        return httpx.request(method, url, headers={"authorization": f"Bearer {self.token}"}, timeout=120, **more)


@contextmanager
def agent_memory_server(folder: Path) -> Iterator[AgentMemoryServer]:
    """A Holdfast server on a fresh data folder and a free port."""
    port = free_port()
    server = AgentMemoryServer(f"http://127.0.0.1:{port}", f"hf_{'proof' * 8}")
    command = [sys.executable, "-m", "holdfast", "serve", "--data", folder / "data", "--port", port]
    env = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    env["HOLDFAST_ADMIN_TOKEN"] = server.token
    with background_process(command, folder, env, lambda: answers_with(f"{server.base}/healthz", 200)):
        yield server


@contextmanager
def background_process(
    command: list[Any], folder: Path, env: dict[str, str], ready: Callable[[], bool]
) -> Iterator[None]:
    """The command in its own process group until the block ends; what it prints is kept in the folder."""
    log = folder / f"{Path(str(command[0])).name}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [str(part) for part in command], cwd=folder, env=env,
            stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    try:
        started = time.monotonic()
        while not ready():
            assert process.poll() is None, f"{command[0]} ended with {process.returncode}:\n{log.read_text()}"
            assert time.monotonic() - started < READY_SECONDS, f"{command[0]} is not ready:\n{log.read_text()}"
            time.sleep(0.2)
        yield
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with suppress(subprocess.TimeoutExpired):
            process.wait(20)


def answers_with(url: str, *statuses: int) -> bool:
    with suppress(httpx.TransportError):
        return httpx.get(url, timeout=10).status_code in statuses
    return False
