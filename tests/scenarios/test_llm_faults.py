"""A model that fails in every way it can: nothing is lost, nothing malformed is kept, all is caught up.

In `make prove` each fault is met two hundred times.
"""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast import AsyncHoldfast, Memory
from holdfast.domain import timestamps
from holdfast.domain.ports.storage import Store
from holdfast.models.llm import circuit_breaker, retry
from holdfast.testing import Asked, Fault, HashingEmbedder, ModelServer
from support.scripted_llm import ScriptedLlm, data_block, line_numbers, task_of

FAULTS = [fault for fault in Fault if fault not in (Fault.WRONG_DIMENSION, Fault.STATUS_400)]
WHO = ("app", "ana")


class Failing:
    """Answers every other request with the fault, until it has been met often enough."""

    def __init__(self, fault: Fault, times: int, mind: ScriptedLlm) -> None:
        self.fault, self.left, self.mind = fault, times, mind
        self.turn = 0

    def __call__(self, asked: Asked) -> str | Fault:
        self.turn += 1
        if self.left and self.turn % 2:
            self.left -= 1
            return self.fault
        return self.mind(asked)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test has a minute for a server that is silent."""
    quickly = (circuit_breaker.CircuitBreaker.__init__.__kwdefaults__ or {}) | {"rest": 0.05, "longest": 0.1}
    monkeypatch.setattr(circuit_breaker.CircuitBreaker.__init__, "__kwdefaults__", quickly)
    monkeypatch.setattr(retry.RetryPolicy, "wait", lambda self, tried: 0.01)


def apart(asked: Asked) -> Any:
    return {"verdicts": [{"number": n, "verdict": "apart"} for n in line_numbers(data_block(asked, "pairs"))]}


async def run(path: Path, fault: Fault, times: int) -> None:
    said = [f"The number of locker {n} is {n * 7 + 1000}." for n in range(6)]
    mind = ScriptedLlm({text: text for text in said}, compare=apart)
    failing = Failing(fault, times, mind)
    ahead = timedelta()
    async with (
        ModelServer(failing) as server,
        await AsyncHoldfast.open(
            path, embedder=HashingEmbedder(), llm=f"{server.url}#scripted", llm_seconds=1 if fault is Fault.SLOW else 60
        ) as holdfast,
    ):
        holdfast.runtime.worker._clock = lambda: timestamps.now() + ahead
        profile = holdfast.profile(*WHO)
        rounds = 0
        while failing.left or rounds == 0:
            texts = [{"role": "user", "content": f"{text} ({rounds})"} for text in said]
            for n, message in enumerate(texts):
                await profile.ingest([message], session_id=f"s{rounds}-{n}")
            await profile.recall("What is the number of locker 3?")
            for _ in range(40):
                ahead += timedelta(hours=2)
                holdfast.runtime.worker.notify(WHO)
                await profile.settle()
                if not failing.left:
                    break
            rounds += 1
            assert rounds < times
        for _ in range(100):
            ahead += timedelta(hours=2)
            holdfast.runtime.worker.notify(WHO)
            await profile.settle()
            if not (await profile.stats()).pending:
                break
        await settled_well(holdfast, said, rounds)


async def settled_well(holdfast: AsyncHoldfast, said: list[str], rounds: int) -> None:
    profile = holdfast.profile(*WHO)
    stats = await profile.stats()
    assert stats.messages == len(said) * rounds
    assert stats.pending == 0
    memories = (await profile.list(limit=1000)).items
    known = {memory.content for memory in memories}
    aside = {message.id for message in await profile.messages() if message.aside}
    assert known >= set(said) or aside, "what was not set aside is known"
    for memory in memories:
        assert memory.content in said or memory.extractor.startswith("rules/")
        assert memory.sources
        assert "\0" not in memory.content
    store: Store = await holdfast.runtime.vault.open(*WHO, create=False)
    assert await only_one_head_each(store)


async def only_one_head_each(store: Store) -> bool:
    heads = [(m.kind, m.key) for m in (await store.scan(None, now=None, limit=1000)).items if m.key is not None]
    return len(heads) == len(set(heads))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name.lower())
async def test_a_failing_model_loses_nothing(tmp_path: Path, fault: Fault) -> None:
    await run(tmp_path, fault, 4 if fault is Fault.SLOW else 12)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name.lower())
async def test_a_model_that_fails_two_hundred_times_loses_nothing(tmp_path: Path, fault: Fault) -> None:
    await run(tmp_path, fault, 200)


async def test_whoever_is_always_second_keeps_both_in_sight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody writes the same key between every decision and its write: at last both statements stay."""
    statement = "The user lives in Porto."
    mind = ScriptedLlm({statement: "I live in Porto"}, {statement: "home-city"})
    async with (
        ModelServer(mind) as server,
        await AsyncHoldfast.open(tmp_path, embedder=HashingEmbedder(), llm=f"{server.url}#scripted") as holdfast,
    ):
        profile = holdfast.profile(*WHO)
        await profile.remember("Rome, at first", kind="fact", key="home-city")
        towns = iter(["Oslo", "Bonn", "Lyon", "Graz", "Cork", "Pisa"])
        store = await holdfast.runtime.vault.open(*WHO, create=False)
        apply = type(store).apply

        async def overtaken(self: Any, change: Any) -> Any:
            if any(memory.key == "home-city" and memory.sources for memory in change.memories):
                await profile.remember(f"{next(towns)}, meanwhile", kind="fact", key="home-city")
            return await apply(self, change)

        monkeypatch.setattr(type(store), "apply", overtaken)
        said = {"role": "user", "content": "I live in Porto.", "timestamp": "2099-01-01"}  # after every other
        await profile.ingest([said], wait=True)
        known: dict[str, Memory] = {memory.content: memory for memory in (await profile.list()).items}
        assert known["Lyon, meanwhile"].key == "home-city"
        assert (known[statement].key, known[statement].metadata) == (None, {"conflict": "home-city"})
        assert (await profile.stats()).pending == 0


async def test_an_answer_that_breaks_its_schema_is_repaired_once(tmp_path: Path) -> None:
    asked: list[str] = []
    good = ScriptedLlm({"The user lives in Porto.": "I live in Porto"})

    def slipping(request: Asked) -> str | Fault:
        task = task_of(request)
        asked.append(task)
        if asked.count(task) == 1:
            return json.dumps({"wrong": True})
        return good(request)

    async with (
        ModelServer(slipping) as server,
        await AsyncHoldfast.open(tmp_path, embedder=HashingEmbedder(), llm=f"{server.url}#scripted") as holdfast,
    ):
        receipt = await holdfast.profile(*WHO).ingest([{"role": "user", "content": "I live in Porto."}], wait=True)
        assert [memory.content for memory in receipt.memories] == ["The user lives in Porto."]
        assert asked == ["extract", "extract", "verify", "verify", "classify", "classify"]
        repair = json.dumps(server.seen[1].body)
        assert "cannot be used" in repair
        assert "wrong" in repair


async def test_an_answer_from_makeshift_memories_says_that_it_is_pending(tmp_path: Path) -> None:
    down = True
    mind = ScriptedLlm({"The locker is 1022.": "The locker is 1022."})

    def script(asked: Asked) -> str | Fault:
        return Fault.STATUS_500 if down else mind(asked)

    ahead = timedelta()
    async with (
        ModelServer(script) as server,
        await AsyncHoldfast.open(
            tmp_path, embedder=HashingEmbedder(), llm=f"{server.url}#scripted", llm_seconds=60
        ) as holdfast,
    ):
        holdfast.runtime.worker._clock = lambda: timestamps.now() + ahead
        profile = holdfast.profile(*WHO)
        await profile.ingest([{"role": "user", "content": "The locker is 1022."}], session_id="s", wait=True)
        assert (await profile.stats()).pending == 1
        assert (await profile.recall("Which number has the locker?")).pending
        down = False
        for _ in range(20):
            ahead += timedelta(hours=2)
            holdfast.runtime.worker.notify(WHO)
            await profile.settle()
        assert (await profile.stats()).pending == 0
        assert not (await profile.recall("Which number has the locker?")).pending
