"""Node's packages for the UI's build and for axe: there, or fetched where that is possible."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache

from ..file_lock import file_lock
from ..paths import ROOT

UI = ROOT / "ui"
INSTALL_SECONDS = 240


@cache
def missing_packages() -> str | None:
    """Why ui/node_modules cannot be had; None when it is there, as the lock file says."""
    with file_lock("node-packages"):
        return _missing()


def _missing() -> str | None:
    wanted, installed = UI / "package-lock.json", UI / "node_modules" / ".package-lock.json"
    if installed.exists() and installed.stat().st_mtime >= wanted.stat().st_mtime:
        return None
    if shutil.which("npm") is None:
        return "there is no npm; install Node 20 or newer"
    try:
        done = subprocess.run(
            ["npm", "ci", "--no-audit", "--no-fund"], cwd=UI, capture_output=True, text=True, timeout=INSTALL_SECONDS,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"`npm ci` took more than {INSTALL_SECONDS} s"
    if done.returncode != 0:
        return f"`npm ci` failed: {done.stderr.strip()[-300:]}"
    installed.touch()
    return None
