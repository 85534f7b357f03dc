"""One database: a pool of connections, transactions in a profile's name, every refusal translated into our errors.

Nothing is prepared on the server, so that a pooler in transaction mode may stand in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from ..errors import Busy, Closed, Conflict, HoldfastError, StorageError, StorageFull
from .schema import ROLE, migrate

Row = tuple[Any, ...]
CONNECT_SECONDS = 10.0
STATEMENT_MS = 30_000


class Base:
    def __init__(self, dsn: str, connections: int = 10) -> None:
        self.dsn = dsn
        self._pool = AsyncConnectionPool(
            dsn, min_size=1, max_size=connections, open=False, timeout=CONNECT_SECONDS,
            kwargs={"prepare_threshold": None, "options": f"-c statement_timeout={STATEMENT_MS}"},
            check=AsyncConnectionPool.check_connection,
        )  # fmt: skip
        self._opening = asyncio.Lock()
        self._open = False
        self._closed = False

    async def close(self) -> None:
        self._closed = True
        await self._pool.close()

    @asynccontextmanager
    async def transaction(self, profile: int | None = None) -> AsyncIterator[psycopg.AsyncConnection]:
        """One transaction, in the name of this profile and able to see no other; of the catalogue when None."""
        if self._closed:
            raise Closed("This database was closed.")
        with translated():
            await self._ready()
            async with self._pool.connection() as db, db.transaction():
                if profile is not None:
                    await db.execute(f"SET LOCAL ROLE {ROLE}")
                    await db.execute(f"SET LOCAL holdfast.profile = '{int(profile)}'")
                yield db

    async def _ready(self) -> None:
        if self._open:
            return
        async with self._opening:
            if not self._open:
                await self._pool.open(wait=True, timeout=CONNECT_SECONDS)
                async with self._pool.connection() as db:
                    await migrate(db)
                self._open = True


async def query(db: psycopg.AsyncConnection, statement: str, bound: Any = ()) -> list[Row]:
    found = await db.execute(statement, bound)
    return await found.fetchall() if found.description is not None else []


class translated:  # noqa: N801  (read as a word)
    """PostgreSQL's refusals as ours."""

    def __enter__(self) -> None: ...

    def __exit__(self, _: Any, wrong: BaseException | None, __: Any) -> None:
        if wrong is None or isinstance(wrong, HoldfastError) or not isinstance(wrong, psycopg.Error | PoolTimeout):
            return
        if isinstance(wrong, psycopg.errors.DiskFull):
            raise StorageFull("The database has no space left; nothing was written.", fix="Free some space.") from wrong
        if isinstance(wrong, psycopg.errors.SerializationFailure | psycopg.errors.DeadlockDetected):
            raise Conflict("Somebody wrote at the same moment.") from wrong
        if isinstance(wrong, psycopg.OperationalError | PoolTimeout | psycopg.InterfaceError):
            raise Busy(f"The database does not answer: {wrong}.", fix="Nothing was written. Try again.") from wrong
        raise StorageError(f"The database refuses: {type(wrong).__name__}: {wrong}") from wrong
