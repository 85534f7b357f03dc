"""Contract of a Journal."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from holdfast.domain.errors import Conflict
from holdfast.domain.ports.storage import Store
from holdfast.domain.records import PROFILE_PAGE_SETTING, Caller, Job, Once, Trace
from holdfast.domain.timestamps import now
from holdfast.domain.types import Change, Forgotten, Supersede
from holdfast.domain.usage import Spent, Usage
from holdfast.testing.conformance.samples import AT, memory, message, written

DAY = timedelta(days=1)


def trace(n: int, caller: Caller = Caller(), **details: Any) -> Trace:
    return Trace(f"trace-{n}", AT + timedelta(seconds=n), "search", caller, 1.5, details)


class JournalContract:
    """Part of StoreContract."""

    async def test_changes_make_a_sequence_of_events(self, store: Store) -> None:
        said, old, new = message("hi"), memory("a", key="k"), memory("b", key="k", n=1)
        await store.apply(written(said, old))
        await store.apply(written(said, old))  # repeating a write changes nothing
        await store.apply(written(new, supersede=(Supersede(old.ref, new.ref),), settle=(said.id,)))
        await store.apply(Change(forget=(new.id,)))
        events = await store.journal.events(0, 100)
        assert [(event.type, event.data) for event in events] == [
            ("message.added", {"session_id": "s", "ids": [said.id]}),
            ("memory.added", {"id": old.id, "version": 1, "kind": "fact", "session_id": None}),
            ("memory.added", {}),
            ("memory.superseded", {"id": old.id, "version": 1}),
            ("digestion.progress", {"digested": 1, "failed": 0, "pending": 0}),
            ("memory.forgotten", {"id": new.id}),
        ]
        numbers = [event.n for event in events]
        assert numbers == sorted(set(numbers))
        assert await store.journal.events(numbers[3], 1) == events[4:5]
        assert await store.journal.reach() == (numbers[0], numbers[-1])

    async def test_a_dry_run_tells_and_does_nothing(self, store: Store) -> None:
        said, drawn = message("hi"), memory("a", sources=(message("hi").id,))
        await store.apply(written(said, drawn))
        before = await store.journal.reach()
        shown = await store.apply(Change(forget=(said.id,), dry_run=True))
        assert shown.gone == Forgotten((drawn.id,), (said.id,))
        assert len(await store.get([said.id, drawn.id])) == 2
        assert await store.journal.reach() == before

    async def test_a_repeated_key_is_refused_and_its_first_answer_kept(self, store: Store) -> None:
        known = memory("a")
        await store.apply(written(known, once=Once("k", "request", known.id)))
        with pytest.raises(Conflict):
            await store.apply(written(memory("b"), once=Once("k", "request")))
        assert await store.journal.once("k") == Once("k", "request", known.id, frozenset({known.ref}))
        assert await store.journal.once("other") is None
        assert len(await store.scan(None, now=None, limit=9)) == 1
        await store.apply(Change(forget=(known.id,), once=Once("gone", "r")))
        assert await store.journal.once("gone") == Once("gone", "r", memories=(known.id,))

    async def test_jobs_come_back_newest_first(self, store: Store) -> None:
        made = [Job(f"job-{n}", "ingest", AT, (f"m{n}",)) for n in range(3)]
        for job in made:
            await store.apply(Change(job=job))
        newest, cursor = await store.journal.jobs(2)
        assert newest == made[:0:-1]
        assert await store.journal.jobs(2, cursor) == (made[:1], None)
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

    async def test_a_trace_that_names_something_forgotten_keeps_numbers_only(self, store: Store) -> None:
        said, other, known = message("hi"), message("ho", session="s2"), memory("a")
        await store.apply(written(said, other, known))
        asked = Caller("credential", "agent", "s1", "turn")
        found: dict[str, Any] = {"ranked": {said.id: 1.0, known.id: 0.5}, "returned": [{"id": said.id}]}
        # An escaped quotation mark at the end of a text must not hide the id after it.
        found = {"question": {"text": 'who said "a"', "words": ["a"]}, **found}
        await store.journal.note([trace(1, asked, searches=[found], tokens=7, stages={"rank": 1.0}, rehearsed=False)])
        await store.journal.note([trace(2, asked, searches=[{"returned": [{"id": said.id}]}])])
        kept = await store.journal.trace("trace-2")
        await store.apply(Change(forget=(known.id,)))
        left = {"tokens": 7, "stages": {"rank": 1.0}, "rehearsed": False, "erased": True}
        assert await store.journal.trace("trace-1") == trace(1, asked, **left)
        assert await store.journal.trace("trace-2") == kept

    async def test_a_question_with_a_word_that_no_text_has_any_more_is_forgotten(self, store: Store) -> None:
        one, two = memory("quetzal tea"), memory("tea")
        texts = {"quetzal": ["quetzal"], "tea": ["tea"], "rain": ["rain"]}
        await store.apply(written(one, two))
        asked: list[dict[str, Any]] = [
            {"searches": [{"question": {"text": f"{name}?", "words": words}}]} for name, words in texts.items()
        ]
        await store.journal.note([trace(n, **details) for n, details in enumerate(asked)])
        await store.apply(Change(forget=(one.id,)))
        found = [await store.journal.trace(f"trace-{n}") for n in range(3)]
        assert [each.details for each in found if each is not None] == [{"erased": True}, *asked[1:]]

    async def test_a_person_is_forgotten_in_what_was_asked(self, store: Store) -> None:
        texts = ("Where is Ana-Lía O'Hara?", "line\nana-li\u0301a  o'hara", "Ana-Lía O'Haras", "ana_Ana-Lía O'Hara_b")
        noted = [trace(n, Caller("c", "agent"), question={"text": text}) for n, text in enumerate(texts)]
        await store.journal.note([*noted, trace(9, Caller(session_id="with Ana-Lía O'Hara"))])
        await store.apply(Change(people=("Ana-Lía O'Hara",), asked_by="somebody else"))
        assert await store.journal.trace("trace-0") == noted[0]
        await store.apply(Change(people=("Ana-Lía O'Hara",)))
        found = [await store.journal.trace(f"trace-{n}") for n in (0, 1, 3, 9)]
        assert [(each.caller.session_id, each.details) for each in found if each] == [(None, {"erased": True})] * 4
        assert await store.journal.trace("trace-2") == noted[2]

    async def test_a_session_is_gone_with_the_last_that_was_of_it(self, store: Store) -> None:
        said = [message("hi", session="gone"), message("ho", session="left")]
        drawn, kept = memory("a", sources=(said[0].id,), session_id="gone"), memory("b", session_id="left")
        await store.apply(written(*said, drawn, kept, job=Job("job-1", "ingest", AT, tuple(each.id for each in said))))
        noted = [trace(0, Caller(session_id="gone")), trace(1, Caller(session_id="left")),
                 trace(2, question={"text": "what of gone?"}), trace(3, question={"text": "bygone"})]  # fmt: skip
        await store.journal.note(noted)
        await store.apply(Change(forget=tuple(each.id for each in said)))
        events = await store.journal.events(0, 100)
        added = [event.data for event in events if event.type.endswith(".added")]
        assert added == [{"ids": []}, {"session_id": "left", "ids": []}, {},
                         {"id": kept.id, "version": 1, "kind": "fact", "session_id": "left"}]  # fmt: skip
        assert "gone" not in repr([event.data for event in events if not event.type.endswith(".forgotten")])
        assert await store.journal.trace("trace-0") is None
        assert [await store.journal.trace(f"trace-{n}") for n in (1, 3)] == [noted[1], noted[3]]
        assert (await store.journal.traces(None, None, 9, None)).items[1].details == {"erased": True}
        assert await store.journal.job("job-1") == Job("job-1", "ingest", AT, ("", ""))

    async def test_a_memory_that_outlives_its_session_is_of_its_sources_session(self, store: Store) -> None:
        said = [message("hi", session="gone"), message("ho", session="left")]
        drawn = memory("a", sources=tuple(each.id for each in said), session_id="gone")
        own = memory("b", session_id="gone")
        await store.apply(written(*said, drawn, own))
        await store.journal.note([trace(0, Caller(session_id="gone"))])
        await store.apply(Change(forget=(said[0].id,)))
        assert (await store.get([drawn.id]))[0].session_id == "gone"
        assert await store.journal.trace("trace-0") is not None
        await store.apply(Change(asked_in=("gone",)))
        assert [item.session_id for item in await store.get([drawn.id, own.id])] == ["left", None]
        assert await store.journal.trace("trace-0") is None
        assert "gone" not in repr([event.data for event in await store.journal.events(0, 100)])

    async def test_what_a_repeatable_request_wrote_is_not_told_once_it_is_forgotten(self, store: Store) -> None:
        one, two = memory("a"), memory("b")
        await store.apply(written(one, two, once=Once("k", "request", one.id)))
        await store.apply(Change(forget=(one.id,)))
        assert await store.journal.once("k") == Once("k", "request", None, frozenset({two.ref}))

    async def test_a_trace_that_arrives_after_a_forgetting_is_stripped_if_it_may_tell_of_it(self, store: Store) -> None:
        known = memory("a")
        await store.apply(written(known))
        before = now()
        await store.apply(Change(forget=(known.id,)))
        asked: dict[str, Any] = {"question": {"text": "a?"}}
        noted = [trace(0, **asked), trace(1, **asked), trace(2, returned=[{"id": known.id}])]
        began = {"trace-0": before, "trace-1": now() + DAY, "trace-2": now() + DAY}
        await store.journal.note(noted, began)
        found = [await store.journal.trace(f"trace-{n}") for n in range(3)]
        assert [each.details for each in found if each is not None] == [{"erased": True}, asked, {"erased": True}]

    async def test_events_that_tell_what_was_forgotten_are_trimmed_with_those_before(self, store: Store) -> None:
        one, two = memory("a"), memory("b")
        await store.apply(written(one))
        await store.apply(Change(forget=(one.id,)))
        await store.apply(written(two))
        await store.journal.trim(now() - DAY, traces=9, events=9)
        assert len(await store.journal.events(0, 9)) == 3
        await store.journal.trim(now() + DAY, traces=9, events=9)
        assert [event.data.get("id") for event in await store.journal.events(0, 9)] == [two.id]

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
        await store.journal.put_setting("retention", {"days": 30, "why": "ü"})
        await store.journal.put_setting("cadence", "daily at 03:00")
        await store.journal.put_setting("retention", {"days": 7})
        assert await store.journal.settings() == {"cadence": "daily at 03:00", "retention": {"days": 7}}
        await store.journal.put_setting(PROFILE_PAGE_SETTING, {"text": "what is forgotten must not live on here"})
        known = memory("a")
        await store.apply(written(known))
        await store.apply(Change(forget=(known.id,)))
        assert PROFILE_PAGE_SETTING not in await store.journal.settings()
        await store.journal.put_setting("cadence", None)
        await store.journal.put_setting("never", None)
        assert await store.journal.settings() == {"retention": {"days": 7}}

    async def test_what_several_lay_down_at_once_is_what_one_of_them_did(self, store: Store) -> None:
        await asyncio.gather(*(store.journal.put_setting("retention", {"days": n}) for n in range(8)))
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
        assert [job.id for job in (await store.journal.jobs(9))[0]] == ["job-4", "job-3", "job-2", "job-1"]
        assert await store.journal.once("k") is not None
        await store.journal.trim(now() + DAY, traces=3, events=0)
        assert await store.journal.once("k") is None
        await store.apply(written(message("later")))
        oldest, newest = await store.journal.reach()
        assert oldest == newest > last
