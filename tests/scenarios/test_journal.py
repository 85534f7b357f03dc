"""What happened can be followed, explained and repeated safely, through the public interface and real files."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast import (
    AsyncHoldfast,
    Event,
    Holdfast,
    KeyReused,
    LocalProfile,
    NotFound,
    Stale,
    acting,
)
from holdfast.domain.identifiers import LAST_EVENT
from holdfast.domain.types import Draft, Memory
from holdfast.service import recorder
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing import FrozenClock, HashingEmbedder, ScriptedExtractor


def open_memory(path: Path, **more: Any) -> AsyncHoldfast:
    extractor = ScriptedExtractor({"I live in Porto": [Draft("fact", "Lives in Porto", ())]})
    return AsyncHoldfast(SqliteVault(path), HashingEmbedder(), extractor, **more)


async def next_events(alice: LocalProfile, count: int, after: int | None = None) -> list[Event]:
    events: list[Event] = []
    async for event in alice.events(after=after, heartbeat=5):
        if event is not None:
            events.append(event)
        if len(events) == count:
            break
    return events


async def begin_listening(alice: LocalProfile, count: int) -> asyncio.Task[list[Event]]:
    """The next events, however soon they come."""
    events = alice.events(after=LAST_EVENT, heartbeat=600)
    await anext(events)  # a reset, since no event has that number: it listens from here on

    async def heard() -> list[Event]:
        found: list[Event] = []
        while len(found) < count and (event := await anext(events, None)) is not None:
            found.append(event)
        return found

    return asyncio.create_task(heard())


# Twice is once


async def test_a_repeated_remember_does_not_undo_what_came_between(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        first = await alice.remember("Porto", key="city", idempotency_key="k1")
        second = await alice.remember("Lisbon", key="city")
        again = await alice.remember("Porto", key="city", idempotency_key="k1")
        assert (again.id, again.current) == (first.id, False)
        assert (await alice.get(second.id)).id == second.id
        assert [m.content for m in await alice.list()] == ["Lisbon"]
        with pytest.raises(KeyReused):
            await alice.remember("Faro", key="city", idempotency_key="k1")


async def test_a_repeated_write_gets_the_first_answer(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        told = [{"role": "user", "content": "I live in Porto"}]
        receipts = [await alice.ingest(told, session_id="s", idempotency_key="i") for _ in range(2)]
        assert receipts[0] == receipts[1]
        assert receipts[0].messages[0].new
        gone = [await alice.forget_session("s", idempotency_key="f") for _ in range(2)]
        assert gone[0] == gone[1]
        assert gone[0].messages
        kept = await alice.remember("x", idempotency_key="r")
        revised = [await alice.revise(kept.id, content="y", idempotency_key="v") for _ in range(2)]
        assert revised[0] == revised[1]
        taken = [await alice.forget(revised[0].id, idempotency_key="g") for _ in range(2)]
        assert taken[0] == taken[1] != None  # noqa: E711
        with pytest.raises(NotFound, match="forgotten later"):
            await alice.remember("x", idempotency_key="r")


async def test_many_at_once_with_one_key_write_once(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        await alice.remember("first")
        told = [{"role": "user", "content": "hello"}]
        kept = await asyncio.gather(*(alice.remember("same", metadata={"n": 1}, idempotency_key="k") for _ in range(8)))
        assert len({memory.id for memory in kept}) == 1
        receipts = await asyncio.gather(*(alice.ingest(told, session_id="s", idempotency_key="i") for _ in range(8)))
        assert len({(r.job, r.messages) for r in receipts}) == 1


# Revising


async def test_revising_makes_a_version_and_refuses_a_stale_one(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        old = await alice.remember("Porto", key="city", metadata={"a": 1, "b": 2}, ttl=3600)
        new = await alice.revise(old.id, content="Lisbon", metadata={"b": None, "c": 3}, etag=old.etag)
        assert (new.content, new.metadata, new.key, new.version) == ("Lisbon", {"a": 1, "c": 3}, "city", 2)
        assert new.expires_at == old.expires_at
        assert [m.ref for m in await alice.history(new.id)] == [new.ref, old.ref]
        for stale in ({"id": old.id, "etag": old.etag}, {"id": old.ref}):
            with pytest.raises(Stale):
                await alice.revise(**stale, content="Faro")
        assert (await alice.revise(new.id, content="Lisbon")).id == new.id
        assert (await alice.search("Lisbon"))[0].id == new.id
        setting = await alice.remember(value={"theme": "dark"}, kind="setting", key="ui")
        brighter = await alice.revise(setting.id, value={"theme": "light"}, ttl=60)
        assert "light" in brighter.content
        assert brighter.expires_at is not None


# Forgetting by what holds


async def test_a_dry_run_tells_exactly_what_then_goes(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        await alice.ingest([{"role": "user", "content": "I live in Porto"}], wait=True)
        await alice.remember("keep me", metadata={"room": 1})
        would = await alice.forget_where(kind="fact", filter={"metadata.room": {"exists": False}}, dry_run=True)
        assert (len(would.memories), len(would.messages)) == (1, 1)
        assert len(await alice.list()) == 2
        assert await alice.forget_where(kind="fact", filter={"metadata.room": {"exists": False}}) == would
        assert [m.content for m in await alice.list()] == ["keep me"]
        with pytest.raises(Exception, match="No memories are selected"):
            await alice.forget_where()


# Jobs


async def test_a_job_tells_how_far_digestion_is(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        receipt = await alice.ingest([{"role": "user", "content": "I live in Porto"}], wait=True)
        done = await alice.job(receipt.job or "")
        assert (done.state, done.total, done.done, done.failed) == ("done", 1, 1, 0)
        assert done.memories == tuple(m.id for m in receipt.memories)
        assert [job.id for job in await alice.jobs()] == [receipt.job]
        with pytest.raises(NotFound):
            await alice.job("nope")


# Events


async def test_listeners_hear_what_changes_and_only_in_their_profile(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        alice, bob = memory.profile("app", "alice"), memory.profile("app", "bob")
        listening = await begin_listening(alice, 1)
        await bob.remember("bob's")
        old = await alice.remember("a", key="k")
        events = await asyncio.wait_for(listening, 120)
        assert [(event.type, event.data["id"]) for event in events] == [("memory.added", old.id)]
        new = await alice.remember("b", key="k")
        later = await next_events(alice, 2, after=events[0].n)
        assert [(event.type, event.data["id"]) for event in later] == [
            ("memory.added", new.id),
            ("memory.superseded", old.id),
        ]


async def test_a_listener_hears_digestion_and_quiet_and_waits_for_a_profile_to_appear(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await memory.create_namespace("app")
        alice = memory.profile("app", "alice")
        quiet = alice.events(heartbeat=0.01)
        assert await anext(quiet) is None
        listening = asyncio.create_task(next_events(alice, 3, after=0))
        await asyncio.sleep(0.05)
        await alice.ingest([{"role": "user", "content": "I live in Porto"}])
        types = [event.type for event in await asyncio.wait_for(listening, 120)]
        assert types == ["message.added", "memory.added", "digestion.progress"]


async def test_one_who_was_away_too_long_is_told_to_start_afresh(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        for n in range(4):
            await alice.remember(f"thing {n}")
        store = await memory.runtime.vault.open("app", "alice", create=False)
        await store.journal.trim(memory.runtime.clock() - timedelta(days=1), traces=9, events=2)
        assert [event.type for event in await next_events(alice, 1, after=1)] == ["reset"]
        assert [event.type for event in await next_events(alice, 2, after=2)] == ["memory.added"] * 2
        assert [event.type for event in await next_events(alice, 1, after=99)] == ["reset"]


# Traces


async def test_a_trace_explains_a_search_and_never_holds_a_memorys_text(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        seat = await alice.remember("Prefers aisle seats", key="seat")
        await alice.remember("Hates loud trains")
        with acting(agent="desk", session_id="s1", turn_id="t1", credential="cred"):
            await alice.search("which seats?", limit=1)
            await alice.recall("which seats?")
        recall, search = await alice.traces(session_id="s1", turn_id="t1")
        assert (search.operation, recall.operation) == ("search", "recall")
        assert search.caller.credential == "cred"
        told = search.details["searches"][0]
        assert told["channels"]["words"] == [seat.id]
        assert next(iter(told["ranked"])) == seat.id == told["returned"][0]["id"]
        assert told["returned"][0]["features"]
        assert await alice.trace(search.id) == search
        everything = [await alice.trace(each.id) for each in await alice.traces()]
        assert "aisle" not in repr(everything)
        await alice.forget(seat.id)
        assert seat.id not in repr([await alice.trace(each.id) for each in await alice.traces()])


async def test_a_trace_tells_what_became_of_every_candidate(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        await alice.ingest([{"role": "user", "content": "I live in Porto"}], session_id="s1", wait=True)
        (city,) = (await alice.list(kind="fact")).items
        for n in range(4):
            await alice.remember(f"Porto has bridge number {n}")
        with acting(turn_id="t1"):
            await alice.search("where do I live? Porto", limit=2, kind=["fact"], key_prefix="secret-")
            await alice.search("where do I live? Porto", limit=2)
            block = await alice.context("Porto", tokens=40)
        context, search, narrowed = await alice.traces(turn_id="t1")
        assert narrowed.details["asked"] == {"limit": 2, "kind": ["fact"], "narrowed": ["key_prefix"]}
        (told,) = search.details["searches"]
        ids = {each["id"] for each in told["returned"]}
        assert told["limit"] == len(ids) == 2
        assert set(told["reasons"]) >= set(told["ranked"]) > ids
        (said,) = city.sources
        assert told["merged"] in ({city.id: said}, {said: city.id})
        assert [name for name, _, _ in search.details["spans"]] == [
            "wait", "analyse", "embed", "propose", "rank", "read",
        ]  # fmt: skip
        starts = [start for _, start, _ in search.details["spans"]]
        assert starts == sorted(starts)
        assert context.details["budget"] == 40
        assert context.details["packed"] == [hit.id for hit in block.hits]
        assert all(cost > 1 for cost in context.details["unfit"].values())
        assert context.details["unfit"]
        assert not set(context.details["unfit"]) & set(context.details["packed"])


async def test_a_session_is_traced_from_what_was_said_to_what_was_drawn_from_it(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        receipt = await alice.ingest([{"role": "user", "content": "I live in Porto"}], session_id="s1", wait=True)
        digest, ingest = sorted(await alice.traces(session_id="s1"), key=lambda trace: trace.operation)
        assert (ingest.operation, digest.operation) == ("ingest", "digest")
        assert digest.details["digested"] == ingest.details["new"] == [each.id for each in receipt.messages]
        assert digest.details["drawn"] == [each.id for each in receipt.memories]
        await alice.forget_session("s1")
        assert not len(await alice.traces(session_id="s1"))


async def test_what_is_forgotten_leaves_the_traces_that_are_still_on_their_way(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        seat = await alice.remember("Prefers aisle seats", session_id="s1")
        with acting(session_id="s1"):
            await alice.search("what about my secret aisle?")
        await alice.search("seats")
        await alice.forget_session("s1")
        traces = [await alice.trace(each.id) for each in await alice.traces()]
        assert seat.id not in repr(traces)
        assert "secret" not in repr(traces)
        await alice.search("another secret")
        await memory.delete_profile("app", "alice")
        await alice.remember("anew")
        assert "secret" not in repr(await alice.traces())


async def test_questions_of_other_sessions_stay_when_something_is_forgotten(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        kept = await alice.remember("x")
        with acting(session_id="only-asks"):
            await alice.search("x")
        await alice.traces()
        await alice.forget(kept.id)
        assert len(await alice.traces(session_id="only-asks")) == 1


async def test_a_listener_hears_a_profile_that_was_deleted_and_begun_anew(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        for n in range(3):
            await alice.remember(f"old {n}")
        listening = await begin_listening(alice, 2)
        await memory.delete_profile("app", "alice")
        await alice.remember("anew")
        assert [event.type for event in await asyncio.wait_for(listening, 120)] == ["reset", "memory.added"]


async def test_a_listener_hears_at_once_that_its_profile_was_deleted(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        await alice.remember("old")
        events = alice.events(after=LAST_EVENT, heartbeat=600)
        await anext(events)
        await memory.delete_profile("app", "alice")
        gone = await asyncio.wait_for(anext(events), 120)
        await alice.remember("anew")  # the first event again: the number alone would not tell
        added = await asyncio.wait_for(anext(events), 120)
        assert [event and event.type for event in (gone, added)] == ["reset", "memory.added"]


async def test_what_was_set_by_hand_is_not_outdated_by_chatter(tmp_path: Path) -> None:
    async with await AsyncHoldfast.open(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        drink = await alice.remember("The user drinks tea.", kind="preference", key="drink")
        await alice.settle()
        await alice.ingest([{"role": "user", "content": "I switched from tea to coffee now."}], wait=True)
        found = await alice.get(drink.id)
        assert isinstance(found, Memory)
        assert found.current


async def test_one_forget_sent_twice_at_once_is_one_forget(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        kept = await alice.remember("x", key="k")
        gone = await asyncio.gather(*(alice.forget(kept.id, idempotency_key="f") for _ in range(4)))
        assert {each.memories for each in gone} == {(kept.id,)}


def test_a_blocking_listener_ends_when_its_holdfast_does(tmp_path: Path) -> None:
    with Holdfast.open(tmp_path, embedder=HashingEmbedder()) as memory:
        alice = memory.profile("app", "alice")
        alice.remember("x")
        events = alice.events(after=0)
        assert next(events) is not None
        memory._inner.runtime.subscriptions.end()
        assert list(events) == []


def test_a_blocking_listener_may_be_left_open(tmp_path: Path) -> None:
    with Holdfast.open(tmp_path, embedder=HashingEmbedder()) as memory:
        alice = memory.profile("app", "alice")
        alice.remember("x")
        left_open = alice.events(after=0)
        assert next(left_open) is not None
    left_open.close()  # type: ignore[attr-defined]


async def test_a_listener_ends_when_its_holdfast_is_closed(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await memory.profile("app", "alice").remember("x")
        listening = await begin_listening(memory.profile("app", "alice"), 1)
    assert await asyncio.wait_for(listening, 120) == []


async def test_failures_leave_a_trace_and_traces_survive_a_restart(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        await alice.remember("x")
        with pytest.raises(NotFound):
            await alice.get("nothing")
    async with open_memory(tmp_path) as memory:
        found = list(await memory.profile("app", "alice").traces())
        assert [(each.operation, each.details.get("error")) for each in found] == [
            ("get", "not_found"),
            ("remember", None),
        ]


async def test_operations_are_spans_of_the_convention_without_any_text(tmp_path: Path) -> None:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    trace.set_tracer_provider(provider)
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        with trace.get_tracer("agent").start_as_current_span("turn") as turn, acting(agent="desk", session_id="s1"):
            written = await alice.remember("Prefers aisle seats")
            await alice.search("aisle")
            with pytest.raises(NotFound):
                await alice.get("nothing")
    spans = {span.name: span for span in kept.get_finished_spans()}
    write, search = spans["upsert_memory app/alice"], spans["search_memory app/alice"]
    assert write.parent is not None
    assert write.parent.span_id == turn.get_span_context().span_id
    assert dict(write.attributes or {}).items() >= {
        "gen_ai.operation.name": "upsert_memory", "gen_ai.memory.store.id": "app/alice", "gen_ai.agent.id": "desk",
        "gen_ai.memory.record.id": written.id, "gen_ai.conversation.id": "s1",
    }.items()  # fmt: skip
    assert (search.attributes or {})["error.type"] == "not_found"
    assert "aisle" not in "".join(span.to_json() for span in spans.values())


async def test_old_traces_go_and_none_are_kept_when_none_are_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "FLUSH_SECONDS", 0.01)
    clock = FrozenClock()
    async with open_memory(tmp_path / "a", clock=clock, trace_days=2) as memory:
        alice = memory.profile("app", "alice")
        await alice.remember("x")
        assert len(await alice.traces()) == 1
        clock.advance(timedelta(days=3))
        await alice.stats()
        await alice.list()
        assert [each.operation for each in await alice.traces()] == ["list", "stats"]
    async with open_memory(tmp_path / "b", trace_days=0) as memory:
        alice = memory.profile("app", "alice")
        await alice.remember("x")
        assert not len(await alice.traces())
