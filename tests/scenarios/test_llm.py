"""Digestion and recall with a language model, over real HTTP: every stage, and what happens when one goes wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast import Answer, AsyncHoldfast, Memory
from holdfast.domain import timestamps
from holdfast.models.llm.retry import RetryPolicy
from holdfast.testing import Asked, Fault, HashingEmbedder, ModelServer
from support.scripted_llm import ScriptedLlm, data_block

PORTO, LISBON = "The user lives in Porto.", "The user lives in Lisbon."
SAID = [{"role": "user", "content": "I live in Porto by the river."}]
MOVED = [{"role": "user", "content": "We moved, I live in Lisbon now."}]
KNOWN = {PORTO: "I live in Porto", LISBON: "I live in Lisbon"}
KEYS = {PORTO: "home-city", LISBON: "home-city"}


@asynccontextmanager
async def memory_with_llm(path: Path, mind: Any, **settings: Any) -> AsyncIterator[AsyncHoldfast]:
    async with (
        ModelServer(mind) as server,
        await AsyncHoldfast.open(
            path, embedder=HashingEmbedder(), llm=f"{server.url}#scripted", **settings
        ) as holdfast,
    ):
        yield holdfast


async def current(holdfast: AsyncHoldfast) -> list[Memory]:
    return list((await holdfast.profile("app", "ana").list()).items)


async def caught_up(holdfast: AsyncHoldfast) -> None:
    """Let the time pass that messages wait after a failure."""
    ahead = timedelta()
    holdfast.runtime.worker._clock = lambda: timestamps.now() + ahead
    profile = holdfast.profile("app", "ana")
    for _ in range(100):
        ahead += timedelta(minutes=20)
        holdfast.runtime.worker.notify(("app", "ana"))
        await profile.settle()
        if not (await profile.stats()).pending:
            return
        await asyncio.sleep(0.1)
    raise AssertionError("it never caught up")


async def test_what_the_model_finds_is_known_with_its_source_key_and_queries(tmp_path: Path) -> None:
    mind = ScriptedLlm(KNOWN, KEYS)
    async with memory_with_llm(tmp_path, mind) as holdfast:
        receipt = await holdfast.profile("app", "ana").ingest(SAID, wait=True)
        (memory,) = await current(holdfast)
        assert (memory.content, memory.key, memory.trust) == (PORTO, "home-city", "user")
        assert memory.sources == (receipt.messages[0].id,)
        assert memory.queries == ("What?", "Which?", "When?")
        assert memory.extractor == "custom/scripted/extract-2:extract-2"
        assert receipt.pending == 0
        assert mind.asked == {"extract": 1, "verify": 1, "classify": 1}


async def test_a_change_supersedes_and_known_keys_are_offered(tmp_path: Path) -> None:
    offered = []

    def classify(asked: Asked) -> Any:
        offered.append(data_block(asked, "keys"))
        return ScriptedLlm(KNOWN, KEYS)._classify(asked)

    async with memory_with_llm(tmp_path, ScriptedLlm(KNOWN, KEYS, classify=classify)) as holdfast:
        profile = holdfast.profile("app", "ana")
        await profile.ingest(SAID, wait=True)
        await profile.ingest(MOVED, wait=True)
        (memory,) = await current(holdfast)
        assert memory.content == LISBON
        assert [version.content for version in await profile.history(memory.id)] == [LISBON, PORTO]
        assert offered == ["(none)", "home-city"]


async def test_the_judge_decides_what_stands_beside_what(tmp_path: Path) -> None:
    apart = {"verdicts": [{"number": 1, "verdict": "apart"}]}
    async with memory_with_llm(tmp_path, ScriptedLlm(KNOWN, KEYS, compare=apart)) as holdfast:
        profile = holdfast.profile("app", "ana")
        await profile.ingest(SAID, wait=True)
        await profile.ingest(MOVED, wait=True)
        assert {memory.content: memory.key for memory in await current(holdfast)} == {PORTO: "home-city", LISBON: None}


async def test_what_the_judge_calls_the_same_is_one_more_source(tmp_path: Path) -> None:
    same = {"verdicts": [{"number": 1, "verdict": "same"}]}
    home = "The user has a home in Porto."
    known = {**KNOWN, home: "My home is in Porto"}
    async with memory_with_llm(tmp_path, ScriptedLlm(known, {**KEYS, home: "home-city"}, compare=same)) as holdfast:
        profile = holdfast.profile("app", "ana")
        await profile.ingest(SAID, wait=True)
        await profile.ingest([{"role": "user", "content": "My home is in Porto, you know."}], wait=True)
        (memory,) = await current(holdfast)
        assert memory.content == PORTO
        assert len(memory.sources) == 2


async def test_what_the_judge_calls_the_same_although_it_says_more_is_kept_beside(tmp_path: Path) -> None:
    same = {"verdicts": [{"number": 1, "verdict": "same"}]}
    async with memory_with_llm(tmp_path, ScriptedLlm(KNOWN, KEYS, compare=same)) as holdfast:
        profile = holdfast.profile("app", "ana")
        await profile.ingest(SAID, wait=True)
        await profile.ingest(MOVED, wait=True)
        assert {memory.content: memory.key for memory in await current(holdfast)} == {PORTO: "home-city", LISBON: None}


async def test_nothing_is_kept_without_a_quote_that_stands_in_the_conversation(tmp_path: Path) -> None:
    invented = {"items": [
        {"statement": "The user lives in Rome.", "lines": [1], "quote": "I live in Rome"},
        {"statement": "The user lives in Porto since 1987.", "lines": [1], "quote": "I live in Porto"},
        {"statement": "The user lives in Porto with Bruno.", "lines": [1], "quote": "I live in Porto"},
        {"statement": PORTO, "lines": [7], "quote": "i live in  porto"},
    ]}  # fmt: skip
    async with memory_with_llm(tmp_path, ScriptedLlm(extract=invented)) as holdfast:
        await holdfast.profile("app", "ana").ingest(SAID, wait=True)
        assert [memory.content for memory in await current(holdfast)] == [PORTO]


async def test_verification_corrects_and_drops_and_says_why(tmp_path: Path) -> None:
    items = {PORTO: "I live in Porto", "The user owns a river.": "by the river"}
    verdicts = {"verdicts": [
        {"number": 1, "verdict": "correct", "statement": "The user lives in Porto by the river.", "failed": "location",
         "reason": "the river was left out"},
        {"number": 2, "verdict": "drop", "statement": None, "failed": "support", "reason": "nobody owns it"},
    ]}  # fmt: skip
    async with memory_with_llm(tmp_path, ScriptedLlm(items, verify=verdicts)) as holdfast:
        profile = holdfast.profile("app", "ana")
        await profile.ingest(SAID, wait=True)
        (memory,) = await current(holdfast)
        assert memory.content == "The user lives in Porto by the river."
        assert memory.extractor.endswith(":extract-2+verify-2")
        (trace,) = [trace for trace in await profile.traces() if trace.operation == "digest"]
        assert [(each["verdict"], each["failed"]) for each in trace.details["verification"]] == [
            ("correct", "location"), ("drop", "support"),
        ]  # fmt: skip


async def test_long_conversations_are_read_twice_and_in_pieces(tmp_path: Path) -> None:
    said = [{"role": "user", "content": f"Note {n}. " + "x" * 900} for n in range(24)]
    mind = ScriptedLlm({"The user has note 7.": "Note 7."})
    async with memory_with_llm(tmp_path, mind) as holdfast:
        await holdfast.profile("app", "ana").ingest(said, wait=True)
        assert [memory.content for memory in await current(holdfast)] == ["The user has note 7."]
        assert mind.asked["extract"] == 3
        assert mind.asked["detail"] == 3  # two pieces have enough messages for a second reading, one needs two windows
        assert mind.asked.total() <= 8 * 3


async def test_without_the_model_the_offline_extractor_steps_in_and_the_messages_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RetryPolicy, "wait", lambda *_: 0.001)
    down = [True]

    def extract(asked: Asked) -> Any:
        return Fault.STATUS_503 if down[0] else ScriptedLlm(KNOWN, KEYS)._extract(asked)

    async with memory_with_llm(tmp_path, ScriptedLlm(KNOWN, KEYS, extract=extract), llm_seconds=60) as holdfast:
        profile = holdfast.profile("app", "ana")
        receipt = await profile.ingest(SAID, wait=True)
        assert receipt.pending == 1
        (makeshift,) = await current(holdfast)
        assert makeshift.extractor.startswith("rules/")
        assert (await profile.stats()).failing == 1
        down[0] = False
        await caught_up(holdfast)
        (memory,) = await current(holdfast)
        assert memory.extractor.startswith("custom/scripted")
        assert (await profile.stats()).pending == 0


async def test_an_answer_is_written_from_what_was_found_and_cites_it(tmp_path: Path) -> None:
    told: list[Asked] = []

    def answer(asked: Asked) -> Any:
        told.append(asked)
        return {"supported": True, "answer": "Porto, by the river.", "cited": [1, 99]}

    async with memory_with_llm(tmp_path, ScriptedLlm(answer=answer)) as holdfast:
        profile = holdfast.profile("app", "ana")
        await profile.ingest(SAID, wait=True)
        found = await profile.recall("Where do I live?")
        assert found.answer == "Porto, by the river."
        assert [citation.hit for citation in found.citations] == [found.hits[0].id]
        assert "I live in Porto by the river." in data_block(told[0], "memories")
        pieces = [piece async for piece in profile.recall_stream("Where do I live?")]
        assert "".join(piece for piece in pieces if isinstance(piece, str)) == "Porto, by the river."
        assert isinstance(pieces[-1], Answer)


async def test_an_unsupported_or_uncited_answer_is_none(tmp_path: Path) -> None:
    said: dict[str, Any] = {}
    async with memory_with_llm(tmp_path, ScriptedLlm(answer=lambda asked: said)) as holdfast:
        profile = holdfast.profile("app", "ana")
        await profile.ingest(SAID, wait=True)
        for bad in ({"supported": False, "answer": "Rome", "cited": [1]},
                    {"supported": True, "answer": "Rome", "cited": []},
                    {"supported": True, "answer": "Rome", "cited": [0, 50]}):  # fmt: skip
            said.clear()
            said.update(bad)
            found = await profile.recall("Where do I live?", thinking_level="high")
            assert (found.answer, found.citations) == ("", ())
            assert found.hits


async def test_a_model_that_fails_leaves_the_offline_answer(tmp_path: Path) -> None:
    async with memory_with_llm(tmp_path, ScriptedLlm(answer=Fault.NOT_JSON, analyse=Fault.EMPTY)) as holdfast:
        profile = holdfast.profile("app", "ana")
        await profile.ingest(SAID, wait=True)
        assert "Porto" in (await profile.recall("Where do I live?")).answer


async def test_the_analysis_widens_the_search(tmp_path: Path) -> None:
    analysis = {"keys": [], "terms": ["seats"], "answer": "The user prefers window seats."}
    async with memory_with_llm(tmp_path, ScriptedLlm(analyse=analysis)) as holdfast:
        profile = holdfast.profile("app", "ana")
        await profile.remember("Prefers window seats", kind="fact", key="seats")
        for n in range(12):
            await profile.remember(f"Travel note {n}: booked a trip", kind="event")
        await profile.settle()
        found = await profile.recall("How should a trip be booked?")
        assert any("question" in hit.channels and "window" in hit.content for hit in found.hits)


async def test_remembering_files_what_has_neither_kind_nor_key(tmp_path: Path) -> None:
    mind = ScriptedLlm(keys={"I live in Lisbon": "home-city"})
    async with memory_with_llm(tmp_path, mind) as holdfast:
        profile = holdfast.profile("app", "ana")
        kept = await profile.remember("I live in Lisbon")
        assert (kept.kind, kept.key, kept.queries) == ("fact", "home-city", ("What?", "Which?", "When?"))
        await profile.remember("Buy milk", kind="task")
        assert mind.asked["classify"] == 1


async def test_a_model_that_cannot_file_does_not_stand_in_the_way(tmp_path: Path) -> None:
    async with memory_with_llm(tmp_path, ScriptedLlm(classify=Fault.NOT_JSON)) as holdfast:
        kept = await holdfast.profile("app", "ana").remember("I live in Lisbon")
        assert (kept.kind, kept.key) == ("fact", None)


async def test_usage_is_counted_and_a_ceiling_ends_it(tmp_path: Path) -> None:
    mind = ScriptedLlm(KNOWN, KEYS)
    async with memory_with_llm(tmp_path, mind, llm_ceiling="1 tokens") as holdfast:
        profile = holdfast.profile("app", "ana")
        await profile.ingest(SAID, wait=True)
        (spent,) = await profile.usage()
        assert (spent.model, spent.task, spent.calls) == ("custom/scripted", "extract", 1)
        assert spent.input > 0
        assert mind.asked.total() == 1
        assert (await profile.stats()).pending == 1
        assert await profile.usage("1999-01") == ()
        assert spent.cost is None


async def test_usage_has_its_price_and_a_ceiling_may_be_money(tmp_path: Path) -> None:
    async with memory_with_llm(
        tmp_path, ScriptedLlm(KNOWN, KEYS), llm_price="1000/2000", llm_ceiling="0.000001"
    ) as holdfast:
        profile = holdfast.profile("app", "ana")
        await profile.ingest(SAID, wait=True)
        (spent,) = await profile.usage()
        assert spent.cost == round((spent.input * 1000 + spent.output * 2000) / 1_000_000, 6)
        assert (await profile.stats()).failing == 1


async def test_redigesting_replaces_what_was_drawn_and_keeps_what_was_written_by_hand(tmp_path: Path) -> None:
    mind = ScriptedLlm({PORTO: "I live in Porto"}, KEYS)
    async with memory_with_llm(tmp_path, mind) as holdfast:
        profile = holdfast.profile("app", "ana")
        await profile.ingest(SAID, wait=True)
        await profile.remember("Written by hand", kind="note")
        mind.items = {"The user lives in Porto by the river.": "by the river"}
        would = await profile.redigest(dry_run=True)
        assert (would.messages, would.memories) == (1, 1)
        assert {memory.content for memory in await current(holdfast)} == {PORTO, "Written by hand"}
        assert await profile.redigest() == would
        await profile.settle()
        contents = {memory.content for memory in await current(holdfast)}
        assert contents == {"The user lives in Porto by the river.", "Written by hand"}
