"""Shares one data folder between processes: one process opens it and serves it to the others.

When that process ends, the next process that needs the folder opens it and serves it. A client that stays connected
notices only the delay.

The server listens on a port of this machine only and requires a token that is stored in the folder. The server's
modules are loaded at the first connection, so a process without connections does not load them.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast.domain.errors import AlreadyExists, Busy, Closed, Forbidden, Unreachable
from holdfast.domain.identifiers import LAST_EVENT
from holdfast.service.settings import Settings
from holdfast.storage.sqlite.server_address import ServerAddress, announce, last_owner, load_live_address, withdraw

if TYPE_CHECKING:
    from holdfast.api.client.holdfast import RemoteHoldfast
    from holdfast.domain.records import Event
    from holdfast.service.holdfast import AsyncHoldfast
    from holdfast.service.sync import Holdfast

    FolderHandle = AsyncHoldfast | RemoteHoldfast

T = TypeVar("T")
MAX_WAIT_SECONDS = 20.0
"""How long to wait for a folder that another process has open and does not serve. Chosen by hand; not measured."""
WARNING_DELAY_SECONDS = 0.5
"""How long to wait before printing a warning: most commands end sooner. Chosen by hand; not measured."""
POLL_SECONDS = 0.1
"""Time between two attempts. Chosen by hand; not measured."""
MAX_RECONNECTS = 5
"""How often a lost connection is replaced before the error is raised. Chosen by hand; not measured."""
LOOPBACK = "127.0.0.1"
LISTEN_BACKLOG = 128
log = logging.getLogger("holdfast")


class FolderWait:
    """Waits for a folder that another process has open, until that process closes or serves it, or time is up."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self._folder = folder
        self._start = time.monotonic()
        self._seconds = seconds
        self._warned = False

    def server(self, busy: Busy) -> ServerAddress | None:
        """The address that serves the folder; None to try again in a moment. Raises `busy` when time is up."""
        server = load_live_address(self._folder)
        if server is not None:
            return server
        waited = time.monotonic() - self._start
        if waited >= self._seconds or last_owner(self._folder) == os.getpid():
            raise busy
        if waited >= WARNING_DELAY_SECONDS and not self._warned:
            self._warned = True
            log.warning("%s Waiting for up to %.0f s.", str(busy).partition(". ")[0] + ".", self._seconds)
        return None


def unwritten_folder(data: str | None) -> Path | None:
    """The data folder, if nothing was ever written to it; None where there is data, or a database is used."""
    from holdfast.storage.sqlite.folder import has_no_data

    chosen = Settings.read(data=data)
    if chosen.store is not None or chosen.folder.is_file() or (chosen.folder / "catalogue.db").exists():
        return None
    return chosen.folder if has_no_data(chosen.folder) else None


def open_or_connect(data: str | None, max_wait_seconds: float = MAX_WAIT_SECONDS) -> Holdfast:
    """Open the data folder, or connect to the process that serves it, for a single command."""
    from holdfast.service.sync import Holdfast

    wait: FolderWait | None = None
    while True:
        try:
            return Holdfast.open(data)
        except Busy as busy:
            settings = Settings.read(data=data)
            if settings.store is not None:
                raise  # a database that does not answer has been waited for
            wait = wait or FolderWait(settings.folder, max_wait_seconds)
            server = wait.server(busy)
        if server is not None:
            remote = Holdfast.connect(*server)
            try:
                remote.namespaces()
                return remote
            except (Unreachable, Closed):  # that process is ending
                remote.close()
        time.sleep(POLL_SECONDS)


class SharedFolder:
    """A data folder with one of its namespaces, shared while a client stays connected; or the `server` from the
    settings."""

    def __init__(self, data: str | None, namespace: str, server: RemoteHoldfast | None = None) -> None:
        self._data = data
        self._namespace = namespace
        self._server = server
        self._lock = asyncio.Lock()
        self._current: FolderHandle | None = None
        self._resources = AsyncExitStack()
        self._closed = False

    async def __aenter__(self) -> SharedFolder:
        return self

    async def __aexit__(self, *_: object) -> None:
        async with self._lock:
            self._closed = True
            await self._release()

    async def call(self, work: Callable[[FolderHandle], Awaitable[T]]) -> T:
        """Run `work` in the process that has the folder. A lost call is repeated: repeating a write changes nothing."""
        for _ in range(MAX_RECONNECTS):
            current = await self.acquire()
            try:
                return await work(current)
            except (Unreachable, Closed):
                if not await self.drop(current):
                    raise
        return await work(await self.acquire())

    async def acquire(self, seconds: float = MAX_WAIT_SECONDS) -> FolderHandle:
        async with self._lock:
            if self._closed:
                raise Closed("This process is ending.")
            if self._current is None:
                self._current = await self._connect(seconds)
            return self._current

    async def drop(self, lost: FolderHandle) -> bool:
        """Disconnect from a process that no longer answers; False when this process has the folder, or is ending."""
        from holdfast.api.client.holdfast import RemoteHoldfast

        async with self._lock:
            if self._closed or lost is self._server or not isinstance(lost, RemoteHoldfast):
                return False
            if self._current is lost:
                await self._release()
            return True

    async def _release(self) -> None:
        self._current = None
        stack, self._resources = self._resources, AsyncExitStack()
        await stack.aclose()

    async def _connect(self, seconds: float) -> FolderHandle:
        from holdfast.api.client.holdfast import RemoteHoldfast

        if self._server is not None:
            return await self._enter_remote(self._server)
        folder = Settings.read(data=self._data).folder
        wait = FolderWait(folder, seconds)
        while True:
            try:
                return await self._open(folder)
            except Busy as busy:
                server = wait.server(busy)
            if server is not None:
                with suppress(Unreachable):  # that process may be ending
                    return await self._enter_remote(RemoteHoldfast(*server))
            await asyncio.sleep(POLL_SECONDS)

    async def _enter_remote(self, remote: RemoteHoldfast) -> RemoteHoldfast:
        try:
            with suppress(AlreadyExists, Forbidden):  # over HTTP a namespace is never implicit
                await remote.create_namespace(self._namespace)
        except BaseException:
            await remote.close()
            raise
        return await self._resources.enter_async_context(remote)

    async def _open(self, folder: Path) -> FolderHandle:
        from holdfast.service.holdfast import AsyncHoldfast

        local = await AsyncHoldfast.open(self._data)
        await self._resources.enter_async_context(local)
        if not local.shared:
            await self._resources.enter_async_context(host_folder(local, folder))
        return local


class SharedProxy:
    """A part of a shared folder, such as a profile: each call goes to the process that has the folder at that time."""

    def __init__(self, folder: SharedFolder, part: Callable[[Any], Any]) -> None:
        self._folder = folder
        self._part = part

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def call(*args: Any, **kwargs: Any) -> Any:
            async def work(current: FolderHandle) -> Any:
                return await getattr(self._part(current), name)(*args, **kwargs)

            return await self._folder.call(work)

        return call

    async def events(self, **given: Any) -> AsyncIterator[Event | None]:
        """A profile's events. After the folder moves to another process, one event reports that anything may have
        changed.

        It comes from the new process, which is already listening then, so no later write is missed.
        """
        while True:
            current = await self._folder.acquire()
            with suppress(Unreachable):
                async for event in self._part(current).events(**given):
                    yield event
            if not await self._folder.drop(current):
                return
            given = given | {"after": LAST_EVENT}


class FolderTraffic:
    """How much a hosted folder is used by other processes."""

    def __init__(self) -> None:
        self.servers: list[Any] = []
        """The server, once there was a connection."""

    @property
    def requests(self) -> int:
        """Requests so far, and one more for each open connection."""
        return sum(each.server_state.total_requests + len(each.server_state.connections) for each in self.servers)


@asynccontextmanager
async def host_folder(
    holdfast: AsyncHoldfast, folder: Path, *, background: bool = False
) -> AsyncIterator[FolderTraffic]:
    """Serve the folder to other processes of the same user while the block runs."""
    listening = _listening_socket()
    traffic = FolderTraffic()
    if listening is None:
        yield traffic
        return
    port = listening.getsockname()[1]
    server = traffic.servers
    serving = asyncio.create_task(_serve_on_demand(holdfast, listening, port, server), name="holdfast-folder-server")
    announce(folder, ServerAddress(f"http://{LOOPBACK}:{port}", holdfast.access.lent()), background=background)
    try:
        yield traffic
    finally:
        withdraw(folder)
        if server:
            server[0].should_exit = True  # open requests are answered first
        else:
            serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        listening.close()


def _listening_socket() -> socket.socket | None:
    listening = socket.socket()
    try:
        listening.bind((LOOPBACK, 0))
        listening.listen(LISTEN_BACKLOG)
    except OSError as failure:  # a sandbox may forbid it; then other processes wait for the folder
        log.warning("Other processes cannot share this data folder: %s", failure.strerror)
        listening.close()
        return None
    listening.setblocking(False)
    return listening


async def _serve_on_demand(holdfast: AsyncHoldfast, listening: socket.socket, port: int, started: list[Any]) -> None:
    """Wait for the first connection, then load the server and run it."""
    loop, connected = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(listening, connected.set)
    try:
        await connected.wait()
    finally:
        loop.remove_reader(listening)
    await asyncio.to_thread(_load_server)
    from holdfast.api.rest.server import serve_beside

    started.append(serve_beside(holdfast, port))
    await started[0].serve(sockets=[listening])


def _load_server() -> None:
    from holdfast.api.rest import server  # noqa: F401
