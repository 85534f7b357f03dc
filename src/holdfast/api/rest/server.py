"""Runs the service until it is stopped: one process with the data folder, the models and the worker."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import uvicorn

from holdfast.api.rest.app import ServiceLimits, app_of
from holdfast.api.rest.connections import limited_protocol
from holdfast.domain.errors import AlreadyExists, Busy
from holdfast.ingest.topics import TopicExtractor
from holdfast.service.holdfast import AsyncHoldfast
from holdfast.service.settings import Settings
from holdfast.service.wiring import load_modules
from holdfast.storage.sqlite.server_address import ServerAddress, announce, withdraw

FIRST = ("default", "default")
"""The namespace and profile that the first start sets up; commands that name no profile use the same."""
KEEP_ALIVE_SECONDS = 75
"""Longer than load balancers keep idle connections, so that the server never closes one that they are about to use."""
LAST_CALL_SECONDS = 0.1
"""How long a connection made just before the shutdown may take to send its request."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")


async def serve(holdfast: AsyncHoldfast, chosen: Settings, say: Callable[[str], None]) -> None:
    """Serve an opened Holdfast. In-flight requests finish before this returns; the caller closes the Holdfast."""
    app = app_of(holdfast, ServiceLimits(chosen.rate_limit, chosen.cors))
    await _load_rules(holdfast)
    listening = _listening_socket(chosen.host, chosen.port)
    port = listening.getsockname()[1]
    for line in await _welcome(holdfast, chosen, port):
        say(line)
    config = _config(app, chosen.host, port)
    loading = asyncio.create_task(asyncio.to_thread(_load_mcp))  # takes a second; the first request should not wait
    gc.collect()
    gc.freeze()  # modules, patterns and routes stay: looking for garbage among them takes 50 ms each time
    async with _announced_address(holdfast, chosen, port):
        await _Server(config, holdfast).serve(sockets=[listening])
    await loading


def serve_beside(holdfast: AsyncHoldfast, port: int) -> uvicorn.Server:
    """A server inside a process with another main task: it handles no signals and prints nothing."""
    return _Beside(_config(app_of(holdfast, ServiceLimits()), "127.0.0.1", port), holdfast)


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


def _listening_socket(host: str, port: int) -> socket.socket:
    """Bind a socket to this address, before any token is created."""
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
    """The lines printed at the start; the first start also prints what is shown only once."""
    first = not await holdfast.access.list_all()
    made = await holdfast.access.admin(chosen.admin_token)
    shown = f"[{chosen.host}]" if ":" in chosen.host else chosen.host
    base = f"http://{shown}:{port}"
    lines = [
        f"Holdfast is at {base}",
        f"  Web UI      {base}/   (sign in with a token, or open a secret URL in the browser)",
        f"  OpenAPI     {base}/openapi.json",
        f"  Help        {base}/help",
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
        f"  export CLOUDFLARE_API_TOKEN={admin or 'the-preset-token'}",
    ]
