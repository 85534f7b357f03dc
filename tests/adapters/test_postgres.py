"""PostgreSQL beyond the storage contract: the second wall between profiles, and several processes on one database."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
import pytest

from databases import database
from holdfast import AsyncHoldfast, Busy
from holdfast.conformance import memory, message, unit, written
from holdfast.postgres.schema import ROLE
from holdfast.postgres.vault import TABLES, PostgresVault
from holdfast.sqlite.vault import SqliteVault
from holdfast.testing import FrozenClock, HashingEmbedder, ScriptedExtractor


@pytest.fixture
def dsn() -> Iterator[str]:
    with database() as dsn:
        yield dsn


@asynccontextmanager
async def opened(dsn: str) -> AsyncIterator[AsyncHoldfast]:
    async with AsyncHoldfast(PostgresVault(dsn, connections=4), HashingEmbedder(), ScriptedExtractor()) as holdfast:
        yield holdfast


async def test_a_statement_without_a_profile_sees_and_changes_nothing(dsn: str) -> None:
    vault = PostgresVault(dsn)
    await vault.create_namespace("app")
    store = await vault.open("app", "alice", create=True)
    said = message("hi")
    await store.apply(written(said, memory("a", sources=(said.id,)), vectors=(unit(said.id, 0),)))
    with psycopg.connect(dsn) as db:
        held = {table: db.execute(f"SELECT count(*) FROM {table}").fetchone() for table in TABLES}
        assert held["message"] == held["memory"] == (1,)
        db.execute(f"SET ROLE {ROLE}")
        for table in (*TABLES, "profile"):
            assert db.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table
            assert table == "profile" or db.execute(f"DELETE FROM {table}").rowcount == 0
    with psycopg.connect(dsn) as db:
        db.execute(f"SET ROLE {ROLE}")
        db.execute("SET holdfast.profile = '999999'")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):  # a row of another profile
            db.execute(
                "INSERT INTO event (profile, at, type, data) SELECT 1, 0, 'x', '{}' WHERE current_user IS NOT NULL"
            )
    await vault.close()


async def test_what_one_process_writes_the_other_hears_and_finds(dsn: str) -> None:
    async with opened(dsn) as one, opened(dsn) as two:
        await one.profile("app", "alice").remember("first")
        events = two.profile("app", "alice").events(heartbeat=5)
        heard = asyncio.create_task(anext(events))
        await asyncio.sleep(0.3)
        kept = await one.profile("app", "alice").remember("Prefers window seats", key="seat")
        event = await asyncio.wait_for(heard, 1)
        assert event is not None
        assert event.data["id"] == kept.id
        assert (await two.profile("app", "alice").search("window"))[0].id == kept.id
        newer = await two.profile("app", "alice").remember("Prefers aisle seats", key="seat")
        assert (await one.profile("app", "alice").history(kept.id))[0].id == newer.id
        await events.aclose()  # type: ignore[attr-defined]


async def test_writers_in_two_processes_leave_one_head_and_every_version(dsn: str) -> None:
    async with opened(dsn) as one, opened(dsn) as two:
        await one.profile("app", "alice").remember("start", key="k")
        writes = [
            where.profile("app", "alice").remember(f"{name} {n}", key="k")
            for n in range(10)
            for name, where in (("one", one), ("two", two))
        ]
        await asyncio.gather(*writes)
        alice = one.profile("app", "alice")
        assert len(await alice.list()) == 1
        assert len(await alice.history((await alice.list())[0].id)) == 21


async def test_a_message_is_digested_once_by_two_workers(dsn: str) -> None:
    async with opened(dsn) as one, opened(dsn) as two:
        told = [{"role": "user", "content": f"said {n}"} for n in range(30)]
        await asyncio.gather(*(where.profile("app", "alice").ingest(told, session_id="s") for where in (one, two)))
        assert await one.profile("app", "alice").settle(10)
        assert await two.profile("app", "alice").settle(10)
        stats = await one.profile("app", "alice").stats()
        assert (stats.messages, stats.pending, stats.set_aside) == (30, 0, 0)


async def test_rankings_are_those_of_files(dsn: str, tmp_path: Path) -> None:
    """The store proposes, one scorer disposes: every hit, in the same order, with the same score."""
    dice = random.Random(5)
    topics = ["tram", "ferry", "tea", "coffee", "cello", "garden", "invoice", "harbour", "window", "seat", "porto"]
    told = [
        {"role": "user", "content": f"{' '.join(dice.choices(topics, k=5))} on day {n}", "timestamp": 1.7e9 + n * 9e4}
        for n in range(120)
    ]
    clock = FrozenClock()
    found = []
    for vault in (SqliteVault(tmp_path), PostgresVault(dsn, connections=4)):
        async with AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor(), clock=clock) as holdfast:
            profile = holdfast.profile("app", "alice")
            for start in range(0, len(told), 20):
                await profile.ingest(told[start : start + 20], session_id=f"s{start}", wait=True)
            for n, topic in enumerate(topics):
                await profile.remember(f"The user cares about {topic}", key=topic, metadata={"n": n})
            await profile.settle()
            asked = [*(f"what about {topic} and {topics[0]}?" for topic in topics), "what happened in December 2023?"]
            hits = [await profile.search(question, limit=30) for question in asked]
            hits.append(await profile.search("tea", filter={"metadata.n": {"gte": 3}}))
            found.append([{hit.content: hit.score for hit in each} for each in hits])
    for ours, theirs in zip(*found, strict=True):
        assert list(ours) == list(theirs)
        assert all(abs(score - theirs[hit]) < 1e-3 for hit, score in ours.items())
    assert sum(map(len, found[0])) > 300


async def test_a_database_that_is_away_is_named() -> None:
    vault = PostgresVault("postgresql://127.0.0.1:9/nowhere?connect_timeout=1")
    vault._base._pool.timeout = 1
    with pytest.raises(Busy, match="does not answer"):
        await asyncio.wait_for(vault.namespaces(), 30)
    await vault.close()
