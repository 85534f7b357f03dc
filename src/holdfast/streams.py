"""Streams that keep their own context, whoever reads them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TypeVar

T = TypeVar("T")


async def in_one_task(stream: AsyncIterator[T]) -> AsyncGenerator[T, None]:
    """The same pieces, made in one task from the first to the last.

    A generator runs in the context of whoever asks for its next piece, and a server or a synchronous caller may ask
    from another one each time: what it keeps in context variables would come apart.
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
        making.cancel()
        await asyncio.gather(making, return_exceptions=True)
