"""A server whose catalogue was damaged does not start: it would bring revoked tokens back, or begin anew."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.cli import main
from support.server_process import ServerProcess, free_port, server_environment

FailingStart = Callable[[Path], str]


def serve_arguments(folder: Path) -> list[str]:
    return ["serve", "--data", str(folder), "--port", str(free_port())]


@pytest.fixture
def failing_start(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> FailingStart:
    """Runs `holdfast serve` here, without a preset token; it must end by itself. What it printed."""
    for name, value in server_environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("HOLDFAST_ADMIN_TOKEN")

    def start(folder: Path) -> str:
        capsys.readouterr()
        assert main(serve_arguments(folder)) == 7
        said = capsys.readouterr()
        assert "token" not in said.out
        return said.err

    return start


def failing_process(folder: Path) -> str:
    """The same in a process of its own."""
    environment = server_environment()
    del environment["HOLDFAST_ADMIN_TOKEN"]
    command = [sys.executable, "-m", "holdfast", *serve_arguments(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 7, done
    assert "token" not in done.stdout
    return done.stderr


def test_a_revoked_token_stays_revoked_whatever_happens_to_the_log(
    server: ServerProcess, failing_start: FailingStart
) -> None:
    server.call_json("POST", "/v1/namespaces", json={"name": "app"})
    issued = server.call_json(
        "POST", "/v1/credentials", json={"kind": "key", "name": "n", "rights": ["read"], "namespace": "app"}
    )
    place = "/v1/namespaces/app/profiles"
    assert server.ask("GET", place, issued["token"]).status_code == 200
    server.call_json("DELETE", f"/v1/credentials/{issued['credential']['id']}")
    assert server.ask("GET", place, issued["token"]).status_code == 401
    server.stop(signal.SIGKILL)
    log = server.folder / "catalogue.db-wal"
    whole = log.read_bytes()
    spoilt = {
        "flipped": whole[:300] + bytes([whole[300] ^ 1]) + whole[301:],
        "cut off": whole[:-1],
        "deleted": b"",
    }
    for how, changed in spoilt.items():
        log.write_bytes(changed)
        assert "The catalogue: " in failing_start(server.folder), how
        assert log.read_bytes() == changed, how
    assert not server.doctor()["ok"]
    assert "The catalogue: " in failing_process(server.folder), "after a first try, too"
    log.write_bytes(whole)
    server.start()
    assert server.ask("GET", place, issued["token"]).status_code == 401


def test_no_admin_token_is_printed_over_orphaned_profiles(server: ServerProcess, failing_start: FailingStart) -> None:
    server.call_json("POST", "/v1/namespaces", json={"name": "app"})
    server.call_json("POST", "/v1/namespaces/app/profiles/ana/remember", json={"content": "hello"})
    server.stop(signal.SIGKILL)
    for path in server.folder.glob("catalogue.db*"):
        path.rename(server.folder.with_name(path.name))
    assert "The catalogue" in failing_start(server.folder)
    assert not [*server.folder.glob("catalogue.db*")]
    assert not server.doctor()["ok"]
    for path in server.folder.parent.glob("catalogue.db*"):
        path.rename(server.folder / path.name)
    server.start()
    assert server.call_json("GET", "/v1/namespaces/app/profiles/ana/stats")["memories"] == 1
