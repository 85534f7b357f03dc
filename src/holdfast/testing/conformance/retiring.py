"""Contract of a Store: memories that are retired because they were marked wrong."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from holdfast.domain.errors import Conflict
from holdfast.domain.graph import MemoryReading, Mention, Scope
from holdfast.domain.ports.search import Probe
from holdfast.domain.ports.storage import Store
from holdfast.domain.types import Change, Forgotten, Judged, Memory, Supersede
from holdfast.testing.conformance.samples import AT, memory, message, written

LATER = AT + timedelta(days=1)


async def current_contents(store: Store) -> list[str]:
    return [each.content for each in await store.scan(None, now=None, limit=9)]


async def found_memories(store: Store, word: str, **more: object) -> set[str]:
    proposals = await store.propose(Probe(now=LATER, words=(word,), **more))  # type: ignore[arg-type]
    return {item.id for item, channels in zip(proposals.items, proposals.channels, strict=True) if channels}


class RetiringContract:
    """Part of StoreContract."""

    async def test_marks_below_zero_retire_a_memory_and_others_bring_it_back(self, store: Store) -> None:
        known = memory("porto")
        await store.apply(written(known))
        assert await found_memories(store, "porto") == {known.id}
        await store.apply(Change(judged=(Judged(known.ref, -1),), current=(known.ref,)))
        retired = replace(known, marks=-1, superseded_by=known.ref)
        assert await store.get([known.id]) == await store.history(known.id) == [retired]
        assert (retired.retired, retired.marked_wrong, retired.current) == (True, True, False)
        assert await current_contents(store) == []
        assert await found_memories(store, "porto") == set()
        assert (await store.stats("")).memories == 0
        assert (await store.scan(None, now=None, limit=9, superseded=True)).items == (retired,)
        await store.apply(Change(judged=(Judged(known.ref, -2, AT),), current=(known.ref,)))
        await store.apply(Change(judged=(Judged(known.ref, 0),), current=(known.ref,)))
        assert await store.get([known.id]) == [known]
        assert await found_memories(store, "porto") == {known.id}
        assert await current_contents(store) == ["porto"]

    async def test_what_was_wrong_was_wrong_in_the_past(self, store: Store) -> None:
        known = memory("porto")
        await store.apply(written(known))
        await store.graph.learn(1, [MemoryReading(known.ref, (Mention(known.ref, "porto", "place"),))])
        scope = Scope(now=LATER, as_of=LATER)
        assert len(await store.graph.counted(scope, 9)) == 1
        await store.apply(Change(judged=(Judged(known.ref, -1),)))
        assert (await store.scan(None, now=None, limit=9, as_of=LATER)).items == ()
        assert await found_memories(store, "porto", as_of=LATER) == set()
        for each in (scope, Scope(now=LATER), Scope(now=LATER, past=True)):
            assert await store.graph.counted(each, 9) == []

    async def test_a_retired_memory_has_no_place(self, store: Store) -> None:
        for n, key in enumerate(("home", None)):
            known, other = memory(f"porto {key}", key=key), memory(f"porto {key}", key=key, n=9)
            await store.apply(written(known))
            with pytest.raises(Conflict):
                await store.apply(written(other))
            await store.apply(Change(judged=(Judged(known.ref, -1),)))
            await store.apply(written(other))
            assert len(await current_contents(store)) == n + 1
            with pytest.raises(Conflict):
                await store.apply(Change(judged=(Judged(known.ref, 0),)))
            assert [getattr(each, "retired", None) for each in await store.get([known.id])] == [True]
            swapped = Change(judged=(Judged(other.ref, -1), Judged(known.ref, 0)))
            await store.apply(swapped)
            assert [each.current for each in await store.get([known.id, other.id]) if isinstance(each, Memory)] == [
                True, False,
            ]  # fmt: skip

    async def test_forgetting_makes_room_for_what_is_brought_back(self, store: Store) -> None:
        known, other = memory("porto", key="home"), memory("lisbon", key="home", n=1)
        await store.apply(written(known))
        await store.apply(Change(judged=(Judged(known.ref, -1),)))
        await store.apply(written(other))
        await store.apply(Change(forget=(other.ref,), judged=(Judged(known.ref, 0),)))
        assert await store.get([known.id]) == [known]

    async def test_a_retired_version_can_be_superseded_and_is_retired_again(self, store: Store) -> None:
        known = memory("porto", key="home")
        newer = memory("lisbon", key="home", n=1).next_of(known)
        await store.apply(written(known))
        await store.apply(Change(judged=(Judged(known.ref, -1),)))
        await store.apply(written(newer, supersede=(Supersede(known.ref, newer.ref),)))
        assert [each.content for each in await store.history(known.id)] == ["lisbon", "porto"]
        assert await current_contents(store) == ["lisbon"]
        await store.apply(Change(forget=(newer.ref,)))
        assert await store.get([known.id]) == [replace(known, marks=-1, superseded_by=known.ref)]
        assert await found_memories(store, "porto") == set()

    async def test_forgetting_a_retired_version_brings_back_what_it_superseded(self, store: Store) -> None:
        said = message("hello")
        known = memory("porto", key="home")
        newer = memory("lisbon", key="home", n=1, sources=(said.id,)).next_of(known)
        await store.apply(written(said, known))
        await store.apply(written(newer, supersede=(Supersede(known.ref, newer.ref),)))
        await store.apply(Change(judged=(Judged(newer.ref, -1),)))
        assert await current_contents(store) == []
        await store.apply(Change(forget=(said.id,)))
        assert await store.get([known.id]) == [known]
        assert await found_memories(store, "porto") == {known.id}

    async def test_a_memory_can_be_written_as_retired(self, store: Store) -> None:
        known = memory("porto", key="home", marks=-2)
        retired, current = replace(known, superseded_by=known.ref), memory("lisbon", key="home", n=1)
        await store.apply(written(current))
        await store.apply(written(retired))
        assert await store.get([known.id]) == await store.history(known.id) == [retired]
        assert await found_memories(store, "porto") == set()
        assert await current_contents(store) == ["lisbon"]

    async def test_what_a_forgotten_memory_superseded_can_be_kept_superseded(self, store: Store) -> None:
        whole, rest, ender = memory("whole"), memory("rest", n=1), memory("ender", n=2)
        await store.apply(written(whole))
        await store.apply(written(rest, ender, supersede=(Supersede(whole.ref, ender.ref),)))
        change = Change(forget=(ender.ref,), kept_ended=(Supersede(whole.ref, rest.ref),))
        assert (await store.apply(change)).gone == Forgotten((ender.id,))
        assert {m.content for m in await store.scan(None, now=AT, limit=9)} == {"rest"}
        assert [m.content for m in await store.history(rest.id)] == ["rest", "whole"]
