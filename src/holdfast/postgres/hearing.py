"""What other processes did, heard over LISTEN; where a pooler swallows it, looked for every second instead."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from contextlib import suppress

import psycopg

from .base import Base, query

log = logging.getLogger("holdfast")
CHANNEL = "holdfast"
CATALOGUE, GONE, MISSED = "catalogue", "gone ", "missed"
"""Payloads, beside a changed profile's number: credentials or namespaces changed; a profile was deleted; and, told by
nobody, something may have been missed."""
RETRY_SECONDS = 1.0
PROOF_SECONDS = 3.0


class Hearing:
    def __init__(self, base: Base, told: Callable[[str], None]) -> None:
        self._base = base
        self._told = told
        self._proof = secrets.token_hex(8)
        self._heard = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="holdfast-hearing")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        warned = False
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(
                    self._base.dsn, autocommit=True, connect_timeout=5, prepare_threshold=None
                ) as db:
                    await db.execute(f"LISTEN {CHANNEL}")
                    self._told(MISSED)
                    proving = asyncio.create_task(self._prove())
                    try:
                        await self._listen(db)
                    finally:
                        proving.cancel()
            except (psycopg.Error, Deaf) as broken:
                if not warned:
                    log.warning("notifications do not come through (%s); looking every second", broken)
                warned = True
            await asyncio.sleep(RETRY_SECONDS)
            self._told(MISSED)

    async def _listen(self, db: psycopg.AsyncConnection[tuple[object, ...]]) -> None:
        self._heard.clear()
        until: float | None = PROOF_SECONDS
        while True:
            async for heard in db.notifies(timeout=until, stop_after=1):
                if heard.payload == self._proof:
                    self._heard.set()
                else:
                    self._told(heard.payload)
            if self._heard.is_set():
                until = None
            elif until is not None:
                raise Deaf("a pooler in transaction mode cannot listen")

    async def _prove(self) -> None:
        """Tell ourselves something, again until it is heard."""
        with suppress(Exception):  # whoever listens finds out
            while not self._heard.is_set():
                await self._base.write(None, lambda db: query(db, "SELECT pg_notify(%s, %s)", (CHANNEL, self._proof)))
                await asyncio.sleep(0.2)


class Deaf(Exception):
    """Nothing is heard on this connection."""
