"""Answer for the data folder that this process has open: others of the same user talk to it instead of waiting.

The door is a port of this machine only, with a token that lies in the folder. Nothing of the server is loaded before
the first of the others knocks, so that whoever is alone pays nothing.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..announced import Door, announce, withdraw

if TYPE_CHECKING:
    from ..service import AsyncHoldfast

HERE = "127.0.0.1"
QUEUE = 128
log = logging.getLogger("holdfast")


@asynccontextmanager
async def hosting(holdfast: AsyncHoldfast, folder: Path) -> AsyncIterator[None]:
    """As long as the block lasts, others reach the folder through this process."""
    listening = _listening()
    if listening is None:
        yield
        return
    port = listening.getsockname()[1]
    server: list[Any] = []
    answering = asyncio.create_task(_answer(holdfast, listening, port, server), name="holdfast-door")
    announce(folder, Door(f"http://{HERE}:{port}", holdfast.access.lent()))
    try:
        yield
    finally:
        withdraw(folder)
        if server:
            server[0].should_exit = True  # those who were let in are answered
        else:
            answering.cancel()
        await asyncio.gather(answering, return_exceptions=True)
        listening.close()


def _listening() -> socket.socket | None:
    made = socket.socket()
    try:
        made.bind((HERE, 0))
        made.listen(QUEUE)
    except OSError as refused:  # a sandbox may forbid it; then others wait for the folder
        log.warning("Other processes cannot share this data folder: %s", refused.strerror)
        made.close()
        return None
    made.setblocking(False)
    return made


async def _answer(holdfast: AsyncHoldfast, listening: socket.socket, port: int, started: list[Any]) -> None:
    loop, knocked = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(listening, knocked.set)
    try:
        await knocked.wait()
    finally:
        loop.remove_reader(listening)
    await asyncio.to_thread(_load)
    from ..rest.server import beside

    started.append(beside(holdfast, port))
    await started[0].serve(sockets=[listening])


def _load() -> None:
    from ..rest import server  # noqa: F401
