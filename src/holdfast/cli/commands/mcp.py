"""The command that serves MCP over stdin and stdout, for clients that start their servers themselves."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

from holdfast.cli.options import DataFolder, NamespaceName, ProfileName
from holdfast.cli.parameters import Commands, Option
from holdfast.cli.shared_folder import SharedFolder, SharedProxy
from holdfast.domain.errors import Busy, InvalidInput

if TYPE_CHECKING:
    from holdfast.api.client.holdfast import RemoteHoldfast
    from holdfast.domain.results import Origin

Others = Annotated[
    list[str] | None,
    Option("--with", metavar="PROFILE", help="Let the tools also use this profile of the namespace; repeatable."),
]


def mcp(
    data: DataFolder = None,
    namespace: NamespaceName = "default",
    profile: ProfileName = "default",
    others: Others = None,
) -> None:
    """Serve MCP over stdin and stdout.

    Connects to the server at HOLDFAST_URL (with HOLDFAST_TOKEN) if that is set; otherwise to the process that has the
    data folder open, or opens the folder itself and serves it to others. Any number of clients may run at once.
    """
    if sys.stdin.isatty():
        print(
            "Serving MCP on stdin and stdout, for a client that starts this; Ctrl-C ends it. `holdfast connect` sets a "
            "client up.", file=sys.stderr,
        )  # fmt: skip
    asyncio.run(_serve_stdio(data, namespace, profile, others or []))


async def _serve_stdio(data: str | None, namespace: str, profile: str, others: list[str]) -> None:
    from mcp.server.stdio import stdio_server

    from holdfast.api.mcp.protocol_errors import AnsweringStream
    from holdfast.api.mcp.server import Guest, server
    from holdfast.api.mcp.shared_profiles import Shared
    from holdfast.domain.results import Origin

    async with SharedFolder(data, namespace, _configured_server(data)) as folder:
        with suppress(Busy):  # a client waits longer for the first answer than for the start of a server
            await folder.acquire(seconds=0)
        origins = tuple(Origin(namespace, each) for each in others)
        shared = Shared(
            origins,
            origins,
            lambda asked: SharedProxy(folder, _across_getter(namespace, asked)),
            lambda origin: SharedProxy(folder, _profile_getter(origin.namespace, origin.profile)),
        )
        guest = Guest(
            SharedProxy(folder, _profile_getter(namespace, profile)),
            SharedProxy(folder, lambda holdfast: holdfast).kind_of, namespace, profile, lambda right: True,
            shared=shared,
        )  # fmt: skip
        mcp_server = server(lambda ctx: guest)
        async with stdio_server() as (incoming, outgoing):
            messages = AnsweringStream(incoming, outgoing)
            await mcp_server.run(messages, outgoing, mcp_server.create_initialization_options())


def _profile_getter(namespace: str, name: str) -> Callable[[Any], Any]:
    return lambda holdfast: holdfast.profile(namespace, name)


def _across_getter(namespace: str, origins: Sequence[Origin]) -> Callable[[Any], Any]:
    return lambda holdfast: holdfast.across(namespace, [(each.namespace, each.profile) for each in origins])


def _configured_server(data: str | None) -> RemoteHoldfast | None:
    """The server at HOLDFAST_URL, unless --data names a folder."""
    url = os.environ.get("HOLDFAST_URL") if data is None else None
    if not url:
        return None
    if "/s/" in url:
        raise InvalidInput(
            "HOLDFAST_URL is a secret URL. Clients connect to it directly, without `holdfast mcp`.",
            field="HOLDFAST_URL",
            fix="Give the client the URL itself, with /mcp at its end; `holdfast connect` does that.",
        )  # fmt: skip
    from holdfast.api.client.holdfast import RemoteHoldfast

    return RemoteHoldfast(url, os.environ.get("HOLDFAST_TOKEN", ""))


def add_to(app: Commands) -> None:
    app.add_function("mcp", mcp)
