"""The way to a data folder that several processes use: open here, or through the process that has it open.

One process has the folder, and answers for the others. When it goes, the next one that is asked something takes the
folder over; whoever holds a way notices nothing but the time that takes.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..announced import Door, answering, owner
from ..config import Settings
from ..errors import AlreadyExists, Busy, Closed, Forbidden, Unreachable
from ..names import LAST_EVENT

if TYPE_CHECKING:
    from ..records import Event
    from ..remote import RemoteHoldfast
    from ..service import AsyncHoldfast
    from ..sync import Holdfast

    Reached = AsyncHoldfast | RemoteHoldfast

T = TypeVar("T")
PATIENCE = 20.0
"""Seconds that a folder is waited for which another process has open and does not answer for."""
QUIET = 0.5
"""Seconds before anything is said of it."""
LOOK = 0.1
TRIES = 5
log = logging.getLogger("holdfast")


class Waiting:
    """For a folder that another process has: until it lets go or answers for it, or patience ends."""

    def __init__(self, folder: Path, patience: float) -> None:
        self._folder = folder
        self._since = time.monotonic()
        self._patience = patience
        self._told = False

    def door(self, busy: Busy) -> Door | None:
        """Where the folder is answered for; None to try again in a moment. Raises `busy` when that is enough."""
        door = answering(self._folder)
        if door is not None:
            return door
        waited = time.monotonic() - self._since
        if waited >= self._patience or owner(self._folder) == os.getpid():
            raise busy
        if waited >= QUIET and not self._told:
            self._told = True
            log.warning("%s Waiting for up to %.0f s.", str(busy).partition(". ")[0] + ".", self._patience)
        return None


def opened(data: str | None) -> Holdfast:
    """The data folder, or the process that answers for it, for a command that works and ends."""
    from ..sync import Holdfast

    waiting: Waiting | None = None
    while True:
        try:
            return Holdfast.open(data)
        except Busy as busy:
            waiting = waiting or Waiting(Settings.read(data=data).folder, PATIENCE)
            door = waiting.door(busy)
        if door is not None:
            far = Holdfast.connect(*door)
            try:
                far.namespaces()
                return far
            except (Unreachable, Closed):  # on its way out
                far.close()
        time.sleep(LOOK)


class Way:
    """To one folder, for as long as a client stays, with a namespace in it; or to a server that was `named`."""

    def __init__(self, data: str | None, namespace: str, named: RemoteHoldfast | None = None) -> None:
        self._data = data
        self._namespace = namespace
        self._named = named
        self._turn = asyncio.Lock()
        self._held: Reached | None = None
        self._opened = AsyncExitStack()
        self._closed = False

    async def __aenter__(self) -> Way:
        return self

    async def __aexit__(self, *_: object) -> None:
        async with self._turn:
            self._closed = True
            await self._let_go()

    async def ask(self, work: Callable[[Reached], Awaitable[T]]) -> T:
        """Have it done by whoever has the folder. What got lost is asked again: repeating a write changes nothing."""
        for _ in range(TRIES):
            held = await self.reached()
            try:
                return await work(held)
            except (Unreachable, Closed):
                if not await self.lost(held):
                    raise
        return await work(await self.reached())

    async def reached(self, patience: float = PATIENCE) -> Reached:
        async with self._turn:
            if self._closed:
                raise Closed("This process is ending.")
            if self._held is None:
                self._held = await self._reach(patience)
            return self._held

    async def lost(self, held: Reached) -> bool:
        """Forget a process that answers no more; False when the folder is open here, or everything ends."""
        from ..remote import RemoteHoldfast

        async with self._turn:
            if self._closed or held is self._named or not isinstance(held, RemoteHoldfast):
                return False
            if self._held is held:
                await self._let_go()
            return True

    async def _let_go(self) -> None:
        self._held = None
        stack, self._opened = self._opened, AsyncExitStack()
        await stack.aclose()

    async def _reach(self, patience: float) -> Reached:
        from ..service import AsyncHoldfast

        if self._named is not None:
            return await self._entered(self._named)
        folder = Settings.read(data=self._data).folder
        waiting = Waiting(folder, patience)
        while True:
            try:
                return await self._open(folder)
            except Busy as busy:
                door = waiting.door(busy)
            if door is not None:
                with suppress(Unreachable):  # it may be on its way out
                    return await self._entered(AsyncHoldfast.connect(*door))
            await asyncio.sleep(LOOK)

    async def _entered(self, far: RemoteHoldfast) -> RemoteHoldfast:
        try:
            with suppress(AlreadyExists, Forbidden):  # over HTTP a namespace is never implicit
                await far.create_namespace(self._namespace)
        except BaseException:
            await far.close()
            raise
        return await self._opened.enter_async_context(far)

    async def _open(self, folder: Path) -> Reached:
        from ..service import AsyncHoldfast
        from .host import hosting

        near = await AsyncHoldfast.open(self._data)
        await self._opened.enter_async_context(near)
        if not near.shared:
            await self._opened.enter_async_context(hosting(near, folder))
        return near


class Along:
    """Something of whoever has the folder, such as a profile: each call goes to the one who has it then."""

    def __init__(self, way: Way, part: Callable[[Any], Any]) -> None:
        self._way = way
        self._part = part

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def call(*args: Any, **kwargs: Any) -> Any:
            async def work(held: Reached) -> Any:
                return await getattr(self._part(held), name)(*args, **kwargs)

            return await self._way.ask(work)

        return call

    async def events(self, **given: Any) -> AsyncIterator[Event | None]:
        """As a profile's; after a change of who has the folder, word that anything may have changed. It comes from the
        one who has it now, who listens already then: what is written next is heard."""
        while True:
            held = await self._way.reached()
            with suppress(Unreachable):
                async for event in self._part(held).events(**given):
                    yield event
            if not await self._way.lost(held):
                return
            given = given | {"after": LAST_EVENT}
