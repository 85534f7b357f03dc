"""Run the service until told to stop: one process with the data folder, the models and the worker in it."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import uvicorn

from ..announced import Door, announce, withdraw
from ..config import Settings
from ..errors import AlreadyExists, Busy
from ..service import AsyncHoldfast
from ..topics import Topics
from .app import Limits, app_of

FIRST = ("default", "default")
"""The namespace and profile that a first start makes ready: those of a command that names none."""
KEEP_ALIVE_SECONDS = 75
"""Longer than load balancers keep theirs, so that it is never us who close a connection they are about to use."""
LAST_CALL_SECONDS = 0.1
"""How long a connection that was made just before the end may take to become a request."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")


async def serve(holdfast: AsyncHoldfast, chosen: Settings, say: Callable[[str], None]) -> None:
    """Serve an opened Holdfast. In-flight requests finish before this returns; closing it is the caller's."""
    app = app_of(holdfast, Limits(chosen.rate_limit, chosen.cors))
    await _load_rules(holdfast)
    listening = _listening(chosen.host, chosen.port)
    port = listening.getsockname()[1]
    for line in await _welcome(holdfast, chosen, port):
        say(line)
    config = _config(app, chosen.host, port)
    loading = asyncio.create_task(asyncio.to_thread(_load_mcp))  # a second, which the first request need not wait for
    async with _announced(holdfast, chosen, port):
        await _Server(config, holdfast).serve(sockets=[listening])
    await loading


def beside(holdfast: AsyncHoldfast, port: int) -> uvicorn.Server:
    """A server for a process that has another business: it takes no signals and says nothing."""
    return _Beside(_config(app_of(holdfast, Limits()), "127.0.0.1", port), holdfast)


def _config(app: Any, host: str, port: int) -> uvicorn.Config:
    # No access log of uvicorn's: it would print secret paths.
    return uvicorn.Config(
        app, host=host, port=port, log_level="warning", access_log=False, lifespan="off",
        timeout_graceful_shutdown=30, server_header=False, date_header=False, timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )  # fmt: skip


async def _load_rules(holdfast: AsyncHoldfast) -> None:
    """Half a second of patterns, which the first writes would wait for."""
    if isinstance(holdfast._extractor, Topics):
        await holdfast._extractor.topic("I live in Lisbon.", holdfast._clock())


def _load_mcp() -> None:
    from ..mcp import server  # noqa: F401


@asynccontextmanager
async def _announced(holdfast: AsyncHoldfast, chosen: Settings, port: int) -> AsyncIterator[None]:
    """Let commands and MCP clients of the same user find us instead of the folder's lock."""
    if holdfast.shared:
        yield
        return
    here = "127.0.0.1" if chosen.host in ("0.0.0.0", "::", *LOOPBACK) else chosen.host
    announce(chosen.folder, Door(f"http://{here}:{port}", holdfast.access.lent()))
    try:
        yield
    finally:
        withdraw(chosen.folder)


class _Server(uvicorn.Server):
    """Stops at a signal without dying of it, so that what is open can still be closed."""

    def __init__(self, config: uvicorn.Config, holdfast: AsyncHoldfast) -> None:
        super().__init__(config)
        self._holdfast = holdfast

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
        self._holdfast._live.end()  # listeners would wait for ever
        for listening in sockets or ():
            listening.listen(0)  # nobody queues any more; those who do are let in
        await asyncio.sleep(LAST_CALL_SECONDS)
        for server in self.servers:
            server.close()
        await asyncio.sleep(LAST_CALL_SECONDS)  # those who were let in say what they want
        await super().shutdown(sockets)


class _Beside(_Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _listening(host: str, port: int) -> socket.socket:
    """A socket on this address, taken before any token is made."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, kind, protocol)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
    except OSError as refused:
        raise Busy(
            f"Cannot listen on {host}:{port}: {refused.strerror}.", fix="Choose another --host or --port."
        ) from refused
    return made


async def _welcome(holdfast: AsyncHoldfast, chosen: Settings, port: int) -> list[str]:
    """What a start says; the first also what is shown only once."""
    first = not await holdfast.access.listed()
    made = await holdfast.access.admin(chosen.admin_token)
    shown = f"[{chosen.host}]" if ":" in chosen.host else chosen.host
    base = f"http://{shown}:{port}"
    lines = [
        f"Holdfast is at {base}",
        f"  Web UI      {base}/   (sign in with a token, or open a secret URL in the browser)",
        f"  OpenAPI     {base}/openapi.json",
    ]
    if chosen.host not in LOOPBACK:
        lines.append("  Others can reach it, and HTTP is not encrypted: put a proxy with TLS before it.")
    if not first:
        return lines if made is None else [*lines, f"  admin token {made}   (new: every earlier one has ended)"]
    return [*lines, "", *_first_steps(base, made, await _first_url(holdfast, base))]


async def _first_url(holdfast: AsyncHoldfast, base: str) -> str:
    namespace, profile = FIRST
    with suppress(AlreadyExists):
        await holdfast.create_namespace(namespace)
    everything = ["read", "write", "forget"]
    _, secret = await holdfast.access.issue("url", "first", everything, namespace=namespace, profile=profile)
    return f"{base}/s/{secret}"


def _first_steps(base: str, admin: str | None, url: str) -> list[str]:
    namespace, profile = FIRST
    token = admin or "$HOLDFAST_ADMIN_TOKEN"
    given = admin or "the preset token"
    return [
        "Shown once, keep them:",
        *([f"  admin token {admin}"] if admin else []),
        f"  secret URL  {url}   (profile {profile!r} in namespace {namespace!r})",
        "",
        "Try:",
        f"  curl -s {url}/api/memory -H 'content-type: application/json' \\",
        '    -d \'{"content": "I prefer window seats"}\'',
        f"  curl -s '{url}/api/search?q=seats'",
        "",
        "Python:",
        "  import holdfast",
        f'  memory = holdfast.Holdfast.connect("{base}", token="{given}")',
        f'  print(memory.profile("{namespace}", "{profile}").recall("Which seat do I like?").answer)',
        "",
        "wrangler and other Agent Memory clients:",
        f"  export CLOUDFLARE_API_BASE_URL={base}/client/v4 CLOUDFLARE_ACCOUNT_ID=local",
        f"  export CLOUDFLARE_API_TOKEN={token}",
    ]
