"""Listens for changes by other processes; where a pooler blocks LISTEN, callers poll every second instead."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from contextlib import suppress

import psycopg

from holdfast.storage.postgres.connections import Database, query
from holdfast.storage.tasks import end_tasks

log = logging.getLogger("holdfast")
CHANNEL = "holdfast"
CATALOGUE_CHANGED, PROFILE_DELETED_PREFIX, PROFILE_REWRITTEN_PREFIX = "catalogue", "gone ", "rewritten "
"""Payloads besides a changed profile's number: credentials or namespaces changed; a profile was deleted; something that
a profile had was deleted or changed (the triggers send it)."""
MAY_HAVE_MISSED = "missed"
"""Not sent but made here: notifications may have been missed."""
POLL_SECONDS = 1.0
PROBE_AFTER_SECONDS = 15.0
"""After this much silence the connection is tested. These numbers were chosen by hand; not measured."""
MAX_PROBE_POLLS, POLLS_BEFORE_RETRY = 3, 60
"""After how many polls without the probe listening is given up, and after how many more it is tried again."""


class NotificationListener:
    """Calls back with the payload of every notification, and with MAY_HAVE_MISSED when some may be lost.

    A silent connection is tested with a probe: a notification that this process sends to itself.
    """

    def __init__(self, database: Database, on_payload: Callable[[str], None]) -> None:
        self._database = database
        self._on_payload = on_payload
        self._probe_payload = secrets.token_hex(8)
        self._received = asyncio.Event()
        self._sent = asyncio.Event()
        self._warned = False
        self._task: asyncio.Task[None] | None = None
        self._probe_task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="holdfast-notifications")

    async def stop(self) -> None:
        if self._task is not None:
            await end_tasks([self._task])
        if self._probe_task is not None:
            self._received.set()
            await asyncio.wait([self._probe_task], timeout=POLL_SECONDS)
            self._probe_task.cancel()

    async def _run(self) -> None:
        while True:
            polls = 1
            try:
                async with await psycopg.AsyncConnection.connect(
                    self._database.dsn, autocommit=True, connect_timeout=5, prepare_threshold=None
                ) as db:
                    await db.execute(f"LISTEN {CHANNEL}")
                    self._on_payload(MAY_HAVE_MISSED)
                    await self._listen(db)
            except psycopg.Error as broken:
                self._warn(broken)
            except NotificationsBlocked as blocked:
                self._warn(blocked)
                polls = POLLS_BEFORE_RETRY
            for _ in range(polls):
                await asyncio.sleep(POLL_SECONDS)
                self._on_payload(MAY_HAVE_MISSED)

    async def _listen(self, db: psycopg.AsyncConnection[tuple[object, ...]]) -> None:
        async for early in db.notifies(timeout=0):  # it came with the reply to LISTEN, so it proves nothing
            self._on_payload(early.payload)
        while True:
            await self._probe_connection(db)
            self._warned, quiet = False, False
            while not quiet:
                quiet = True
                async for heard in db.notifies(timeout=PROBE_AFTER_SECONDS, stop_after=1):
                    self._receive(heard.payload)
                    quiet = False

    async def _probe_connection(self, db: psycopg.AsyncConnection[tuple[object, ...]]) -> None:
        """Send a probe and wait for it. A silent connection may be blocked, or its server may no longer be primary."""
        self._received.clear()
        self._sent.clear()
        self._probe_task = asyncio.create_task(self._send_probe())
        polls = 0
        while polls < MAX_PROBE_POLLS:
            polls += self._sent.is_set() or self._probe_task.done()  # it waits while another makes the schema
            async for heard in db.notifies(timeout=POLL_SECONDS, stop_after=1):
                self._receive(heard.payload)
            if self._received.is_set():
                return
            self._on_payload(MAY_HAVE_MISSED)
        self._received.set()  # ends the probe; cancelling it would cancel a statement, which crashed old poolers
        raise NotificationsBlocked("a pooler in transaction mode cannot listen")

    def _receive(self, payload: str) -> None:
        """Pass a payload on, except the probe's. Any payload shows that the connection works."""
        self._received.set()
        if payload != self._probe_payload:
            self._on_payload(payload)

    def _warn(self, why: Exception) -> None:
        if not self._warned:
            log.warning("notifications do not arrive (%s); polling every second", why)
        self._warned = True

    async def _send_probe(self) -> None:
        """Send the probe repeatedly until a notification arrives."""
        with suppress(Exception):  # the waiting side detects the failure
            while not self._received.is_set():
                await self._database.write(
                    None, lambda db: query(db, "SELECT pg_notify(%s, %s)", (CHANNEL, self._probe_payload))
                )
                self._sent.set()
                with suppress(TimeoutError):
                    async with asyncio.timeout(0.2):
                        await self._received.wait()


class NotificationsBlocked(Exception):
    """No notification arrives on this connection."""
