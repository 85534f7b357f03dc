"""What may be kept for how long: rules, pins, defaults for kinds, and a worker that keeps to them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast import AsyncHoldfast
from holdfast.domain.errors import InvalidInput, NotFound
from holdfast.domain.types import Draft
from holdfast.service.profile.local import LocalProfile
from holdfast.testing import FrozenClock, HashingEmbedder, ScriptedExtractor
from support.vaults import on_every_backend, open_vault

DAY = timedelta(days=1)


@asynccontextmanager
async def open_profile(
    backend: str, path: Path, clock: FrozenClock
) -> AsyncIterator[tuple[AsyncHoldfast, LocalProfile]]:
    extractor = ScriptedExtractor({"We met": [Draft("event", "They met", ())]})
    with open_vault(backend, path) as vault:
        async with AsyncHoldfast(vault, HashingEmbedder(), extractor, clock) as holdfast:
            yield holdfast, holdfast.profile("app", "ana")


async def contents(profile: LocalProfile) -> set[str]:
    return {memory.content for memory in (await profile.list(limit=1000)).items}


@on_every_backend
async def test_rules_take_what_is_old_too_much_or_over(backend: str, tmp_path: Path) -> None:
    clock = FrozenClock()
    async with open_profile(backend, tmp_path, clock) as (_, ana):
        said = {"role": "user", "content": "hello", "timestamp": clock.at.isoformat()}
        await ana.ingest([said], session_id="old")
        await ana.remember("Water the plants", kind="task", session_id="old")
        await ana.remember("turn one", kind="turn")
        pinned = await ana.remember("turn two, pinned", kind="turn")
        await ana.pin(pinned.id)
        clock.advance(10 * DAY)
        await ana.ingest([{**said, "content": "hello again", "timestamp": clock.at.isoformat()}], session_id="new")
        await ana.remember("Buy milk", kind="task", session_id="new")
        for n in range(5):
            await ana.remember(f"note {n}", kind="note")
        await ana.settle()
        await ana.set_retention({"forget": [
            {"kind": "turn", "older_than": "7d"}, {"kind": "note", "beyond": 2},
            {"kind": "task", "session_ended": "1d"}, {"kind": "session", "older_than": "9d"},
        ]})  # fmt: skip
        before = await contents(ana)
        would = await ana.apply_retention(dry_run=True)
        assert [(each.memories, each.messages) for each in would] == [(1, 0), (3, 0), (1, 0), (0, 1)]
        assert await contents(ana) == before
        done = await ana.apply_retention()
        assert [(each.memories, each.messages) for each in done] == [(1, 0), (3, 0), (1, 0), (0, 1)]
        assert await contents(ana) == {"turn two, pinned", "note 4", "note 3", "Buy milk"}
        assert [message.content for message in await ana.messages()] == ["hello again"]
        assert [(each.memories, each.messages) for each in await ana.apply_retention()] == [(0, 0)] * 4
        await ana.unpin((await ana.list(kind="turn")).items[0].id)
        clock.advance(8 * DAY)
        await ana.apply_retention()
        assert "turn two, pinned" not in await contents(ana)


@on_every_backend
async def test_a_kind_has_its_time_to_live_wherever_it_comes_from(backend: str, tmp_path: Path) -> None:
    clock = FrozenClock()
    async with open_profile(backend, tmp_path, clock) as (holdfast, ana):
        await holdfast.create_namespace("app")
        await holdfast.set_namespace_retention("app", {"ttl": {"event": "3d", "note": "1d"}})
        receipt = await ana.ingest([{"role": "user", "content": "We met"}], wait=True)
        assert [memory.expires_at for memory in receipt.memories] == [clock.at + 3 * DAY]
        assert (await ana.remember("a note", kind="note")).expires_at == clock.at + DAY
        assert (await ana.remember("a longer note", kind="note", ttl=10**6)).expires_at > clock.at + DAY
        assert (await ana.remember("a fact", kind="fact")).expires_at is None
        await ana.set_retention({"ttl": {"note": "2d"}})
        assert (await ana.remember("another note", kind="note")).expires_at == clock.at + 2 * DAY
        await ana.set_retention(None)
        assert await ana.retention() == {"ttl": {"event": "3d", "note": "1d"}}
        clock.advance(4 * DAY)
        await holdfast.runtime.worker.tour()
        assert await contents(ana) == {"a longer note", "a fact"}
        with pytest.raises(NotFound):
            await ana.get(receipt.memories[0].id)


async def test_a_process_that_lives_shortly_applies_retention(tmp_path: Path) -> None:
    clock = FrozenClock()
    async with open_profile("sqlite", tmp_path, clock) as (_, ana):
        await ana.remember("an old turn", kind="turn")
        await ana.set_retention({"forget": [{"kind": "turn", "older_than": "7d"}]})
    clock.advance(10 * DAY)
    async with open_profile("sqlite", tmp_path, clock) as (_, ana):
        await ana.stats()  # any use will do
    async with open_profile("sqlite", tmp_path, clock) as (_, ana):
        assert await contents(ana) == set()


async def test_nothing_expires_early_when_the_clock_goes_back(tmp_path: Path) -> None:
    clock = FrozenClock()
    async with open_profile("files", tmp_path, clock) as (holdfast, ana):
        await ana.remember("stays a day", kind="note", ttl=86_400)
        await ana.set_retention({"forget": [{"kind": "fact", "older_than": "1d"}]})
        await ana.remember("a fact", kind="fact")
        for step in (-400 * DAY, 399 * DAY, timedelta(hours=-30), timedelta(hours=50)):
            clock.advance(step)
            await holdfast.runtime.worker.tour()
            assert await contents(ana) == {"stays a day", "a fact"}
        clock.advance(2 * DAY)
        await holdfast.runtime.worker.tour()
        await holdfast.runtime.worker.tour()
        assert await contents(ana) == set()


@pytest.mark.parametrize(
    ("rules", "field"),
    [
        ({"ttls": {}}, "retention.ttls"),
        ({"ttl": {"note": "soon"}}, "retention.ttl.note"),
        ({"ttl": {"note": "0d"}}, "retention.ttl.note"),
        ({"forget": {}}, "retention.forget"),
        ({"forget": [{"kind": "note"}]}, "retention.forget[0]"),
        ({"forget": [{"kind": "note", "beyond": -1}]}, "retention.forget[0].beyond"),
        ({"forget": [{"kind": "message", "beyond": 1}]}, "retention.forget[0]"),
        ({"forget": [{"older_than": "1d"}]}, "retention.forget[0].kind"),
        ({"forget": [{"kind": "note", "older_than": "1d", "beyond": 3}]}, "retention.forget[0]"),
        ({"forget": ["note"]}, "retention.forget[0]"),
    ],
)
async def test_rules_that_make_no_sense_are_refused_by_their_place(
    tmp_path: Path, rules: dict[str, Any], field: str
) -> None:
    async with open_profile("memory", tmp_path, FrozenClock()) as (_, ana):
        await ana.remember("x")
        with pytest.raises(InvalidInput) as wrong:
            await ana.set_retention(rules)
        assert wrong.value.field == field
        assert await ana.retention() is None


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_hundred_thousand_memories_are_let_go_without_blocking_writers(tmp_path: Path) -> None:
    clock = FrozenClock()
    async with open_profile("files", tmp_path, clock) as (holdfast, ana):
        await ana.remember("first", kind="other")
        store = await holdfast.runtime.vault.open("app", "ana", create=False)
        await _filled(store, clock, 100_000)
        await ana.set_retention({"forget": [{"kind": "note", "beyond": 50_000}]})
        waits: list[float] = []
        going = asyncio.create_task(ana.apply_retention())
        while not going.done():
            start = time.perf_counter()
            await ana.remember(f"while it goes on {len(waits)}", kind="other", embed=False)
            waits.append(time.perf_counter() - start)
            await asyncio.sleep(0.02)
        (done,) = await going
        assert done.memories == 50_000
        print(f"longest pause of a writer {max(waits) * 1e3:.0f} ms, {len(waits)} writes")
        assert max(waits) < 2.0


async def _filled(store: Any, clock: FrozenClock, count: int) -> None:
    from holdfast.domain import identifiers
    from holdfast.domain.types import Change, Memory

    for first in range(0, count, 1000):
        made = []
        for n in range(first, first + 1000):
            at = clock.at + timedelta(milliseconds=n)
            made.append(Memory(identifiers.memory_id(at, str(n)), "note", f"note {n}", f"note {n}", at, at))
        await store.apply(Change(memories=tuple(made)))
