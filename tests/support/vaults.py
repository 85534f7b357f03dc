"""A vault of each backend, for tests that run on all of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from holdfast.storage.in_memory import MemoryVault
from holdfast.storage.postgres.vault import PostgresVault
from holdfast.storage.sqlite.vault import SqliteVault

from .postgres import database

on_every_backend = pytest.mark.parametrize("backend", ["memory", "files", "database"])


@contextmanager
def open_vault(backend: str, path: Path) -> Iterator[Any]:
    if backend == "memory":
        yield MemoryVault()
    elif backend == "files":
        yield SqliteVault(path)
    else:
        with database() as dsn:
            yield PostgresVault(dsn)
