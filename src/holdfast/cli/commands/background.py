"""The process that serves the data folder to this user's hooks, clients and commands, without a terminal.

A hook starts it, or the user service that `holdfast connect --hooks` sets up. It makes way for `holdfast serve`.
"""

from __future__ import annotations

import asyncio
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

from holdfast.cli.options import DataFolder
from holdfast.cli.parameters import Commands, Option
from holdfast.cli.shared_folder import FolderTraffic, host_folder
from holdfast.domain.errors import Busy
from holdfast.service.settings import EMBEDDERS, Settings

if TYPE_CHECKING:
    from holdfast.service.holdfast import AsyncHoldfast

IDLE_CHECK_SECONDS = 5.0
"""Time between two looks at the number of requests. Chosen by hand; not measured."""


def background(
    data: DataFolder = None,
    idle: Annotated[
        float, Option("--idle", metavar="SECONDS", help="End after this many seconds without a request; 0 means never.")
    ] = 0.0,
    stop: Annotated[bool, Option("--stop", help="End the background process instead.")] = False,
) -> int:
    """Serve the data folder to hooks, clients and commands.

    To those of this user, on this machine. A hook starts it when none runs. Ends at once when another process has the
    folder open.
    """
    settings = Settings.read(data=data)
    if stop:
        from holdfast.cli.hooks.background import stop_background

        print("Stopped." if stop_background(settings.folder) else "No background process is running.")
        return 0
    try:
        asyncio.run(_serve_until_idle(data, settings, idle))
    except Busy:  # whoever has the folder open serves it
        print(f"Another process has {settings.folder} open; there is nothing to do.")
    return 0


async def _serve_until_idle(data: str | None, settings: Settings, idle: float) -> None:
    from holdfast.service.holdfast import AsyncHoldfast

    ended = asyncio.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, ended.set)
    async with (
        await AsyncHoldfast.open(data) as holdfast,
        host_folder(holdfast, settings.folder, background=True) as traffic,
    ):
        local = settings.embedder in EMBEDDERS  # a provider's model has nothing to load here
        loading = asyncio.create_task(_load_models(holdfast, local))  # the first prompt should not wait for them
        print(f"Serving {settings.folder} to this user's hooks, clients and commands. Ctrl-C ends it.", flush=True)
        while not await _ends_within(ended, traffic, idle):
            pass
        await loading


async def _ends_within(ended: asyncio.Event, traffic: FolderTraffic, idle: float) -> bool:
    """Wait for the next request; True when the process is to end, because it was told to or was idle for so long."""
    before, deadline = traffic.requests, time.monotonic() + (idle or float("inf"))
    while not ended.is_set() and time.monotonic() < deadline:
        with suppress(TimeoutError):
            async with asyncio.timeout(min(IDLE_CHECK_SECONDS, max(deadline - time.monotonic(), 0.0))):
                await ended.wait()
        if traffic.requests != before:
            return ended.is_set()
    return True


async def _load_models(holdfast: AsyncHoldfast, local: bool) -> None:
    from holdfast.service.wiring import load_modules

    await asyncio.to_thread(load_modules)
    if local:
        await holdfast.runtime.embedder.embed(["warm"])


def add_to(app: Commands) -> None:
    app.add_function("background", background)
