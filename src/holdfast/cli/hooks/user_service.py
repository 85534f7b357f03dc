"""The background process as a service of the user: systemd on Linux, launchd on macOS.

Where neither can be used, hooks start the process themselves when they need it.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from holdfast.cli.hooks.background import start_background
from holdfast.cli.hooks.clients import home, program_command, systemd_folder

LABEL = "dev.holdfast.background"
MAX_COMMAND_SECONDS = 20
"""How long systemctl or launchctl may take. Chosen by hand; not measured."""


@dataclass(frozen=True, slots=True)
class UserService:
    """A service's file, and the commands that start and end it."""

    file: Path
    text: str
    start: tuple[tuple[str, ...], ...]
    stop: tuple[tuple[str, ...], ...]


def ensure_background(passed: dict[str, str]) -> str:
    """See to it that the background process runs, now and after the next login; says how, in one line."""
    service = user_service(passed)
    if service is not None and _can_manage():
        service.file.parent.mkdir(parents=True, exist_ok=True)
        service.file.write_text(service.text, "utf-8")
        if all(map(_succeeds, service.start)):
            return f"The background process runs as a user service: {service.file}"
        remove_service()
    start_background(passed.get("HOLDFAST_DATA"))
    return "The background process runs; hooks start it again when they need it."


def remove_service() -> Path | None:
    """End and remove the service; its file, or None if there was none."""
    service = user_service({})
    if service is None or not service.file.exists():
        return None
    for command in service.stop:
        _succeeds(command)
    service.file.unlink()
    return service.file


def user_service(passed: dict[str, str]) -> UserService | None:
    data = passed.get("HOLDFAST_DATA")
    command = [*program_command(), "background", *(["--data", data] if data else [])]
    if sys.platform == "darwin":
        file = home() / "Library" / "LaunchAgents" / f"{LABEL}.plist"
        return UserService(
            file,
            _launchd_text(command),
            (("launchctl", "load", "-w", str(file)),),
            (("launchctl", "unload", "-w", str(file)),),
        )
    if sys.platform.startswith("linux"):
        return UserService(
            systemd_folder() / "holdfast.service",
            _systemd_text(command),
            (("systemctl", "--user", "daemon-reload"), ("systemctl", "--user", "enable", "--now", "holdfast.service")),
            (("systemctl", "--user", "disable", "--now", "holdfast.service"),),
        )
    return None


def _can_manage() -> bool:
    """Whether this user's service manager answers; in a container there often is none."""
    return _succeeds(("launchctl", "list") if sys.platform == "darwin" else ("systemctl", "--user", "show-environment"))


def _succeeds(command: Sequence[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=MAX_COMMAND_SECONDS).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _systemd_text(command: list[str]) -> str:
    run = shlex.join(command).replace("%", "%%")
    return f"""[Unit]
Description=Holdfast, memory for AI agents

[Service]
ExecStart={run}
Restart=on-failure

[Install]
WantedBy=default.target
"""


def _launchd_text(command: list[str]) -> str:
    arguments = "\n".join(f"    <string>{escape(part)}</string>" for part in command)
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>{LABEL}</string>
  <key>ProgramArguments</key>
  <array>
{arguments}
  </array>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
</dict>
</plist>
"""
