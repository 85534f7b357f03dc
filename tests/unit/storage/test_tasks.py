"""A background task ends when it is to end, also when a cancellation is lost."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

import holdfast
from holdfast.service import worker as service
from holdfast.service.worker import Worker
from holdfast.storage import tasks
from holdfast.storage.in_memory import MemoryVault
from holdfast.storage.tasks import end_tasks
from holdfast.testing import FrozenClock, HashingEmbedder, ScriptedExtractor


class Deaf:
    """Loses the first cancellations, as `asyncio.wait_for` of Python 3.11 loses one that comes with its result."""

    def __init__(self, lost: int) -> None:
        self.waiting = asyncio.Event()
        self.left = lost

    async def wait(self) -> None:
        self.waiting.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if not self.left:
                raise
            self.left -= 1


@pytest.fixture(autouse=True)
def cancelled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "CANCEL_AGAIN_SECONDS", 0.01)


@pytest.mark.parametrize("lost", [0, 1, 3])
async def test_tasks_that_lose_cancellations_end(lost: int) -> None:
    async def keep(on: Deaf) -> None:
        while True:
            await on.wait()

    deaf = [Deaf(lost), Deaf(0)]
    running = [asyncio.create_task(keep(each)) for each in deaf]
    for each in deaf:
        await each.waiting.wait()
    await end_tasks(running)
    assert all(task.cancelled() for task in running)


async def test_tasks_that_failed_or_are_done_are_ended() -> None:
    async def fail() -> None:
        raise ValueError

    failed, done = asyncio.create_task(fail()), asyncio.create_task(asyncio.sleep(0))
    await asyncio.wait([failed, done])
    failing = asyncio.create_task(fail())
    await end_tasks([failed, done, failing])
    assert failing.done()


async def test_a_worker_stops_when_looking_for_work_or_a_tour_loses_the_cancellation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deaf, touring, vault = Deaf(1), Deaf(1), MemoryVault()
    worker = Worker(vault, HashingEmbedder(), ScriptedExtractor(), FrozenClock())
    monkeypatch.setattr(service, "POLL_SECONDS", 0.0)
    monkeypatch.setattr(service, "VISIT_SECONDS", 0.0)
    monkeypatch.setattr(worker, "tour", touring.wait)
    await worker.start()

    async def waiting(model: str) -> list[tuple[str, str]]:
        await deaf.wait()
        return []

    monkeypatch.setattr(vault, "waiting", waiting)
    await deaf.waiting.wait()
    await touring.waiting.wait()
    await worker.stop()
    assert (deaf.left, touring.left) == (0, 0)


def test_nothing_waits_with_a_call_that_loses_cancellations() -> None:
    calls = re.compile(r"\bwait_for\(")
    package = Path(holdfast.__file__).parent
    assert [path.name for path in package.rglob("*.py") if calls.search(path.read_text())] == []
