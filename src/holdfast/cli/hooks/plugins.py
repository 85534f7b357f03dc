"""Finds out whether a client has memory from our plugin (`integrations/claude-code`) and not from `holdfast connect`.

A client notes in its settings which plugins are on. Settings that cannot be read have no plugin; the other checks of
`holdfast doctor` tell about them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holdfast.cli.hooks import clients
from holdfast.cli.hooks.clients import CLIENTS, ENTRY_NAME
from holdfast.cli.hooks.project import project_folder

PLUGIN_ID = f"{ENTRY_NAME}@{ENTRY_NAME}"
"""The plugin and its marketplace."""
REMOVAL = {
    "claude-code": f"claude plugin uninstall {PLUGIN_ID}",
    "codex": f"codex plugin remove {PLUGIN_ID}",
    "cursor": "Customize in Cursor",
}
"""Client → what removes the plugin."""


def plugin_settings(name: str) -> Path | None:
    """The file or folder in which a client has our plugin turned on; None where it is off or not installed."""
    if name == "claude-code":
        return _claude_settings()
    if name == "codex":
        file = CLIENTS["codex"].file()
        found = _value(_toml(file), "plugins", PLUGIN_ID)
        return file if isinstance(found, dict) and found.get("enabled", True) is True else None
    folder = clients.home() / ".cursor" / "plugins" / "local" / ENTRY_NAME
    return folder if name == "cursor" and (folder / ".cursor-plugin" / "plugin.json").is_file() else None


def _claude_settings() -> Path | None:
    """The most specific of its settings decides: those of the user in the project, of the project, of the user."""
    for file in _claude_files():
        found = _value(_json(file), "enabledPlugins", PLUGIN_ID)
        if isinstance(found, bool):
            return file if found else None
    return None


def _claude_files() -> Iterator[Path]:
    folder = project_folder().absolute() / ".claude"
    yield from (folder / "settings.local.json", folder / "settings.json")
    user = CLIENTS["claude-code"].hooks
    if user is not None:
        yield user()


def _value(settings: Any, *keys: str) -> Any:
    for key in keys:
        settings = settings.get(key) if isinstance(settings, dict) else None
    return settings


def _json(file: Path) -> Any:
    try:
        return json.loads(file.read_text("utf-8-sig")) if file.is_file() else None
    except (OSError, ValueError):
        return None


def _toml(file: Path) -> Any:
    import tomllib

    try:
        return tomllib.loads(file.read_text("utf-8")) if file.is_file() else None
    except (OSError, ValueError):
        return None
