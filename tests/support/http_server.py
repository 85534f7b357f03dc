"""A Holdfast served over real HTTP in the test's own loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn

from holdfast import AsyncHoldfast
from holdfast.api.rest import connections
from holdfast.api.rest.app import ServiceLimits, app_of
from holdfast.api.rest.connections import LimitedProtocol

KEEP_ALIVE_SECONDS = 600
"""Else a client on a busy machine finds its connection closed, as the default of uvicorn is 5 s."""
connections.HEAD_SECONDS = 120.0


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def http_server(holdfast: AsyncHoldfast, limits: ServiceLimits = ServiceLimits()) -> AsyncIterator[str]:
    """The address at which this Holdfast answers, as long as the block lasts."""
    app = app_of(holdfast, limits)
    server = _Server(
        uvicorn.Config(
            app, port=0, log_level="error", lifespan="off", http=LimitedProtocol, timeout_keep_alive=KEEP_ALIVE_SECONDS
        )
    )
    serving = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110  (uvicorn has no event for it)
        await asyncio.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        holdfast.runtime.subscriptions.end()
        server.should_exit = True
        await serving
