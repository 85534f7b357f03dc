"""The command that speaks MCP over stdin and stdout, for clients that start their servers themselves."""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress
from typing import Annotated

import typer

from ..announced import Door, found
from ..config import Settings
from ..errors import AlreadyExists, Busy, Forbidden, HoldfastError, InvalidInput
from ..remote import RemoteHoldfast
from ..results import Origin
from ..service import AsyncHoldfast
from .place import Data, NamespaceName, ProfileName

PATIENCE = 5.0


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

    Talks to the server at HOLDFAST_URL (with HOLDFAST_TOKEN) when that is set, else to the one that has the data folder
    open, or opens it itself. Any number of clients may run at once.
    """
    asyncio.run(_serve(data, namespace, profile, others or []))


async def _serve(data: str | None, namespace: str, profile: str, others: list[str]) -> None:
    from mcp.server.stdio import stdio_server

    from ..mcp.server import Guest, server
    from ..mcp.several import Shared

    async with await reached(data) as holdfast:
        if isinstance(holdfast, RemoteHoldfast):  # over HTTP a namespace is never implicit
            with suppress(AlreadyExists, Forbidden):
                await holdfast.create_namespace(namespace)
        places = tuple(Origin(namespace, each) for each in others)
        shared = Shared(
            places,
            places,
            lambda asked: holdfast.across(namespace, [(each.namespace, each.profile) for each in asked]),
            lambda place: holdfast.profile(place.namespace, place.profile),
        )
        own = holdfast.profile(namespace, profile)
        guest = Guest(own, holdfast.kind_of, namespace, profile, lambda right: True, shared=shared)
        speaking = server(lambda ctx: guest)
        async with stdio_server() as (incoming, outgoing):
            await speaking.run(incoming, outgoing, speaking.create_initialization_options())


async def reached(data: str | None) -> AsyncHoldfast | RemoteHoldfast:
    """The data folder, or the server that has it open; whatever else has it is waited for."""
    if data is None and (url := os.environ.get("HOLDFAST_URL")):
        return _named(url, os.environ.get("HOLDFAST_TOKEN", ""))
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return await AsyncHoldfast.open(data)
        except Busy:
            door = found(Settings.read(data=data).folder)
            far = None if door is None else await _answering(door)
            if far is not None:
                return far
            if time.monotonic() > until:
                raise
            await asyncio.sleep(0.2)


def _named(url: str, token: str) -> RemoteHoldfast:
    if "/s/" in url:
        raise InvalidInput(
            "HOLDFAST_URL is a secret URL, which needs no command.", field="HOLDFAST_URL",
            fix="Give the client the URL itself, with /mcp at its end; `holdfast connect` does it.",
        )  # fmt: skip
    return AsyncHoldfast.connect(url, token)


async def _answering(door: Door) -> RemoteHoldfast | None:
    far = AsyncHoldfast.connect(*door)
    try:
        await far.namespaces()
        return far
    except HoldfastError:  # it is gone, or on its way
        await far.close()
        return None


def add_to(app: typer.Typer) -> None:
    app.command("mcp")(mcp)
