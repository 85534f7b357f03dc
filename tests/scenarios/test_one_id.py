"""A memory keeps its id through revisions, supersession by key, merges, splits and undo; here and over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast import AsyncHoldfast
from holdfast.domain.errors import InvalidInput, NotFound, Stale
from holdfast.domain.types import Draft
from holdfast.testing import FrozenClock, HashingEmbedder, ScriptedExtractor
from support.http_server import http_server
from support.vaults import open_vault

SCRIPT: Any = {
    "I live in Porto.": [Draft("fact", "Ana lives in Porto", (), key="home")],
    "I moved to Lisbon.": [Draft("fact", "Ana lives in Lisbon", (), key="home")],
    "I moved to Madrid.": [Draft("fact", "Ana lives in Madrid", (), key="home")],
}
everywhere = pytest.mark.parametrize("where", ["memory", "files", "database", "remote"])


@asynccontextmanager
async def open_profile(where: str, path: Path, clock: FrozenClock) -> AsyncIterator[Any]:
    with open_vault("files" if where == "remote" else where, path) as vault:
        async with AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor(SCRIPT), clock) as holdfast:
            if where != "remote":
                yield holdfast.profile("app", "ana")
                return
            async with http_server(holdfast) as url:
                _, token = await holdfast.access.issue("key", "test", ("read", "write", "forget", "admin"))
                remote = AsyncHoldfast.connect(url, token)
                yield remote.profile("app", "ana")
                await remote.close()


@everywhere
async def test_writing_revising_and_saying_keep_the_id(where: str, tmp_path: Path) -> None:
    clock = FrozenClock()
    async with open_profile(where, tmp_path, clock) as ana:
        first = await ana.remember("Likes tea", key="drink", idempotency_key="one")
        clock.advance(timedelta(hours=1))
        second = await ana.remember("Likes coffee", key="drink")
        third = await ana.revise(second.id, content="Likes black coffee", etag=second.etag)
        assert (second.id, third.id, third.version) == (first.id, first.id, 3)
        assert len({first.etag, second.etag, third.etag}) == 3
        assert (await ana.get(first.id)).content == "Likes black coffee"
        assert [(await ana.get(f"{first.id}@{n}")).content for n in (1, 2)] == ["Likes tea", "Likes coffee"]
        assert (await ana.get(first.id, as_of=first.updated_at)).content == "Likes tea"
        assert (await ana.get(f"{first.id}@1")).superseded_by == f"{first.id}@2"
        versions = await ana.history(first.id)
        assert [(each.id, each.version) for each in versions] == [(first.id, n) for n in (3, 2, 1)]
        assert await ana.history(f"{first.id}@2") == versions
        assert (await ana.remember("Likes tea", key="drink", idempotency_key="one")).version == 1
        with pytest.raises(NotFound):
            await ana.get(f"{first.id}@4")
        with pytest.raises(Stale):
            await ana.revise(f"{first.id}@2", content="Likes milk")
        for n, text in enumerate(SCRIPT, 1):
            clock.advance(timedelta(hours=1))
            await ana.ingest([{"role": "user", "content": text}], session_id=f"s{n}", wait=True)
        (home,) = await ana.list(key="home")
        assert (home.version, [each.id for each in await ana.history(home.id)]) == (3, [home.id] * 3)


@everywhere
async def test_created_at_is_that_of_the_first_version(where: str, tmp_path: Path) -> None:
    clock = FrozenClock()
    async with open_profile(where, tmp_path, clock) as ana:
        first = await ana.remember("Likes tea", key="drink")
        for _ in range(2):
            clock.advance(timedelta(hours=1))
            last = await ana.remember(f"Likes coffee at {clock()}", key="drink")
            assert (last.created_at, last.updated_at) == (first.created_at, clock())
        clock.advance(timedelta(hours=1))
        revised = await ana.revise(first.id, metadata={"n": 1})
        assert (revised.created_at, revised.updated_at) == (first.created_at, clock())
        assert {each.created_at for each in await ana.history(first.id)} == {first.created_at}
        for n, text in enumerate(SCRIPT):
            clock.advance(timedelta(hours=1))
            await ana.ingest([{"role": "user", "content": text}], session_id=f"s{n}", wait=True)
        versions = await ana.history((await ana.list(key="home"))[0].id)
        assert len(versions) == 3
        assert {each.created_at for each in versions} == {versions[-1].updated_at}


@everywhere
async def test_no_version_number_is_given_twice(where: str, tmp_path: Path) -> None:
    async with open_profile(where, tmp_path, FrozenClock()) as ana:
        first = await ana.remember("Likes tea", key="drink")
        seen = [first.version]
        for n in range(3):
            seen.append((await ana.remember(f"Likes coffee {n}", key="drink")).version)
            await ana.undo()
            assert (await ana.get(first.id)).content == "Likes tea"
        await ana.ingest([{"role": "user", "content": "I live in Porto."}], session_id="s1", wait=True)
        await ana.ingest([{"role": "user", "content": "I moved to Lisbon."}], session_id="s2", wait=True)
        await ana.forget_session("s2")
        await ana.ingest([{"role": "user", "content": "I moved to Madrid."}], session_id="s3", wait=True)
        assert [each.version for each in await ana.list(key="home")] == [3]
        await ana.export_to(tmp_path / "archive") if where != "remote" else None
        seen.append((await ana.revise(first.id, content="Likes milk")).version)
        assert seen == [1, 2, 3, 4, 5]
    if where != "remote":
        async with open_profile(where, tmp_path / "other", FrozenClock()) as ana:
            await ana.import_from(tmp_path / "archive")
            assert (await ana.remember("Likes milk", key="drink")).version == 5


@everywhere
async def test_one_version_cannot_be_forgotten_alone(where: str, tmp_path: Path) -> None:
    async with open_profile(where, tmp_path, FrozenClock()) as ana:
        drink = await ana.remember("Likes tea", key="drink")
        await ana.remember("Likes coffee", key="drink")
        for dry_run in (True, False):
            for version in (1, 2):
                with pytest.raises(InvalidInput, match="all its versions"):
                    await ana.forget(f"{drink.id}@{version}", dry_run=dry_run)
        assert [each.version for each in await ana.history(drink.id)] == [2, 1]
        assert (await ana.forget(drink.id)).memories == (drink.id,)


@everywhere
async def test_several_values_of_a_key_in_one_batch_are_versions(where: str, tmp_path: Path) -> None:
    async with open_profile(where, tmp_path, FrozenClock()) as ana:
        await ana.ingest([{"role": "user", "content": text} for text in SCRIPT], session_id="s", wait=True)
        (home,) = await ana.list(key="home")
        assert home.content == "Ana lives in Madrid"
        assert [(each.id, each.version) for each in await ana.history(home.id)] == [(home.id, n) for n in (3, 2, 1)]
        assert [hit.content for hit in await ana.search("lives", kind="fact")] == ["Ana lives in Madrid"]


@everywhere
async def test_merging_splitting_and_undoing_keep_the_id(where: str, tmp_path: Path) -> None:
    clock = FrozenClock()
    async with open_profile(where, tmp_path, clock) as ana:
        one = await ana.remember("Owns a bicycle")
        clock.advance(timedelta(seconds=1))
        two = await ana.remember("Owns a red bicycle", key="bicycle")
        done = await ana.merge([one.id, two.id])
        assert [(each.id, each.version) for each in done.memories] == [(two.id, 2)]
        assert (await ana.get(one.id)).superseded_by == f"{two.id}@2"
        assert {each.id for each in await ana.history(one.id)} == {one.id, two.id}
        clock.advance(timedelta(seconds=1))
        pieces = (await ana.split(two.id, ["Owns a bicycle that is red", "Cycles"])).memories
        assert (pieces[0].id, pieces[0].version, pieces[1].version) == (two.id, 3, 1)
        assert pieces[1].id not in (one.id, two.id)
        await ana.undo(steps=2)
        assert {(each.id, each.version) for each in await ana.list()} == {(one.id, 1), (two.id, 1)}
        clock.advance(timedelta(seconds=1))
        again = await ana.revise(two.id, content="Owns a blue bicycle")
        assert (again.id, again.version) == (two.id, 4)
        assert again.etag != done.memories[0].etag
