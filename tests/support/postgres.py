"""A real PostgreSQL for tests: the one HOLDFAST_TEST_POSTGRES names, or one from a wheel on a private socket.

One serves all processes of a run, each with a database of its own: starting one and migrating it takes five seconds of
a core, a copy of a migrated database takes a fifth of a second.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import tempfile
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from holdfast.storage.postgres.schema import migrate, migrations
from holdfast.storage.postgres.vault import PROFILE_TABLES

from .file_lock import file_lock
from .postgres_run import server_note

OTHER_TABLES = (
    "credential", "granted", "act", "work", "process", "rate", "agreed", "laid_down", "profile", "namespace",
)  # fmt: skip


@cache
def server_dsn() -> str:
    """Where it answers, with the schema in a template; started at the first use."""
    with file_lock("postgres"):
        dsn = os.environ.get("HOLDFAST_TEST_POSTGRES") or _started_server()
        _make_template(dsn)
    return dsn


def _started_server() -> str:
    from .postgres_cluster import Cluster, socket_url

    note = server_note()
    if not note.exists():
        cluster = Cluster()
        cluster.start(synchronous_commit="off", max_connections="300")
        note.write_text(str(cluster.folder))
    return socket_url(Path(note.read_text()))


def _template() -> str:
    return f"holdfast_{hashlib.sha256(repr(migrations()).encode()).hexdigest()[:12]}"


def _make_template(server: str) -> None:
    with psycopg.connect(server, autocommit=True) as db:
        if db.execute("SELECT 1 FROM pg_database WHERE datname = %s", (_template(),)).fetchone() is None:
            db.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(_template())))

    async def run() -> None:
        dsn = make_conninfo(server, dbname=_template())
        async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as db:
            await migrate(db)

    thread = threading.Thread(target=lambda: asyncio.run(run()))  # a test's own loop may be running here
    thread.start()
    thread.join()


@cache
def migrated_dsn() -> str:
    """A database with the schema in it."""
    name = f"holdfast_{uuid.uuid4().hex[:12]}"
    server = server_dsn()
    copy = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy")
    with file_lock("postgres"), psycopg.connect(server, autocommit=True) as db:
        db.execute(copy.format(sql.Identifier(name), sql.Identifier(_template())))
    return make_conninfo(server, dbname=name)


@cache
def _cleaner() -> psycopg.Connection:
    """A connection that knows the tables: a new one would load the catalogue for every test."""
    return psycopg.connect(migrated_dsn(), autocommit=True, prepare_threshold=None)


@contextmanager
def database() -> Iterator[str]:
    """An empty database for one test; making one anew takes a moment, emptying it less."""
    try:
        yield migrated_dsn()
    finally:
        empty_database()


def lasting_keyring() -> Path:
    """The keyring of vaults that are opened again and again on the database of this process, until it is emptied."""
    return Path(tempfile.gettempdir()) / f"keyring-{uuid.uuid5(uuid.NAMESPACE_DNS, migrated_dsn()).hex}"


def empty_database() -> None:
    lasting_keyring().unlink(missing_ok=True)
    try:
        _delete_rows(_cleaner())
    except psycopg.OperationalError:  # a test ended all connections
        _cleaner.cache_clear()
        _delete_rows(_cleaner())


def _delete_rows(db: psycopg.Connection) -> None:
    profiles = [id for (id,) in db.execute("SELECT id FROM profile")]
    for table in PROFILE_TABLES if profiles else ():  # only of these, or it would open several hundred partitions
        db.execute(f"DELETE FROM {table} WHERE profile = ANY (%s)", (profiles,))
    db.execute(";".join(f"DELETE FROM {table}" for table in OTHER_TABLES))
