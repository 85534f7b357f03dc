"""PostgreSQL beyond the storage contract: the second wall between profiles, and several processes on one database."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from holdfast import AsyncHoldfast, Busy, KeyMissing
from holdfast.domain.identifiers import LAST_EVENT
from holdfast.domain.results import Document
from holdfast.storage.postgres import health, schema
from holdfast.storage.postgres.schema import PARTITION_COUNT, ROLE, partition_schema
from holdfast.storage.postgres.vault import PROFILE_TABLES, PostgresVault
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing import FrozenClock, HashingEmbedder, ScriptedExtractor
from holdfast.testing.conformance import memory, message, unit, written
from support.postgres import database
from support.waiting import until


@pytest.fixture
def dsn() -> Iterator[str]:
    with database() as dsn:
        yield dsn


@asynccontextmanager
async def open_memory(dsn: str) -> AsyncIterator[AsyncHoldfast]:
    async with AsyncHoldfast(PostgresVault(dsn, connections=4), HashingEmbedder(), ScriptedExtractor()) as holdfast:
        yield holdfast


async def test_a_statement_without_a_profile_sees_and_changes_nothing(dsn: str) -> None:
    vault = PostgresVault(dsn)
    await vault.create_namespace("app")
    store = await vault.open("app", "alice", create=True)
    said = message("hi")
    await store.apply(written(said, memory("a", sources=(said.id,)), vectors=(unit(said.id, 0),)))
    with psycopg.connect(dsn) as db:
        held = {table: db.execute(f"SELECT count(*) FROM {table}").fetchone() for table in PROFILE_TABLES}
        assert held["message"] == held["memory"] == (1,)
        db.execute(f"SET ROLE {ROLE}")
        partitions = [f"{partition_schema(n)}.{table}" for n in range(PARTITION_COUNT) for table in PROFILE_TABLES]
        for table in (*PROFILE_TABLES, *partitions, "profile"):
            assert db.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table
            assert table == "profile" or db.execute(f"DELETE FROM {table}").rowcount == 0
        for secret in ("credential", "act", "namespace", "agreed"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege), db.transaction():
                db.execute(f"SELECT * FROM {secret}")
    with psycopg.connect(dsn) as db:
        db.execute(f"SET ROLE {ROLE}")
        db.execute("SET holdfast.profile = '999999'")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):  # a row of another profile
            db.execute(
                "INSERT INTO event (profile, at, type, data) SELECT 1, 0, 'x', '{}' WHERE current_user IS NOT NULL"
            )
    await vault.close()


async def test_what_one_process_writes_the_other_hears_and_finds(dsn: str) -> None:
    async with open_memory(dsn) as one, open_memory(dsn) as two:
        await one.profile("app", "alice").remember("first")
        events = two.profile("app", "alice").events(after=LAST_EVENT, heartbeat=600)
        begins = await anext(events)
        assert (begins and begins.type) == "reset"
        kept = await one.profile("app", "alice").remember("Prefers window seats", key="seat")
        event = await asyncio.wait_for(anext(events), 120)
        assert event is not None
        assert event.data["id"] == kept.id
        assert (await two.profile("app", "alice").search("window"))[0].id == kept.id
        newer = await two.profile("app", "alice").remember("Prefers aisle seats", key="seat")
        assert (await one.profile("app", "alice").history(kept.id))[0].id == newer.id
        await events.aclose()  # type: ignore[attr-defined]


async def test_writers_in_two_processes_leave_one_head_and_every_version(dsn: str) -> None:
    async with open_memory(dsn) as one, open_memory(dsn) as two:
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
    async with open_memory(dsn) as one, open_memory(dsn) as two:
        told = [{"role": "user", "content": f"said {n}"} for n in range(30)]
        await asyncio.gather(*(where.profile("app", "alice").ingest(told, session_id="s") for where in (one, two)))
        assert await one.profile("app", "alice").settle(120)
        assert await two.profile("app", "alice").settle(120)
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


async def test_a_database_that_is_away_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.storage.postgres.connections.RETRY_SECONDS", 1.0)
    vault = PostgresVault("postgresql://127.0.0.1:9/nowhere?connect_timeout=1")
    vault._database._pool.timeout = 0.2
    with pytest.raises(Busy, match="does not answer"):
        await asyncio.wait_for(vault.namespaces(), 120)
    await vault.close()


async def test_the_layout_for_citus_works_without_partitions(dsn: str) -> None:
    """Citus is not here: its extension is a row that says so and its function notes what it is asked for."""
    name = f"citus_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(dsn, autocommit=True) as db:
        db.execute(f'CREATE DATABASE "{name}"')
    place = psycopg.conninfo.make_conninfo(dsn, dbname=name)
    with psycopg.connect(place, autocommit=True) as db:
        db.execute("CREATE TABLE asked (name text, key text, beside text)")
        db.execute(
            "CREATE FUNCTION create_distributed_table(name text, key text, colocate_with text) RETURNS void "
            "LANGUAGE sql AS 'INSERT INTO asked VALUES ($1, $2, $3)'"
        )
        db.execute("SET allow_system_table_mods = on")
        db.execute(
            "INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion) "
            "SELECT 999999, 'citus', 10, oid, false, '13' FROM pg_namespace WHERE nspname = 'public'"
        )
    async with open_memory(place) as holdfast:
        alice = holdfast.profile("app", "alice")
        kept = await alice.remember("Prefers window seats", key="seat")
        assert (await alice.search("window"))[0].id == kept.id
    assert health.check_database(place).spread == "distributed by Citus"
    with psycopg.connect(place, autocommit=True) as db:
        asked = db.execute("SELECT name, key, beside FROM asked").fetchall()
        assert {table for table, _, _ in asked} == set(PROFILE_TABLES)
        assert all(key == "profile" for _, key, _ in asked)
        assert {beside for _, _, beside in asked[1:]} == {asked[0][0]}
        assert db.execute("SELECT count(*) FROM pg_inherits").fetchone() == (0,)
    with psycopg.connect(dsn, autocommit=True) as db:
        db.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def database_text(dsn: str) -> str:
    """Every row of every table, as text."""
    with psycopg.connect(dsn) as db:
        rows = [str(row) for table in PROFILE_TABLES for row in db.execute(f"SELECT * FROM {table}").fetchall()]
        hexed = [
            bytes(cell) for table in PROFILE_TABLES for row in db.execute(f"SELECT * FROM {table}") for cell in row
            if isinstance(cell, bytes)
        ]  # fmt: skip
    return "\n".join(rows) + "".join(each.decode("latin-1") for each in hexed)


async def test_a_sealed_profile_is_searched_by_words_that_the_database_cannot_read(dsn: str, tmp_path: Path) -> None:
    told = "Zebras gather beside the waterhole"
    for sealed in (False, True):
        vault = PostgresVault(dsn, connections=4, keyring=tmp_path / "keyring", sealed=sealed)
        async with AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor()) as holdfast:
            profile = holdfast.profile("app", f"sealed {sealed}")
            await profile.ingest([{"role": "user", "content": told}], session_id="s", wait=True)
            await profile.remember("The zebra is called Marty", key="pet", idempotency_key="once")
            assert (await profile.search("zebras at a waterhole"))[0].content == told
            assert (await profile.recall("What is the zebra called?")).answer == "The zebra is called Marty"
            await profile.forget_session("s")
            await profile.ingest([{"role": "user", "content": told}], session_id="s", wait=True)
            await holdfast.runtime.recorder.flush(("app", f"sealed {sealed}"))
            readable = [word for word in ("zebra", "waterhol", "Marty", "gather") if word in database_text(dsn)]
            assert readable == ([] if sealed else ["zebra", "waterhol", "Marty", "gather"])
            await holdfast.delete_profile("app", f"sealed {sealed}")


async def test_a_sealed_profile_needs_its_own_keyring(dsn: str, tmp_path: Path) -> None:
    async def kept(keyring: Path | None, sealed: bool = True) -> str:
        vault = PostgresVault(dsn, connections=4, keyring=keyring, sealed=sealed)
        async with AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor()) as holdfast:
            await holdfast.profile("app", "alice").remember("Likes trams", key="tram")
            return (await holdfast.profile("app", "alice").list()).items[0].content

    assert await kept(tmp_path / "ring") == "Likes trams"
    assert await kept(tmp_path / "ring", sealed=False) == "Likes trams"
    with pytest.raises(KeyMissing, match="no keyring is set"):
        await kept(None, sealed=False)
    with pytest.raises(KeyMissing, match="is missing"):
        await kept(tmp_path / "other")
    (tmp_path / "wrong").write_text('{"version": 1, "master_key": "' + "00" * 32 + '"}')
    with pytest.raises(KeyMissing, match="not the one"):
        await kept(tmp_path / "wrong")


async def test_what_a_process_leaves_behind_another_takes_over(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.service.worker.POLL_SECONDS", 0.2)
    monkeypatch.setattr("holdfast.storage.postgres.processes.PROCESS_TIMEOUT_SECONDS", 1)
    vault = PostgresVault(dsn, connections=2)
    await vault.create_namespace("app")
    await vault.waiting("test/hashing/64")
    store = await vault.open("app", "alice", create=True)
    await store.apply(written(message("said by somebody who is gone")))
    lent = await store.claim(now=FrozenClock()(), lease=timedelta(days=9999), limit=10)
    assert len(lent) == 1
    async with open_memory(dsn) as other:  # and the first process never says a word again
        alice = other.profile("app", "alice")

        async def digested() -> bool:
            return (await alice.stats()).pending == 0

        await until(digested)
    await vault.close()


async def test_a_limit_is_one_for_all_processes(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.storage.postgres.processes.time.time", lambda: 1_800_000_000.0)  # within one hour
    one, two = PostgresVault(dsn, connections=2), PostgresVault(dsn, connections=2)
    await one.namespaces(), await two.namespaces()
    let = 0
    for n in range(300):
        let += await (one, two)[n % 2].rates.allows("somebody", 100, 3600)
    assert 80 <= let <= 100
    assert await one.rates.allows("another", 100, 3600)
    await one.close(), await two.close()


async def test_a_migration_on_a_large_table_holds_up_no_writer(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new index in one partition, held up in the middle, while somebody writes to that very profile."""
    known = schema.migrations()
    made = "-- online\nCREATE INDEX CONCURRENTLY IF NOT EXISTS extra ON {schema}.event (profile, type, data);"
    vault = PostgresVault(dsn, connections=2)
    await vault.create_namespace("app")
    store = await vault.open("app", "alice", create=True)
    row = "INSERT INTO event (profile, at, type, data) SELECT %s, n, 'filler', '{}' FROM generate_series(1, %s) AS n"
    monkeypatch.setattr(schema, "migrations", lambda: (*known, ("profile", 99, "sha", made)))
    async with (
        await psycopg.AsyncConnection.connect(dsn, autocommit=True) as db,
        await psycopg.AsyncConnection.connect(dsn) as slow,
    ):
        await slow.execute(row, (store.profile, 1000))  # an index waits for the end of this before it reads the table
        with psycopg.connect(dsn, autocommit=True) as watching:
            pid, waits = db.info.backend_pid, "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = %s"
            migrating = asyncio.create_task(schema.migrate(db))
            await until(lambda: watching.execute(waits, (pid,)).fetchone() == (True,))
            for n in range(10):
                await asyncio.wait_for(store.apply(written(message(f"said {n}"))), 120)
            assert not migrating.done()
        await slow.commit()
        await migrating
        await db.execute("DELETE FROM migration WHERE number = 99")
        for n in range(PARTITION_COUNT):
            await db.execute(f"DROP INDEX {partition_schema(n)}.extra")
    await vault.close()


async def test_a_document_that_a_gone_process_was_reading_is_read_by_another(dsn: str) -> None:
    first, second = PostgresVault(dsn, connections=2), PostgresVault(dsn, connections=2)
    try:
        await first.create_namespace("app")
        store = await first.open("app", "ana", create=True)
        await first.waiting("m")
        at = datetime.now(UTC)
        await store.documents.put(Document("doc-1", "doc-1.1", "file", at, at))
        assert await store.documents.claim(at, at + timedelta(minutes=5)) is not None
        other = (await second.open("app", "ana", create=False)).documents
        await second.waiting("m")
        assert await other.claim(at, at + timedelta(minutes=5)) is None, "its reader is at work"
        await first.close()
        assert ("app", "ana") in await second.waiting("m")
        assert await other.claim(at, at + timedelta(minutes=5)) is not None
    finally:
        await second.close()
