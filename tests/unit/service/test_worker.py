"""What a worker remembers of a profile is forgotten when it has no use for it."""

from __future__ import annotations

from holdfast.service.worker import Worker
from holdfast.storage.in_memory import MemoryVault
from holdfast.testing import FrozenClock, HashingEmbedder, ScriptedExtractor


async def worker_of(*profiles: str) -> Worker:
    vault = MemoryVault()
    await vault.create_namespace("app")
    for name in profiles:
        await vault.open("app", name, create=True)
    return Worker(vault, HashingEmbedder(), ScriptedExtractor(), FrozenClock())


async def test_a_worker_remembers_no_writer_after_its_write() -> None:
    worker = await worker_of("ana")
    async with worker.expecting(("app", "ana")):
        assert worker._writing[("app", "ana")] == 1
    assert not worker._writing


async def test_a_profile_in_use_is_visited_once_before_the_first_tour_and_then_by_tours() -> None:
    worker = await worker_of("ana", "ben")
    worker.note_use(("app", "ana"))
    assert worker._to_visit == {("app", "ana")}
    worker._to_visit.clear()
    worker.note_use(("app", "ana"))
    await worker.tour()
    worker.note_use(("app", "ben"))
    assert not worker._to_visit
