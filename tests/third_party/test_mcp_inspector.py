"""MCP's inspector, as a command, over every transport and in both eras."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from holdfast.api.mcp.tools import NAMED
from support.client_processes import AgentMemoryServer

pytestmark = pytest.mark.slow
WAYS = [("http", "modern"), ("http", "legacy"), ("bearer", "modern"), ("sse", "legacy"), ("stdio", "modern"),
        ("stdio", "legacy")]  # fmt: skip


class Inspector:
    def __init__(self, node: str, modules: Path, folder: Path) -> None:
        launcher = modules / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"
        self._command, self._folder = [node, str(launcher), "--cli"], folder
        self._target: list[str] = []

    def at(self, way: str, era: str, server: AgentMemoryServer) -> Inspector:
        issue = {"kind": "url", "name": "inspector", "namespace": "inspected", "profile": f"{way}-{era}"}
        if way == "bearer":
            issue["kind"] = "key"
            issue["rights"] = ["read", "write", "forget"]  # type: ignore[assignment]
        bearer = {"authorization": f"Bearer {server.token}"}
        made = httpx.post(f"{server.base}/v1/credentials", json=issue, headers=bearer, timeout=120).json()["token"]
        reached = {
            "http": ["--transport", "http", "--server-url", f"{server.base}/s/{made}/mcp"],
            "bearer": ["--transport", "http", "--server-url", f"{server.base}/mcp"],
            "sse": ["--transport", "sse", "--server-url", f"{server.base}/sse/{made}"],
            "stdio": ["--transport", "stdio"],
        }[way]
        self._target = [*reached, "--protocol-era", era, "--connect-timeout", "120000"]
        if way == "bearer":
            self._target += ["--header", f"Authorization: Bearer {made}"]
        if way == "stdio":
            self._target += [sys.executable, "-m", "holdfast", "mcp", "--data", str(self._folder / "data")]
        return self

    def ask(self, method: str, *more: str) -> Any:
        command = [*self._command, "--format", "json", "--method", method, *more, *self._target]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
        env = kept | {"HOME": str(self._folder), "HOLDFAST_EMBEDDER": "potion", "NO_COLOR": "1"}
        done = subprocess.run(command, capture_output=True, text=True, timeout=400, env=env, cwd=self._folder)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
        return json.loads(done.stdout)["result"]


@pytest.fixture
def inspector(mcp_node: str, mcp_modules: Path, tmp_path: Path) -> Inspector:
    return Inspector(mcp_node, mcp_modules, tmp_path)


@pytest.mark.parametrize(("way", "era"), WAYS)
def test_the_inspector_finds_all_in_order(inspector: Inspector, server: AgentMemoryServer, way: str, era: str) -> None:
    server.ask("POST", "/namespaces", json={"name": "inspected"})
    here = inspector.at(way, era, server)
    listed = here.ask("tools/list", "--strict")["tools"]
    assert [tool["name"] for tool in listed] == list(NAMED)
    arguments = ["--tool-args-json", json.dumps({"content": "Drinks green tea", "kind": "fact"})]
    kept = here.ask("tools/call", "--tool-name", "remember", *arguments)["structuredContent"]
    assert kept["content"] == "Drinks green tea"
    (resource,) = here.ask("resources/list")["resources"]
    assert "green tea" in here.ask("resources/read", "--uri", resource["uri"])["contents"][0]["text"]
    prompt = here.ask("prompts/get", "--prompt-name", "remember_context", "--prompt-args", "topic=tea")
    assert "green tea" in prompt["messages"][0]["content"]["text"]
