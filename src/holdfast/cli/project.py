"""Which profile a folder's memory belongs to: the repository's address, so that every clone shares it, or the folder.

Read off the files of git, since starting git would cost more than everything else a hook does.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from ..names import PROFILE_BYTES

_REMOTE = re.compile(r'\[remote "([^"]+)"\]')
_URL = re.compile(r"url\s*=\s*(.+)")
_ADDRESS = re.compile(r"(?:[a-z+]+://)?(?:[^@/]*@)?(?P<host>[^/:]+)(?::\d+(?=/))?[:/]+(?P<path>.+)", re.I)


HERE = "."
"""In a profile's place: that of the project one stands in."""


def named(profile: str) -> str:
    return profile_of(here()) if profile == HERE else profile


def here() -> Path:
    """The project's folder: as the agent that started us says, else where we are."""
    return Path(os.environ.get("CLAUDE_PROJECT_DIR") or os.environ.get("CURSOR_PROJECT_DIR") or ".")


def profile_of(folder: Path) -> str:
    """`github.com/owner/name`, without any password that the address holds; else the folder's name and a hash."""
    root = folder.expanduser().absolute()
    git = next((each / ".git" for each in (root, *root.parents) if (each / ".git").exists()), None)
    if git is not None:
        root = git.parent
        address = _address(_remote(_config(git)))
        if address:
            return address
    digest = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    name = root.name.encode("utf-8", "replace").decode()[:40] or "folder"
    return f"{name}-{digest}"


def _config(git: Path) -> str:
    """The repository's settings; a worktree and a submodule only have a file that says where the repository is."""
    try:
        if git.is_file():
            git = (git.parent / git.read_text("utf-8").partition("gitdir:")[2].strip()).resolve()
            common = git / "commondir"
            git = (git / common.read_text("utf-8").strip()).resolve() if common.is_file() else git
        return (git / "config").read_text("utf-8", errors="replace")
    except OSError:
        return ""


def _remote(config: str) -> str:
    """The address of origin, or of the first remote there is."""
    found: dict[str, str] = {}
    name = None
    for line in map(str.strip, config.splitlines()):
        if line.startswith("["):
            remote = _REMOTE.fullmatch(line)
            name = remote[1] if remote else None
        elif name is not None and (url := _URL.fullmatch(line)):
            found.setdefault(name, url[1].strip())
    return found.get("origin") or next(iter(found.values()), "")


def _address(url: str) -> str | None:
    if url.startswith((".", "/", "file:", "~")):
        return None
    read = _ADDRESS.fullmatch(url)
    if read is None or len(read["host"]) == 1:  # C:\repositories
        return None
    path = read["path"].partition("?")[0].strip("/").removesuffix(".git")
    address = f"{read['host'].lower()}/{path}"
    return address if path and len(address.encode()) <= PROFILE_BYTES else None
