"""A search in a profile that was searched before finds what a fresh one finds, whatever was written in between."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from holdfast import AsyncHoldfast, Hit
from holdfast.domain.types import Floats
from holdfast.service.profile.local import LocalProfile
from holdfast.testing import HashingEmbedder
from holdfast.text.cache import TextCache

QUESTIONS = ("Where do I live?", "What is the dog called?", "my budget", "what did the sales agent say?", "green tea")


async def found(profile: LocalProfile) -> list[list[Hit]]:
    await profile.settle()
    return [await profile.search(question, limit=20) for question in QUESTIONS]


async def sleep(memory: AsyncHoldfast) -> None:
    """Drop everything that was read."""
    store: Any = await memory.runtime.vault.open("app", "p", create=False)
    await store.sleep()


async def test_writes_show_in_a_profile_that_was_searched_before(tmp_path: Path) -> None:
    async with await AsyncHoldfast.open(tmp_path, embedder=HashingEmbedder()) as memory:
        profile = memory.profile("app", "p")

        async def same_as_fresh() -> list[list[Hit]]:
            warm = await found(profile)
            assert await found(profile) == warm
            await sleep(memory)
            assert await found(profile) == warm
            return warm

        said = [{"role": "user", "content": text} for text in ("I live in Lisbon.", "Our dog is called Pepper.")]
        await profile.ingest(said, session_id="s")
        seen = [await same_as_fresh()]
        await profile.ingest([{"role": "user", "content": "We moved, I live in Porto now."}], session_id="s")
        seen.append(await same_as_fresh())
        budget = await profile.remember("The budget is 300 euros.", key="budget")
        seen.append(await same_as_fresh())
        revised = await profile.revise(budget.id, content="The budget is 400 euros.")
        seen.append(await same_as_fresh())
        await profile.remember("Green tea is on offer.", metadata={"shelf": [1]}, expires_at="2099-01-01T00:00:00Z")
        seen.append(await same_as_fresh())
        await profile.forget(revised.id)
        seen.append(await same_as_fresh())
        assert all(before != after for before, after in pairwise(seen))


async def test_what_a_caller_changes_in_a_hit_stays_with_the_caller(tmp_path: Path) -> None:
    async with await AsyncHoldfast.open(tmp_path, embedder=HashingEmbedder()) as memory:
        profile = memory.profile("app", "p")
        kept = await profile.remember("Green tea is on offer.", metadata={"shelf": [1]})
        (hit,) = await profile.search("green tea")
        hit.metadata["shelf"].append(2)  # type: ignore[union-attr]
        hit.metadata["price"] = 3
        (again,) = await profile.search("green tea")
        assert again.metadata == {"shelf": [1]}
        assert (await profile.get(kept.id)).metadata == {"shelf": [1]}


@pytest.mark.parametrize("agent", [None, "sales"])
async def test_a_new_agent_is_known_at_once(tmp_path: Path, agent: str | None) -> None:
    async with await AsyncHoldfast.open(tmp_path, embedder=HashingEmbedder()) as memory:
        profile = memory.profile("app", "p")
        await profile.remember("Green tea is on offer.")
        await profile.search("What did the sales agent say about green tea?")
        told = profile if agent is None else profile.as_agent(agent)
        await told.remember("Green tea costs four euros.")
        hits = await profile.search("What did the sales agent say about green tea?")
        assert len(hits) == (2 if agent is None else 1)


class CountingEmbedder(HashingEmbedder):
    """Notes the questions that it embeds."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def embed_query(self, text: str) -> Floats:
        self.asked.append(text)
        return await super().embed_query(text)


async def test_a_question_asked_again_is_not_embedded_again_until_something_is_forgotten(tmp_path: Path) -> None:
    embedder = CountingEmbedder()
    async with await AsyncHoldfast.open(tmp_path, embedder=embedder) as memory:
        profile = memory.profile("app", "p")
        kept = await profile.remember("Green tea is on offer.")
        first = await profile.search("green tea")
        assert await profile.search("green tea") == first
        assert embedder.asked == ["green tea"]
        await profile.forget(kept.id)
        assert await profile.search("green tea") == []
        assert embedder.asked == ["green tea", "green tea"]


async def test_only_the_last_questions_are_held() -> None:
    held: TextCache[int] = TextCache(2)
    for n, text in enumerate(("one", "two", "three")):
        held.put(n, "model", text)
    assert [held.get("model", text) for text in ("one", "two", "three")] == [None, 1, 2]
