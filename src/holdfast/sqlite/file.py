"""One encrypted SQLite file: opened with its own key, migrated, with every refusal translated into our errors.

WAL with synchronous=FULL: a reply means the commit is on disk. AEGIS is an AEAD, so a flipped bit is an error and
never a wrong row. SQLite before 3.51.3 can lose acknowledged commits (the WAL-reset race): refused at import.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import logging
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import apsw

from ..errors import Busy, Closed, Damaged, HoldfastError, ReadOnly, StorageError, StorageFull, TooNew
from ..moments import micros, now

T = TypeVar("T")
log = logging.getLogger("holdfast")
SOUND = (3, 51, 3)

if tuple(map(int, apsw.sqlite_lib_version().split("."))) < SOUND or not hasattr(apsw, "mc_version"):
    raise StorageError(
        f"Holdfast needs apsw-sqlite3mc with SQLite {'.'.join(map(str, SOUND))} or newer, and found SQLite "
        f"{apsw.sqlite_lib_version()}. Run: pip uninstall -y apsw && pip install --force-reinstall apsw-sqlite3mc"
    )

_WRITER = (
    "journal_mode = WAL", "synchronous = FULL", "fullfsync = ON", "checkpoint_fullfsync = ON", "secure_delete = ON",
    "temp_store = MEMORY",
)  # fmt: skip
_READER = ("query_only = ON", "temp_store = MEMORY")
WRITE, READ = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE, apsw.SQLITE_OPEN_READONLY
Row = tuple[Any, ...]
Migration = tuple[int, str, str, str]


def query(db: apsw.Connection, sql: str, bound: Sequence[Any] = ()) -> list[Row]:
    return db.execute(sql, bound).fetchall()


@cache
def migrations(family: str) -> tuple[Migration, ...]:
    """(number, name, sha256, sql) of every migration of a family, in order."""
    found = []
    for entry in resources.files(__package__).joinpath("migrations", family).iterdir():
        if entry.name.endswith(".sql"):
            sql = entry.read_text("utf-8")
            found.append((int(entry.name[:4]), entry.name, hashlib.sha256(sql.encode()).hexdigest(), sql))
    return tuple(sorted(found))


class File:
    """A writer and a reader connection to one file; each is used by one thread at a time.

    With `reading` there is no writer and no migration: another process owns the file and goes on writing.
    """

    def __init__(self, path: Path, key: bytes, family: str, pool: ThreadPoolExecutor, *, reading: bool = False) -> None:
        self.path = path
        self._key = key
        self._pool = pool
        self._reading = reading
        self._turns = {True: asyncio.Lock(), False: asyncio.Lock()}
        self._open: dict[bool, apsw.Connection] = {}
        self._closed = False
        self._dirty = False
        with translated(path):
            if reading:
                _check_level(self._connection(writing=False), family, path)
            else:
                _migrate(self._connection(writing=True), family, path)

    async def write(self, act: Callable[[apsw.Connection], T], then: Callable[[], None] | None = None) -> T:
        """Run `act` in one transaction: committed and synced when this returns, rolled back when it raises.

        `then` follows every commit, also when the caller has gone away meanwhile.
        """

        def transaction(db: apsw.Connection) -> T:
            db.execute("BEGIN IMMEDIATE")
            try:
                result = act(db)
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
            if then is not None:
                then()
            return result

        return await self._run(transaction, writing=True)

    async def read(self, act: Callable[[apsw.Connection], T]) -> T:
        return await self._run(act, writing=False)

    async def scrub(self) -> None:
        """Leave no deleted byte in the write-ahead log. Waits for the reader, since it would keep old frames alive."""

        def truncate() -> None:
            with translated(self.path):
                query(self._connection(writing=True), "PRAGMA wal_checkpoint(TRUNCATE)")

        async with self._turns[True], self._turns[False]:  # in this order everywhere
            if not self._closed:
                await finished(asyncio.get_running_loop().run_in_executor(self._pool, truncate))

    async def sleep(self) -> None:
        """Close the connections; the next use opens them again.

        What was written moves into the file first: its pages detect a flipped bit, the log's frames end at one.
        """

        def shut() -> None:
            if self._dirty and True in self._open:
                try:
                    query(self._open[True], "PRAGMA wal_checkpoint(TRUNCATE)")
                except apsw.Error as failure:  # nothing is lost: the log stays, and the next use reads it
                    log.warning("%s: the log could not be moved into the file: %s", self.path.name, failure)
            for connection in self._open.values():
                connection.close()
            self._open.clear()
            self._dirty = False

        async with self._turns[True], self._turns[False]:
            await finished(asyncio.get_running_loop().run_in_executor(self._pool, shut))

    async def close(self) -> None:
        """Close for good: a file that is about to be deleted must not come back."""
        self._closed = True
        await self.sleep()

    async def _run(self, act: Callable[[apsw.Connection], T], *, writing: bool) -> T:
        def call() -> T:
            with translated(self.path):
                return act(self._connection(writing=writing))

        async with self._turns[writing]:
            if self._closed:
                raise Closed(f"{self.path.name} was closed.")
            self._dirty |= writing
            return await finished(asyncio.get_running_loop().run_in_executor(self._pool, call))

    def _connection(self, *, writing: bool) -> apsw.Connection:
        if writing and self._reading:
            raise ReadOnly(f"{self.path} is another process's and was opened for reading only.")
        if writing not in self._open:
            self._open[writing] = connect(self.path, self._key, writing=writing, flags=READ if self._reading else WRITE)
        return self._open[writing]


async def finished(work: Awaitable[T]) -> T:
    """Wait for a thread's work to its end even when cancelled: it holds the connection until then."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while True:
        try:
            result = await asyncio.shield(task)
        except asyncio.CancelledError as again:
            if task.cancelled():
                raise
            cancelled = again
            continue
        if cancelled is not None:
            raise cancelled
        return result


def connect(path: Path, key: bytes, *, writing: bool, flags: int = WRITE) -> apsw.Connection:
    db = apsw.Connection(str(path), flags=flags)
    db.set_busy_timeout(5000)
    # Closing the last connection would checkpoint and unlink the log: 10–22 ms on a busy disk.
    db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    for pragma in ("cipher = 'aegis'", f'key = "raw:{key.hex()}"', *(_WRITER if writing else _READER)):
        query(db, f"PRAGMA {pragma}")  # one by one, to the end: a statement whose rows are not read is not run
    query(db, "SELECT count(*) FROM sqlite_schema")  # the first read is where a wrong key shows
    return db


def _migrate(db: apsw.Connection, family: str, path: Path) -> None:
    if not query(db, "SELECT 1 FROM sqlite_schema WHERE name = 'migration'"):
        db.execute(
            "CREATE TABLE IF NOT EXISTS migration (number INTEGER PRIMARY KEY, name TEXT, sha256 TEXT, at INTEGER)"
        )
    for number, name, sha, sql in _missing(_applied(db), family, path):
        db.execute("BEGIN IMMEDIATE")
        try:
            if number not in [n for n, _ in _applied(db)]:
                db.execute(sql)
                db.execute("INSERT INTO migration VALUES (?, ?, ?, ?)", (number, name, sha, micros(now())))
            db.execute("COMMIT")
        except BaseException:
            db.execute("ROLLBACK")
            raise


def _check_level(db: apsw.Connection, family: str, path: Path) -> None:
    missing = _missing(_applied(db), family, path)
    if missing:
        raise StorageError(
            f"{path.name} is at version {missing[0][0] - 1} and this Holdfast reads version {missing[-1][0]}.",
            fix="Stop the older process that has the folder open, or upgrade it.",
        )


def _missing(done: list[Row], family: str, path: Path) -> tuple[Migration, ...]:
    """The migrations that are still to be made."""
    known = migrations(family)
    if done and done[-1][0] > known[-1][0]:
        raise TooNew(
            f"{path.name} is at version {done[-1][0]} and this Holdfast knows versions up to {known[-1][0]}.",
            fix="Upgrade with: pip install -U holdfast",
        )
    for (number, sha), (_, name, wanted, _) in zip(done, known, strict=False):
        if sha != wanted:
            raise StorageError(f"{path.name}: migration {number} ({name}) is not the one this file was built with.")
    return known[len(done) :]


def _applied(db: apsw.Connection) -> list[Row]:
    return query(db, "SELECT number, sha256 FROM migration ORDER BY number")


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """SQLite's and the system's refusals as ours."""
    try:
        yield
    except HoldfastError:
        raise
    except (apsw.NotADBError, apsw.CorruptError) as bad:
        raise Damaged(
            f"{path} is damaged or was encrypted with another key ({bad}).",
            fix="Other profiles are not affected. Restore this file from a backup; `holdfast doctor` shows details.",
        ) from bad
    except apsw.FullError as bad:
        raise StorageFull(f"No space left for {path}; nothing was written.", fix="Free some space and repeat.") from bad
    except (apsw.ReadOnlyError, apsw.PermissionsError, PermissionError) as bad:
        raise ReadOnly(f"{path} cannot be written ({bad}).", fix="Check the folder's owner and permissions.") from bad
    except apsw.CantOpenError as bad:
        if not path.exists() and not _writable(path.parent):
            raise ReadOnly(
                f"{path.parent} cannot be written.", fix="Check the folder's owner and permissions."
            ) from bad
        raise StorageError(
            f"{path} cannot be opened ({bad}).", fix="If many profiles are open, lower open_files or raise `ulimit -n`."
        ) from bad
    except (apsw.BusyError, apsw.LockedError) as bad:
        raise Busy(f"{path} is locked by another connection ({bad}).", fix="Try again.") from bad
    except apsw.Error as bad:
        raise StorageError(f"{path}: {type(bad).__name__}: {bad}") from bad
    except OSError as bad:
        if bad.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageFull(
                f"No space left for {path}; nothing was written.", fix="Free some space and repeat."
            ) from bad
        if bad.errno == errno.EROFS:
            raise ReadOnly(f"{path} is on a read-only file system.") from bad
        raise StorageError(f"{path}: {bad}") from bad


def _writable(folder: Path) -> bool:
    return os.access(folder, os.W_OK)
