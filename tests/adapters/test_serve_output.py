"""What `holdfast serve` prints: its banner, a folder that is in use, its stop."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast import AsyncHoldfast
from holdfast.api.rest import banner as module
from holdfast.api.rest.banner import banner
from holdfast.cli import main
from holdfast.domain.errors import Busy
from holdfast.service.settings import Settings
from holdfast.testing import HashingEmbedder
from support.server_process import ServerProcess, free_port, server_environment


async def lines(folder: Path, **settings: str) -> str:
    async with await AsyncHoldfast.open(folder, embedder=HashingEmbedder()) as holdfast:
        return "\n".join(await banner(holdfast, Settings(data=folder, **settings), 8420))  # type: ignore[arg-type]


async def test_the_banner_names_the_folder_and_every_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = await lines(Path("data"))
    assert f"  Data        {tmp_path / 'data'}\n" in told
    assert "  MCP         http://127.0.0.1:8420/mcp " in told


async def test_a_later_start_names_the_command_that_issues_a_token(tmp_path: Path) -> None:
    command = f"holdfast token LABEL --data {tmp_path} "
    assert command not in await lines(tmp_path)
    later = await lines(tmp_path)
    assert command in later
    assert "admin token" not in later


async def test_help_is_named_only_where_it_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ARCHIVE", tmp_path / "help.zip")
    assert "Help" not in await lines(tmp_path / "data")
    (tmp_path / "help.zip").touch()
    assert "  Help        http://127.0.0.1:8420/help\n" in await lines(tmp_path / "data") + "\n"


@pytest.mark.parametrize(("host", "shown"), [("0.0.0.0", "127.0.0.1"), ("::", "[::1]")])
async def test_a_host_that_nobody_can_call_is_not_shown(tmp_path: Path, host: str, shown: str) -> None:
    told = await lines(tmp_path, host=host)
    assert f"Holdfast is at http://{shown}:8420\n" in told
    assert "use this machine's name or address instead" in told
    assert f"http://{host}" not in told
    assert "[::]" not in told


def serve_command(folder: Path) -> list[str]:
    return [sys.executable, "-m", "holdfast", "serve", "--data", str(folder), "--port", str(free_port())]


def test_a_server_says_where_it_is_when_it_has_the_folder_and_when_it_stops(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data") as running:
        second = subprocess.run(
            serve_command(tmp_path / "data"), env=server_environment(), capture_output=True, text=True, timeout=400
        )
        assert second.returncode == 6
        url = re.escape(str(running.client.base_url).rstrip("/"))
        assert re.search(rf"is open in process \d+, which serves it at {url}\.", second.stderr), second.stderr
        assert "--data or HOLDFAST_DATA" in second.stderr
        running.stop(signal.SIGINT)
        assert running.log_tail().splitlines()[-2:] == ["Stopping…", "Stopped."]


def test_a_taken_port_is_refused_before_a_folder_is_created(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["serve", "--data", str(tmp_path / "data"), "--port", port]) == Busy.exit
    assert f"Cannot listen on 127.0.0.1:{port}" in capsys.readouterr().err
    assert not (tmp_path / "data").exists()


def test_the_python_lines_work_as_printed(tmp_path: Path) -> None:
    """With the Python that the banner names, from the folder where the server was started."""
    environment = {name: value for name, value in server_environment().items() if name != "HOLDFAST_ADMIN_TOKEN"}
    with subprocess.Popen(
        serve_command(tmp_path / "data"), env=environment, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        try:
            printed: list[str] = []
            while "CLOUDFLARE_API_TOKEN" not in (line := server.stdout.readline()):
                assert line, "".join(printed)
                printed.append(line)
            begun = next(n for n, line in enumerate(printed) if line.startswith("Python ("))
            python = printed[begun].removeprefix("Python (run it with ").rstrip("):\n")
            code = "".join(line.removeprefix("  ") for line in printed[begun + 1 : printed.index("\n", begun)])
            ran = subprocess.run([python, "-c", code], env=environment, capture_output=True, text=True, timeout=400)
            assert ran.returncode == 0, ran.stderr
        finally:
            server.send_signal(signal.SIGTERM)
