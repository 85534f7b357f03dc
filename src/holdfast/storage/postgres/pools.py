"""Pools of connections to the primary and to a replica, and whether a read may use the replica.

A bookmark is a position in the write-ahead log. A read with a bookmark waits a moment for the replica to reach it; a
read without one takes what the replica has, if that is at most a few seconds old. The numbers below were chosen by
hand; not measured.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from holdfast.domain.tracing import bookmark_number

Connection = psycopg.AsyncConnection[tuple[Any, ...]]
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())  # the errors raised here say what is wrong
RETRY_SECONDS = 5.0
"""How long a request is retried while the database does not answer."""
KEEPALIVE_OPTIONS = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 15_000}
"""TCP settings that detect a dead machine, unless the address sets them."""
MAX_WAIT_SECONDS = 0.1
"""How long a read waits for the replica before it uses the primary."""
WAIT_STEP_SECONDS = 0.01
MAX_STALENESS_SECONDS = 5.0
"""How old the replica's data may be."""
CHECK_SECONDS = 0.5
"""How often the primary's position is read."""
SUSPENSION_SECONDS = 5.0
"""How long a replica that failed is not used."""


def with_keepalives(dsn: str) -> str:
    given = conninfo_to_dict(dsn)
    return make_conninfo(dsn, **{name: each for name, each in KEEPALIVE_OPTIONS.items() if name not in given})


def create_pool(dsn: str, connections: int) -> AsyncConnectionPool[Connection]:
    return AsyncConnectionPool(
        dsn, min_size=1, max_size=connections, open=False, timeout=RETRY_SECONDS, max_idle=300,
        reconnect_timeout=RETRY_SECONDS,
        kwargs={"autocommit": True, "prepare_threshold": None, "connect_timeout": 5}, configure=_discard_notifications,
    )  # fmt: skip


async def _discard_notifications(db: Connection) -> None:
    """Behind a pooler, notifications for others may arrive here; the driver would keep them in memory."""
    db.add_notify_handler(lambda _: None)


async def find_connection_error(dsn: str) -> str:
    """Connect once to get the error that a pool does not report; empty when the connection works."""
    try:
        async with await psycopg.AsyncConnection.connect(dsn, connect_timeout=2):
            return ""
    except psycopg.Error as refused:
        return " ".join(str(refused).split())


class Replica:
    """The replica's connections and how far it has replayed the primary's log."""

    def __init__(self, pool: AsyncConnectionPool[psycopg.AsyncConnection[Any]]) -> None:
        self.pool = pool
        self._replayed = 0
        self._checked_at = 0.0
        self._positions: deque[tuple[float, int]] = deque(maxlen=64)
        """Times, and the primary's position at each."""
        self._suspended_until = 0.0

    async def has_reached(self, bookmark: str, newest: Callable[[], Awaitable[str | None]]) -> bool:
        """Whether the replica has everything up to the bookmark, or without one, everything but the last seconds."""
        if time.monotonic() < self._suspended_until:
            return False
        try:
            needed = bookmark_number(bookmark)
            until = time.monotonic() + MAX_WAIT_SECONDS
            while self._replayed < needed:
                await self._load_replayed()
                if self._replayed < needed:
                    if time.monotonic() > until:
                        return False
                    await asyncio.sleep(WAIT_STEP_SECONDS)
            return await self._is_recent(newest)
        except (psycopg.Error, PoolTimeout):
            self.suspend()
            return False

    def suspend(self) -> None:
        """Stop using the replica for a while after a failure."""
        self._suspended_until = time.monotonic() + SUSPENSION_SECONDS

    async def close(self) -> None:
        await self.pool.close()

    async def _is_recent(self, newest: Callable[[], Awaitable[str | None]]) -> bool:
        """Whether the replica has all that the primary had MAX_STALENESS_SECONDS ago."""
        if time.monotonic() - self._checked_at > CHECK_SECONDS:
            asked = self._checked_at = time.monotonic()
            newest_position = await newest()
            if newest_position is not None:
                self._positions.append((asked, bookmark_number(newest_position)))
            await self._load_replayed()
        while len(self._positions) > 1 and self._positions[1][1] <= self._replayed:
            self._positions.popleft()
        if not self._positions:
            return False
        at, position = self._positions[0]
        return position <= self._replayed and time.monotonic() - at <= MAX_STALENESS_SECONDS

    async def _load_replayed(self) -> None:
        async with self.pool.connection(timeout=1) as db:
            found = await (await db.execute("SELECT pg_last_wal_replay_lsn()")).fetchone()
        if found is None or found[0] is None:
            raise psycopg.OperationalError("it is not a replica, or has received nothing yet")
        self._replayed = bookmark_number(str(found[0]))
