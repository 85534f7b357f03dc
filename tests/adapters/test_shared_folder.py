"""Several processes on one data folder, none of them a server: who has it answers, and the others lose nothing."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.subscriptions import ResourceUpdated

from holdfast import Holdfast
from holdfast.cli import main, shared_folder
from holdfast.storage.sqlite.server_address import ADDRESS_FILE, last_owner, load_address
from support.cli import PATIENT_HOLDFAST
from support.mcp_clients import plain_env, stdio_server

pytestmark = pytest.mark.timeout(600)
HOLDER = """
import sys, holdfast
with holdfast.Holdfast.open(sys.argv[1]):
    print("open", flush=True)
    sys.stdin.read()
"""


async def call_tool(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    assert answer.structured_content is not None
    return answer.structured_content


class Leaving:
    """A client in a task of its own, so that it can go while others stay."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._go = asyncio.Event()
        self._here: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._stay())

    async def _stay(self) -> None:
        async with Client(stdio_server(self._folder)) as client:
            self._here.set_result(client)
            await self._go.wait()

    async def client(self) -> Client:
        return await self._here

    async def leave(self) -> None:
        self._go.set()
        await self._task


@asynccontextmanager
async def host_and_guest(folder: Path) -> AsyncIterator[tuple[Leaving, Client, Client]]:
    """Two clients, of whom the first has the folder."""
    host = Leaving(folder)
    first = await host.client()
    async with Client(stdio_server(folder)) as second:
        yield host, first, second
        await host.leave()


async def test_two_clients_that_start_at_once_share_a_folder(tmp_path: Path) -> None:
    one, two = Leaving(tmp_path), Leaving(tmp_path)
    first, second = await asyncio.gather(one.client(), two.client())
    kept = await asyncio.gather(
        call_tool(first, "remember", content="Plants elms"), call_tool(second, "remember", content="Plants oaks")
    )
    for client in (first, second):
        assert {each["id"] for each in (await call_tool(client, "list_memories"))["memories"]} == {
            k["id"] for k in kept
        }
    answer = await call_tool(second, "recall", query="Who plants elms?")
    assert "elms" in answer["answer"]
    await asyncio.gather(one.leave(), two.leave())
    assert load_address(tmp_path) is None
    with Holdfast.open(tmp_path) as left:
        assert left.access.list_all() == []  # the door's token is written nowhere


async def test_when_the_one_that_has_the_folder_goes_the_other_takes_it_over(tmp_path: Path) -> None:
    async with host_and_guest(tmp_path) as (host, first, second):
        kept = await call_tool(first, "remember", content="Was here first")
        had = last_owner(tmp_path)
        assert (await call_tool(second, "fetch", id=kept["id"]))["text"] == "Was here first"
        await host.leave()
        assert (await call_tool(second, "fetch", id=kept["id"]))["text"] == "Was here first"
        assert last_owner(tmp_path) != had
        async with Client(stdio_server(tmp_path)) as third:
            await call_tool(third, "remember", content="Came later")
            assert len((await call_tool(second, "list_memories"))["memories"]) == 2


async def test_a_killed_host_costs_its_guests_nothing(tmp_path: Path) -> None:
    async with Client(stdio_server(tmp_path)) as second:
        await call_tool(second, "remember", content="Stays")
        killed = last_owner(tmp_path)
        assert killed is not None
        async with Client(stdio_server(tmp_path)) as guest:
            assert len((await call_tool(guest, "list_memories"))["memories"]) == 1
            os.kill(killed, signal.SIGKILL)
            await call_tool(guest, "remember", content="Goes on")
            assert len((await call_tool(guest, "list_memories"))["memories"]) == 2
            assert json.loads((tmp_path / ADDRESS_FILE).read_text())["process"] == last_owner(tmp_path) != killed


async def test_a_listener_hears_of_changes_before_and_after_a_host_goes(tmp_path: Path) -> None:
    async with host_and_guest(tmp_path) as (host, first, second):
        await call_tool(first, "remember", content="Has a cat")
        uri = "holdfast://default/default/summary"
        async with second.listen(resource_subscriptions=[uri]) as listening:
            coming = aiter(listening)
            await call_tool(first, "remember", content="Has a dog")
            assert await asyncio.wait_for(anext(coming), 120) == ResourceUpdated(uri)
            await host.leave()
            assert await asyncio.wait_for(anext(coming), 120) == ResourceUpdated(uri)
            await call_tool(second, "remember", content="Has a parrot")
            assert await asyncio.wait_for(anext(coming), 120) == ResourceUpdated(uri)


async def test_commands_and_hooks_work_beside_a_client(tmp_path: Path) -> None:
    async with Client(stdio_server(tmp_path)) as client:
        await call_tool(client, "remember", content="The user plants elms")
        wrote = await command(tmp_path, "remember", "The user plants oaks", "--json")
        assert (wrote.returncode, wrote.stderr) == (0, b"")
        assert "oaks" in (await call_tool(client, "search", query="oaks"))["results"][0]["text"]
        hook = await command(
            tmp_path, "hook", "SessionStart", stdin=b'{"session_id": "s"}', HOLDFAST_DATA=str(tmp_path),
            HOLDFAST_PROFILE="default",
        )  # fmt: skip
        assert b"oaks" in hook.stdout


def start(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    data = () if arguments[0] == "hook" else ("--data", str(folder))
    return subprocess.Popen(
        [sys.executable, "-m", "holdfast", *arguments, *data], env=plain_env(), stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


async def command(
    folder: Path, *arguments: str, stdin: bytes = b"", **environment: str
) -> subprocess.CompletedProcess[bytes]:
    data = () if arguments[0] == "hook" else ("--data", str(folder))
    return await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", PATIENT_HOLDFAST, *arguments, *data], env=plain_env() | environment,
        input=stdin, capture_output=True, timeout=400,
    )  # fmt: skip


def test_commands_that_run_at_once_all_succeed(tmp_path: Path) -> None:
    running = [start(tmp_path, "remember", f"Number {n}", "--json") for n in range(4)]
    for each in running:
        out, err = each.communicate(timeout=400)
        assert each.returncode == 0, err
        assert json.loads(out)["content"].startswith("Number ")
    with Holdfast.open(tmp_path, embedder="potion") as memory:
        assert len(memory.profile("default", "default").list().items) == 4


class SteppedTime:
    """A clock on which every wait takes a second; nobody waits for it."""

    def __init__(self) -> None:
        self._now = 0.0

    def monotonic(self) -> float:
        return self._now

    def sleep(self, _: float) -> None:
        self._now += 1


def test_a_wait_is_told_and_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shared_folder, "time", clock := SteppedTime())
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=plain_env()
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"open\n"
        assert main(["stats", "--data", str(tmp_path), "--json"]) == 6
        waited, refused = map(json.loads, capsys.readouterr().err.splitlines())
        assert clock.monotonic() == shared_folder.MAX_WAIT_SECONDS
        assert f"is in use by process {holder.pid}. Waiting" in waited["warning"]
        assert refused["error"]["code"] == "busy"
        assert "holdfast serve" in refused["error"]["message"]
        holder.communicate(b"")


def test_a_door_that_leads_to_another_process_is_not_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a killed process announced may be anybody's port by now."""
    monkeypatch.setattr(shared_folder, "time", SteppedTime())
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=plain_env()
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        (tmp_path / ADDRESS_FILE).write_text(json.dumps({"url": "http://127.0.0.1:9", "token": "hf_x", "process": 1}))
        assert main(["stats", "--data", str(tmp_path)]) == 6
        told = capsys.readouterr().err
        assert "is in use by process" in told
        assert "`holdfast background --stop`" in told
        assert main(["background", "--data", str(tmp_path)]) == 0
        assert capsys.readouterr().out == f"Another process has {tmp_path} open; there is nothing to do.\n"
        holder.communicate(b"")
