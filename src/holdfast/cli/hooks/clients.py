"""The clients that can use Holdfast: the path of each client's settings, and our entries in them.

Every hook loads this module, so it imports nothing heavy.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

ENTRY_NAME = "holdfast"
"""The name of our entry in every client's settings."""
PERSONAL_PROFILE = "default"
"""The user's own profile: the one of commands that name no profile, and of clients that know no project."""
HOOK_TIMEOUT_SECONDS = 5
"""How long a client lets a hook run; our hooks end sooner by themselves. Chosen by hand; not measured."""
SESSION_END_TIMEOUT_SECONDS = 3
"""The most that Codex allows at the end of a session."""
EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd")
CURSOR_EVENTS = ("sessionStart", "beforeSubmitPrompt", "stop", "preCompact", "sessionEnd")
GEMINI_EVENTS = ("SessionStart", "BeforeAgent", "AfterAgent")
"""Gemini CLI tells the whole turn after each answer, so nothing is left to store when it compresses or ends."""
FRESH_START_MATCHER = "startup|clear|compact"
"""Matches the session starts in which an agent has no context yet; a resumed session already has the memory."""
_SECRET_URL = r"(.*/s/[^/?#]+)(?:/mcp)?/?"
_OUR_HOOK = r"holdfast\S*\s+hook\s"


class Client(NamedTuple):
    title: str
    file: Callable[[], Path]
    servers_key: str
    """The key of the object that lists the MCP servers."""
    typed: bool = False
    """Whether an entry states its transport."""
    remote: str = "url"
    """The name of a URL in its settings; empty if they take none."""
    projects: bool = False
    """Whether it works in a project's folder and uses that project's profile."""
    hooks: Callable[[], Path] | None = None
    events: tuple[str, ...] = ()
    """The events of its hooks; none where the hooks are a plugin of ours."""
    strict: bool = False
    """Whether it ignores a JSON file with comments or trailing commas."""
    milliseconds: bool = False
    """Whether it counts the time limit of hooks in milliseconds."""
    programs: tuple[str, ...] = ()
    """The commands that start it."""
    next_step: str = ""
    """The step that the user takes after connecting."""

    def is_installed(self) -> bool:
        """Whether one of its commands, or a folder of its settings, is on this machine."""
        from shutil import which

        folders = {path().parent for path in (self.file, self.hooks) if path is not None} - {home()}
        return any(map(which, self.programs)) or self.file().exists() or any(folder.is_dir() for folder in folders)


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


def systemd_folder() -> Path:
    """The folder of the user's own systemd services."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or home() / ".config") / "systemd" / "user"


def _claude_path(name: str) -> Path:
    own = os.environ.get("CLAUDE_CONFIG_DIR")
    if own:
        return Path(own) / name
    return home() / name if name == ".claude.json" else home() / ".claude" / name


def _codex_path(name: str) -> Path:
    return Path(os.environ.get("CODEX_HOME") or home() / ".codex") / name


def _gemini_path() -> Path:
    return Path(os.environ.get("GEMINI_CLI_HOME") or home()) / ".gemini" / "settings.json"


def _opencode_path(*names: str) -> Path:
    """The first of these files that exists, in the folder that OpenCode uses on every system."""
    root = Path(os.environ.get("XDG_CONFIG_HOME") or home() / ".config") / "opencode"
    return next((root / name for name in names if (root / name).exists()), root / names[-1])


CLIENTS = {
    "claude-code": Client(
        "Claude Code", lambda: _claude_path(".claude.json"), "mcpServers", typed=True, projects=True,
        hooks=lambda: _claude_path("settings.json"), events=EVENTS, strict=True, programs=("claude",),
        next_step="Start claude and look at /mcp.",
    ),
    "codex": Client(
        "Codex", lambda: _codex_path("config.toml"), "mcp_servers", projects=True,
        hooks=lambda: _codex_path("hooks.json"), events=EVENTS, programs=("codex",),
        next_step="Start codex; review new hooks once with /hooks.",
    ),
    "cursor": Client(
        "Cursor", lambda: home() / ".cursor" / "mcp.json", "mcpServers", projects=True,
        hooks=lambda: home() / ".cursor" / "hooks.json", events=CURSOR_EVENTS, programs=("cursor", "cursor-agent"),
        next_step="Open a new chat; see Customize for the server.",
    ),
    "gemini": Client(
        "Gemini CLI", _gemini_path, "mcpServers", remote="httpUrl", projects=True,
        hooks=_gemini_path, events=GEMINI_EVENTS, milliseconds=True, programs=("gemini",),
        next_step="Start gemini and look at /mcp and /hooks.",
    ),
    "opencode": Client(
        "OpenCode", lambda: _opencode_path("opencode.jsonc", "opencode.json"), "mcp", projects=True,
        hooks=lambda: _opencode_path("plugin/holdfast.js"), programs=("opencode",),
        next_step="Start opencode; it loads the plugin automatically.",
    ),
    "claude-desktop": Client(
        "Claude Desktop", lambda: _settings_path("Claude", "claude_desktop_config.json"), "mcpServers",
        remote="", next_step="Quit Claude Desktop and start it again.",
    ),
    "vscode": Client(
        "VS Code", lambda: _settings_path("Code", "User", "mcp.json"), "servers", typed=True, programs=("code",),
        next_step="Run “MCP: List Servers” and start holdfast.",
    ),
}  # fmt: skip


def personal_profile(variables: Mapping[str, str]) -> str | None:
    """The user's own profile, which stands beside that of every project; None when there shall be none."""
    name = variables.get("HOLDFAST_PERSONAL") or PERSONAL_PROFILE
    return None if name.lower() == "off" else name


def is_secret_url(url: str) -> bool:
    return re.fullmatch(_SECRET_URL, url) is not None and urlsplit(url).scheme in ("http", "https")


def secret_base_url(url: str) -> str:
    """A secret URL without the path after the secret."""
    match = re.fullmatch(_SECRET_URL, url)
    return match[1] if match else url.rstrip("/")


def masked_secrets(text: str) -> str:
    """The text with the secrets of its URLs masked."""
    return re.sub(r"(/s/)[^/\s\"'?#]{4,}", r"\1…", text)


def server_entry(client: Client, url: str | None, passed: dict[str, str]) -> dict[str, Any]:
    """Our entry in the client's list of MCP servers."""
    opencode = client.servers_key == "mcp"
    if url is not None:
        kind: dict[str, Any] = {"type": "remote"} if opencode else {"type": "http"} if client.typed else {}
        return {**kind, client.remote: f"{secret_base_url(url)}/mcp"}
    per_project = client.projects and "HOLDFAST_PROFILE" not in passed
    personal = personal_profile(passed)
    beside = personal if personal != passed.get("HOLDFAST_PROFILE", "" if per_project else "default") else None
    arguments = [*(["--profile", "."] if per_project else []), *(["--with", beside] if beside else [])]
    command, *first = program_command()
    if per_project and client.file().parent.name == ".cursor":  # Cursor starts programs in any folder
        passed = {**passed, "CURSOR_PROJECT_DIR": "${workspaceFolder}"}
    if opencode:
        environment = {"environment": passed} if passed else {}
        return {"type": "local", "command": [command, *first, "mcp", *arguments], **environment}
    kind = {"type": "stdio"} if client.typed else {}
    env = {"env": passed} if passed else {}
    return {**kind, "command": command, "args": [*first, "mcp", *arguments], **env}


def program_command() -> list[str]:
    """The command of this installation, by its full path: desktop programs do not have a shell's PATH."""
    beside = Path(sys.executable).with_name("holdfast.exe" if sys.platform == "win32" else "holdfast")
    return [str(beside)] if beside.exists() else [sys.executable, "-m", "holdfast"]


def hook_entry(name: str, event: str) -> dict[str, Any]:
    """Our hook for one event of a client."""
    import shlex

    command = (
        shlex.join(program_command())
        if sys.platform != "win32"
        else " ".join(f'"{part}"' for part in program_command())
    )
    seconds = SESSION_END_TIMEOUT_SECONDS if event == "SessionEnd" else HOOK_TIMEOUT_SECONDS
    runs = {
        "command": f"{command} hook {event} --client {name}",
        "timeout": seconds * 1000 if CLIENTS[name].milliseconds else seconds,
    }
    if name == "cursor":
        return runs
    matcher = {"matcher": FRESH_START_MATCHER} if event == "SessionStart" and name != "gemini" else {}
    return {**matcher, "hooks": [{"type": "command", **runs}]}


def opencode_plugin() -> str:
    """The text of our plugin for OpenCode, with the command of this installation."""
    source = Path(__file__).with_name("opencode_plugin.js").read_text("utf-8")
    return source.replace('["holdfast"]', json.dumps(program_command()))


def is_our_hook(item: Any) -> bool:
    inner = item.get("hooks") if isinstance(item, dict) else None
    for each in [item, *(inner if isinstance(inner, list) else [])]:
        if isinstance(each, dict) and re.search(_OUR_HOOK, str(each.get("command", "")).replace('"', "")):
            return True
    return False


def entry_variables(name: str | None) -> dict[str, str]:
    """The environment variables in our entry of the client's settings: the location of Holdfast, and the profile."""
    client = CLIENTS.get(name or "")
    ours = None if client is None else connected_entry(client)
    if client is None or ours is None:
        return {}
    passed = ours.get("env") or ours.get("environment") or {}
    variables = {**passed, "HOLDFAST_URL": ours.get(client.remote, "")} if isinstance(passed, dict) else {}
    return {key: value for key, value in variables.items() if isinstance(value, str) and value}


def connected_entry(client: Client) -> dict[str, Any] | None:
    """Our entry in the client's settings; None if there is none."""
    if not client.file().is_file():  # reading a pipe would wait for ever
        return None
    try:
        text = client.file().read_text("utf-8-sig")
        if ENTRY_NAME not in text:
            return None
        ours = _parse_settings(client.file(), text)[client.servers_key][ENTRY_NAME]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return ours if isinstance(ours, dict) else None


def _parse_settings(file: Path, text: str) -> Any:
    if file.suffix == ".toml":
        import tomllib

        return tomllib.loads(text)
    try:
        return json.loads(text)
    except ValueError:
        from holdfast.cli.hooks.config_file import ConfigEditError, parse_json_with_comments

        try:
            return parse_json_with_comments(text).value
        except ConfigEditError as broken:
            raise ValueError(str(broken)) from broken
