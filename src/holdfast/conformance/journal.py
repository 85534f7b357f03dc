"""What every Journal must do."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from ..errors import Conflict
from ..moments import now
from ..ports import Store
from ..records import SUMMARY, Caller, Job, Once, Trace
from ..spending import Spent, Usage
from ..types import Change, Forgotten, Supersede
from .made import AT, memory, message, written

DAY = timedelta(days=1)


def trace(n: int, caller: Caller = Caller(), **details: Any) -> Trace:
    return Trace(f"trace-{n}", AT + timedelta(seconds=n), "search", caller, 1.5, details)


class JournalContract:
    """Part of StoreContract."""

    async def test_changes_make_a_sequence_of_events(self, store: Store) -> None:
        said, old, new = message("hi"), memory("a", key="k"), memory("b", key="k", n=1)
        await store.apply(written(said, old))
        await store.apply(written(said, old))  # twice is once
        await store.apply(written(new, supersede=(Supersede(old.id, new.id),), settle=(said.id,)))
        await store.apply(Change(forget=(new.id,)))
        events = await store.journal.events(0, 100)
        assert [(event.type, event.data) for event in events] == [
            ("message.added", {"session_id": "s", "ids": [said.id]}),
            ("memory.added", {"id": old.id, "kind": "fact", "session_id": None}),
            ("memory.added", {"id": new.id, "kind": "fact", "session_id": None}),
            ("memory.superseded", {"id": old.id, "by": new.id}),
            ("digestion.progress", {"digested": 1, "failed": 0, "pending": 0}),
            ("memory.forgotten", {"id": new.id}),
        ]
        numbers = [event.n for event in events]
        assert numbers == sorted(set(numbers))
        assert await store.journal.events(numbers[3], 1) == events[4:5]
        assert await store.journal.reach() == (numbers[0], numbers[-1])

    async def test_a_rehearsed_change_tells_and_does_nothing(self, store: Store) -> None:
        said, drawn = message("hi"), memory("a", sources=(message("hi").id,))
        await store.apply(written(said, drawn))
        before = await store.journal.reach()
        shown = await store.apply(Change(forget=(said.id,), rehearsed=True))
        assert shown.gone == Forgotten((drawn.id,), (said.id,))
        assert len(await store.get([said.id, drawn.id])) == 2
        assert await store.journal.reach() == before

    async def test_a_repeated_key_is_refused_and_its_first_answer_kept(self, store: Store) -> None:
        known = memory("a")
        await store.apply(written(known, once=Once("k", "request", known.id)))
        with pytest.raises(Conflict):
            await store.apply(written(memory("b"), once=Once("k", "request")))
        assert await store.journal.once("k") == Once("k", "request", known.id, frozenset({known.id}))
        assert await store.journal.once("other") is None
        assert len(await store.scan(None, now=None, limit=9)) == 1
        await store.apply(Change(forget=(known.id,), once=Once("gone", "r")))
        assert await store.journal.once("gone") == Once("gone", "r", memories=(known.id,))

    async def test_jobs_come_back_newest_first(self, store: Store) -> None:
        made = [Job(f"job-{n}", "ingest", AT, (f"m{n}",)) for n in range(3)]
        for job in made:
            await store.apply(Change(job=job))
        assert await store.journal.jobs(2) == made[:0:-1]
        assert await store.journal.job("job-0") == made[0]
        assert await store.journal.job("job-9") is None

    async def test_traces_are_found_by_session_and_turn_page_by_page(self, store: Store) -> None:
        journal, one = store.journal, Caller("c", "agent", "s1", "t1")
        noted = [trace(n, one if n % 2 else Caller(session_id="s2"), asked="ü") for n in range(5)]
        await journal.note(noted)
        await journal.note(noted[:2])
        assert await journal.trace("trace-3") == noted[3]
        assert await journal.trace("trace-9") is None
        first = await journal.traces(None, None, 3, None)
        rest = await journal.traces(None, None, 3, first.cursor)
        assert [*first, *rest] == noted[::-1]
        assert rest.cursor is None
        assert [each.id for each in await journal.traces("s1", "t1", 9, None)] == ["trace-3", "trace-1"]
        assert not len(await journal.traces("s1", "t2", 9, None))

    async def test_forgetting_scrubs_traces(self, store: Store) -> None:
        said, other, known = message("hi"), message("ho", session="s2"), memory("a")
        await store.apply(written(said, other, known))
        found: dict[str, Any] = {
            "ranked": {said.id: 1.0, known.id: 0.5},
            "returned": [{"id": known.id}, {"id": said.id}],
        }
        await store.journal.note([trace(1, channels={"words": [said.id, known.id]}, **found)])
        await store.journal.note([trace(2, Caller(session_id="s2"), asked="what did I say in s2?")])
        await store.apply(Change(forget=(known.id,)))
        scrubbed = await store.journal.trace("trace-1")
        assert scrubbed is not None
        assert scrubbed.details == {
            "channels": {"words": [said.id]}, "ranked": {said.id: 1.0}, "returned": [{"id": said.id}],
        }  # fmt: skip
        await store.apply(Change(forget=(other.id,), asked_in=("s2",)))
        assert [each.id for each in await store.journal.traces(None, None, 9, None)] == ["trace-1"]

    async def test_what_models_cost_adds_up_by_month_model_and_task(self, store: Store) -> None:
        for month, task in (
            ("2026-01", "extract"),
            ("2026-01", "extract"),
            ("2026-01", "answer"),
            ("2026-02", "answer"),
        ):
            await store.journal.spend(month, Usage("vendor/model", task, 100, 10, 5))
        await store.journal.spend("2026-03", Usage("vendor/model", "answer", 700, 70), 7)
        january = [Spent("2026-01", "vendor/model", "answer", 1, 100, 10, 5),
                   Spent("2026-01", "vendor/model", "extract", 2, 200, 20, 10)]  # fmt: skip
        assert await store.journal.spent("2026-01") == january
        later = [Spent("2026-02", "vendor/model", "answer", 1, 100, 10, 5),
                 Spent("2026-03", "vendor/model", "answer", 7, 700, 70)]  # fmt: skip
        assert await store.journal.spent(None) == [*january, *later]
        assert await store.journal.spent("2025-12") == []

    async def test_what_is_laid_down_stays_until_it_is_replaced_or_removed(self, store: Store) -> None:
        assert await store.journal.settings() == {}
        await store.journal.lay_down("retention", {"days": 30, "why": "ü"})
        await store.journal.lay_down("cadence", "daily at 03:00")
        await store.journal.lay_down("retention", {"days": 7})
        assert await store.journal.settings() == {"cadence": "daily at 03:00", "retention": {"days": 7}}
        await store.journal.lay_down(SUMMARY, {"text": "what is forgotten must not live on here"})
        known = memory("a")
        await store.apply(written(known))
        await store.apply(Change(forget=(known.id,)))
        assert SUMMARY not in await store.journal.settings()
        await store.journal.lay_down("cadence", None)
        await store.journal.lay_down("never", None)
        assert await store.journal.settings() == {"retention": {"days": 7}}

    async def test_what_several_lay_down_at_once_is_what_one_of_them_did(self, store: Store) -> None:
        await asyncio.gather(*(store.journal.lay_down("retention", {"days": n}) for n in range(8)))
        assert (await store.journal.settings())["retention"]["days"] in range(8)

    async def test_trimming_drops_what_is_old_or_too_much(self, store: Store) -> None:
        for n in range(5):
            await store.apply(written(message(f"m{n}"), job=Job(f"job-{n}", "ingest", AT + n * DAY, ())))
        await store.apply(Change(once=Once("k", "r")))
        await store.journal.note([trace(n) for n in range(5)])
        last = (await store.journal.reach())[1]
        await store.journal.trim(AT + timedelta(seconds=1), traces=3, events=2)
        assert [each.id for each in await store.journal.traces(None, None, 9, None)] == [
            "trace-4",
            "trace-3",
            "trace-2",
        ]
        assert [event.n for event in await store.journal.events(0, 9)][-1] == last
        assert len(await store.journal.events(0, 9)) == 2
        assert [job.id for job in await store.journal.jobs(9)] == ["job-4", "job-3", "job-2", "job-1"]
        assert await store.journal.once("k") is not None
        await store.journal.trim(now() + DAY, traces=3, events=0)
        assert await store.journal.once("k") is None
        await store.apply(written(message("later")))
        oldest, newest = await store.journal.reach()
        assert oldest == newest > last
