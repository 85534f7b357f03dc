"""Things that one of the processes running the tests may do at a time, such as installing a browser."""

from __future__ import annotations

import fcntl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def file_lock(doing: str) -> Iterator[None]:
    with (Path(tempfile.gettempdir()) / f"holdfast-tests-{doing}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
