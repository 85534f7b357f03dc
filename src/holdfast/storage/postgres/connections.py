"""Connects to one database and an optional replica: pools, transactions of one profile, errors raised as ours.

No statement is prepared on the server and no setting outlives a transaction, so that a pooler in transaction mode may
be in between. A transaction that fails before its commit is retried for a few seconds, across a failover. One that
fails during its commit is not retried, since it may have been written.
"""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import (
    CannotConnectNow,
    DeadlockDetected,
    DiskFull,
    LockNotAvailable,
    QueryCanceled,
    ReadOnlySqlTransaction,
    SerializationFailure,
)
from psycopg.pq import PipelineStatus
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from holdfast.domain import tracing
from holdfast.domain.errors import (
    Busy,
    Closed,
    Conflict,
    InvalidInput,
    StorageError,
    StorageFull,
)
from holdfast.domain.tracing import later_bookmark
from holdfast.storage.postgres.pools import (
    RETRY_SECONDS,
    Replica,
    create_pool,
    find_connection_error,
    with_keepalives,
)
from holdfast.storage.postgres.schema import ROLE, migrate

T = TypeVar("T")
Row = tuple[Any, ...]
Db = psycopg.AsyncConnection[Row]
Work = Callable[[Db], Awaitable[T]]
BoundStatement = tuple[str, Any]
"""A statement and its parameters."""
NO_ROWS: BoundStatement = ("SELECT 1 WHERE false", ())
"""A statement that finds nothing, where a search has nothing to ask."""
log = logging.getLogger("holdfast")
PRIMARY_POSITION_TIMEOUT_SECONDS = 1.0
"""How long a read waits for the primary's log position before it takes the primary. Chosen by hand; not measured."""
STATEMENT_TIMEOUT_MS, LOCK_TIMEOUT_MS = 30_000, 10_000
"""Server-side limits of a transaction. Chosen by hand; not measured."""
TRANSACTION_TIMEOUT_SECONDS = 35.0
"""When a database counts as hanging: later than STATEMENT_TIMEOUT_MS, when a working server reports an error."""
MAX_BOOKMARKS = 10_000
"""How many profiles' bookmarks are kept in memory. Chosen by hand; not measured."""
_BEGIN_READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_LIMITS = {"statement_timeout": str(STATEMENT_TIMEOUT_MS), "lock_timeout": str(LOCK_TIMEOUT_MS)}
_PLANNER_SETTINGS = {
    "enable_seqscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off", "join_collapse_limit": "1",
    "max_parallel_workers_per_gather": "0", "jit": "off",
}  # fmt: skip
"""A profile's rows are few among all rows of a table, and every key begins with the profile. So index scans, nested
loops and joins in written order are right, whatever the statistics say."""


class Database:
    """One database: reads and writes run in transactions that can see one profile, or the catalogue."""

    def __init__(self, dsn: str, connections: int = 10, replica: str | None = None) -> None:
        for address in filter(None, (dsn, replica)):
            try:
                conninfo_to_dict(address)
            except psycopg.ProgrammingError as bad:
                raise InvalidInput(f"The URL of the database is not valid: {bad}", field="store") from bad
        self.dsn = with_keepalives(dsn)
        self.process_id = secrets.token_hex(8)
        """The id of this process among those that share the database."""
        self._pool = create_pool(self.dsn, connections)
        self._replica = None if replica is None else Replica(create_pool(with_keepalives(replica), connections))
        self._open_lock = asyncio.Lock()
        self._open = False
        self._closed = False
        self._bookmarks: dict[int, str] = {}
        """Profile → the bookmark of this process's last write to it."""
        self._schemas: dict[int, str] = {}
        self.on_away: Callable[[], None] = lambda: None
        """Called when a connection broke: the next one may lead to another server, which lacks the last changes."""

    def set_schema(self, profile: int, schema: str) -> None:
        """Set the partition schema of a profile's rows. Without it, queries go through the partitioned tables."""
        self._schemas[profile] = schema

    def schema(self, profile: int) -> str:
        return self._schemas.get(profile, "public")

    def is_partitioned(self, profile: int) -> bool:
        """Whether triggers advance the profile's change sequence: only partitions have them, not Citus's tables."""
        return profile in self._schemas

    @property
    def opened(self) -> bool:
        return self._open and not self._closed

    async def close(self) -> None:
        self._closed = True
        if self._replica is not None:
            await self._replica.close()
        await self._pool.close()

    async def read(self, profile: int | None, work: Work[T]) -> T:
        """Run `work` in one snapshot that can see only this profile (the catalogue when None).

        It may run on the replica, once that has everything this caller has read or written.
        """
        return await self._read(profile, lambda pool: self._transaction(pool, profile, work, writes=False))

    async def read_rows(self, profile: int, *statements: BoundStatement) -> list[list[Row]]:
        """Read the rows of several statements in one snapshot and in one round trip."""
        return await self._read(profile, lambda pool: self._run_statements(pool, profile, statements, _BEGIN_READING))

    async def write_rows(self, profile: int, *statements: BoundStatement) -> list[list[Row]]:
        """Run statements in one transaction and in one round trip; it is on disk when this returns, and later reads do
        not wait until the replica has it. Where the connection breaks it is tried again, though it may have been
        written: only for statements that may be repeated."""
        return await self._with_retry(lambda: self._run_statements(self._pool, profile, statements, "BEGIN"))

    async def read_row(self, profile: int, statement: str, bound: Any) -> Row | None:
        """Read one row of the catalogue that belongs to a profile, outside of a transaction."""

        async def attempt(connections: AsyncConnectionPool[Db]) -> Row | None:
            if self._closed:
                raise Closed("This database was closed.")
            with translate_errors():
                async with asyncio.timeout(TRANSACTION_TIMEOUT_SECONDS), connections.connection() as db:
                    return await (await db.execute(statement, bound)).fetchone()

        return await self._read(profile, attempt)

    async def _read(self, profile: int | None, attempt: Callable[[AsyncConnectionPool[Db]], Awaitable[T]]) -> T:
        """Read from the replica if it may be used, otherwise from the primary."""
        if self._replica is None or profile is None or not tracing.only_reads():
            return await self._with_retry(lambda: attempt(self._pool))
        await self._ensure_open()
        needed = later_bookmark(self._bookmarks.get(profile), tracing.needed_bookmark())
        if await self._replica.has_reached(needed, self._primary_position):
            try:
                found = await attempt(self._replica.pool)
                tracing.note(read_from="replica")
                return found
            except (DatabaseAway, Busy, Conflict) as away:
                log.warning("the replica does not respond, using the primary: %s", away)
                self._replica.suspend()
        tracing.note(read_from="primary")
        return await self._with_retry(lambda: attempt(self._pool))

    async def write(
        self,
        profile: int | None,
        work: Work[T],
        *,
        skip_bookmark: bool = False,
        timeout_seconds: float | None = TRANSACTION_TIMEOUT_SECONDS,
    ) -> T:
        """Run `work` in one transaction that is on disk when this returns. With `skip_bookmark`, later reads do not
        wait until the replica has it."""
        return await self._with_retry(
            lambda: self._transaction(
                self._pool, profile, work, writes=True, skip_bookmark=skip_bookmark, timeout_seconds=timeout_seconds
            )
        )

    async def run_outside_transaction(self, statement: str) -> None:
        """Run a statement that cannot run in a transaction and may take long."""
        await self._ensure_open()
        with translate_errors():
            async with await psycopg.AsyncConnection.connect(self.dsn, autocommit=True) as db:
                await db.execute("SET maintenance_work_mem = '512MB'")  # building an index that does not fit is slow
                await db.execute(statement)

    async def _with_retry(self, attempt: Callable[[], Awaitable[T]]) -> T:
        until = time.monotonic() + RETRY_SECONDS
        wait = 0.05
        while True:
            try:
                await self._ensure_open()
                return await attempt()
            except DatabaseAway as away:
                self.on_away()
                if time.monotonic() + wait > until or self._closed:
                    why = await find_connection_error(self.dsn) or str(away)
                    raise Busy(f"The database does not answer: {why}", fix="Nothing was written. Try again.") from away
                await asyncio.sleep(wait * random.uniform(0.5, 1.0))
                if self._open:
                    await self._pool.check()  # when one connection broke, others usually did too
                wait = min(wait * 2, 1.0)

    async def _transaction(
        self,
        connections: AsyncConnectionPool[Db],
        profile: int | None,
        work: Work[T],
        *,
        writes: bool,
        skip_bookmark: bool = False,
        timeout_seconds: float | None = TRANSACTION_TIMEOUT_SECONDS,
    ) -> T:
        if self._closed:
            raise Closed("This database was closed.")
        committing = False
        try:
            with translate_errors():
                async with asyncio.timeout(timeout_seconds), connections.connection() as db:
                    await db.execute(self._begin(profile, writes))
                    try:
                        result = await work(db)
                        committing = True
                        if writes:
                            self._record_bookmark(None if skip_bookmark else profile, await _commit(db))
                        else:
                            await db.execute("COMMIT")
                        return result
                    except ReadOnlySqlTransaction:  # no longer the primary: the pool must connect to the new one
                        await db.close()
                        raise
                    except BaseException:
                        if not db.closed:
                            await db.rollback()
                        raise
        except DatabaseAway as away:
            if committing and writes:
                raise Busy(
                    f"The database connection was lost during a commit: {away}. The change may or may not be written.",
                    fix="Repeat it: a change that was written is not written twice.",
                ) from away
            raise

    async def _run_statements(
        self, connections: AsyncConnectionPool[Db], profile: int, statements: Sequence[BoundStatement], begin: str
    ) -> list[list[Row]]:
        if self._closed:
            raise Closed("This database was closed.")
        settings = ", ".join(
            f"set_config('{name}', '{value}', true)" for name, value in self._settings(profile).items()
        )
        with translate_errors():
            async with asyncio.timeout(TRANSACTION_TIMEOUT_SECONDS), connections.connection() as db:
                try:
                    return await _query_at_once(db, f"{begin}; SELECT {settings}", statements)
                except BaseException:
                    if not db.closed:
                        await db.rollback()
                    raise

    def _begin(self, profile: int | None, writes: bool) -> str:
        """The statements that begin a transaction with its limits, schema and role, in one round trip."""
        settings = "; ".join(f"SET LOCAL {name} = {value}" for name, value in self._settings(profile).items())
        return f"{'BEGIN' if writes else _BEGIN_READING}; {settings}"

    def _settings(self, profile: int | None) -> dict[str, str]:
        """The settings of a transaction: its limits and, for a profile, its schema and role."""
        if profile is None:
            return _LIMITS
        return _LIMITS | _PLANNER_SETTINGS | {
            "search_path": f"{self.schema(profile)}, public", "role": ROLE, "holdfast.profile": str(int(profile)),
        }  # fmt: skip

    def _record_bookmark(self, profile: int | None, bookmark: str) -> None:
        if profile is not None:
            if len(self._bookmarks) >= MAX_BOOKMARKS:
                self._bookmarks.clear()
            self._bookmarks[profile] = bookmark
            tracing.note_bookmark(bookmark)

    async def _primary_position(self) -> str | None:
        """The primary's log position; None when it does not answer at once."""

        async def ask(db: Db) -> str:
            return str((await query(db, "SELECT pg_current_wal_insert_lsn()"))[0][0])

        try:
            async with asyncio.timeout(PRIMARY_POSITION_TIMEOUT_SECONDS):
                return await self._transaction(self._pool, None, ask, writes=False)
        except (DatabaseAway, Busy, Conflict, TimeoutError):
            return None

    async def _ensure_open(self) -> None:
        if self._open or self._closed:
            return
        async with self._open_lock:
            if not self._open:
                with translate_errors():
                    await self._pool.open()
                    async with self._pool.connection() as db:
                        await migrate(db)
                if self._replica is not None:
                    await self._replica.pool.open()
                self._open = True


async def _commit(db: Db) -> str:
    """Commit and return the write-ahead log position after it."""
    found = await db.execute("COMMIT; SELECT pg_current_wal_insert_lsn()")
    found.nextset()
    row = await found.fetchone()
    return "" if row is None else str(row[0])


async def query(db: Db, statement: str, bound: Any = ()) -> list[Row]:
    """Run a statement and return its rows. In a pipeline, this waits for all statements before it, and only a statement
    that returns rows may be run so."""
    found = await db.execute(statement, bound)
    pipelined = db.pgconn.pipeline_status != PipelineStatus.OFF
    return await found.fetchall() if pipelined or found.description is not None else []


async def _query_at_once(db: Db, begin: str, statements: Sequence[BoundStatement]) -> list[list[Row]]:
    """Begin a transaction, run statements and commit, as one message with one reply: of a short statement, most of the
    time goes into messages. NO_ROWS is not sent."""
    async with psycopg.AsyncClientCursor(db) as cursor:
        sent = [cursor.mogrify(*each).strip() for each in statements if each is not NO_ROWS]
        await cursor.execute("; ".join([begin, *sent, "COMMIT"]).encode(db.info.encoding))
        cursor.nextset()  # past BEGIN
        found: list[list[Row]] = []
        for each in statements:
            found.append([] if each is NO_ROWS or not cursor.nextset() else await cursor.fetchall())
        return found


async def run_pipeline(db: Db, *statements: BoundStatement) -> list[list[Row]]:
    """Run several statements in one round trip, with results in binary format. NO_ROWS is not sent."""
    if len(statements) == 1:
        cursor = db.cursor(binary=True)
        return [await (await cursor.execute(*statements[0])).fetchall()]
    async with db.pipeline():
        cursors = [None if each is NO_ROWS else await db.cursor(binary=True).execute(*each) for each in statements]
    return [[] if cursor is None or cursor.description is None else await cursor.fetchall() for cursor in cursors]


class DatabaseAway(Exception):
    """The connection broke or none is available; another attempt may succeed in a moment."""


class translate_errors:  # noqa: N801  (a context manager that reads as a verb)
    """Raise PostgreSQL's errors as ours."""

    def __enter__(self) -> None: ...

    def __exit__(self, _: Any, error: BaseException | None, __: Any) -> None:
        if error is None or not isinstance(error, psycopg.Error | PoolTimeout | TimeoutError):
            return
        match error:
            case TimeoutError():
                raise DatabaseAway("it hangs") from error
            case DiskFull():
                why = "The database has no space left; nothing was written."
                raise StorageFull(why, fix="Free some space.") from error
            case SerializationFailure() | DeadlockDetected():
                raise Conflict("Another transaction wrote at the same time.") from error
            case QueryCanceled() | LockNotAvailable():
                raise Busy(f"The database took too long: {error}.", fix="Nothing was written. Try again.") from error
            case CannotConnectNow() | ReadOnlySqlTransaction() | PoolTimeout() | psycopg.InterfaceError():
                raise DatabaseAway(str(error)) from error
            case psycopg.OperationalError():
                raise DatabaseAway(str(error).strip()) from error
        raise StorageError(f"The database refuses: {type(error).__name__}: {error}") from error
