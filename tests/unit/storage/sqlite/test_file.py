"""Work in a thread runs to its end, whatever becomes of the task that waits for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from holdfast.storage.sqlite.file import run_to_end


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as threads:
        yield threads


async def test_the_result_or_the_error_of_the_thread_is_handed_on(pool: ThreadPoolExecutor) -> None:
    assert await run_to_end(pool, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        await run_to_end(pool, lambda: 1 // 0)


async def test_a_cancelled_task_waits_until_the_thread_is_done(pool: ThreadPoolExecutor) -> None:
    began, may_end = threading.Event(), threading.Event()

    def act() -> None:
        began.set()
        may_end.wait()

    task = asyncio.create_task(run_to_end(pool, act))
    await asyncio.to_thread(began.wait)
    for _ in range(2):  # also when it is cancelled again
        task.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not task.done()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_error_of_the_thread_is_not_hidden_by_a_cancellation(pool: ThreadPoolExecutor) -> None:
    may_end = threading.Event()

    def act() -> None:
        may_end.wait()
        raise ZeroDivisionError

    task = asyncio.create_task(run_to_end(pool, act))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    may_end.set()
    with pytest.raises(ZeroDivisionError):
        await task
