"""Notes over REST and on the command line: the same notes, wherever they are kept."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from holdfast import AsyncHoldfast, AsyncNotes
from holdfast.cli import main
from holdfast.storage.postgres.vault import PostgresVault
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from support.http_server import http_server
from support.postgres import database

TOKEN = "a-token-of-these-tests"
PLACE = "/v1/namespaces/app/profiles/coder"


@pytest.fixture(params=["files", "database"])
async def service(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[str, AsyncHoldfast]]:
    async with AsyncExitStack() as stack:
        vault: Any = SqliteVault(tmp_path / "data")
        if request.param == "database":
            vault = PostgresVault(stack.enter_context(database()), connections=4)
        holdfast = await stack.enter_async_context(AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor()))
        await holdfast.access.admin(TOKEN)
        await holdfast.create_namespace("app")
        yield await stack.enter_async_context(http_server(holdfast)), holdfast


class Http:
    def __init__(self, url: str) -> None:
        self._client = httpx.AsyncClient(base_url=url + PLACE, trust_env=False, timeout=120)

    async def __call__(self, method: str, path: str, **more: Any) -> Any:
        answer = await self._client.request(method, path, headers={"authorization": f"Bearer {TOKEN}"}, **more)
        return answer.json()


async def test_every_verb_of_notes_is_a_route(service: tuple[str, AsyncHoldfast]) -> None:
    url, holdfast = service
    http = Http(url)
    assert await http("GET", "/notes") == {"notes": []}
    await http("PUT", "/notes", json={"path": "src/app.py", "text": "Splitting the router", "agent": "coder"})
    made = await http("PUT", "/notes", json={"path": "/workspace/src/app.py", "text": "The router is split"})
    assert (made["path"], made["version"]) == ("/workspace/src/app.py", 2)
    await http("PUT", "/notes", json={"path": "/workspace", "text": "Run make check"})
    assert [note["path"] for note in (await http("GET", "/notes", params={"prefix": "src"}))["notes"]] == [made["path"]]
    assert (await http("GET", "/notes/read", params={"path": "src/app.py"}))["note"]["text"] == "The router is split"
    assert await http("GET", "/notes/read", params={"path": "src"}) == {"note": None}
    versions = (await http("GET", "/notes/history", params={"path": "src/app.py"}))["notes"]
    assert [note["version"] for note in versions] == [2, 1]
    assert "router is split" in (await http("GET", "/notes/entering", params={"directory": "src"}))["text"]
    found = (await http("POST", "/notes/search", json={"query": "router", "under": "src"}))["notes"]
    assert found[0]["path"] == made["path"]
    moved = await http("POST", "/notes/move", json={"old": "src", "new": "lib"})
    assert [note["path"] for note in moved["notes"]] == ["/workspace/lib/app.py"]
    here = AsyncNotes(holdfast.profile("app", "coder"))
    assert [note.path for note in await here.list()] == ["/workspace", "/workspace/lib/app.py"]
    far = AsyncHoldfast.connect(url, TOKEN)
    async with far:
        assert await AsyncNotes(far.profile("app", "coder")).list() == await here.list()
    assert await http("DELETE", "/notes", params={"path": "", "recursive": True}) == {"removed": 2}
    wrong = await http("GET", "/notes/entering", params={"directory": "../etc"})
    assert wrong["error"]["code"] == "invalid_input"


def test_notes_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "potion")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)

    def said(*words: str) -> Any:
        assert main(["notes", *words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    assert said() == {"notes": []}
    said("write", "app.py", "Splitting the router")
    assert said("write", "app.py", "The router is split", "--agent", "coder")["notes"][0]["version"] == 2
    assert said("read", "app.py")["note"]["path"] == f"{work}/app.py"
    assert "The router is split" in said("enter")["text"]
    assert [note["version"] for note in said("history", "app.py")["notes"]] == [2, 1]
    assert said("search", ".", "router")["notes"][0]["path"] == f"{work}/app.py"
    assert said("move", "app.py", "main.py")["notes"][0]["path"] == f"{work}/main.py"
    assert said("remove", ".", "--recursive") == {"removed": 1}
    assert main(["notes", "write", "app.py"]) == 2
    assert main(["notes", "burn"]) == 2
