"""Chromium for the tests: where it is, or its installation where that is allowed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess

from ..file_lock import file_lock

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
INSTALL = ["apt-get", "install", "-y", "--no-install-recommends", "chromium"]
INSTALL_SECONDS = 250
SKIP_REASONS: list[str] = []
"""Why browser tests could not run; printed once at the end."""


class NoBrowser(Exception):
    """There is none, and none can be had; says why."""


def chromium() -> str:
    """The path of a Chromium; installs Debian's where there is none and we may."""
    if importlib.util.find_spec("playwright") is None:
        raise NoBrowser("the package playwright is not installed (it is in the dev extra)")
    with file_lock("chromium"):
        return shutil.which("chromium") or shutil.which("google-chrome") or _installed()


def _installed() -> str:
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise NoBrowser("there is no chromium, and installing it takes root and apt-get: apt-get install chromium")
    for command in (["apt-get", "update", "-q"], INSTALL):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise NoBrowser(f"`{' '.join(command)}` took more than {INSTALL_SECONDS} s") from None
    found = shutil.which("chromium")
    if found is None:
        raise NoBrowser(f"`{' '.join(INSTALL)}` failed: {done.stderr.strip()[-300:]}")
    return found
