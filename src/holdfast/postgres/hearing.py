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
LOOK_SECONDS = 1.0
QUIET_SECONDS = 15.0
PROOF_LOOKS, DEAF_LOOKS = 3, 60
"""After how many looks listening is given up, and after how many more it is tried again."""


class Hearing:
    def __init__(self, base: Base, told: Callable[[str], None]) -> None:
        self._base = base
        self._told = told
        self._proof = secrets.token_hex(8)
        self._heard = asyncio.Event()
        self._warned = False
        self._task: asyncio.Task[None] | None = None
        self._proving: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="holdfast-hearing")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._proving is not None:
            self._heard.set()
            await asyncio.wait([self._proving], timeout=LOOK_SECONDS)
            self._proving.cancel()

    async def _run(self) -> None:
        while True:
            looks = 1
            try:
                async with await psycopg.AsyncConnection.connect(
                    self._base.dsn, autocommit=True, connect_timeout=5, prepare_threshold=None
                ) as db:
                    await db.execute(f"LISTEN {CHANNEL}")
                    self._told(MISSED)
                    await self._listen(db)
            except psycopg.Error as broken:
                self._warn(broken)
            except Deaf as deaf:
                self._warn(deaf)
                looks = DEAF_LOOKS
            for _ in range(looks):
                await asyncio.sleep(LOOK_SECONDS)
                self._told(MISSED)

    async def _listen(self, db: psycopg.AsyncConnection[tuple[object, ...]]) -> None:
        async for early in db.notifies(timeout=0):  # it came with the answer to LISTEN, which proves nothing
            self._told(early.payload)
        while True:
            await self._proven(db)
            self._warned, quiet = False, False
            while not quiet:
                quiet = True
                async for heard in db.notifies(timeout=QUIET_SECONDS, stop_after=1):
                    self._hear(heard.payload)
                    quiet = False

    async def _proven(self, db: psycopg.AsyncConnection[tuple[object, ...]]) -> None:
        """Whoever hears nothing for a while may be deaf, or listen to a server that is primary no more."""
        self._heard.clear()
        self._proving = asyncio.create_task(self._prove())
        for _ in range(PROOF_LOOKS):
            async for heard in db.notifies(timeout=LOOK_SECONDS, stop_after=1):
                self._hear(heard.payload)
            if self._heard.is_set():
                return
            self._told(MISSED)
        self._heard.set()  # ends the proving; to cancel it would cancel a statement, of which old poolers have died
        raise Deaf("a pooler in transaction mode cannot listen")

    def _hear(self, payload: str) -> None:
        """Whatever it is, who hears it is not deaf."""
        self._heard.set()
        if payload != self._proof:
            self._told(payload)

    def _warn(self, why: Exception) -> None:
        if not self._warned:
            log.warning("notifications do not come through (%s); looking every second", why)
        self._warned = True

    async def _prove(self) -> None:
        """Tell ourselves something, again until it is heard."""
        with suppress(Exception):  # whoever listens finds out
            while not self._heard.is_set():
                await self._base.write(None, lambda db: query(db, "SELECT pg_notify(%s, %s)", (CHANNEL, self._proof)))
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._heard.wait(), 0.2)


class Deaf(Exception):
    """Nothing is heard on this connection."""
