"""The server's HTTP protocol with limits on connections: how many there are, and how long a request's head may take.

uvicorn limits neither. Without them a stranger takes every file descriptor with half a request line on each connection,
and then no profile can be opened any more.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

if TYPE_CHECKING:
    from uvicorn.protocols.http.h11_impl import H11Protocol as HttpProtocol
else:
    HttpProtocol = AutoHTTPProtocol

HEAD_SECONDS = 15.0
"""From the first byte of a request, or from the beginning of a connection, to the end of its headers."""
MAX_CONNECTIONS = 8_192
MIN_CONNECTIONS = 16
OVERLOADED = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\nconnection: close\r\n\r\n"
    b'{"error":{"code":"busy","message":"Too many connections.","field":null,"fix":"Try again in a moment."}}'
)


def connection_limit() -> int:
    """Half of the file descriptors that this process may open; the other half is for profiles and documents."""
    try:
        import resource
    except ImportError:  # there is no such limit on Windows
        return MAX_CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 2 * MAX_CONNECTIONS:
        wanted = 2 * MAX_CONNECTIONS if hard == resource.RLIM_INFINITY else min(2 * MAX_CONNECTIONS, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return max(MIN_CONNECTIONS, min(MAX_CONNECTIONS, soft // 2))


class LimitedProtocol(HttpProtocol):
    """One connection. An idle one gives way when there are too many; a head that does not end in time is cut off."""

    most = MAX_CONNECTIONS

    def connection_made(self, transport: Any) -> None:
        self.idle_since = monotonic()
        self._head_timer: asyncio.TimerHandle | None = None
        super().connection_made(transport)
        if len(self.connections) > self.most and not self._oldest_idle_closed():
            transport.write(OVERLOADED)
            transport.close()
            return
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        if not self.busy and self._head_timer is None:
            self._expect_head()
        super().data_received(data)
        if self.busy and self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def on_response_complete(self) -> None:
        self.idle_since = monotonic()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
        super().connection_lost(exc)

    @property
    def busy(self) -> bool:
        """Whether a request was received that is not answered yet."""
        return self.cycle is not None and not self.cycle.response_complete

    def _expect_head(self) -> None:
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self._cut_off)

    def _cut_off(self) -> None:
        self._head_timer = None
        if not self.busy and not self.transport.is_closing():
            self.transport.abort()

    def _oldest_idle_closed(self) -> bool:
        """Close the connection that has been without a request for longest; False when every other one has one."""
        others = (each for each in self.connections if isinstance(each, LimitedProtocol) and each is not self)
        idle = min((each for each in others if not each.busy), key=lambda each: each.idle_since, default=None)
        if idle is None:
            return False
        idle.transport.abort()
        self.connections.discard(idle)
        return True


def limited_protocol() -> type[LimitedProtocol]:
    """The protocol with the limit that this machine allows."""
    return type("ServerProtocol", (LimitedProtocol,), {"most": connection_limit()})
