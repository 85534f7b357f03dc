"""Profiles of a database that are held in memory: whoever writes, by whatever statement, no read is out of date."""

from __future__ import annotations

import asyncio
import random
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import psycopg
import pytest

from holdfast import AsyncHoldfast
from holdfast.domain.ports.search import Probe
from holdfast.domain.timestamps import now
from holdfast.domain.types import Change, Draft, Memory, Message, Supersede
from holdfast.storage.postgres.cache import loading, postings, profile, profiles
from holdfast.storage.postgres.cache.profile import ProfileCache
from holdfast.storage.postgres.cache.profiles import ProfileCaches
from holdfast.storage.postgres.schema import ROLE
from holdfast.storage.postgres.store import PostgresStore
from holdfast.storage.postgres.vault import PostgresVault
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from holdfast.testing.conformance import memory, message, unit, written
from holdfast.testing.conformance.samples import MODEL, direction
from holdfast.text import cache as text_cache
from support.postgres import database
from support.waiting import until

WORDS = ("tram", "ferry", "tea", "coffee", "cello", "garden", "invoice", "harbour")
PROBE = Probe(
    words=WORDS, vector=direction(1), model=MODEL, now=now(), limit=50, memories=50, with_neighbours=3, keys=("seat",)
)


@pytest.fixture
def dsn() -> Iterator[str]:
    with database() as dsn:
        yield dsn


@asynccontextmanager
async def open_store(dsn: str, **more: Any) -> AsyncIterator[tuple[PostgresVault, PostgresStore]]:
    vault = PostgresVault(dsn, connections=3, **more)
    if not await vault.namespaces():
        await vault.create_namespace("app")
    yield vault, await vault.open("app", "alice", create=True)
    await vault.close()


async def proposed(store: PostgresStore) -> list[tuple[Any, ...]]:
    """Everything that is proposed for PROBE, without the order of items, which differs from the database's."""
    found = await store.propose(PROBE)
    numbers = zip(found.of, found.number, found.length, found.counts.tolist(), found.cosine, found.tokens, strict=True)
    return sorted(
        (found.items[of].id, found.items[of], sorted(found.channels[of].items()), number, length, counts,
         None if cosine != cosine else round(float(cosine), 4), tokens, found.parts, found.frequency)
        for of, number, length, counts, cosine, tokens in numbers
    )  # fmt: skip


def sequence(db: psycopg.Connection[Any], store: PostgresStore) -> tuple[int, int]:
    found = db.execute("SELECT changes, rewrites FROM profile WHERE id = %s", (store.profile,)).fetchone()
    assert found is not None
    return int(found[0]), int(found[1])


@pytest.mark.parametrize("held", ["whole profiles", "large profiles"])
async def test_a_cache_proposes_what_the_database_proposes_after_any_change(
    dsn: str, held: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One process writes at random; another one, which caches, and a third one, which does not, propose the same."""
    if held != "whole profiles":  # as of a large profile
        monkeypatch.setattr(profiles, "MAX_CACHED_PARTS", 0)
        monkeypatch.setattr(loading, "MIN_RELOAD_SECONDS", 0)
        monkeypatch.setattr(loading, "LOADED_AT_ONCE", 3)
        monkeypatch.setattr(profile, "MAX_CACHED_CANDIDATES", 4)
    dice = random.Random(7)
    said: list[Message] = []
    known: list[Memory] = []
    async with (
        open_store(dsn) as (_, writer),
        open_store(dsn) as (vault, cached),
        open_store(dsn, cache_bytes=0) as (other, uncached),
    ):
        for step in range(60):
            text = " ".join(dice.choices(WORDS, k=4)) + f" {step}"
            match dice.randrange(6):
                case 0 | 1:
                    said.append(message(text, session=f"s{step % 3}"))
                    await writer.apply(written(said[-1]))
                case 2:
                    known.append(memory(text, n=step, key="seat" if not known else None))
                    await writer.apply(written(known[-1], vectors=(unit(known[-1].ref, step),)))
                case 3 if said:
                    await writer.apply(Change(vectors=(unit(dice.choice(said).id, step),)))
                case 4 if known:
                    old, new = known.pop(dice.randrange(len(known))), memory(text, n=step)
                    await writer.apply(written(new, supersede=(Supersede(old.ref, new.ref),)))
                    known.append(new)
                case 5 if said:
                    await writer.apply(Change(forget=(said.pop(dice.randrange(len(said))).id,)))
            assert await proposed(cached) == await proposed(uncached), step
            await vault._loader.loaded(cached.profile)
        assert len(vault._caches) == 1
        cache = vault._caches.find(cached.profile)
        assert cache is not None
        assert cache.large == (held != "whole profiles")
        assert len(other._caches) == 0
        assert len(said) > 3
        assert len(known) > 3


async def test_a_search_sees_what_another_process_wrote_and_forgot_just_now(dsn: str) -> None:
    async def open_memory() -> AsyncHoldfast:
        return AsyncHoldfast(PostgresVault(dsn, connections=4), HashingEmbedder(), ScriptedExtractor())

    async with await open_memory() as one, await open_memory() as two:
        writer, reader = one.profile("app", "alice"), two.profile("app", "alice")
        await writer.remember("The ferry leaves at noon")
        for n in range(5):
            kept = await writer.remember(f"The tram {n} leaves at {n}", key="tram")
            assert kept.content in [hit.content for hit in await reader.search("When does the tram leave?")]
            await writer.ingest([{"role": "user", "content": f"I took tram {n}"}], session_id="s")
            assert f"I took tram {n}" in [hit.content for hit in await reader.search(f"took tram {n}")]
            await writer.forget(kept.id)
            assert kept.content not in [hit.content for hit in await reader.search("When does the tram leave?")]


def count_compared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """From now on, how many vectors each search of a large profile compares in memory."""
    compared: list[int] = []
    cosines = ProfileCache.cosines

    def count_rows(cache: ProfileCache, vector: Any) -> Any:
        if cache.large:
            compared.append(len(cache))
        return cosines(cache, vector)

    monkeypatch.setattr(ProfileCache, "cosines", count_rows)
    return compared


async def test_a_large_profile_is_searched_in_memory_in_place_of_the_database(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After another process wrote, gave a message its vector, and forgot one."""
    monkeypatch.setattr(profiles, "MAX_CACHED_PARTS", 3)
    compared = count_compared(monkeypatch)
    async with open_store(dsn) as (_, writer), open_store(dsn) as (vault, reader):
        said = [message(f"tea {n}", session=f"s{n}") for n in range(5)]
        await writer.apply(written(*said, vectors=tuple(unit(each.id, n) for n, each in enumerate(said[:4]))))
        for _ in range(2):
            await proposed(reader)
            await vault._loader.loaded(reader.profile)
        assert compared == [5], "the first search did not wait for them"
        late = message("tea, the last", session="late")
        await writer.apply(written(late, vectors=(unit(said[4].id, 1), unit(late.id, 1))))
        found = await reader.propose(PROBE)
        assert {said[1].id, said[4].id, late.id} <= {
            found.items[of].id for of, cosine in zip(found.of, found.cosine, strict=True) if cosine > 0.99
        }
        assert compared == [5, 6]
        await writer.apply(Change(forget=(late.id,)))
        assert late.id not in {item.id for item in (await reader.propose(PROBE)).items}
        assert compared == [5, 6], "a rewritten profile is searched by the database until it is loaded again"


async def test_a_large_profile_that_is_rewritten_while_it_is_loaded_is_not_held(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the keys and sessions of what is forgotten would stay in the memory of a server that nobody asks."""
    monkeypatch.setattr(profiles, "MAX_CACHED_PARTS", 3)
    async with open_store(dsn) as (_, writer), open_store(dsn) as (vault, reader):
        said = [message(f"tea {n}", session=f"s{n}") for n in range(5)]
        await writer.apply(written(*said))
        fill = loading._fill

        async def forget_meanwhile(*args: Any) -> None:
            await fill(*args)
            await writer.apply(Change(forget=(said[0].id,)))
            await until(lambda: vault._caches.find(reader.profile) is None)

        monkeypatch.setattr(loading, "_fill", forget_meanwhile)
        await proposed(reader)
        await vault._loader.loaded(reader.profile)
        assert len(vault._caches) == 0


async def test_a_large_profile_that_is_rewritten_while_vectors_are_read_is_searched_by_the_database(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profiles, "MAX_CACHED_PARTS", 3)
    compared = count_compared(monkeypatch)
    async with open_store(dsn) as (_, writer), open_store(dsn) as (vault, reader):
        said = [message(f"tea {n}", session=f"s{n}") for n in range(5)]
        await writer.apply(written(*said, vectors=tuple(unit(each.id, n) for n, each in enumerate(said))))
        await proposed(reader)
        await vault._loader.loaded(reader.profile)
        load = reader._cached._compare_exactly

        async def forget_before(*args: Any) -> bool:
            await writer.apply(Change(forget=(said[0].id,)))
            return await load(*args)

        monkeypatch.setattr(reader._cached, "_compare_exactly", forget_before)
        assert {item.id for item in (await reader.propose(PROBE)).items} == {each.id for each in said[1:]}
        assert compared == [5]


@pytest.mark.parametrize("large", [False, True])
async def test_words_that_a_search_read_are_found_in_what_is_written_later(
    dsn: str, large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the profile was empty at first, and where more words are known than a cache keeps."""
    monkeypatch.setattr(profiles, "MAX_CACHED_PARTS", 1 if large else 100)
    monkeypatch.setattr(postings, "MAX_CACHED_OCCURRENCES", 3)
    async with open_store(dsn) as (_, writer), open_store(dsn) as (vault, reader):
        assert await proposed(reader) == []
        for n in range(1, 8):
            await writer.apply(written(message(f"tea in the garden {n}", session=f"s{n}")))
            for probe in (replace(PROBE, words=("harbour",)), replace(PROBE, words=("garden",)), PROBE):
                found = await reader.propose(probe)
                await vault._loader.loaded(reader.profile)
            assert (len(found.items), found.frequency[WORDS.index("garden")]) == (n, n)


async def test_a_first_search_takes_two_messages_to_the_database(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncHoldfast(
        PostgresVault(dsn, connections=3), HashingEmbedder(), ScriptedExtractor(), trace_days=0
    ) as writing:
        alice = writing.profile("app", "alice")
        for text in ("tea in the garden", "coffee at the harbour", "a cello"):
            await alice.ingest([{"role": "user", "content": text}], session_id="s")
        await alice.remember("The user drinks tea")
        await alice.settle()
        expected = [hit.content for hit in await alice.search("tea")]
    vault = PostgresVault(dsn, connections=3)
    monkeypatch.setattr(vault._listener, "start", lambda: None)  # it drops everything when it begins to listen
    reading = AsyncHoldfast(
        vault, HashingEmbedder(), ScriptedExtractor(), trace_days=0
    )  # no background work is started
    await (await vault.open("app", "alice", create=False)).journal.settings()
    counts = count_transactions(vault, monkeypatch)
    alice = reading.profile("app", "alice")
    assert [hit.content for hit in await alice.search("tea")] == expected
    assert counts["read_row"] == 1
    assert counts["read_rows"] <= 2, "the profile, and perhaps its settings"
    before = counts["read_rows"]
    assert await alice.search("coffee")
    assert counts["read_row"] == 1
    assert counts["read_rows"] - before <= 2, "the words of the question, and perhaps the settings"
    await reading.close()


READER = """
import asyncio, sys
from holdfast import AsyncHoldfast
from holdfast.storage.postgres.vault import PostgresVault
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from holdfast.text import cache

def held():
    texts = sum(clear.__self__.cache_info().currsize for clear in cache._clear_each)
    return texts + sum(len(each._values) for each in cache._caches)

async def main():
    vault = PostgresVault(sys.argv[1], connections=3)
    async with AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor(), trace_days=0) as memory:
        while not (held() and len(vault._caches)):  # it drops everything once, when it begins to listen
            hits = await memory.profile("app", "alice").search("Where do I drink tea?")
            assert any("hidden garden" in hit.content for hit in hits)
        print("held", flush=True)
        while held() or len(vault._caches):
            await asyncio.sleep(0.05)
        print("empty", flush=True)

asyncio.run(main())
"""


@pytest.mark.parametrize("forgets", ["a memory", "a session", "the profile"])
async def test_forgotten_words_leave_the_caches_of_another_process(dsn: str, forgets: str) -> None:
    """A real second process, which searched before and is not asked again."""
    async with AsyncHoldfast(
        PostgresVault(dsn, connections=3), HashingEmbedder(), ScriptedExtractor(), trace_days=0
    ) as memory:
        alice = memory.profile("app", "alice")
        await alice.ingest([{"role": "user", "content": "I drink tea in the hidden garden"}], session_id="s")
        known = await alice.remember("The user drinks tea in the hidden garden")
        await alice.settle()
        other = await asyncio.create_subprocess_exec(sys.executable, "-c", READER, dsn, stdout=asyncio.subprocess.PIPE)
        assert other.stdout is not None
        try:
            assert await asyncio.wait_for(other.stdout.readline(), 120) == b"held\n"
            match forgets:
                case "a memory":
                    await alice.forget(known.id)
                case "a session":
                    await alice.forget_session("s")
                case _:
                    await memory.delete_profile("app", "alice")
            assert await asyncio.wait_for(other.stdout.readline(), 120) == b"empty\n"
        finally:
            if other.returncode is None:
                other.terminate()
            await other.wait()


async def test_forgetting_empties_the_memory_of_processes_that_nobody_asks(dsn: str) -> None:
    async with open_store(dsn) as (_, writer), open_store(dsn) as (idle, reader):
        said = message("tea in the garden")
        await writer.apply(written(said))
        assert await proposed(reader)
        assert len(idle._caches) == 1
        shortened = text_cache.cached_by_text(str.upper)
        assert shortened("tea") == "TEA"
        held = text_cache._clear_each[-1].__self__  # type: ignore[attr-defined]
        assert held.cache_info().currsize == 1
        await writer.apply(Change(forget=(said.id,)))
        await until(lambda: len(idle._caches) == 0)
        await until(lambda: held.cache_info().currsize == 0)
        text_cache._clear_each.pop()


ADDS = (
    "INSERT INTO message (profile, id, session, position, role, content, created_at, metadata) "
    "VALUES (%(p)s, 'raw', 'raw', 1, 'user', 'raw', 0, '{}')",
    "INSERT INTO memory (profile, id, origin, kind, summary, content, value, metadata, keywords, queries, trust, "
    "created_at, updated_at, version, extractor, confidence, fingerprint) "
    "VALUES (%(p)s, 'raw', 'raw', 'fact', '', '', 'null', '{}', '[]', '[]', 'user', 0, 0, 1, '', 1, 'raw')",
    "INSERT INTO part (profile, item, memory, number, start, stop, length, embed, asks, tokens) "
    "SELECT profile, item, memory, 7, start, stop, length, embed, asks, tokens FROM part WHERE profile = %(p)s LIMIT 1",
    "INSERT INTO posting SELECT profile, 'raw', part, 1, length, memory FROM posting WHERE profile = %(p)s LIMIT 1",
    "INSERT INTO source SELECT profile, memory, 7, 'raw' FROM source WHERE profile = %(p)s LIMIT 1",
    "UPDATE message SET state = 'aside' WHERE profile = %(p)s",
    "UPDATE memory SET superseded_by = ref WHERE profile = %(p)s",
    "UPDATE memory SET marks = 3 WHERE profile = %(p)s",
    "UPDATE part SET live = false WHERE profile = %(p)s AND memory",
    "UPDATE part SET model = 'other', data = '\\x00' WHERE profile = %(p)s AND model IS NULL",
)
"""Statements that add something, or end or complete what is there."""
REWRITES = (
    "DELETE FROM message WHERE profile = %(p)s",
    "DELETE FROM memory WHERE profile = %(p)s",
    "DELETE FROM part WHERE profile = %(p)s AND memory",
    "UPDATE message SET content = 'other' WHERE profile = %(p)s",
    "UPDATE message SET position = position + 5 WHERE profile = %(p)s",
    "UPDATE memory SET expires_at = 1 WHERE profile = %(p)s",
    "UPDATE memory SET metadata = '{\"a\": 1}' WHERE profile = %(p)s",
    "UPDATE part SET tokens = '\\x01' WHERE profile = %(p)s",
    "UPDATE part SET data = '\\x00' WHERE profile = %(p)s AND data IS NOT NULL",
    "WITH ended AS (UPDATE part SET live = false WHERE profile = %(p)s AND n IN (SELECT max(n) FROM part "
    "WHERE profile = %(p)s) RETURNING n) SELECT n FROM ended; UPDATE part SET live = true WHERE profile = %(p)s",
    "INSERT INTO part (profile, n, item, memory, number, start, stop, length, embed, asks, tokens) SELECT profile, "
    "n - 1000000, item, memory, 7, start, stop, length, embed, asks, tokens FROM part WHERE profile = %(p)s LIMIT 1",
)
"""Statements after which a cache is read anew."""
LEASES = (
    "UPDATE message SET wait_until = 5, holder = 'me' WHERE profile = %(p)s",
    "UPDATE message SET failure = 'no' WHERE profile = %(p)s",
    "DELETE FROM message WHERE profile = %(p)s AND id = 'none'",
    "UPDATE profile SET rested_under = 'model' WHERE id = %(p)s",
)


@pytest.mark.parametrize("way", ["as older servers write", "through the partitioned tables"])
async def test_any_statement_advances_the_change_sequence(dsn: str, way: str) -> None:
    async with open_store(dsn) as (vault, store):
        said = message("tea in the garden")
        known = memory("The user drinks tea", sources=(said.id,))
        await store.apply(written(said, known, vectors=(unit(known.ref, 1),)))
        path = f"{vault._database.schema(store.profile)}, public" if way.startswith("as") else "public"
        with psycopg.connect(dsn) as db:
            for statement, changed, rewritten in (
                *((each, True, False) for each in ADDS),
                *((each, True, True) for each in REWRITES),
                *((each, False, False) for each in LEASES),
            ):
                before = sequence(db, store)
                db.execute(f"SET LOCAL search_path = {path}")
                if way.startswith("as"):
                    db.execute(f"SET LOCAL ROLE {ROLE}")
                    db.execute(f"SET LOCAL holdfast.profile = '{store.profile}'")
                for each in statement.split(";"):
                    db.execute(each, {"p": store.profile})
                after = sequence(db, store)
                assert (after[0] > before[0], after[1] > before[1]) == (changed, rewritten), statement
                db.rollback()


async def test_what_a_writer_without_any_cache_writes_is_read_at_once(dsn: str) -> None:
    """Raw SQL, as a server of an older version or an administrator sends it."""
    async with open_store(dsn) as (vault, store), open_store(dsn, cache_bytes=0) as (_, uncached):
        said, known = message("tea in the garden"), memory("The user drinks tea")
        await store.apply(written(said, known, vectors=(unit(known.ref, 1),)))
        await proposed(store)
        assert len(vault._caches) == 1
        with psycopg.connect(dsn, autocommit=True) as db:
            for statement in (
                "UPDATE message SET speaker = 'Ana' WHERE profile = %(p)s",
                "UPDATE part SET live = false WHERE profile = %(p)s AND memory",
                "UPDATE part SET live = true WHERE profile = %(p)s",
                "DELETE FROM posting WHERE profile = %(p)s AND memory",
                "DELETE FROM memory WHERE profile = %(p)s; DELETE FROM part WHERE profile = %(p)s AND memory; "
                "UPDATE profile SET parts = parts - 1 WHERE id = %(p)s",
            ):
                before = await proposed(store)
                for each in statement.split(";"):
                    db.execute(each, {"p": store.profile})
                assert await proposed(store) == await proposed(uncached) != before, statement


async def test_parts_that_are_committed_out_of_order_are_not_missed(dsn: str) -> None:
    """A writer without the lock of the profile numbers its part first and commits it last."""
    insert = (
        "INSERT INTO part (profile, n, item, memory, number, start, stop, length, embed, asks, tokens) "
        "SELECT profile, %s, item, memory, 8, 0, 1, 1, true, false, tokens FROM part WHERE profile = %s LIMIT 1"
    )
    async with open_store(dsn) as (vault, store):
        await store.apply(written(message("tea in the garden")))
        with psycopg.connect(dsn, autocommit=True) as db:
            early = db.execute("SELECT nextval('item_number')").fetchone()
            assert early is not None
            await store.apply(written(message("coffee in the garden")))
            await proposed(store)
            db.execute(insert, (early[0], store.profile))
        cache = None
        while cache is None:  # the notification of the rewrite may come after a search and drop what that has read
            await proposed(store)
            cache = vault._caches.find(store.profile)
        assert early[0] in cache.n


async def test_claims_do_not_wait_for_a_writer_of_the_profile(dsn: str) -> None:
    async with open_store(dsn) as (_, store):
        await store.apply(written(message("tea in the garden")))
        async with await psycopg.AsyncConnection.connect(dsn) as writer:
            await writer.execute("SELECT 1 FROM profile WHERE id = %s FOR UPDATE", (store.profile,))
            claimed = await asyncio.wait_for(store.claim(now=now(), lease=timedelta(minutes=1), limit=10), 120)
        assert len(claimed) == 1


async def test_profiles_are_held_up_to_a_number_of_bytes(dsn: str) -> None:
    async with open_store(dsn) as (first, _):
        stores = [await first.open("app", f"user {n}", create=True) for n in range(6)]
        for store in stores:
            await store.apply(written(*(message(f"tea {n} in the garden") for n in range(20))))
        await proposed(stores[0])
        one = first._caches.bytes
        assert one > 20 * profile.PART_BYTES
    async with open_store(dsn, cache_bytes=3 * one + one // 2) as (vault, _):
        stores = [await vault.open("app", f"user {n}", create=False) for n in range(6)]
        for store in stores:
            assert len(await proposed(store)) == 20
            assert vault._caches.bytes <= 3 * one + one // 2
        held = [vault._caches.find(store.profile) is not None for store in stores]
        assert held == [False] * 3 + [True] * 3, "those that were searched last"
    async with open_store(dsn, cache_bytes=one // 2) as (vault, _):
        store = await vault.open("app", "user 1", create=False)
        for _ in range(2):
            assert len(await proposed(store)) == 20
            assert len(vault._caches) == 0
        assert not vault._caches.may_hold(store.profile, 20), "it is not read again only to be dropped"


async def test_a_profile_that_is_too_large_is_searched_in_the_database(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profiles, "MAX_CACHED_PARTS", 5)
    async with open_store(dsn, cache_bytes=10**6) as (vault, store):
        for n in range(7):
            await store.apply(written(message(f"tea {n}")))
            assert len(await proposed(store)) == n + 1
            assert (vault._caches.find(store.profile) is not None) == (n < 5)


async def test_a_cache_that_was_dropped_while_it_was_read_is_not_found_again(dsn: str) -> None:
    """The words of what is forgotten must not come back with a search that had begun before."""
    async with open_store(dsn) as (vault, store):
        await store.apply(written(message("tea in the garden")))
        cache = vault._caches.open(store.profile, MODEL)
        async with cache.updating:
            searching = asyncio.create_task(proposed(store))
            await until(lambda: bool(cache.updating._waiters))
            vault._on_notification(f"rewritten {store.profile}")
        assert len(await searching) == 1
        assert vault._caches.find(store.profile) is None


async def test_a_broken_connection_empties_the_caches(dsn: str) -> None:
    """The next connection may lead to a server that took over and lacks the last changes."""
    async with open_store(dsn) as (vault, store):
        await store.apply(written(message("tea in the garden")))
        await proposed(store)
        held = vault._caches.find(store.profile)
        with psycopg.connect(dsn, autocommit=True) as db:
            db.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        assert len(await proposed(store)) == 1
        assert vault._caches.find(store.profile) is not held


def test_bytes_are_counted_for_every_cache() -> None:
    caches = ProfileCaches(10**6)
    opened = partial(caches.open, model=MODEL)
    assert opened(1) is opened(1)
    caches.fit(1)
    assert caches.bytes == opened(1).bytes == 0
    caches.drop(1)
    caches.fit(1)
    assert (len(caches), caches.bytes) == (0, 0)


def count_transactions(vault: PostgresVault, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """From now on, the number of transactions of profiles, by the method that runs them."""
    counts: Counter[str] = Counter()

    def counted(name: str, run: Any, profile: int | None, *args: Any, **more: Any) -> Any:
        counts[name] += profile is not None
        return run(profile, *args, **more)

    for name in ("read", "read_rows", "read_row", "write"):
        monkeypatch.setattr(vault._database, name, partial(counted, name, getattr(vault._database, name)))
    return counts


async def test_a_search_that_was_made_before_asks_only_for_the_change_sequence(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = PostgresVault(dsn, connections=3)
    async with AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor(), trace_days=0) as holdfast:
        alice = holdfast.profile("app", "alice")
        await alice.ingest([{"role": "user", "content": "tea in the garden"}], session_id="s", wait=True)
        await alice.settle()
        first = await alice.search("tea")
        counts = count_transactions(vault, monkeypatch)
        assert await alice.search("tea") == first
        assert +counts == {"read_row": 1}


async def test_several_sessions_are_digested_in_one_round(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expired memories are looked for once in a round."""
    vault = PostgresVault(dsn, connections=3)
    rounds = 0

    async def count_round(*_: Any, **__: Any) -> int:
        nonlocal rounds
        rounds += 1
        return 0

    async with AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor()) as holdfast:
        alice = holdfast.profile("app", "alice")
        await alice.remember("start")
        await alice.settle()
        store = await vault.open("app", "alice", create=False)
        for n in range(30):
            await store.apply(written(message(f"tea {n}", session=f"s{n}")))
        monkeypatch.setattr("holdfast.lifecycle.forget.sweep", count_round)
        holdfast.runtime.worker.notify(("app", "alice"))
        assert await alice.settle(120)
        assert (await alice.stats()).pending == 0
        assert 1 <= rounds <= 3


async def test_vectors_of_messages_are_written_once_for_several_sessions(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of memories are written before the next session, whose statements are compared with them."""
    embedder, batches = HashingEmbedder(), list[int]()
    embed = embedder.embed

    async def count_texts(texts: Any) -> Any:
        batches.append(len(texts))
        return await embed(texts)

    monkeypatch.setattr(embedder, "embed", count_texts)
    vault = PostgresVault(dsn, connections=3)
    extractor = ScriptedExtractor({"tea 6": [Draft("fact", "Drinks tea 6", ())]})
    async with AsyncHoldfast(vault, embedder, extractor) as holdfast:
        alice = holdfast.profile("app", "alice")
        await alice.remember("start")
        await alice.settle()
        store = await vault.open("app", "alice", create=False)
        for n in range(30):
            await store.apply(written(message(f"tea {n}", session=f"s{n}")))
        batches.clear()
        holdfast.runtime.worker.notify(("app", "alice"))
        assert await alice.settle(120)
        stats = await alice.stats()
        assert (stats.pending, stats.unembedded) == (0, 0)
        assert sum(batches) >= 31
        assert len(batches) <= 6
