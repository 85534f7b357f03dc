"""Run the service until told to stop: one process with the data folder, the models and the worker in it."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn

from ..errors import Busy
from ..service import AsyncHoldfast
from .app import app_of

FIRST = ("default", "me")
"""The namespace and profile that a first start makes ready."""


async def serve(holdfast: AsyncHoldfast, host: str, port: int, token: str | None, say: Callable[[str], None]) -> None:
    """Serve an opened Holdfast. In-flight requests finish before this returns; closing it is the caller's."""
    listening = _listening(host, port)
    shown = await holdfast.access.admin(token)
    base = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    for line in await _welcome(holdfast, base, shown):
        say(line)
    # No access log of uvicorn's: it would print secret paths.
    config = uvicorn.Config(
        app_of(holdfast), host=host, port=port, log_level="warning", access_log=False, lifespan="off",
        timeout_graceful_shutdown=30, server_header=False, date_header=False,
    )  # fmt: skip
    await uvicorn.Server(config).serve(sockets=[listening])


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


async def _welcome(holdfast: AsyncHoldfast, base: str, admin: str | None) -> list[str]:
    lines = [f"Holdfast is at {base}", f"  OpenAPI     {base}/openapi.json"]
    if admin is None:
        return lines
    namespace, profile = FIRST
    if not any(each.name == namespace for each in await holdfast.namespaces()):
        await holdfast.create_namespace(namespace)
    _, secret = await holdfast.access.issue(
        "url", "first", ["read", "write", "forget"], namespace=namespace, profile=profile
    )
    return [
        *lines,
        "",
        "Shown once, keep them:",
        f"  admin token {admin}",
        f"  secret URL  {base}/s/{secret}   (profile {profile!r} in namespace {namespace!r})",
        "",
        "Try:",
        f"  curl -s {base}/s/{secret}/api/memory -H 'content-type: application/json' \\",
        '    -d \'{"content": "I prefer window seats"}\'',
        f"  curl -s '{base}/s/{secret}/api/search?q=seats'",
        "",
        "wrangler and other Agent Memory clients:",
        f"  export CLOUDFLARE_API_BASE_URL={base}/client/v4 CLOUDFLARE_ACCOUNT_ID=local",
        f"  export CLOUDFLARE_API_TOKEN={admin}",
    ]
