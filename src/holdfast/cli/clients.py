"""The clients that can use Holdfast: where each keeps its settings, and what these must say.

Loaded by every hook, so nothing heavy is imported here.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

NAME = "holdfast"
"""What our entry is called in every client's settings."""
SECONDS = 5
"""How long a client lets a hook run; ours end themselves sooner."""
LAST_SECONDS = 3
"""Codex allows no more at the end of a session."""
EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd")
CURSOR_EVENTS = ("sessionStart", "beforeSubmitPrompt", "stop", "preCompact", "sessionEnd")
AFRESH = "startup|clear|compact"
"""The ways to start in which an agent knows nothing yet; a resumed session has been told."""
_SECRET = re.compile(r"(.*/s/[^/?#]+)(?:/mcp)?/?")
_OURS = re.compile(r"holdfast\S*\s+hook\s")


@dataclass(frozen=True, slots=True)
class Client:
    title: str
    file: Callable[[], Path]
    under: str
    """The key that holds the servers."""
    typed: bool = False
    """Whether an entry says which transport it is for."""
    remote: bool = True
    """Whether its settings may name a URL."""
    projects: bool = False
    """Whether it works in a project's folder, and wants that project's memory."""
    hooks: Callable[[], Path] | None = None
    then: str = ""
    """What a person does next."""


def home() -> Path:
    return Path.home()


def _settings(*parts: str) -> Path:
    """In the folder where this system's programs keep their settings."""
    if sys.platform == "darwin":
        root = home() / "Library" / "Application Support"
    elif sys.platform == "win32":
        root = Path(os.environ.get("APPDATA") or home() / "AppData" / "Roaming")
    else:
        root = Path(os.environ.get("XDG_CONFIG_HOME") or home() / ".config")
    return root.joinpath(*parts)


def _claude(name: str) -> Path:
    own = os.environ.get("CLAUDE_CONFIG_DIR")
    if own:
        return Path(own) / name
    return home() / name if name == ".claude.json" else home() / ".claude" / name


def _codex(name: str) -> Path:
    return Path(os.environ.get("CODEX_HOME") or home() / ".codex") / name


CLIENTS = {
    "claude-code": Client(
        "Claude Code", lambda: _claude(".claude.json"), "mcpServers", typed=True, projects=True,
        hooks=lambda: _claude("settings.json"), then="Start claude and look at /mcp.",
    ),
    "codex": Client(
        "Codex", lambda: _codex("config.toml"), "mcp_servers", projects=True,
        hooks=lambda: _codex("hooks.json"), then="Start codex; review new hooks once with /hooks.",
    ),
    "cursor": Client(
        "Cursor", lambda: home() / ".cursor" / "mcp.json", "mcpServers", projects=True,
        hooks=lambda: home() / ".cursor" / "hooks.json", then="Open a new chat; see Customize for the server.",
    ),
    "claude-desktop": Client(
        "Claude Desktop", lambda: _settings("Claude", "claude_desktop_config.json"), "mcpServers", remote=False,
        then="Quit Claude Desktop and start it again.",
    ),
    "vscode": Client(
        "VS Code", lambda: _settings("Code", "User", "mcp.json"), "servers", typed=True,
        then="Run “MCP: List Servers” and start holdfast.",
    ),
}  # fmt: skip


def is_secret(url: str) -> bool:
    return _SECRET.fullmatch(url) is not None and urlsplit(url).scheme in ("http", "https")


def base(url: str) -> str:
    """A secret URL without the path that leads on from it."""
    read = _SECRET.fullmatch(url)
    return read[1] if read else url.rstrip("/")


def masked(text: str) -> str:
    """Without the secrets of the URLs in it."""
    return re.sub(r"(/s/)[^/\s\"'?#]{4,}", r"\1…", text)


def entry(client: Client, url: str | None, environment: dict[str, str]) -> dict[str, Any]:
    """What the client's settings say about us."""
    if url is not None:
        kind: dict[str, Any] = {"type": "http"} if client.typed else {}
        return {**kind, "url": f"{base(url)}/mcp"}
    command, *arguments = program()
    own = client.projects and "HOLDFAST_PROFILE" not in environment
    if own and client.file().parent.name == ".cursor":  # it starts programs anywhere
        environment = {**environment, "CURSOR_PROJECT_DIR": "${workspaceFolder}"}
    kind = {"type": "stdio"} if client.typed else {}
    about = {"env": environment} if environment else {}
    return {**kind, "command": command, "args": [*arguments, "mcp", *(["--profile", "."] if own else [])], **about}


def program() -> list[str]:
    """This installation's command by its full path: programs with windows know no shell's PATH."""
    beside = Path(sys.executable).with_name("holdfast.exe" if sys.platform == "win32" else "holdfast")
    return [str(beside)] if beside.exists() else [sys.executable, "-m", "holdfast"]


def hook(name: str, event: str) -> dict[str, Any]:
    """The entry for one event of a client."""
    command = shlex.join(program()) if sys.platform != "win32" else " ".join(f'"{part}"' for part in program())
    runs = {
        "command": f"{command} hook {event} --client {name}",
        "timeout": LAST_SECONDS if event == "SessionEnd" else SECONDS,
    }
    if name == "cursor":
        return runs
    about = {"matcher": AFRESH} if event == "SessionStart" else {}
    return {**about, "hooks": [{"type": "command", **runs}]}


def is_our_hook(item: Any) -> bool:
    inner = item.get("hooks") if isinstance(item, dict) else None
    for each in [item, *(inner if isinstance(inner, list) else [])]:
        if isinstance(each, dict) and _OURS.search(str(each.get("command", "")).replace('"', "")):
            return True
    return False


def environment(name: str | None) -> dict[str, str]:
    """What the client's own settings say about us: where Holdfast is, and which profile."""
    client = CLIENTS.get(name or "")
    if client is None:
        return {}
    try:
        text = client.file().read_text("utf-8-sig")
        if client.file().suffix == ".toml":
            import tomllib

            held: Any = tomllib.loads(text)
        else:
            held = json.loads(text)
        ours = held[client.under][NAME]
        told = {**ours.get("env", {}), "HOLDFAST_URL": ours.get("url", "")}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}
    return {key: value for key, value in told.items() if isinstance(value, str) and value}
