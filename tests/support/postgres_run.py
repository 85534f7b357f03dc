"""The PostgreSQL of a run of the tests: where it is noted for all processes, and its end. Loads nothing else."""

from __future__ import annotations

import os
import tempfile
import uuid
from pathlib import Path

RUN_VARIABLE = "HOLDFAST_TEST_RUN"


def prepare_run() -> None:
    """Called before other processes of the run start; no server is started."""
    os.environ[RUN_VARIABLE] = uuid.uuid4().hex


def server_note() -> Path:
    """The file with the server's folder, written by the process that starts it."""
    return Path(tempfile.gettempdir()) / f"holdfast-tests-{os.environ[RUN_VARIABLE]}"


def end_run() -> None:
    """Stop the server, if one was started."""
    note = server_note()
    if note.exists():
        from .postgres_cluster import remove_cluster

        remove_cluster(Path(note.read_text()))
        note.unlink()
