"""Who listens to which profile. The change sequence is the state; a bell only says that it is worth reading again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from . import moments
from .errors import NotFound
from .ports import Journal, Vault
from .records import Event

T = TypeVar("T")
Who = tuple[str, str]
BATCH = 500


class Live:
    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._bells: dict[Who, set[asyncio.Event]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self.ending = asyncio.Event()
        self._readings: set[asyncio.Task[Any]] = set()

    async def follow(self, who: Who, after: int | None, heartbeat: float) -> AsyncIterator[Event | None]:
        """Events after that number, or from now on; None after each quiet `heartbeat` seconds.

        A listener that was away for longer than events are kept hears one `reset`, and goes on from the newest. No
        store is held in between: a profile that is only listened to may be closed.
        """
        self._loop = asyncio.get_running_loop()
        with self._listening(who) as bell:
            oldest, newest = await self._whole(self._reach(who))
            if after is not None and not oldest - 1 <= after <= newest:
                yield Event(newest, moments.now(), "reset", {})
                after = newest
            at = newest if after is None else after
            while not self.ending.is_set():
                bell.clear()
                while events := await self._whole(self._since(who, at)):
                    for event in events:
                        yield event
                        at = event.n
                _, newest = await self._whole(self._reach(who))
                if newest < at:  # the profile was deleted, and perhaps begun anew
                    yield Event(0, moments.now(), "reset", {})
                    at = 0
                    continue
                while not self.ending.is_set() and not await _rung(bell, heartbeat):
                    yield None

    def end(self) -> None:
        """Let every listener go: the service stops."""
        self.ending.set()
        for who in list(self._bells):
            self._ring(who)

    async def _whole(self, reading: Coroutine[Any, Any, T]) -> T:
        """Read to the end although the listener leaves: a statement that is cut off costs a connection, and old poolers
        have died of it."""
        task = asyncio.create_task(reading)
        self._readings.add(task)
        task.add_done_callback(self._readings.discard)
        return await asyncio.shield(task)

    async def _reach(self, who: Who) -> tuple[int, int]:
        journal = await self._journal(who)
        return (0, 0) if journal is None else await journal.reach()

    async def _since(self, who: Who, after: int) -> list[Event]:
        journal = await self._journal(who)
        return [] if journal is None else await journal.events(after, BATCH)

    async def _journal(self, who: Who) -> Journal | None:
        """None while the profile does not exist: its first write will ring."""
        try:
            return (await self._vault.open(*who, create=False)).journal
        except NotFound:
            return None

    @contextmanager
    def _listening(self, who: Who) -> Iterator[asyncio.Event]:
        bell = asyncio.Event()
        self._bells.setdefault(who, set()).add(bell)
        try:
            yield bell
        finally:
            self._bells[who].discard(bell)
            if not self._bells[who]:
                del self._bells[who]

    def changed(self, namespace: str, profile: str) -> None:
        """Called in any thread."""
        if (namespace, profile) in self._bells and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ring, (namespace, profile))

    def _ring(self, who: Who) -> None:
        for bell in self._bells.get(who, ()):
            bell.set()


async def _rung(bell: asyncio.Event, timeout: float) -> bool:
    try:
        await asyncio.wait_for(bell.wait(), timeout)
    except TimeoutError:
        return False
    return True
