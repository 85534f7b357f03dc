"""One encrypted SQLite file: transactions, checkpoints and migrations.

WAL with synchronous=FULL: a reply means the commit is on disk, and its witness (witness.py) is written.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import TypeVar

import apsw

from holdfast.domain.errors import UPGRADE_FIX, Closed, ReadOnly, StorageError, StorageFull, TooNew
from holdfast.domain.timestamps import now, to_micros
from holdfast.storage.sqlite.connection import (
    READ_FLAGS,
    WITNESS_LEVELS,
    WRITE_FLAGS,
    FileLabel,
    Row,
    connect,
    connect_checked,
    query,
    translate_errors,
)
from holdfast.storage.sqlite.witness import CommitWitness

T = TypeVar("T")
log = logging.getLogger("holdfast")
CHECKPOINT_FRAMES = 1000
"""From how many frames on the log is moved into the file after a commit; SQLite's own default."""
Migration = tuple[int, str, str, str]


@cache
def migrations(family: str) -> tuple[Migration, ...]:
    """(number, name, sha256, sql) of every migration of a family, in order."""
    found = []
    for entry in (Path(__file__).parent / "migrations" / family).iterdir():
        if entry.name.endswith(".sql"):
            sql = entry.read_text("utf-8")
            found.append((int(entry.name[:4]), entry.name, hashlib.sha256(sql.encode()).hexdigest(), sql))
    return tuple(sorted(found))


class DatabaseFile:
    """A writer and a reader connection to one file; each is used by one thread at a time.

    With `reading` there is no writer and no migration: another process owns the file and may write to it. Only a file
    that is `new` may be missing or empty.
    """

    def __init__(
        self,
        path: Path,
        key: bytes,
        label: FileLabel,
        pool: ThreadPoolExecutor,
        *,
        reading: bool = False,
        new: bool = False,
        make_room: Callable[[], bool] = lambda: False,
    ) -> None:
        self.path = path
        self._key = key
        self._label = label
        self._pool = pool
        self._reading = reading
        self._new = new
        self.make_room = make_room
        """Frees disk space for a change that deletes; False when there is none to free."""
        self._locks = {True: asyncio.Lock(), False: asyncio.Lock()}
        self._opening = threading.Lock()
        self._open: dict[bool, apsw.Connection] = {}
        self._witness = CommitWitness(path, key, None)
        self._closed = False
        self._dirty = False
        with self._translated_errors():
            try:
                if reading:
                    _check_migrated(self._connection(writing=False), label.family, path)
                elif new or self._lacks_migrations():  # else the first write opens the writer
                    self._close_connections()
                    _migrate(self._connection(writing=True), label.family, path, self._witness)
            except BaseException:
                self._close_connections()
                raise
        self._new = False

    async def write(self, act: Callable[[apsw.Connection], T], then: Callable[[], None] | None = None) -> T:
        """Run `act` in one transaction: committed and synced when this returns, rolled back when it raises.

        `then` runs after every commit, even when the caller was cancelled meanwhile.
        """

        def transaction(db: apsw.Connection) -> T:
            self._witness.catch_up()
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
            if self._witness_commit() >= CHECKPOINT_FRAMES:
                self._try_checkpoint(lambda: self._checkpoint(db, "PASSIVE"))
            return result

        return await self._run(transaction, writing=True)

    async def read(self, act: Callable[[apsw.Connection], T]) -> T:
        return await self._run(act, writing=False)

    async def scrub(self) -> None:
        """Truncate the write-ahead log: it must hold no deleted bytes. Waits for the reader, which keeps old frames."""

        def truncate() -> None:
            with self._translated_errors():
                self._truncate_log(self._connection(writing=True))

        async with self._locks[True], self._locks[False]:  # always in this order, against deadlock
            if not self._closed:
                await run_to_end(self._pool, truncate)

    async def sleep(self) -> None:
        """Move the log into the file and close the connections; the next use opens them again."""

        def close_connections() -> None:
            if self._dirty and True in self._open:
                self._try_checkpoint(lambda: self._truncate_log(self._open[True]))
            self._close_connections()
            self._dirty = False

        async with self._locks[True], self._locks[False]:
            await run_to_end(self._pool, close_connections)

    async def close(self) -> None:
        """Close permanently: a file that is about to be deleted must not be opened again."""
        self._closed = True
        await self.sleep()

    async def _run(self, act: Callable[[apsw.Connection], T], *, writing: bool) -> T:
        def call() -> T:
            with self._translated_errors():
                return act(self._connection(writing=writing))

        async with self._locks[writing]:
            if self._closed:
                raise Closed(f"{self.path.name} was closed.")
            self._dirty |= writing
            return await run_to_end(self._pool, call)

    def _connection(self, *, writing: bool) -> apsw.Connection:
        if writing and self._reading:
            raise ReadOnly(f"{self.path} is another process's and was opened for reading only.")
        with self._opening:
            if writing not in self._open:
                flags = READ_FLAGS if self._reading else WRITE_FLAGS
                if self._open:
                    db = connect(self.path, self._key, writing=writing, flags=flags)
                else:
                    db, record = connect_checked(
                        self.path, self._key, self._label, writing=writing, flags=flags, new=self._new
                    )
                    self._witness = CommitWitness(self.path, self._key, record)
                if writing:
                    db.set_wal_hook(self._note_commit)  # in place of SQLite's own checkpoints
                self._open[writing] = db
            return self._open[writing]

    def _lacks_migrations(self) -> bool:
        applied = _applied_migrations(self._connection(writing=False))
        return bool(_missing_migrations(applied, self._label.family, self.path))

    def _note_commit(self, _: apsw.Connection, __: str, frames: int) -> int:
        self._witness.note_commit(frames)
        return int(apsw.SQLITE_OK)

    def _witness_commit(self) -> int:
        """Witness a commit and return the log's frames. Without a witness a commit is not acknowledged."""
        try:
            return self._witness.witness_commit()
        except OSError as failure:
            kind = StorageFull if failure.errno in (errno.ENOSPC, errno.EDQUOT) else StorageError
            raise kind(
                f"{self._label.name}: the change is stored, but its witness could not be written ({failure}).",
                fix="Free some space or check the disk, and repeat the call: a repeated write changes nothing.",
            ) from failure

    def _checkpoint(self, db: apsw.Connection, mode: str) -> bool:
        """Move the log into the file; False when a reader of another process needs some of it."""
        self._witness.catch_up()
        ((busy, frames, moved),) = query(db, f"PRAGMA wal_checkpoint({mode})")
        complete = not busy and frames == moved
        if complete:
            self._witness.witness_checkpoint()
        return complete

    def _truncate_log(self, db: apsw.Connection) -> None:
        if self._checkpoint(db, "FULL"):
            query(db, "PRAGMA wal_checkpoint(TRUNCATE)")

    def _try_checkpoint(self, checkpoint: Callable[[], object]) -> None:
        try:
            checkpoint()
        except (apsw.Error, OSError) as failure:  # nothing is lost: the log stays, and the next use reads it
            log.warning("%s: the log could not be moved into the file: %s", self.path.name, failure)

    def _close_connections(self) -> None:
        for connection in self._open.values():
            connection.close()
        self._open.clear()
        self._witness.close()

    def _translated_errors(self) -> AbstractContextManager[None]:
        return translate_errors(self.path, self._label)


async def run_to_end(pool: ThreadPoolExecutor, act: Callable[[], T]) -> T:
    """Run `act` in a thread and wait until it ends, even when cancelled: the thread uses the connection until then.

    A search waits here several times, a turn of a conversation some fifteen times: `run_in_executor` and a shield, with
    their three futures, take a fifth more CPU time.
    """
    loop = asyncio.get_running_loop()
    waiter = loop.create_future()
    cancelled: asyncio.CancelledError | None = None

    def wake() -> None:
        if not waiter.done():
            waiter.set_result(None)

    def end(_: Future[T]) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(wake)

    work = pool.submit(act)
    work.add_done_callback(end)
    while not work.done():
        try:
            await waiter
        except asyncio.CancelledError as again:
            cancelled, waiter = again, loop.create_future()
    result = work.result()
    if cancelled is not None:
        raise cancelled
    return result


def _migrate(db: apsw.Connection, family: str, path: Path, witness: CommitWitness) -> None:
    if not query(db, "SELECT 1 FROM sqlite_schema WHERE name = 'migration'"):
        db.execute(
            "CREATE TABLE IF NOT EXISTS migration (number INTEGER PRIMARY KEY, name TEXT, sha256 TEXT, at INTEGER)"
        )
    for number, name, sha, sql in _missing_migrations(_applied_migrations(db), family, path):
        if number >= WITNESS_LEVELS[family]:
            witness.create()
        db.execute("BEGIN IMMEDIATE")
        try:
            if number not in [n for n, _ in _applied_migrations(db)]:
                db.execute(sql)
                db.execute("INSERT INTO migration VALUES (?, ?, ?, ?)", (number, name, sha, to_micros(now())))
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        witness.witness_commit()


def _check_migrated(db: apsw.Connection, family: str, path: Path) -> None:
    missing = _missing_migrations(_applied_migrations(db), family, path)
    if any(number != WITNESS_LEVELS[family] for number, *_ in missing):  # that level changes no table
        raise StorageError(
            f"{path.name} is at version {missing[0][0] - 1} and this Holdfast reads version {missing[-1][0]}.",
            fix="Stop the older process that has the folder open, or upgrade it. A copy is migrated when it is opened.",
        )


def _missing_migrations(done: list[Row], family: str, path: Path) -> tuple[Migration, ...]:
    """The migrations that are not applied yet."""
    known = migrations(family)
    if done and done[-1][0] > known[-1][0]:
        raise TooNew(
            f"{path.name} is at version {done[-1][0]} and this Holdfast knows versions up to {known[-1][0]}.",
            fix=UPGRADE_FIX,
        )
    for (number, sha), (_, name, wanted, _) in zip(done, known, strict=False):
        if sha != wanted:
            raise StorageError(f"{path.name}: migration {number} ({name}) is not the one this file was built with.")
    return known[len(done) :]


def _applied_migrations(db: apsw.Connection) -> list[Row]:
    return query(db, "SELECT number, sha256 FROM migration ORDER BY number")
