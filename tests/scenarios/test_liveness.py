"""Nothing hangs, nothing starves, nothing comes back: what happens when things happen at once."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import thread
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast import AsyncHoldfast, Closed, Holdfast, NotFound
from holdfast.domain.ports.storage import TopicKeyLoader, load_no_topic_keys
from holdfast.domain.types import Draft, Floats, Message
from holdfast.service import event_loop, worker
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing import FrozenClock, HashingEmbedder, ScriptedExtractor
from holdfast.testing.conformance import message
from holdfast.text.passages import index_parts


class Topics(ScriptedExtractor):
    """One fact about each message."""

    async def extract(
        self, messages: Sequence[Message], before: Sequence[Message], keys: TopicKeyLoader = load_no_topic_keys
    ) -> list[Draft]:
        await asyncio.sleep(0.001)
        return [Draft("fact", f"knows {message.content}", (message.id,)) for message in messages]


@asynccontextmanager
async def open_memory(path: Path, **given: Any) -> AsyncIterator[AsyncHoldfast]:
    vault = SqliteVault(path, open_files=given.pop("open_files", 128))
    embedder = given.pop("embedder", HashingEmbedder())
    memory = AsyncHoldfast(vault, embedder, given.pop("extractor", ScriptedExtractor()), **given)
    async with memory:
        yield memory


def messages_of(*texts: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text} for text in texts]


class Stuck(Topics):
    """Never ends with a message that says so, until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()

    async def extract(
        self, messages: Sequence[Message], before: Sequence[Message], keys: TopicKeyLoader = load_no_topic_keys
    ) -> list[Draft]:
        if any(message.content == "stuck" for message in messages):
            self.begun.set()
            await self.go_on.wait()
        return await super().extract(messages, before, keys)


async def test_a_long_step_of_one_profile_does_not_stop_the_others(tmp_path: Path) -> None:
    extractor = Stuck()
    async with open_memory(tmp_path, extractor=extractor) as memory:
        await memory.profile("app", "one").ingest(messages_of("stuck"))
        await extractor.begun.wait()
        for n in range(5):
            other = memory.profile("app", f"other{n}")
            receipt = await other.ingest(messages_of("tea"), wait=True)
            assert [memory.content for memory in receipt.memories] == ["knows tea"]
        extractor.go_on.set()
        assert await memory.profile("app", "one").settle(120)


async def test_forgetting_and_making_room_do_not_wait_for_each_other(tmp_path: Path) -> None:
    async with open_memory(tmp_path, open_files=1) as memory:
        one, two = memory.profile("app", "one"), memory.profile("app", "two")
        await two.remember("x")
        for n in range(20):
            id = (await one.remember(f"thing {n}")).id
            async with asyncio.timeout(120):
                await asyncio.gather(one.forget(id), two.stats(), one.stats(), two.stats())


async def test_closing_during_a_forget_ends(tmp_path: Path) -> None:
    async with asyncio.timeout(120):
        async with open_memory(tmp_path) as memory:
            one = memory.profile("app", "one")
            id = (await one.remember("thing")).id
            forgetting = asyncio.create_task(one.forget(id))
            await asyncio.sleep(0)
        await asyncio.gather(forgetting, return_exceptions=True)


async def test_what_is_drawn_from_a_message_while_it_is_forgotten_does_not_stay(tmp_path: Path) -> None:
    async with open_memory(tmp_path, extractor=Topics()) as memory:
        alice = memory.profile("app", "alice")
        for n in range(60):
            await alice.ingest(messages_of(f"thing {n}"), session_id=f"s{n}")
            await asyncio.sleep(n % 6 / 1000)
            await alice.forget_session(f"s{n}")
        await alice.settle()
        stats = await alice.stats()
        assert (stats.messages, stats.memories, stats.superseded) == (0, 0, 0)


async def test_a_namespace_that_goes_takes_a_profile_that_comes(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        for n in range(10):
            await memory.profile("app", "old").remember("x")
            writing = asyncio.create_task(memory.profile("app", f"new {n}").remember("y"))
            await asyncio.gather(memory.delete_namespace("app"), writing, return_exceptions=True)
            for namespace in await memory.namespaces():
                await memory.delete_namespace(namespace.name)
        assert not list((tmp_path / "profiles").rglob("*.db"))


async def test_one_backlog_does_not_starve_the_others(tmp_path: Path) -> None:
    class Counting(HashingEmbedder):
        embedded = 0
        begin = asyncio.Event()

        async def embed(self, texts: Sequence[str]) -> list[Floats]:
            await self.begin.wait()
            await asyncio.sleep(0.0001 * len(texts))
            self.embedded += len(texts)
            return await super().embed(texts)

    embedder = Counting()
    async with open_memory(tmp_path, embedder=embedder) as memory:
        for start in range(0, 2000, 500):
            await memory.profile("app", "busy").ingest(messages_of(*(f"text {n}" for n in range(start, start + 500))))
        quiet = memory.profile("app", "quiet")
        await quiet.ingest(messages_of("hello"))
        embedder.begin.set()
        assert await quiet.settle(120)
        assert embedder.embedded < 1000


async def test_a_text_the_embedder_refuses_is_still_found_by_words_and_stops_nobody(tmp_path: Path) -> None:
    class Picky(HashingEmbedder):
        async def embed(self, texts: Sequence[str]) -> list[Floats]:
            if any("poison" in text for text in texts):
                raise RuntimeError("cannot read that")
            return await super().embed(texts)

    async with open_memory(tmp_path, embedder=Picky()) as memory:
        alice = memory.profile("app", "alice")
        await alice.ingest(messages_of("a zebra", "a poison frog", "a yak"), wait=True)
        assert (await alice.stats()).unembedded == 0
        assert (await alice.search("frog"))[0].content == "a poison frog"


async def test_a_vector_of_the_wrong_length_is_not_stored(tmp_path: Path) -> None:
    class Wrong(HashingEmbedder):
        async def embed(self, texts: Sequence[str]) -> list[Floats]:
            return [vector[:10] for vector in await super().embed(texts)]

    async with open_memory(tmp_path, embedder=Wrong()) as memory:
        alice = memory.profile("app", "alice")
        await alice.ingest(messages_of("a zebra"), wait=True)
        assert (await alice.stats()).unembedded == 1
        assert (await alice.search("zebra"))[0].content == "a zebra"


async def test_what_expires_does_not_bring_back_what_it_superseded(tmp_path: Path) -> None:
    clock = FrozenClock()
    async with open_memory(tmp_path, clock=clock) as memory:
        alice = memory.profile("app", "alice")
        await alice.remember("status is home", key="status")
        await alice.remember("status is away", key="status", ttl=60)
        clock.advance(timedelta(minutes=2))
        await alice.remember("something else")
        await alice.settle()
        assert [memory.content for memory in await alice.list()] == ["something else"]


async def test_a_search_gives_as_many_hits_as_asked_for(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        await alice.ingest(messages_of(*(f"zebra number {n}" for n in range(400))), wait=True)
        assert len(await alice.search("zebra", limit=300)) == 300


def test_dense_text_is_cut_so_that_a_model_reads_all_of_it() -> None:
    for text in ("東京の図書館で働いています。" * 100, "0x1F;{}[]=>" * 120, "plain words and more " * 60):
        from holdfast.text.static_vectors import vocabulary

        assert all(len(vocabulary().ids(text[part.start : part.stop])) <= 450 for part in index_parts(message(text)))


SCRIPTS = {
    "ends without close": """
        from holdfast import Holdfast
        alice = Holdfast.open({folder!r}, embedder="potion").profile("app", "alice")
        alice.ingest([{{"role": "user", "content": "I live in Porto"}}])
        memory = Holdfast.open({folder!r} + "2", embedder="potion")
        memory.profile("app", "bob").remember("x")
    """,
    "closes while another thread reads": """
        import threading, time
        from holdfast import Holdfast, HoldfastError
        memory = Holdfast.open({folder!r}, embedder="potion")
        alice = memory.profile("app", "alice")
        alice.remember("x")
        def read():
            try:
                while True:
                    alice.search("x")
            except HoldfastError:
                pass
        threads = [threading.Thread(target=read) for _ in range(3)]
        [thread.start() for thread in threads]
        time.sleep(0.2)
        memory.close()
        [thread.join(120) for thread in threads]
        assert not any(thread.is_alive() for thread in threads)
    """,
    "forks": """
        import os, sys
        from holdfast import Closed, Holdfast
        memory = Holdfast.open({folder!r}, embedder="potion")
        alice = memory.profile("app", "alice")
        alice.remember("x")
        child = os.fork()
        if child == 0:
            try:
                alice.search("x")
            except Closed:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        memory.close()
    """,
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_ends_quietly(script: str, tmp_path: Path) -> None:
    code = textwrap.dedent(SCRIPTS[script]).format(folder=str(tmp_path / "data"))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=400)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_profile_keeps_its_holdfast_open(tmp_path: Path) -> None:
    alice = Holdfast.open(tmp_path, embedder=HashingEmbedder(), extractor=ScriptedExtractor()).profile("app", "alice")
    assert alice.remember("x").content == "x"
    alice._holdfast.close()


def test_the_synchronous_front_works_inside_a_running_loop_and_from_many_threads(tmp_path: Path) -> None:
    with Holdfast.open(tmp_path, embedder=HashingEmbedder(), extractor=ScriptedExtractor()) as memory:

        async def inside() -> str:
            return memory.profile("app", "alice").remember("x").content

        assert asyncio.run(inside()) == "x"
        threads = [
            threading.Thread(target=memory.profile("app", f"user {n}").remember, args=(f"thing {n}",)) for n in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert len(memory.profiles("app")) == 9
    with pytest.raises(Closed):
        memory.namespaces()


async def test_of_a_deleted_profile_nothing_is_left(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        kept = await alice.remember("x")
        await memory.delete_profile("app", "alice")
        assert (await alice.stats()).memories == 0
        with pytest.raises(NotFound):
            await alice.get(kept.id)


def test_two_values_in_one_ingest_are_history_and_the_later_is_the_answer(tmp_path: Path) -> None:
    with Holdfast.open(tmp_path, embedder="potion") as memory:
        alice = memory.profile("app", "alice")
        alice.ingest(messages_of("I live in Porto", "We moved to Lisbon in May"), wait=True)
        assert alice.recall("Where do I live?").answer == "The user lives in Lisbon."
        versions = alice.history(alice.list(key="home-city")[0].id)
        assert [version.content for version in versions] == ["The user lives in Lisbon.", "The user lives in Porto."]


class Loading(HashingEmbedder):
    """Of this machine, and slow to begin."""

    model = "local/hashing/64"

    def __init__(self) -> None:
        self._loaded = False

    async def embed(self, texts: Sequence[str]) -> list[Floats]:
        if not self._loaded:
            await asyncio.sleep(0.7)  # longer than a read waits in use
            self._loaded = True
        return await super().embed(texts)


class Held(Topics):
    """Digests when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()

    async def extract(
        self, messages: Sequence[Message], before: Sequence[Message], keys: TopicKeyLoader = load_no_topic_keys
    ) -> list[Draft]:
        await self.go.wait()
        return await super().extract(messages, before, keys)


async def test_the_first_read_of_a_process_waits_for_the_models(tmp_path: Path) -> None:
    async with open_memory(tmp_path, embedder=Loading(), extractor=Topics()) as memory:
        ana = memory.profile("app", "ana")
        await ana.ingest(messages_of("one"), session_id="s")
        await ana.ingest(messages_of("two"), session_id="t")
        assert {each.content for each in (await ana.list()).items} == {"knows one", "knows two"}
        assert not (await ana.recall("what is known?")).pending


@pytest.mark.short_waits
async def test_an_answer_says_when_something_was_still_to_be_digested(tmp_path: Path) -> None:
    held = Held()
    async with open_memory(tmp_path, extractor=held) as memory:
        ana = memory.profile("app", "ana")
        await ana.ingest(messages_of("The harbour bridge opens in June"))
        assert (await ana.recall("Who is the mayor?")).pending
        assert (await memory.across("app", ["ana"]).recall("Who is the mayor?")).pending
        held.go.set()
        assert await ana.settle(120)
        assert not (await ana.recall("Who is the mayor?")).pending


async def test_what_stands_for_the_rules_has_everything_they_have(tmp_path: Path) -> None:
    from holdfast.models.rules import RuleExtractor
    from holdfast.service.wiring import wire

    parts = wire(tmp_path, embedder=HashingEmbedder())
    assert {name for name in dir(RuleExtractor) if name[0] != "_"} <= set(dir(parts.extractor))
    await parts.vault.close()


async def test_a_quiet_profile_rests_while_another_is_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else every profile that was ever written would be visited again and again under steady traffic."""
    monkeypatch.setattr(worker, "IDLE_SECONDS", 0.5)
    vault = SqliteVault(tmp_path)
    async with AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor()) as memory:
        await memory.profile("app", "quiet").ingest(messages_of("hello"), session_id="s")
        for n in range(1000):
            await memory.profile("app", "busy").ingest(messages_of(f"said {n}"), session_id="s")
            if ("app", "quiet") not in await vault.waiting(HashingEmbedder().model):
                return
            await asyncio.sleep(0.01)
        raise AssertionError("the quiet profile still waits after a thousand writes to another")


def test_collecting_a_holdfast_that_nobody_closed_waits_for_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_loop, "MAX_COLLECTED_SECONDS", 0.1)
    memory = Holdfast.open(tmp_path)
    memory.profile("app", "ana").remember("Likes tea")
    with thread._global_shutdown_lock:  # type: ignore[attr-defined]  # as while another Holdfast submits work
        del memory
        gc.collect()
    while any(each.name == "holdfast" for each in threading.enumerate()):  # it is closed once the lock is free
        time.sleep(0.01)
    with Holdfast.open(tmp_path) as again:
        assert [each.content for each in again.profile("app", "ana").list()] == ["Likes tea"]
