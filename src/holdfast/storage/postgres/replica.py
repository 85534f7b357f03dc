"""Decides whether a read may use the replica.

A bookmark is a position in the write-ahead log. A read with a bookmark waits a moment for the replica to reach it; a
read without one takes what the replica has, if that is at most a few seconds old. The numbers below were chosen by
hand; not measured.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from holdfast.domain.tracing import bookmark_number

MAX_WAIT_SECONDS = 0.1
"""How long a read waits for the replica before it uses the primary."""
WAIT_STEP_SECONDS = 0.01
MAX_STALENESS_SECONDS = 5.0
"""How old the replica's data may be."""
CHECK_SECONDS = 0.5
"""How often the primary's position is read."""
SUSPENSION_SECONDS = 5.0
"""How long a replica that failed is not used."""


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
