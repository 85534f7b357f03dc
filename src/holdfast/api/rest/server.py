"""Runs the service until it is stopped: one process with the data folder, the models and the worker."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import uvicorn

from holdfast.api.rest.app import ServiceLimits, app_of
from holdfast.api.rest.banner import LOOPBACK, banner
from holdfast.api.rest.connections import limited_protocol
from holdfast.domain.errors import Busy
from holdfast.ingest.topics import TopicExtractor
from holdfast.service.holdfast import AsyncHoldfast
from holdfast.service.settings import Settings
from holdfast.service.wiring import load_modules
from holdfast.storage.sqlite.server_address import ServerAddress, announce, withdraw

KEEP_ALIVE_SECONDS = 75
"""Longer than load balancers keep idle connections, so that the server never closes one that they are about to use."""
LAST_CALL_SECONDS = 0.1
"""How long a connection made just before the shutdown may take to send its request."""


async def serve(
    holdfast: AsyncHoldfast, chosen: Settings, say: Callable[[str], None], stopping: Callable[[], None]
) -> None:
    """Serve an opened Holdfast. In-flight requests finish before this returns; the caller closes the Holdfast.

    `stopping` is called when the server begins to stop.
    """
    app = app_of(holdfast, ServiceLimits(chosen.rate_limit, chosen.cors))
    await _load_rules(holdfast)
    listening = _listening_socket(chosen.host, chosen.port)
    port = listening.getsockname()[1]
    lines = await banner(holdfast, chosen, port)
    listening.listen()  # before the address is printed: whoever reads it and connects at once waits for an answer
    for line in lines:
        say(line)
    config = _config(app, chosen.host, port)
    loading = asyncio.create_task(asyncio.to_thread(_load_mcp))  # takes a second; the first request should not wait
    gc.collect()
    gc.freeze()  # modules, patterns and routes stay: looking for garbage among them takes 50 ms each time
    async with _announced_address(holdfast, chosen, port):
        await _Server(config, holdfast, stopping).serve(sockets=[listening])
    await loading


def serve_beside(holdfast: AsyncHoldfast, port: int) -> uvicorn.Server:
    """A server inside a process with another main task: it handles no signals and prints nothing."""
    return _Beside(_config(app_of(holdfast, ServiceLimits()), "127.0.0.1", port), holdfast, lambda: None)


def _config(app: Any, host: str, port: int) -> uvicorn.Config:
    # uvicorn's access log is off, because it would print secret paths.
    return uvicorn.Config(
        app, host=host, port=port, log_level="warning", access_log=False, lifespan="off",
        timeout_graceful_shutdown=30, server_header=False, date_header=False, timeout_keep_alive=KEEP_ALIVE_SECONDS,
        http=limited_protocol(),
    )  # fmt: skip


async def _load_rules(holdfast: AsyncHoldfast) -> None:
    """Load modules and the rules' patterns, which takes a second, so that the first requests do not wait for them."""
    await asyncio.to_thread(load_modules)
    if isinstance(holdfast.runtime.extractor, TopicExtractor):
        await holdfast.runtime.extractor.topic("I live in Lisbon.", holdfast.runtime.clock())


def _load_mcp() -> None:
    from holdfast.api.mcp import server  # noqa: F401


@asynccontextmanager
async def _announced_address(holdfast: AsyncHoldfast, chosen: Settings, port: int) -> AsyncIterator[None]:
    """Publish the server's address for commands and MCP clients of the same user, who would find the folder locked."""
    if holdfast.shared:
        yield
        return
    here = "127.0.0.1" if chosen.host in ("0.0.0.0", "::", *LOOPBACK) else chosen.host
    announce(chosen.folder, ServerAddress(f"http://{here}:{port}", holdfast.access.lent()))
    try:
        yield
    finally:
        withdraw(chosen.folder)


class _Server(uvicorn.Server):
    """Stops at a signal without ending the process, so that open resources can still be closed."""

    def __init__(self, config: uvicorn.Config, holdfast: AsyncHoldfast, stopping: Callable[[], None]) -> None:
        super().__init__(config)
        self._holdfast = holdfast
        self._stopping = stopping

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._stopping()
        self._holdfast.runtime.subscriptions.end()  # otherwise listeners would wait for ever
        for listening in sockets or ():
            listening.listen(0)  # no new connections queue up; queued ones are accepted
        await asyncio.sleep(LAST_CALL_SECONDS)
        for server in self.servers:
            server.close()
        await asyncio.sleep(LAST_CALL_SECONDS)  # accepted connections send their requests
        await super().shutdown(sockets)


class _Beside(_Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def check_address(host: str, port: int) -> None:
    """Raise Busy if nothing can listen on this address."""
    _listening_socket(host, port).close()


def _listening_socket(host: str, port: int) -> socket.socket:
    """Bind a socket to this address, before any token is created."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, kind, protocol)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
    except OSError as refused:
        raise Busy(
            f"Cannot listen on {host}:{port}: {refused.strerror}.",
            fix="Choose another port with --port or HOLDFAST_PORT, or another address with --host or HOLDFAST_HOST.",
        ) from refused
    return made
