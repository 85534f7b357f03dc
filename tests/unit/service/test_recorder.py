"""What a recorder remembers of a profile is forgotten some time after the profile was used."""

from __future__ import annotations

from datetime import timedelta

from holdfast.domain import tracing
from holdfast.service.recorder import TRIM_EVERY, Recorder
from holdfast.storage.in_memory import MemoryVault
from holdfast.testing import FrozenClock


async def test_a_recorder_forgets_when_it_trimmed_a_journal_once_that_is_due_again() -> None:
    vault, clock = MemoryVault(), FrozenClock()
    await vault.create_namespace("app")
    recorder = Recorder(vault, clock, timedelta(days=1))
    for name, later in (("ana", TRIM_EVERY / 2), ("ben", TRIM_EVERY / 2), ("eve", timedelta())):
        await vault.open("app", name, create=True)
        with tracing.traced_operation("search") as done:
            pass
        recorder.add(("app", name), done)
        await recorder.flush(("app", name))
        clock.advance(later)
    assert list(recorder._trimmed) == [("app", "ben"), ("app", "eve")]
