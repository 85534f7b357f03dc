"""One database, and perhaps a replica: pools of connections, transactions in a profile's name, refusals translated.

Nothing is prepared on the server and nothing set beyond a transaction, so that a pooler in transaction mode may stand
in between. What broke off before its commit is tried again for a few seconds, through a failover; what broke off while
committing is not, since nobody knows whether it was written.
"""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
import time
from collections.abc import Awaitable, Callable
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
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from .. import trail
from ..bookmarks import later
from ..errors import Busy, Closed, Conflict, InvalidInput, StorageError, StorageFull
from .replica import Replica
from .schema import ROLE, migrate

T = TypeVar("T")
Row = tuple[Any, ...]
Db = psycopg.AsyncConnection[Row]
Work = Callable[[Db], Awaitable[T]]
log = logging.getLogger("holdfast")
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())  # we say ourselves what is wrong
PATIENCE = 5.0
"""How many seconds a request waits for a database that is away."""
ASIDE_SECONDS = 1.0
"""And how many it waits to hear how old a replica's answer may be."""
STATEMENT_MS, LOCK_MS = 30_000, 10_000
LONGEST = 35.0
"""After how many seconds a database that has not even said that it takes too long hangs, or is gone without a word."""
ALIVE = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 15_000}
"""How a machine that is gone is told from one that is slow, unless the address says otherwise."""
KNOWN_WRITES = 10_000
_PLANS = (
    "SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; "
    "SET LOCAL join_collapse_limit = 1; SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL jit = off"
)
"""A profile's rows are a few among everybody's, and every key begins with the profile: indexes, loops, and joins in the
order in which they are written are right, whatever the statistics say."""


class Base:
    def __init__(self, dsn: str, connections: int = 10, replica: str | None = None) -> None:
        for address in filter(None, (dsn, replica)):
            try:
                conninfo_to_dict(address)
            except psycopg.ProgrammingError as bad:
                raise InvalidInput(f"The database's address cannot be read: {bad}", field="store") from bad
        self.dsn = lively(dsn)
        self.me = secrets.token_hex(8)
        """This process, among those that share the database."""
        self._pool = pool(self.dsn, connections)
        self._replica = None if replica is None else Replica(pool(lively(replica), connections))
        self._opening = asyncio.Lock()
        self._open = False
        self._closed = False
        self._written: dict[int, str] = {}
        """Profile → the bookmark of what this process last wrote there."""
        self._homes: dict[int, str] = {}

    def lives(self, profile: int, schema: str) -> None:
        """This profile's rows are in this schema; until told, they are found through the tables over all of them."""
        self._homes[profile] = schema

    def home(self, profile: int) -> str:
        return self._homes.get(profile, "public")

    @property
    def opened(self) -> bool:
        return self._open and not self._closed

    async def close(self) -> None:
        self._closed = True
        if self._replica is not None:
            await self._replica.close()
        await self._pool.close()

    async def read(self, profile: int | None, work: Work[T]) -> T:
        """Run it in one snapshot, able to see this profile and no other (the catalogue when None).

        What a reader asks for may come from the replica, once that has everything this caller knows of.
        """
        if self._replica is None or profile is None or not trail.reads():
            return await self._patiently(lambda: self._transaction(self._pool, profile, work, writes=False))
        await self._ready()
        needed = later(self._written.get(profile), trail.needed())
        if await self._replica.reaches(needed, self._newest):
            try:
                found = await self._transaction(self._replica.pool, profile, work, writes=False)
                trail.note(read_from="replica")
                return found
            except (Away, Busy, Conflict) as away:
                log.warning("the replica gives no answer, asking the primary: %s", away)
                self._replica.doubt()
        trail.note(read_from="primary")
        return await self._patiently(lambda: self._transaction(self._pool, profile, work, writes=False))

    async def write(
        self, profile: int | None, work: Work[T], *, aside: bool = False, seconds: float | None = LONGEST
    ) -> T:
        """Run it in one transaction that is on disk when this returns. What is done `aside` no reader waits for."""
        return await self._patiently(
            lambda: self._transaction(self._pool, profile, work, writes=True, aside=aside, seconds=seconds)
        )

    async def alone(self, statement: str) -> None:
        """Run what may not run in a transaction, and may take long."""
        await self._ready()
        with translated():
            async with await psycopg.AsyncConnection.connect(self.dsn, autocommit=True) as db:
                await db.execute("SET maintenance_work_mem = '512MB'")  # an index that does not fit is built slowly
                await db.execute(statement)

    async def _patiently(self, attempt: Callable[[], Awaitable[T]]) -> T:
        until = time.monotonic() + PATIENCE
        wait = 0.05
        while True:
            try:
                await self._ready()
                return await attempt()
            except Away as away:
                if time.monotonic() + wait > until or self._closed:
                    why = await _refusal(self.dsn) or str(away)
                    raise Busy(f"The database does not answer: {why}", fix="Nothing was written. Try again.") from away
                await asyncio.sleep(wait * random.uniform(0.5, 1.0))
                if self._open:
                    await self._pool.check()  # one that broke is seldom the only one
                wait = min(wait * 2, 1.0)

    async def _transaction(
        self,
        connections: AsyncConnectionPool[Db],
        profile: int | None,
        work: Work[T],
        *,
        writes: bool,
        aside: bool = False,
        seconds: float | None = LONGEST,
    ) -> T:
        if self._closed:
            raise Closed("This database was closed.")
        committing = False
        try:
            with translated():
                async with asyncio.timeout(seconds), connections.connection() as db:
                    await db.execute(self._begin(profile, writes))
                    try:
                        result = await work(db)
                        committing = True
                        if writes:
                            self._reached(None if aside else profile, await _committed(db))
                        else:
                            await db.execute("COMMIT")
                        return result
                    except ReadOnlySqlTransaction:  # no primary any more: the pool shall find the one that is
                        await db.close()
                        raise
                    except BaseException:
                        if not db.closed:
                            await db.rollback()
                        raise
        except Away as away:
            if committing and writes:
                raise Busy(
                    f"The database broke off while committing: {away}. It may or may not have been written.",
                    fix="Do it again: what was written is not written twice.",
                ) from away
            raise

    def _begin(self, profile: int | None, writes: bool) -> str:
        """One round trip: the transaction, its limits, and in whose name it runs."""
        kind = "" if writes else " ISOLATION LEVEL REPEATABLE READ READ ONLY"
        limits = f"SET LOCAL statement_timeout = {STATEMENT_MS}; SET LOCAL lock_timeout = {LOCK_MS}"
        if profile is None:
            return f"BEGIN{kind}; {limits}"
        return (
            f"BEGIN{kind}; {limits}; {_PLANS}; SET LOCAL search_path = {self.home(profile)}, public; "
            f"SET LOCAL ROLE {ROLE}; SET LOCAL holdfast.profile = '{int(profile)}'"
        )

    def _reached(self, profile: int | None, bookmark: str) -> None:
        if profile is not None:
            if len(self._written) >= KNOWN_WRITES:
                self._written.clear()
            self._written[profile] = bookmark
            trail.reached(bookmark)

    async def _newest(self) -> str | None:
        """How far the primary is; None when it does not say so at once."""

        async def ask(db: Db) -> str:
            return str((await query(db, "SELECT pg_current_wal_insert_lsn()"))[0][0])

        try:
            async with asyncio.timeout(ASIDE_SECONDS):
                return await self._transaction(self._pool, None, ask, writes=False)
        except (Away, Busy, Conflict, TimeoutError):
            return None

    async def _ready(self) -> None:
        if self._open or self._closed:
            return
        async with self._opening:
            if not self._open:
                with translated():
                    await self._pool.open()
                    async with self._pool.connection() as db:
                        await migrate(db)
                if self._replica is not None:
                    await self._replica.pool.open()
                self._open = True


def lively(dsn: str) -> str:
    known = psycopg.conninfo.conninfo_to_dict(dsn)
    return psycopg.conninfo.make_conninfo(dsn, **{name: each for name, each in ALIVE.items() if name not in known})


def pool(dsn: str, connections: int) -> AsyncConnectionPool[Db]:
    return AsyncConnectionPool(
        dsn, min_size=1, max_size=connections, open=False, timeout=PATIENCE, max_idle=300, reconnect_timeout=PATIENCE,
        kwargs={"autocommit": True, "prepare_threshold": None, "connect_timeout": 5}, configure=_deafened,
    )  # fmt: skip


async def _deafened(db: Db) -> None:
    """Behind a pooler, what others asked to hear may come here; the driver would keep it for ever."""
    db.add_notify_handler(lambda _: None)


async def _committed(db: Db) -> str:
    """Commit; how far the write-ahead log is then."""
    found = await db.execute("COMMIT; SELECT pg_current_wal_insert_lsn()")
    found.nextset()
    row = await found.fetchone()
    return "" if row is None else str(row[0])


async def _refusal(dsn: str) -> str:
    """Why there is no connection; a pool does not tell."""
    try:
        async with await psycopg.AsyncConnection.connect(dsn, connect_timeout=2):
            return ""
    except psycopg.Error as refused:
        return " ".join(str(refused).split())


async def query(db: Db, statement: str, bound: Any = ()) -> list[Row]:
    found = await db.execute(statement, bound)
    return await found.fetchall() if found.description is not None else []


Asked = tuple[str, Any]


async def gathered(db: Db, *asked: Asked) -> list[list[Row]]:
    """Several statements in one round trip, their results in binary."""
    if len(asked) == 1:
        cursor = db.cursor(binary=True)
        return [await (await cursor.execute(*asked[0])).fetchall()]
    async with db.pipeline():
        cursors = [await db.cursor(binary=True).execute(*each) for each in asked]
        return [await cursor.fetchall() for cursor in cursors]


class Away(Exception):
    """The connection broke, or there is none to be had: somebody else may answer in a moment."""


class translated:  # noqa: N801  (read as a word)
    """PostgreSQL's refusals as ours."""

    def __enter__(self) -> None: ...

    def __exit__(self, _: Any, wrong: BaseException | None, __: Any) -> None:
        if wrong is None or not isinstance(wrong, psycopg.Error | PoolTimeout | TimeoutError):
            return
        match wrong:
            case TimeoutError():
                raise Away("it hangs") from wrong
            case DiskFull():
                why = "The database has no space left; nothing was written."
                raise StorageFull(why, fix="Free some space.") from wrong
            case SerializationFailure() | DeadlockDetected():
                raise Conflict("Somebody wrote at the same moment.") from wrong
            case QueryCanceled() | LockNotAvailable():
                raise Busy(f"The database took too long: {wrong}.", fix="Nothing was written. Try again.") from wrong
            case CannotConnectNow() | ReadOnlySqlTransaction() | PoolTimeout() | psycopg.InterfaceError():
                raise Away(str(wrong)) from wrong
            case psycopg.OperationalError():
                raise Away(str(wrong).strip()) from wrong
        raise StorageError(f"The database refuses: {type(wrong).__name__}: {wrong}") from wrong
