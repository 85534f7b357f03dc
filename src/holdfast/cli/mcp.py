"""The command that speaks MCP over stdin and stdout, for clients that start their servers themselves."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import Busy, InvalidInput
from .place import Data, NamespaceName, ProfileName
from .way import Along, Way

if TYPE_CHECKING:
    from ..remote import RemoteHoldfast
    from ..results import Origin

Others = Annotated[
    list[str] | None,
    typer.Option("--with", metavar="PROFILE", help="Let the tools ask this profile of the namespace too; repeatable."),
]


def mcp(
    data: Data = None,
    namespace: NamespaceName = "default",
    profile: ProfileName = "default",
    others: Others = None,
) -> None:
    """Speak MCP over stdin and stdout.

    Talks to the server at HOLDFAST_URL (with HOLDFAST_TOKEN) when that is set, else to the process that has the data
    folder open, or opens it itself and answers for the others. Any number of clients may run at once.
    """
    asyncio.run(_serve(data, namespace, profile, others or []))


async def _serve(data: str | None, namespace: str, profile: str, others: list[str]) -> None:
    from mcp.server.stdio import stdio_server

    from ..mcp.server import Guest, server
    from ..mcp.several import Shared
    from ..results import Origin

    async with Way(data, namespace, _named(data)) as way:
        with suppress(Busy):  # a client that must wait for the first answer gives up later than one without a server
            await way.reached(patience=0)
        places = tuple(Origin(namespace, each) for each in others)
        shared = Shared(
            places,
            places,
            lambda asked: Along(way, _across(namespace, asked)),
            lambda place: Along(way, _profile(place.namespace, place.profile)),
        )
        guest = Guest(
            Along(way, _profile(namespace, profile)), Along(way, lambda held: held).kind_of, namespace, profile,
            lambda right: True, shared=shared,
        )  # fmt: skip
        speaking = server(lambda ctx: guest)
        async with stdio_server() as (incoming, outgoing):
            await speaking.run(incoming, outgoing, speaking.create_initialization_options())


def _profile(namespace: str, name: str) -> Callable[[Any], Any]:
    return lambda held: held.profile(namespace, name)


def _across(namespace: str, places: Sequence[Origin]) -> Callable[[Any], Any]:
    return lambda held: held.across(namespace, [(each.namespace, each.profile) for each in places])


def _named(data: str | None) -> RemoteHoldfast | None:
    """The server that the environment names, unless a folder is asked for."""
    url = os.environ.get("HOLDFAST_URL") if data is None else None
    if not url:
        return None
    if "/s/" in url:
        raise InvalidInput(
            "HOLDFAST_URL is a secret URL, which needs no command.", field="HOLDFAST_URL",
            fix="Give the client the URL itself, with /mcp at its end; `holdfast connect` does it.",
        )  # fmt: skip
    from ..service import AsyncHoldfast

    return AsyncHoldfast.connect(url, os.environ.get("HOLDFAST_TOKEN", ""))


def add_to(app: typer.Typer) -> None:
    app.command("mcp")(mcp)
