"""The profile of a project: named after its git remote, so that every clone shares it, or after its folder.

This module reads git's files itself, because starting git would take longer than everything else a hook does.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from holdfast.domain.limits import MAX_PROFILE_BYTES

# Patterns are compiled when they are used: every hook loads this module, and few projects need all of them.
_REMOTE_SECTION = r'\[remote "([^"]+)"\]'
_URL_LINE = r"url\s*=\s*(.+)"
_ADDRESS = r"(?i)(?:[a-z+]+://)?(?:[^@/]*@)?(?P<host>[^/:]+)(?::\d+(?=/))?[:/]+(?P<path>.+)"


PROJECT_PROFILE = "."
"""As a profile's name: the profile of the current project."""


def resolve_profile(profile: str) -> str:
    return project_profile(project_folder()) if profile == PROJECT_PROFILE else profile


def project_folder() -> Path:
    """The project's folder: from the agent's environment variable, otherwise the working directory."""
    return Path(os.environ.get("CLAUDE_PROJECT_DIR") or os.environ.get("CURSOR_PROJECT_DIR") or ".")


def project_profile(folder: Path) -> str:
    """`github.com/owner/name`, without a password in the address; otherwise the folder's name and a hash."""
    root = folder.expanduser().absolute()
    git = next((each / ".git" for each in (root, *root.parents) if (each / ".git").exists()), None)
    if git is not None:
        root = git.parent
        address = _repository_name(_remote_url(_git_config(git)))
        if address:
            return address
    import hashlib  # few projects need it, and every hook would load it

    digest = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    name = root.name.encode("utf-8", "replace").decode()[:40] or "folder"
    return f"{name}-{digest}"


def _git_config(git: Path) -> str:
    """The repository's configuration; a worktree and a submodule only have a file with the repository's path."""
    try:
        if git.is_file():
            git = (git.parent / git.read_text("utf-8").partition("gitdir:")[2].strip()).resolve()
            common = git / "commondir"
            git = (git / common.read_text("utf-8").strip()).resolve() if common.is_file() else git
        return (git / "config").read_text("utf-8", errors="replace")
    except OSError:
        return ""


def _remote_url(config: str) -> str:
    """The URL of origin, or of the first remote."""
    found: dict[str, str] = {}
    name = None
    for line in map(str.strip, config.splitlines()):
        if line.startswith("["):
            remote = re.fullmatch(_REMOTE_SECTION, line)
            name = remote[1] if remote else None
        elif name is not None and (url := re.fullmatch(_URL_LINE, line)):
            found.setdefault(name, url[1].strip())
    return found.get("origin") or next(iter(found.values()), "")


def _repository_name(url: str) -> str | None:
    if url.startswith((".", "/", "file:", "~")):
        return None
    match = re.fullmatch(_ADDRESS, url)
    if match is None or len(match["host"]) == 1:  # C:\repositories
        return None
    path = match["path"].partition("?")[0].strip("/").removesuffix(".git")
    address = f"{match['host'].lower()}/{path}"
    return address if path and len(address.encode()) <= MAX_PROFILE_BYTES else None
