"""Live events of profiles. The change sequence is the state; a wake-up only tells a listener to read it again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from holdfast.domain import timestamps
from holdfast.domain.errors import Closed, NotFound
from holdfast.domain.ports.storage import Journal, Vault
from holdfast.domain.records import Event

T = TypeVar("T")
Who = tuple[str, str]
EVENTS_PER_READ = 500
MAX_OPENINGS = 100
"""How often a journal that closes while it is read is opened again, 10 ms apart. Chosen by hand."""


class Subscriptions:
    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._bells: dict[Who, set[asyncio.Event]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self.ending = asyncio.Event()
        self._readings: set[asyncio.Task[Any]] = set()

    async def follow(self, who: Who, after: int | None, heartbeat: float) -> AsyncIterator[Event | None]:
        """Yield events after number `after`, or from now on; yield None after each `heartbeat` seconds without an
        event.

        A listener that was away for longer than events are kept gets one `reset` event and continues from the newest.
        No store is kept open in between, so a profile that is only listened to may be closed.
        """
        self._loop = asyncio.get_running_loop()
        with self._listening(who) as bell:
            oldest, newest = await self._whole(self._reach(who))
            if after is not None and not oldest - 1 <= after <= newest:
                yield Event(newest, timestamps.now(), "reset", {})
                after = newest
            at = newest if after is None else after
            while not self.ending.is_set():
                bell.clear()
                while events := await self._whole(self._since(who, at)):
                    for event in events:
                        yield event
                        at = event.n
                _, newest = await self._whole(self._reach(who))
                if newest < at:  # the profile was deleted, and perhaps created again
                    yield Event(0, timestamps.now(), "reset", {})
                    at = 0
                    continue
                while not self.ending.is_set() and not await _wait_for_bell(bell, heartbeat):
                    yield None

    def end(self) -> None:
        """End every event stream, because the service stops."""
        self.ending.set()
        for who in list(self._bells):
            self._ring(who)

    async def _whole(self, reading: Coroutine[Any, Any, T]) -> T:
        """Finish a read even if the listener leaves: a cancelled statement costs a connection, and has crashed old
        connection poolers."""
        task = asyncio.create_task(reading)
        self._readings.add(task)
        task.add_done_callback(self._readings.discard)
        return await asyncio.shield(task)

    async def _reach(self, who: Who) -> tuple[int, int]:
        return await self._read(who, lambda journal: journal.reach(), (0, 0))

    async def _since(self, who: Who, after: int) -> list[Event]:
        return await self._read(who, lambda journal: journal.events(after, EVENTS_PER_READ), [])

    async def _read(self, who: Who, read: Callable[[Journal], Awaitable[T]], nothing: T) -> T:
        """Reads the journal, opened again if the profile is deleted or closed in between."""
        openings = 0
        while True:
            openings += 1
            journal = await self._journal(who)
            try:
                return nothing if journal is None else await read(journal)
            except Closed:
                if openings == MAX_OPENINGS or self.ending.is_set():
                    raise
                await asyncio.sleep(0.01)

    async def _journal(self, who: Who) -> Journal | None:
        """The profile's journal; None while the profile does not exist. Its first write wakes the listener."""
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
        """Wake the listeners of a profile. May be called from any thread."""
        if (namespace, profile) in self._bells and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ring, (namespace, profile))

    def _ring(self, who: Who) -> None:
        for bell in self._bells.get(who, ()):
            bell.set()


async def _wait_for_bell(bell: asyncio.Event, timeout: float) -> bool:
    try:
        async with asyncio.timeout(timeout):
            await bell.wait()
    except TimeoutError:
        return False
    return True
