"""A replica that readers may ask: how far it is, and whether that is far enough.

A bookmark is a place in the write-ahead log. A read that carries one waits a moment for the replica to get there; one
that carries none takes what the replica has, as long as that is not older than a few seconds.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from ..bookmarks import numbered

WAIT_SECONDS = 0.1
"""How long a read waits for the replica before it goes to the primary."""
STEP_SECONDS = 0.01
STALE_SECONDS = 5.0
"""How old an answer may be."""
LOOK_SECONDS = 0.5
DOUBT_SECONDS = 5.0
"""How long a replica that failed is left alone."""


class Replica:
    def __init__(self, pool: AsyncConnectionPool[psycopg.AsyncConnection[Any]]) -> None:
        self.pool = pool
        self._replayed = 0
        self._looked = 0.0
        self._seen: deque[tuple[float, int]] = deque(maxlen=64)
        """When the primary was seen where."""
        self._doubted = 0.0

    async def reaches(self, bookmark: str, newest: Callable[[], Awaitable[str | None]]) -> bool:
        """Whether it has everything up to the bookmark, or without one, everything but the last seconds'."""
        if time.monotonic() < self._doubted:
            return False
        try:
            needed = numbered(bookmark)
            until = time.monotonic() + WAIT_SECONDS
            while self._replayed < needed:
                await self._look()
                if self._replayed < needed:
                    if time.monotonic() > until:
                        return False
                    await asyncio.sleep(STEP_SECONDS)
            return await self._recent(newest)
        except (psycopg.Error, PoolTimeout):
            self.doubt()
            return False

    def doubt(self) -> None:
        self._doubted = time.monotonic() + DOUBT_SECONDS

    async def close(self) -> None:
        await self.pool.close()

    async def _recent(self, newest: Callable[[], Awaitable[str | None]]) -> bool:
        """Whether it had, not long ago, all that the primary had."""
        if time.monotonic() - self._looked > LOOK_SECONDS:
            asked = self._looked = time.monotonic()
            place = await newest()
            if place is not None:
                self._seen.append((asked, numbered(place)))
            await self._look()
        while len(self._seen) > 1 and self._seen[1][1] <= self._replayed:
            self._seen.popleft()
        if not self._seen:
            return False
        at, place_then = self._seen[0]
        return place_then <= self._replayed and time.monotonic() - at <= STALE_SECONDS

    async def _look(self) -> None:
        async with self.pool.connection(timeout=1) as db:
            found = await (await db.execute("SELECT pg_last_wal_replay_lsn()")).fetchone()
        if found is None or found[0] is None:
            raise psycopg.OperationalError("it is no replica, or has received nothing yet")
        self._replayed = numbered(str(found[0]))
