"""Runs an async generator in one task, so that it keeps its context variables whichever task consumes it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TypeVar

from holdfast.storage.tasks import end_tasks

T = TypeVar("T")


async def run_in_one_task(stream: AsyncIterator[T]) -> AsyncGenerator[T, None]:
    """Yield the pieces of `stream`, which runs in one task from the first to the last.

    An async generator runs in the context of the task that asks for the next piece. A server or a synchronous caller
    may ask from a different task each time, and the generator's context variables would be lost between pieces.
    """
    made: asyncio.Queue[T | None] = asyncio.Queue()

    async def make() -> None:
        try:
            async for piece in stream:
                await made.put(piece)
        finally:
            await made.put(None)

    making = asyncio.create_task(make())
    try:
        while (piece := await made.get()) is not None:
            yield piece
        await making
    finally:
        await end_tasks([making])
