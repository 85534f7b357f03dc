"""The promises of docs/domain.md, kept through the public interface and real files."""

from __future__ import annotations

import asyncio
import inspect
import random
import shutil
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from holdfast import (
    AsyncHoldfast,
    Conflict,
    Holdfast,
    HoldfastError,
    LocalProfile,
    NotFound,
    Profile,
)
from holdfast.api.client.holdfast import RemoteHoldfast
from holdfast.domain import timestamps
from holdfast.domain.ports.models import Embedder, Extractor
from holdfast.domain.ports.storage import TopicKeyLoader, load_no_topic_keys
from holdfast.domain.results import Hit
from holdfast.domain.types import Draft, Floats, Memory, Message
from holdfast.ingest import digest
from holdfast.service import worker
from holdfast.service.runtime import Runtime
from holdfast.storage.postgres.vault import PostgresVault
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing import FrozenClock, HashingEmbedder, ScriptedExtractor
from support.http_server import http_server
from support.postgres import database
from support.waiting import until


@asynccontextmanager
async def open_memory(
    path: Path,
    *,
    embedder: Embedder | None = None,
    extractor: Extractor | None = None,
    clock: Callable[[], datetime] = timestamps.now,
    open_files: int = 128,
) -> AsyncIterator[AsyncHoldfast]:
    vault = (
        PostgresVault(PLACE["database"], connections=4)
        if PLACE["database"]
        else SqliteVault(path, open_files=open_files)
    )
    memory = AsyncHoldfast(vault, embedder or HashingEmbedder(), extractor or ScriptedExtractor(), clock=clock)
    async with await memory.start():
        if PLACE["far"]:
            await memory.access.admin(TOKEN)
            async with http_server(memory) as url, Far(url, TOKEN) as far:
                far.runtime = memory.runtime
                yield far  # type: ignore[misc]
        else:
            yield memory


class Far(RemoteHoldfast):
    """The same, over HTTP; its server's runtime is for tests that look inside."""

    runtime: Runtime


PLACE: dict[str, Any] = {"far": False, "database": None}
TOKEN = "a-token-of-these-tests"


of_files = pytest.mark.of_files
"""Looks at the files of a data folder; what it tells of a database is in test_postgres.py."""


@pytest.fixture(params=["here", "far", "database"], autouse=True)
def place(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every promise is kept by a Holdfast in this process, by one behind HTTP, and by one with a PostgreSQL."""
    PLACE["far"] = request.param == "far"
    if request.param == "database":
        if request.node.get_closest_marker("of_files"):
            pytest.skip("it looks at files")
        with database() as dsn:
            PLACE["database"] = dsn
            yield
    else:
        yield
    PLACE.update(far=False, database=None)


def messages_of(*contents: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": content} for content in contents]


def fact(content: str, key: str | None = None, kind: str = "fact") -> Draft:
    return Draft(kind, content, (), key=key)


def texts(found: Sequence[Hit | Memory | Message]) -> list[str]:
    return [each.content for each in found]


class Gate:
    """An extractor that waits to be let through, then says what it was told."""

    name = "gate/1"

    def __init__(self, script: dict[str, list[Draft] | Exception] | None = None) -> None:
        self.reached, self.open = asyncio.Event(), asyncio.Event()
        self._behind = ScriptedExtractor(script)

    async def extract(
        self, messages: Sequence[Message], before: Sequence[Message], keys: TopicKeyLoader = load_no_topic_keys
    ) -> list[Draft]:
        self.reached.set()
        await self.open.wait()
        return await self._behind.extract(messages, before, keys)


# Acknowledged is durable, and found at once


@pytest.mark.short_waits
async def test_what_ingest_acknowledged_is_found_before_it_is_digested(tmp_path: Path) -> None:
    gate = Gate()
    async with open_memory(tmp_path, extractor=gate) as memory:
        alice = memory.profile("app", "alice")
        receipt = await alice.ingest(messages_of("I moved to Lisbon."), session_id="s1")
        hit = (await alice.search("Lisbon"))[0]
        assert (hit.message_id, hit.pending, receipt.pending) == (receipt.messages[0].id, True, 1)
        gate.open.set()
        await alice.settle()
        assert (await alice.search("Lisbon"))[0].pending is False


@of_files
async def test_what_was_acknowledged_is_in_a_copy_of_the_folder_taken_that_moment(tmp_path: Path) -> None:
    gate = Gate()
    async with open_memory(tmp_path / "data", extractor=gate) as memory:
        alice = memory.profile("app", "alice")
        await alice.ingest(messages_of("I moved to Lisbon."), session_id="s1")
        await alice.remember("Likes trams", key="tram")
        await alice.remember("Loves trams", key="tram")
        await gate.reached.wait()
        shutil.copytree(tmp_path / "data", tmp_path / "copy")
        gate.open.set()
    async with open_memory(tmp_path / "copy") as memory:
        alice = memory.profile("app", "alice")
        assert texts(await alice.messages("s1")) == ["I moved to Lisbon."]
        assert texts((await alice.list()).items) == ["Loves trams"]
        assert await alice.settle(120)
        assert (await alice.stats()).pending == 0
        assert (await alice.search("Lisbon"))[0].content == "I moved to Lisbon."


async def cancelled_at_commit(memory: AsyncHoldfast, work: Coroutine[Any, Any, Any]) -> None:
    """Do it, and cancel it at the moment its transaction commits."""
    store = await memory.runtime.vault.open("app", "alice", create=False)
    task, loop = asyncio.ensure_future(work), asyncio.get_running_loop()
    cancelled = threading.Event()

    def cancel() -> None:
        task.cancel()
        cancelled.set()

    def hook() -> bool:
        loop.call_soon_threadsafe(cancel)
        return not cancelled.wait(120)

    def hooked(db: apsw.Connection) -> None:
        db.set_commit_hook(hook)

    def unhooked(db: apsw.Connection) -> None:
        db.set_commit_hook(None)

    await store._file._run(hooked, writing=True)  # type: ignore[attr-defined]
    with pytest.raises(asyncio.CancelledError):
        await task
    await store._file._run(unhooked, writing=True)  # type: ignore[attr-defined]


async def test_after_a_cancelled_call_the_next_one_works(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        await alice.ingest(messages_of("first"), wait=True)
        for n in range(20):
            tasks = [
                asyncio.create_task(alice.search("first")),
                asyncio.create_task(alice.ingest(messages_of(f"tale{n}"))),
            ]
            await asyncio.sleep(0.0005 * n)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            assert (await alice.search("first"))[0].content == "first"
            await alice.ingest(messages_of(f"tale{n}"))
        assert (await alice.stats()).messages == 21


@of_files
async def test_a_cancelled_write_that_was_committed_is_found(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        await alice.ingest(messages_of("first"), wait=True)
        await alice.settle()
        await alice.search("first")
        await cancelled_at_commit(memory, alice.ingest(messages_of("I saw a zebra"), session_id="s1"))
        assert (await alice.ingest(messages_of("I saw a zebra"), session_id="s1")).messages[0].new is False
        assert (await alice.search("zebra"))[0].content == "I saw a zebra"


# Twice is once


async def test_repeating_an_ingest_changes_nothing(tmp_path: Path) -> None:
    extractor = ScriptedExtractor({"I live in Porto": [fact("Lives in Porto", "home")]})
    async with open_memory(tmp_path, extractor=extractor) as memory:
        alice = memory.profile("app", "alice")
        first = await alice.ingest(
            messages_of("I live in Porto", "I live in Porto", "hello"), session_id="s1", wait=True
        )
        assert [message.new for message in first.messages] == [True, True, True]
        before = (await alice.stats(), await alice.messages(), (await alice.list()).items)
        again = await alice.ingest(messages_of("I live in Porto", "hello"), session_id="s1", wait=True)
        assert [message.new for message in again.messages] == [False, False]
        assert texts(again.memories) == ["Lives in Porto"]
        assert (await alice.stats(), await alice.messages(), (await alice.list()).items) == before


async def test_one_ingest_from_eight_tasks_at_once_is_one_ingest(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        conversation = messages_of(*(f"line {n}" for n in range(10)))
        receipts = await asyncio.gather(*(memory.profile("app", "alice").ingest(conversation) for _ in range(8)))
        assert sum(message.new for receipt in receipts for message in receipt.messages) == 10
        assert len({receipt.session_id for receipt in receipts}) == 1
        assert texts(await memory.profile("app", "alice").messages()) == [f"line {n}" for n in range(10)]


def from_threads(work: Callable[[], Any], count: int = 8) -> list[Any]:
    results: list[Any] = []
    start = threading.Barrier(count)

    def run() -> None:
        start.wait()
        try:
            results.append(work())
        except BaseException as failure:
            results.append(failure)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_one_write_from_eight_threads_at_once_is_one_write(tmp_path: Path) -> None:
    with Holdfast.open(tmp_path, embedder=HashingEmbedder(), extractor=ScriptedExtractor()) as memory:
        alice = memory.profile("app", "alice")
        receipts = from_threads(lambda: alice.ingest(messages_of("a", "b", "c"), session_id="s1"))
        assert sum(message.new for receipt in receipts for message in receipt.messages) == 3
        memories = from_threads(lambda: alice.remember("Likes trams", key="tram"))
        assert len({each.id for each in memories}) == 1
        stats = alice.stats()
        assert (stats.messages, stats.memories, stats.superseded) == (3, 1, 0)


@pytest.mark.parametrize("key", [None, "tram"])
async def test_repeating_a_remember_changes_nothing(tmp_path: Path, key: str | None) -> None:
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        first = await alice.remember("Likes trams", key=key, metadata={"a": [1, {"b": None}]}, value={"n": 1})
        for _ in range(3):
            again = await alice.remember("Likes trams", key=key, metadata={"a": [1, {"b": None}]}, value={"n": 1})
            assert again == first
        assert (await alice.stats()).memories == 1


async def test_one_keyed_memory_from_eight_tasks_at_once_is_one_memory(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        written = await asyncio.gather(*(alice.remember("Likes trams", key="tram") for _ in range(8)))
        assert len({each.id for each in written}) == 1
        assert (await alice.stats()).superseded == 0


async def test_one_keyless_memory_from_eight_tasks_at_once_is_one_memory(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        await alice.remember("Something else")
        await asyncio.gather(*(alice.remember("Likes trams") for _ in range(8)))
        assert (await alice.stats()).memories == 2


async def test_repeating_a_memory_without_words_changes_nothing(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        for _ in range(3):
            await alice.remember("👍")
        assert (await alice.stats()).memories == 1


async def test_repeating_one_of_many_alike_changes_nothing(tmp_path: Path) -> None:
    start = "Weekly report of the harbour office about ships cargo crews weather tides cranes fuel customs berths: "
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        for _ in range(2):
            for n in range(12):
                await alice.remember(start + "calm " * n + f"week {n}")
        assert (await alice.stats()).memories == 12


@pytest.mark.parametrize("value", [(1, 2), {1: "one"}], ids=["tuple", "number-as-name"])
async def test_repeating_a_value_that_json_changes_is_no_new_version(tmp_path: Path, value: Any) -> None:
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        for _ in range(3):
            await alice.remember("numbers", key="n", value=value)
        assert (await alice.stats()).superseded == 0


@pytest.mark.parametrize(("old", "new"), [("C", "C++"), ("5", "-5"), ("👍", "👎"), ("a/b", "a.b"), ("x", "X")])
async def test_a_keyed_write_that_differs_only_in_signs_is_kept(tmp_path: Path, old: str, new: str) -> None:
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        await alice.remember(old, key="k")
        await alice.remember(new, key="k")
        assert texts((await alice.list(key="k")).items) == [new]


@pytest.mark.parametrize("key", ["plain", "/workspace/src/app.py", "Größe 10%", "a_b*?[c]"])
async def test_a_key_finds_what_was_written_under_it(tmp_path: Path, key: str) -> None:
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        await alice.remember("here", key=key)
        assert texts((await alice.list(key=key)).items) == ["here"]
        assert texts((await alice.list(key_prefix=key[:3])).items) == ["here"]


@pytest.mark.parametrize("key", [" padded ", "cafe\u0301"])
async def test_a_key_is_normalised_alike_for_writing_and_reading(tmp_path: Path, key: str) -> None:
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        await alice.remember("here", key=key)
        assert texts((await alice.list(key=key)).items) == ["here"]


async def test_a_conversation_without_a_session_names_its_own(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        alice, bob = memory.profile("app", "alice"), memory.profile("app", "bob")
        first = await alice.ingest(messages_of("a", "b"))
        assert first.session_id.startswith("auto-")
        assert (await bob.ingest(messages_of("a", "b"))).session_id == first.session_id
        assert (await alice.ingest(messages_of("b", "a"))).session_id != first.session_id
        assert (await alice.ingest(messages_of("ab"))).session_id != first.session_id
        other = [{"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}]
        assert (await alice.ingest(other)).session_id != first.session_id
        assert len(await alice.messages(first.session_id)) == 2


# One current memory per key


async def test_a_key_said_twice_in_one_ingest_ends_with_the_later(tmp_path: Path) -> None:
    script: dict[str, list[Draft] | Exception] = {
        "I live in Lisbon": [fact("Lives in Lisbon", "home")],
        "I moved to Porto": [fact("Lives in Porto", "home")],
    }
    async with open_memory(tmp_path, extractor=ScriptedExtractor(script)) as memory:
        alice = memory.profile("app", "alice")
        receipt = await alice.ingest(messages_of("I live in Lisbon", "I moved to Porto"), session_id="s1", wait=True)
        assert receipt.pending == 0
        assert texts(receipt.memories) == ["Lives in Porto"]
        assert texts(await alice.history(receipt.memories[0].id)) == ["Lives in Porto", "Lives in Lisbon"]


async def remember_until_written(alice: LocalProfile, content: str, key: str) -> Memory:
    """Conflict is retryable: say it again until it is taken."""
    while True:
        try:
            return await alice.remember(content, key=key)
        except Conflict:
            continue


async def test_one_memory_per_key_is_current_under_many_writers(tmp_path: Path) -> None:
    dice = random.Random(7)
    plan = [[(dice.choice("abc"), f"writer {w} says {n}") for n in range(10)] for w in range(8)]
    async with open_memory(tmp_path) as memory:

        async def write(lines: list[tuple[str, str]]) -> list[Memory]:
            alice = memory.profile("app", "alice")
            return [await remember_until_written(alice, content, key) for key, content in lines]

        written = [each for batch in await asyncio.gather(*map(write, plan)) for each in batch]
        alice = memory.profile("app", "alice")
        for key in "abc":
            mine = {each.ref for each in written if each.key == key}
            current = (await alice.list(key=key)).items
            assert len(current) == 1
            history = await alice.history(current[0].id)
            assert {each.ref for each in history} == mine
            assert {each.id for each in history} == {current[0].id}
            assert [each.version for each in history] == [*range(len(mine), 0, -1)]
            assert [each.current for each in history] == [True] + [False] * (len(mine) - 1)
        assert (await alice.stats()).memories == 3


async def test_writers_of_one_key_wait_for_each_other_without_a_conflict(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")

        async def write(writer: int) -> None:
            for n in range(10):
                await alice.remember(f"writer {writer} says {n}", key="k")

        failures = [each for each in await asyncio.gather(*map(write, range(8)), return_exceptions=True) if each]
        assert failures == []


# A model that is slow, down or talks nonsense loses nothing


async def test_a_message_whose_extraction_fails_waits_is_tried_again_and_is_set_aside_in_sight(tmp_path: Path) -> None:
    clock = FrozenClock()
    extractor = ScriptedExtractor({"poison zebra": RuntimeError("no model today")})
    async with open_memory(tmp_path, extractor=extractor, clock=clock) as memory:
        alice = memory.profile("app", "alice")
        id = (await alice.ingest(messages_of("poison zebra"), session_id="bad", wait=True)).messages[0].id
        for tries in range(1, 6):
            message = await alice.get(id)
            assert isinstance(message, Message)
            assert (message.failures, message.pending) == (tries, tries < 5)
            assert (await alice.search("zebra"))[0].message_id == id
            await alice.ingest(messages_of(f"too early {tries}"), session_id="good", wait=True)
            assert extractor.seen.count(message) <= 1
            clock.advance(timedelta(seconds=10 * 4 ** (tries - 1)))
            await alice.ingest(messages_of(f"wake up {tries}"), session_id="good", wait=True)
        stats = await alice.stats()
        assert (stats.messages, stats.pending, stats.set_aside) == (11, 0, 1)
        assert sum(message.id == id for message in extractor.seen) == 5
    async with open_memory(tmp_path, clock=clock) as memory:
        assert (await memory.profile("app", "alice").search("zebra"))[0].message_id == id


async def test_failed_work_is_tried_again_without_a_further_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.service.worker.IDLE_SECONDS", 0.05)
    monkeypatch.setattr("holdfast.service.worker.POLL_SECONDS", 0.05)
    monkeypatch.setattr("holdfast.ingest.digest.MIN_RETRY_DELAY", timedelta(seconds=0.2))
    extractor = ScriptedExtractor({"hello": RuntimeError("busy")})
    async with open_memory(tmp_path, extractor=extractor) as memory:
        alice = memory.profile("app", "alice")
        await alice.ingest(messages_of("hello"), session_id="s1")
        await until(lambda: bool(extractor.seen))
        extractor.script["hello"] = [fact("Said hello")]

        async def digested() -> bool:
            return bool((await alice.list()).items)

        await until(digested)


async def test_a_poisonous_message_does_not_take_its_neighbours_along(tmp_path: Path) -> None:
    clock = FrozenClock()
    extractor = ScriptedExtractor({"poison": RuntimeError("boom"), "I live in Porto": [fact("Lives in Porto", "home")]})
    async with open_memory(tmp_path, extractor=extractor, clock=clock) as memory:
        alice = memory.profile("app", "alice")
        await alice.ingest(messages_of("I live in Porto", "poison"), session_id="s1", wait=True)
        for n in range(5):
            clock.advance(timedelta(days=1))
            await alice.ingest(messages_of(f"wake up {n}"), session_id="s2", wait=True)
        stats = await alice.stats()
        assert (stats.set_aside, texts((await alice.list()).items)) == (1, ["Lives in Porto"])


async def test_a_write_during_the_workers_last_round_is_digested_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed = digest.embed_missing_parts
    late = [messages_of("I live in Porto")]
    async with open_memory(
        tmp_path, extractor=ScriptedExtractor({"I live in Porto": [fact("Lives in Porto")]})
    ) as memory:
        alice = memory.profile("app", "alice")

        async def embed_then_write(store: Any, embedder: Embedder) -> int:
            embedded = await embed(store, embedder)
            if not embedded and late:
                await alice.ingest(late.pop(), session_id="s2")
            return embedded

        monkeypatch.setattr(digest, "embed_missing_parts", embed_then_write)
        await alice.ingest(messages_of("hello"), session_id="s1", wait=True)
        await alice.settle()
        assert (await alice.stats()).pending == 0


@of_files
async def test_a_write_while_the_worker_goes_to_rest_survives_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "IDLE_SECONDS", 0.05)
    rested = SqliteVault.rested
    writes: list[asyncio.Task[Any]] = []
    resting = asyncio.Event()
    gate = Gate()
    async with open_memory(tmp_path / "data", extractor=gate) as memory:
        alice = memory.profile("app", "alice")

        async def write_then_rest(vault: SqliteVault, namespace: str, profile: str, model: str) -> None:
            monkeypatch.setattr(SqliteVault, "rested", rested)
            gate.open.clear()
            writes.append(asyncio.create_task(alice.ingest(messages_of("I live in Porto"), session_id="s2")))
            resting.set()
            await asyncio.sleep(0.05)
            await rested(vault, namespace, profile, model)

        monkeypatch.setattr(SqliteVault, "rested", write_then_rest)
        gate.open.set()
        await alice.ingest(messages_of("hello"), session_id="s1", wait=True)
        await asyncio.wait_for(resting.wait(), 120)
        await asyncio.wait_for(writes[0], 120)
        shutil.copytree(tmp_path / "data", tmp_path / "crashed")
        gate.open.set()
    async with open_memory(tmp_path / "crashed") as memory:
        alice = memory.profile("app", "alice")
        await alice.settle(120)
        assert (await alice.stats()).pending == 0


class Moody(HashingEmbedder):
    """An embedder that can be down."""

    down = True

    async def embed(self, texts: Sequence[str]) -> list[Floats]:
        if self.down:
            raise ConnectionError("no embedder today")
        return await super().embed(texts)

    async def embed_query(self, text: str) -> Floats:
        if self.down:
            raise ConnectionError("no embedder today")
        return await super().embed_query(text)


async def test_without_an_embedder_writes_are_taken_and_words_still_find(tmp_path: Path) -> None:
    moody = Moody()
    extractor = ScriptedExtractor({"I live in Porto": [fact("Lives in Porto", "home")]})
    async with open_memory(tmp_path, embedder=moody, extractor=extractor) as memory:
        alice = memory.profile("app", "alice")
        receipt = await alice.ingest(messages_of("I live in Porto"), session_id="s1", wait=True)
        assert texts(receipt.memories) == ["Lives in Porto"]
        await alice.remember("Likes trams", key="tram")
        assert texts(await alice.search("trams")) == ["Likes trams"]
        assert "Porto" in (await alice.recall("Who lives in Porto?")).hits[0].content
        assert "Porto" in (await alice.context("Porto")).text
        assert (await alice.stats()).unembedded == 3
        moody.down = False
        await alice.ingest(messages_of("the embedder is back"), session_id="s1", wait=True)
        assert (await alice.stats()).unembedded == 0
        assert "meaning" in (await alice.search("trams"))[0].channels


@pytest.fixture
def short_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stop waits a moment for work that will not end, in place of seconds."""
    monkeypatch.setattr("holdfast.service.worker.MAX_STOP_SECONDS", 0.1)


@pytest.mark.usefixtures("short_stop")
async def test_work_in_hand_at_closing_goes_on_at_the_next_open(tmp_path: Path) -> None:
    gate = Gate()
    async with open_memory(tmp_path, extractor=gate) as memory:
        await memory.profile("app", "alice").ingest(messages_of("I live in Porto"), session_id="s1")
        await gate.reached.wait()
    async with open_memory(
        tmp_path, extractor=ScriptedExtractor({"I live in Porto": [fact("Lives in Porto")]})
    ) as memory:
        alice = memory.profile("app", "alice")
        await alice.settle(120)
        assert texts((await alice.list()).items) == ["Lives in Porto"]


@pytest.mark.usefixtures("short_stop")
async def test_closing_does_not_leave_anybody_waiting(tmp_path: Path) -> None:
    if PLACE["far"]:
        pytest.skip("it looks at one process from within")
    gate = Gate()
    async with open_memory(tmp_path, extractor=gate) as memory:
        waiting = asyncio.create_task(memory.profile("app", "alice").ingest(messages_of("hello"), wait=True))
        await gate.reached.wait()
        await memory.close()
        done, _ = await asyncio.wait([waiting], timeout=120)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert done


class Other(HashingEmbedder):
    """Another model, of other dimensions."""

    model = "test/other/32"

    def __init__(self) -> None:
        self.go = asyncio.Event()

    async def embed(self, texts: Sequence[str]) -> list[Floats]:
        await self.go.wait()
        return await super().embed(texts)

    def _vector(self, text: str) -> Floats:
        folded = super()._vector(text).reshape(2, 32).sum(0) + np.float32(1e-3)
        return np.asarray(folded / np.linalg.norm(folded), np.float32)


async def with_meaning(alice: LocalProfile, count: int) -> bool:
    """Every one of so many searches finds; whether all went by meaning as well. Hashed vectors of several texts are
    equally near, so the one that is looked for need not be first."""
    for n in range(count):
        assert f"tale{n} of the harbour" in texts(await alice.search(f"tale{n}", limit=3))
    return (await alice.stats()).unembedded == 0


@pytest.mark.parametrize("written", [False, True], ids=["at-rest", "after-a-write"])
async def test_another_model_embeds_anew_in_the_background_while_searches_go_on(tmp_path: Path, written: bool) -> None:
    if PLACE["far"]:
        pytest.skip("it looks at one process from within")
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        await alice.ingest(messages_of(*(f"tale{n} of the harbour" for n in range(30))), session_id="s1", wait=True)
        await alice.settle()
    other = Other()
    async with open_memory(tmp_path, embedder=other) as memory:
        alice = memory.profile("app", "alice")
        assert (await alice.stats()).unembedded == 30
        other.go.set()
        if written:
            await alice.ingest(messages_of("one more line"), session_id="s1")
        await until(lambda: with_meaning(alice, 30))


# Forgotten is gone


@asynccontextmanager
async def profile_knowing(path: Path, *sessions: tuple[str, str, Draft]) -> AsyncIterator[LocalProfile]:
    """Alice, who said these texts in these sessions, one after another, and what was drawn from each."""
    script: dict[str, list[Draft] | Exception] = {}
    for _, text, draft in sessions:
        script.setdefault(text, []).append(draft)  # type: ignore[union-attr]
    async with open_memory(path, extractor=ScriptedExtractor(script)) as memory:
        alice = memory.profile("app", "alice")
        for session, text, _ in sessions:
            await alice.ingest(messages_of(text), session_id=session, wait=True)
        yield alice


LISBON = ("s1", "I live in Lisbon", fact("Lives in Lisbon", "home"))
PORTO = ("s2", "I moved to Porto", fact("Lives in Porto", "home"))


async def test_forgetting_a_memory_takes_its_versions_and_their_words_in_the_messages(tmp_path: Path) -> None:
    tram = ("s2", "I moved to Porto. I ride the tram.", fact("Rides the tram"))
    porto = ("s2", "I moved to Porto. I ride the tram.", fact("Lives in Porto", "home"))
    async with profile_knowing(tmp_path, LISBON, porto, tram) as alice:
        await alice.remember("Likes tea")
        home, said = (await alice.list(key="home"))[0].id, await alice.messages()
        taken = await alice.forget(home)
        assert (taken.memories, taken.messages, taken.shortened) == ((home,), (said[0].id,), (said[1].id,))
        assert sorted(texts((await alice.list()).items)) == ["Likes tea", "Rides the tram"]
        assert [(each.content, each.shortened) for each in await alice.messages()] == [("[…] I ride the tram.", True)]
        assert "Porto" not in str(await alice.search("Porto Lisbon home tram"))
        for id in (*taken.memories, *taken.messages):
            with pytest.raises(NotFound):
                await alice.get(id)


async def test_forgetting_the_newest_message_makes_the_older_version_current_again(tmp_path: Path) -> None:
    async with profile_knowing(tmp_path, LISBON, PORTO) as alice:
        taken = await alice.forget((await alice.messages("s2"))[0].id)
        assert (len(taken.memories), len(taken.messages)) == (1, 1)
        assert texts((await alice.list(key="home")).items) == ["Lives in Lisbon"]
        assert (await alice.search("home"))[0].content == "Lives in Lisbon"
        await alice.remember("Lives in Faro", key="home")
        assert [each.version for each in await alice.history((await alice.list(key="home"))[0].id)] == [3, 1]


async def test_forgetting_an_older_message_leaves_the_newer_version_current(tmp_path: Path) -> None:
    async with profile_knowing(tmp_path, LISBON, PORTO) as alice:
        await alice.forget((await alice.messages("s1"))[0].id)
        assert texts((await alice.list(key="home")).items) == ["Lives in Porto"]
        assert texts(await alice.history((await alice.list(key="home"))[0].id)) == ["Lives in Porto"]


async def test_a_memory_stays_while_one_of_its_messages_does(tmp_path: Path) -> None:
    again = ("s2", "As I said, Lisbon", fact("Lives in Lisbon", "home"))
    async with profile_knowing(tmp_path, LISBON, again) as alice:
        first, second = await alice.messages()
        assert (await alice.list())[0].sources == (first.id, second.id)
        await alice.forget(first.id)
        assert (await alice.list())[0].sources == (second.id,)
        await alice.forget(second.id)
        assert (await alice.list()).items == ()


async def test_forgetting_a_session_leaves_what_another_session_says_too(tmp_path: Path) -> None:
    again = ("s2", "As I said, Lisbon", fact("Lives in Lisbon", "home"))
    async with profile_knowing(tmp_path, LISBON, again) as alice:
        await alice.forget_session("s1")
        assert texts((await alice.list()).items) == ["Lives in Lisbon"]


async def test_forgetting_a_session_takes_what_was_written_in_it_and_nothing_else(tmp_path: Path) -> None:
    async with profile_knowing(tmp_path, LISBON, PORTO) as alice:
        await alice.remember("Said in passing", session_id="s2")
        await alice.remember("Likes tea")
        taken = await alice.forget_session("s2")
        assert (len(taken.memories), len(taken.messages)) == (2, 1)
        assert set(texts((await alice.list()).items)) == {"Lives in Lisbon", "Likes tea"}
        assert texts(await alice.messages()) == ["I live in Lisbon"]
        assert "Porto" not in await alice.summary()
        assert await alice.forget_session("s2") == await alice.forget_session("never")


async def test_what_is_forgotten_during_its_digestion_does_not_come_back(tmp_path: Path) -> None:
    gate = Gate({"My secret is zebra": [fact("The secret is zebra", "secret")]})
    async with open_memory(tmp_path, extractor=gate) as memory:
        alice = memory.profile("app", "alice")
        await alice.ingest(messages_of("My secret is zebra"), session_id="s1")
        await gate.reached.wait()
        await alice.forget_session("s1")
        gate.open.set()
        await alice.settle()
        assert (await alice.list()).items == ()


async def test_one_profile_neither_sees_nor_forgets_anothers(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        alice, bob = memory.profile("app", "alice"), memory.profile("app", "bob")
        mine = await alice.remember("Likes trams", key="tram")
        await bob.remember("Likes boats", key="boat")
        assert texts(await bob.search("trams")) == ["Likes boats"] or await bob.search("trams") == []
        for act in (bob.get, bob.history, bob.forget):
            with pytest.raises(NotFound):
                await act(mine.id)
        assert (await alice.get(mine.id)).content == "Likes trams"


# Tasks, time to live, many profiles, two interfaces


async def test_a_task_sinks_once_its_session_has_ended(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        for session, place in (("s1", "embassy"), ("s2", "consulate")):
            await alice.remember(f"Renew the passport at the {place}", kind="task", session_id=session)

        async def first() -> str:
            return (await alice.search("renew the passport", kind="task"))[0].content.split()[-1]

        await alice.ingest(messages_of("good morning"), session_id="s1", wait=True)
        assert await first() == "embassy"
        await alice.ingest(messages_of("good evening"), session_id="s2", wait=True)
        assert await first() == "consulate"
        await alice.settle()
        assert (await alice.stats()).unembedded == 0
        assert "meaning" not in (await alice.search("renew the passport", kind="task"))[0].channels


async def test_what_expires_leaves_search_recall_and_list(tmp_path: Path) -> None:
    clock = FrozenClock()
    async with open_memory(tmp_path, clock=clock) as memory:
        alice = memory.profile("app", "alice")
        await alice.remember("The code is 4711", key="code", ttl=60)
        await alice.remember("The door is green", expires_at=clock() + timedelta(minutes=2))
        assert len(await alice.list()) == 2
        clock.advance(timedelta(seconds=60))
        assert texts(await alice.search("code door")) == texts((await alice.list()).items) == ["The door is green"]
        assert (await alice.recall("What is the code?")).answer == ""
        assert "4711" not in await alice.summary()
        await alice.remember("The code is 4712", key="code")
        assert texts((await alice.list(key="code")).items) == ["The code is 4712"]
        clock.advance(timedelta(days=1))
        assert texts((await alice.list()).items) == ["The code is 4712"]


async def test_what_expired_is_forgotten_by_the_sweep(tmp_path: Path) -> None:
    clock = FrozenClock()
    async with open_memory(tmp_path, clock=clock) as memory:
        expired = await memory.profile("app", "alice").remember("The code is 4711", ttl=60)
    clock.advance(timedelta(days=2))
    async with open_memory(tmp_path, clock=clock) as memory:
        alice = memory.profile("app", "alice")
        await alice.ingest(messages_of("good morning"), wait=True)
        with pytest.raises(NotFound):
            await alice.get(expired.id)


@of_files
async def test_forty_profiles_through_three_open_files_answer_right(tmp_path: Path) -> None:
    dice = random.Random(11)
    told: dict[int, list[str]] = {n: [] for n in range(40)}
    async with open_memory(tmp_path, open_files=3) as memory:

        async def use(n: int, turn: int) -> None:
            profile = memory.profile("app", f"user {n}")
            if not told[n] or dice.random() < 0.4:
                text = f"user{n} saw bird{turn}"
                await profile.ingest(messages_of(text), session_id="s1")
                told[n].append(text)
            wanted = dice.choice(told[n])
            assert wanted in texts(await profile.search(wanted.split()[-1]))

        for turn in range(25):
            await asyncio.gather(*(use(n, turn) for n in dice.sample(range(40), 4)))
            assert len(memory.runtime.vault._awake) <= 3  # type: ignore[attr-defined]
        for n, texts_told in told.items():
            if texts_told:
                assert texts(await memory.profile("app", f"user {n}").messages()) == texts_told


def test_both_interfaces_have_the_same_methods() -> None:
    for front, core in ((Profile, LocalProfile), (Holdfast, AsyncHoldfast)):
        for name, method in inspect.getmembers(core, inspect.isfunction):
            if not name.startswith("_") and name != "start":
                mine = getattr(front, name)
                assert list(inspect.signature(mine).parameters) == list(inspect.signature(method).parameters), name
                assert mine.__doc__ == method.__doc__ or name == "close"


CHAT = messages_of("I live in Lisbon", "My sister Ana plays the cello", "We met in 2019")
AT = "2030-01-01T00:00:00Z"
READS: list[Callable[[Any], Any]] = [
    lambda alice: alice.search("where does Ana play", reference_date=AT),
    lambda alice: alice.recall("Where do I live?", reference_date=AT),
    lambda alice: alice.context("cello", tokens=200, reference_date=AT),
    lambda alice: alice.list(kind="fact"),
    lambda alice: alice.messages("s1"),
    lambda alice: alice.summary(),
    lambda alice: alice.stats(),
    lambda alice: alice.settle(),
]


def test_both_interfaces_give_the_same_results(tmp_path: Path) -> None:
    with Holdfast.open(tmp_path, embedder=HashingEmbedder(), extractor=ScriptedExtractor()) as memory:
        alice = memory.profile("app", "alice")
        receipt = alice.ingest(CHAT, session_id="s1", wait=True)
        note = alice.remember("Prefers window seats", key="seat")
        alice.settle()
        blocking = [read(alice) for read in READS]

    async def asynchronous() -> list[Any]:
        async with await AsyncHoldfast.open(
            tmp_path, embedder=HashingEmbedder(), extractor=ScriptedExtractor()
        ) as memory:
            alice = memory.profile("app", "alice")
            again = await alice.ingest(CHAT, session_id="s1", wait=True)
            assert [message.id for message in again.messages] == [message.id for message in receipt.messages]
            assert await alice.remember("Prefers window seats", key="seat") == note
            await alice.settle()
            return [await read(alice) for read in READS]

    assert asyncio.run(asynchronous()) == blocking


def test_both_interfaces_raise_the_same_errors(tmp_path: Path) -> None:
    def failure(work: Callable[[], Any]) -> tuple[Any, ...]:
        with pytest.raises(HoldfastError) as caught:
            work()
        return type(caught.value), str(caught.value), caught.value.field

    acts: list[Callable[[Any], Any]] = [
        lambda alice: alice.ingest([]),
        lambda alice: alice.search(""),
        lambda alice: alice.get("x"),
        lambda alice: alice.remember("x", kind="?"),
    ]
    with Holdfast.open(tmp_path, embedder=HashingEmbedder(), extractor=ScriptedExtractor()) as memory:
        for act in acts:
            inner = memory._inner.profile("app", "alice")
            mine = failure(lambda act=act: act(memory.profile("app", "alice")))
            assert failure(lambda act=act, inner=inner: memory._loop.run(act(inner))) == mine
