"""A real `holdfast serve` process on a data folder, and real HTTP to it."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx2 as httpx

ADMIN_TOKEN = "preset-admin-token-of-the-tests"
TIMEOUT_SECONDS = 120.0


class ServerProcess:
    """One process at a time; the folder outlives it. Leaving the `with` block kills what still runs."""

    def __init__(
        self, folder: Path, embedder: str = "potion", command: Sequence[str] = (sys.executable, "-m", "holdfast")
    ) -> None:
        self.folder = folder
        self._embedder = embedder
        self._holdfast = command
        self.client = httpx.Client(timeout=TIMEOUT_SECONDS, limits=httpx.Limits(max_connections=None))
        self._log = folder.with_name(folder.name + ".log")
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        if self._process is not None:
            self.stop(signal.SIGKILL)
        self.client.close()

    def start(self) -> None:
        assert self._process is None
        port = free_port()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command("serve", "--port", str(port)), env=self._environment(), stdout=log, stderr=log
            )
        self.client.base_url = httpx.URL(f"http://127.0.0.1:{port}")
        until = time.monotonic() + TIMEOUT_SECONDS
        while not self._answers():
            assert self._process.poll() is None, f"it ended while starting:\n{self.log_tail()}"
            assert time.monotonic() < until, f"it does not answer:\n{self.log_tail()}"
            time.sleep(0.02)

    def send(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def wait(self, seconds: float = TIMEOUT_SECONDS) -> int:
        """Wait for the process to end: its exit status."""
        assert self._process is not None
        status = self._process.wait(seconds)
        self._process = None
        return status

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.send(number)
        return self.wait()

    def ask(self, method: str, path: str, token: str | None = ADMIN_TOKEN, **more: Any) -> httpx.Response:
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        return self.client.request(method, path, headers=headers, **more)

    def call_json(self, method: str, path: str, token: str | None = ADMIN_TOKEN, **more: Any) -> Any:
        """The JSON of an answer that must be a good one."""
        answer = self.ask(method, path, token, **more)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()

    def settle(self, profile_path: str) -> None:
        """Wait until everything written to the profile is digested, however long a busy machine takes."""
        while not self.call_json("POST", f"{profile_path}/settle?timeout=60")["settled"]:
            pass

    def doctor(self) -> Any:
        """What `holdfast doctor` finds in the folder; the server must have ended."""
        done = subprocess.run(
            self._command("doctor", "--json"), env=self._environment(), capture_output=True, check=False
        )
        return json.loads(done.stdout)

    def log_tail(self) -> str:
        return self._log.read_text(errors="replace")[-4000:]

    def _command(self, *arguments: str) -> list[str]:
        return [*self._holdfast, *arguments, "--data", str(self.folder)]

    def _environment(self) -> dict[str, str]:
        return server_environment() | {"HOLDFAST_EMBEDDER": self._embedder}

    def _answers(self) -> bool:
        try:
            return self.client.get("/healthz").is_success
        except httpx.TransportError:
            return False


def server_environment() -> dict[str, str]:
    """The environment without its owner's settings, with the tests' own."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    return inherited | {
        "HOLDFAST_ADMIN_TOKEN": ADMIN_TOKEN,
        "HOLDFAST_EMBEDDER": "potion",
        "HOLDFAST_RATE_LIMIT": "none",
    }


def free_port() -> int:
    """Below the range that outgoing connections are given, or a client that knocks early may reach itself."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
