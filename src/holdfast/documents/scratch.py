"""Temporary folders for content that is being added or parsed, and the removal of those that a crash left behind."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SCRATCH_PREFIX = "holdfast-documents-"
ABANDONED_SECONDS = 3600.0


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A temporary folder for content being added or parsed. The next start deletes any that a crash left behind."""
    with tempfile.TemporaryDirectory(prefix=f"{SCRATCH_PREFIX}{os.getpid()}-") as folder:
        yield Path(folder)


def sweep_scratch() -> None:
    """Remove scratch folders of processes that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{SCRATCH_PREFIX}*"):
        owner = folder.name.removeprefix(SCRATCH_PREFIX).partition("-")[0]
        with suppress(OSError):
            about = folder.stat()
            mine = about.st_uid == os.getuid() if hasattr(os, "getuid") else True
            if (
                mine
                and owner.isdecimal()
                and not _is_running(int(owner))
                and time.time() - about.st_mtime > ABANDONED_SECONDS
            ):
                shutil.rmtree(folder, ignore_errors=True)


def _is_running(pid: int) -> bool:
    if os.name == "nt":  # on Windows, os.kill would end the process
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
