"""A task that was done is closed, and no other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from holdfast import AsyncHoldfast, LocalProfile
from holdfast.models.rules import RuleExtractor
from holdfast.storage.in_memory import MemoryVault
from holdfast.testing import HashingEmbedder


@pytest.fixture
async def ana() -> AsyncIterator[LocalProfile]:
    async with AsyncHoldfast(MemoryVault(), HashingEmbedder(), RuleExtractor()) as holdfast:
        yield holdfast.profile("app", "ana")


def message_of(text: str, day: str) -> dict[str, Any]:
    return {"role": "user", "content": text, "timestamp": day}


async def open_after(ana: LocalProfile, task: str, then: str, day: str = "2026-03-04") -> list[str]:
    """The open tasks after both were said in sessions of their own; 3 March 2026 is a Tuesday."""
    await ana.ingest([message_of(task, "2026-03-03")], session_id="one", wait=True)
    assert len((await ana.list(kind="task")).items) == 1
    await ana.ingest([message_of(then, day)], session_id="two", wait=True)
    return [memory.content for memory in (await ana.list(kind="task")).items]


@pytest.mark.parametrize(
    ("task", "then"),
    [
        ("Remind me to call the chimney sweep.", "I called the chimney sweep."),
        ("Remind me to call the chimney sweep.", "I called the chimney sweep, he comes on October 2nd."),
        ("I need to renew my passport.", "I've finally renewed my passport!"),
        ("Remind me to send Dana the report by Friday.", "I sent the report to Dana this morning."),
        ("I have to pay the electricity bill.", "ok paid the electricity bill yesterday"),
        ("I need to book the dentist.", "I booked the dentist for Friday."),
    ],
)
async def test_what_was_done_closes_its_task(ana: LocalProfile, task: str, then: str) -> None:
    assert await open_after(ana, task, then) == []


@pytest.mark.parametrize(
    ("task", "then"),
    [
        ("Remind me to call the chimney sweep.", "I called the plumber."),
        ("Remind me to call the chimney sweep.", "I didn't call the chimney sweep."),
        ("Remind me to call the chimney sweep.", "I forgot to call the chimney sweep again yesterday."),
        ("Remind me to call the chimney sweep.", "Tom called the chimney sweep yesterday."),
        ("Remind me to call the chimney sweep.", "I called the chimney sweep two years ago."),
        ("Remind me to call mom on Sunday.", "I called mom yesterday."),
        ("Remind me to water the tomato plants every Monday.", "I watered the tomato plants yesterday."),
    ],
)
async def test_another_thing_another_time_or_nothing_done_leaves_it_open(
    ana: LocalProfile, task: str, then: str
) -> None:
    assert len(await open_after(ana, task, then)) == 1


async def test_a_task_is_closed_within_the_same_conversation(ana: LocalProfile) -> None:
    talk = [
        message_of("Remind me to call the chimney sweep.", "2026-03-03"),
        message_of("I called the chimney sweep.", "2026-03-04"),
    ]
    await ana.ingest(talk, session_id="one", wait=True)
    assert not (await ana.list(kind="task")).items
    (done,) = (await ana.list(kind="event")).items
    assert [each.kind for each in await ana.history(done.id)] == ["event", "task"]


async def test_what_was_done_before_does_not_close_what_is_asked_after(ana: LocalProfile) -> None:
    talk = [
        message_of("I called the chimney sweep.", "2026-03-02"),
        message_of("Remind me to call the chimney sweep.", "2026-03-03"),
    ]
    await ana.ingest(talk, session_id="one", wait=True)
    assert len((await ana.list(kind="task")).items) == 1


async def test_done_tasks_are_listed_when_asked_for(ana: LocalProfile) -> None:
    assert await open_after(ana, "Remind me to call the chimney sweep.", "I called the chimney sweep.") == []
    await ana.ingest([message_of("I need to book the dentist.", "2026-03-05")], session_id="three", wait=True)
    found = await ana.recall("Which of my tasks are done?")
    assert found.answer == "No longer open: call the chimney sweep."
    assert (await ana.recall("What is still to do?")).answer == "The user needs to book the dentist."


async def test_each_ticket_is_closed_by_its_name(tmp_path: Path) -> None:
    async with await AsyncHoldfast.open(tmp_path) as holdfast:
        team = holdfast.profile("app", "team")
        told = (
            "bugs open: TRN-88 export times out, TRN-91 wrong vat on invoices",
            "TRN-88 isn't fixed yet",
            "TRN-91 fixed in 3.2. new one TRN-97: login loop on edge",
            "new ones: TRN-98 empty login, TRN-99 logo cut off",
            "TRN-98 and TRN-99 are fixed",
        )
        for n, text in enumerate(told, 1):
            said = message_of(text, f"2026-03-0{n}") | {"speaker": "Luka"}
            await team.ingest([said], session_id=f"s{n}", wait=True)
        left = {memory.content for memory in (await team.list(kind="task")).items}
        assert left == {"Luka has open: TRN-88 export times out.", "Luka has open: TRN-97: login loop on edge."}
        listed = await team.recall("Which bugs are still open?")
        assert all(memory in listed.answer for memory in left)
        counted = await team.recall("How many tickets are open?")
        assert counted.answer.startswith("2: ")
