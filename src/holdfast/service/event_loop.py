"""An event loop in a thread of its own, for the blocking API, and how it ends."""

from __future__ import annotations

import _thread
import asyncio
import concurrent.futures.thread  # its exit hook must be registered before that of sync.py, which then runs first
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from holdfast.domain.errors import Closed
from holdfast.domain.ports.holdfast import HoldfastPort
from holdfast.storage.tasks import end_tasks

CLOSED = "This Holdfast was closed."
T = TypeVar("T")
MAX_COLLECTED_SECONDS = 5.0
"""How long the garbage collector waits until a Holdfast that nobody closed is closed. Chosen by hand; not measured."""


class LoopThread:
    """An event loop in its own thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._pid = os.getpid()
        self.thread = threading.Thread(target=self._loop.run_forever, name="holdfast", daemon=True)
        self.thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop.is_closed() or os.getpid() != self._pid:
            work.close()
            forked = os.getpid() != self._pid
            raise Closed("A Holdfast does not survive a fork; open one in this process." if forked else CLOSED)
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise Closed(CLOSED) from None
        except KeyboardInterrupt:
            future.cancel()
            raise

    def stop(self) -> None:
        """Cancel running tasks, so that no caller waits for ever, then end the thread."""
        if not self._loop.is_closed():
            asyncio.run_coroutine_threadsafe(_cancel_tasks(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self.thread.join()
            self._loop.close()


async def _cancel_tasks() -> None:
    await end_tasks(task for task in asyncio.all_tasks() if task is not asyncio.current_task())


def close_collected(inner: HoldfastPort, loop: LoopThread) -> None:
    """Close what was never closed, in a thread of its own: the garbage collector runs in any thread, also in that of
    the loop, or in one that holds a lock which closing needs."""
    done = threading.Event()

    def shut_down() -> None:
        try:
            close_and_stop(inner, loop)
        finally:
            done.set()

    _thread.start_new_thread(shut_down, ())  # `threading` takes locks that the collecting thread may hold
    if threading.current_thread() is not loop.thread:
        done.wait(MAX_COLLECTED_SECONDS)


def close_and_stop(inner: HoldfastPort, loop: LoopThread) -> None:
    try:
        loop.run(inner.close())
    finally:
        loop.stop()
