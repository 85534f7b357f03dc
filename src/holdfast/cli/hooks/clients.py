"""The clients that can use Holdfast: the path of each client's settings, and our entries in them.

Every hook loads this module, so it imports nothing heavy.
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

ENTRY_NAME = "holdfast"
"""The name of our entry in every client's settings."""
HOOK_TIMEOUT_SECONDS = 5
"""How long a client lets a hook run; our hooks end sooner by themselves. Chosen by hand; not measured."""
SESSION_END_TIMEOUT_SECONDS = 3
"""The most that Codex allows at the end of a session."""
EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd")
CURSOR_EVENTS = ("sessionStart", "beforeSubmitPrompt", "stop", "preCompact", "sessionEnd")
FRESH_START_MATCHER = "startup|clear|compact"
"""Matches the session starts in which an agent has no context yet; a resumed session already has the memory."""
_SECRET_URL = re.compile(r"(.*/s/[^/?#]+)(?:/mcp)?/?")
_OUR_HOOK = re.compile(r"holdfast\S*\s+hook\s")


@dataclass(frozen=True, slots=True)
class Client:
    title: str
    file: Callable[[], Path]
    servers_key: str
    """The key of the object that lists the MCP servers."""
    typed: bool = False
    """Whether an entry states its transport."""
    remote: bool = True
    """Whether its settings may contain a URL."""
    projects: bool = False
    """Whether it works in a project's folder and uses that project's profile."""
    hooks: Callable[[], Path] | None = None
    next_step: str = ""
    """The step that the user takes after connecting."""


def home() -> Path:
    return Path.home()


def _settings_path(*parts: str) -> Path:
    """A path in the folder where programs store their settings on this operating system."""
    if sys.platform == "darwin":
        root = home() / "Library" / "Application Support"
    elif sys.platform == "win32":
        root = Path(os.environ.get("APPDATA") or home() / "AppData" / "Roaming")
    else:
        root = Path(os.environ.get("XDG_CONFIG_HOME") or home() / ".config")
    return root.joinpath(*parts)


def _claude_path(name: str) -> Path:
    own = os.environ.get("CLAUDE_CONFIG_DIR")
    if own:
        return Path(own) / name
    return home() / name if name == ".claude.json" else home() / ".claude" / name


def _codex_path(name: str) -> Path:
    return Path(os.environ.get("CODEX_HOME") or home() / ".codex") / name


CLIENTS = {
    "claude-code": Client(
        "Claude Code", lambda: _claude_path(".claude.json"), "mcpServers", typed=True, projects=True,
        hooks=lambda: _claude_path("settings.json"), next_step="Start claude and look at /mcp.",
    ),
    "codex": Client(
        "Codex", lambda: _codex_path("config.toml"), "mcp_servers", projects=True,
        hooks=lambda: _codex_path("hooks.json"), next_step="Start codex; review new hooks once with /hooks.",
    ),
    "cursor": Client(
        "Cursor", lambda: home() / ".cursor" / "mcp.json", "mcpServers", projects=True,
        hooks=lambda: home() / ".cursor" / "hooks.json", next_step="Open a new chat; see Customize for the server.",
    ),
    "claude-desktop": Client(
        "Claude Desktop", lambda: _settings_path("Claude", "claude_desktop_config.json"), "mcpServers",
        remote=False, next_step="Quit Claude Desktop and start it again.",
    ),
    "vscode": Client(
        "VS Code", lambda: _settings_path("Code", "User", "mcp.json"), "servers", typed=True,
        next_step="Run “MCP: List Servers” and start holdfast.",
    ),
}  # fmt: skip


def is_secret_url(url: str) -> bool:
    return _SECRET_URL.fullmatch(url) is not None and urlsplit(url).scheme in ("http", "https")


def secret_base_url(url: str) -> str:
    """A secret URL without the path after the secret."""
    match = _SECRET_URL.fullmatch(url)
    return match[1] if match else url.rstrip("/")


def masked_secrets(text: str) -> str:
    """The text with the secrets of its URLs masked."""
    return re.sub(r"(/s/)[^/\s\"'?#]{4,}", r"\1…", text)


def server_entry(client: Client, url: str | None, passed: dict[str, str]) -> dict[str, Any]:
    """Our entry in the client's list of MCP servers."""
    if url is not None:
        kind: dict[str, Any] = {"type": "http"} if client.typed else {}
        return {**kind, "url": f"{secret_base_url(url)}/mcp"}
    command, *arguments = program_command()
    per_project = client.projects and "HOLDFAST_PROFILE" not in passed
    if per_project and client.file().parent.name == ".cursor":  # Cursor starts programs in any folder
        passed = {**passed, "CURSOR_PROJECT_DIR": "${workspaceFolder}"}
    kind = {"type": "stdio"} if client.typed else {}
    env = {"env": passed} if passed else {}
    return {
        **kind,
        "command": command,
        "args": [*arguments, "mcp", *(["--profile", "."] if per_project else [])],
        **env,
    }


def program_command() -> list[str]:
    """The command of this installation, by its full path: desktop programs do not have a shell's PATH."""
    beside = Path(sys.executable).with_name("holdfast.exe" if sys.platform == "win32" else "holdfast")
    return [str(beside)] if beside.exists() else [sys.executable, "-m", "holdfast"]


def hook_entry(name: str, event: str) -> dict[str, Any]:
    """Our hook for one event of a client."""
    command = (
        shlex.join(program_command())
        if sys.platform != "win32"
        else " ".join(f'"{part}"' for part in program_command())
    )
    runs = {
        "command": f"{command} hook {event} --client {name}",
        "timeout": SESSION_END_TIMEOUT_SECONDS if event == "SessionEnd" else HOOK_TIMEOUT_SECONDS,
    }
    if name == "cursor":
        return runs
    matcher = {"matcher": FRESH_START_MATCHER} if event == "SessionStart" else {}
    return {**matcher, "hooks": [{"type": "command", **runs}]}


def is_our_hook(item: Any) -> bool:
    inner = item.get("hooks") if isinstance(item, dict) else None
    for each in [item, *(inner if isinstance(inner, list) else [])]:
        if isinstance(each, dict) and _OUR_HOOK.search(str(each.get("command", "")).replace('"', "")):
            return True
    return False


def entry_variables(name: str | None) -> dict[str, str]:
    """The environment variables in our entry of the client's settings: the location of Holdfast, and the profile."""
    client = CLIENTS.get(name or "")
    if client is None:
        return {}
    try:
        text = client.file().read_text("utf-8-sig")
        if client.file().suffix == ".toml":
            import tomllib

            settings: Any = tomllib.loads(text)
        else:
            settings = json.loads(text)
        ours = settings[client.servers_key][ENTRY_NAME]
        variables = {**ours.get("env", {}), "HOLDFAST_URL": ours.get("url", "")}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}
    return {key: value for key, value in variables.items() if isinstance(value, str) and value}
