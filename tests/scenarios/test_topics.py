"""What is remembered without a key: a plain statement is filed under its topic, everything else is kept as it is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from holdfast import AsyncHoldfast, LocalProfile
from holdfast.models.rules import RuleExtractor
from holdfast.models.rules.findings.topic import topic_draft
from holdfast.storage.in_memory import MemoryVault
from holdfast.testing import HashingEmbedder, ScriptedExtractor

NOW = datetime(2026, 2, 20, 9, tzinfo=UTC)


@pytest.fixture
async def ana() -> AsyncIterator[LocalProfile]:
    async with AsyncHoldfast(MemoryVault(), HashingEmbedder(), RuleExtractor()) as holdfast:
        yield holdfast.profile("app", "ana")


async def current(profile: LocalProfile, **narrowed: Any) -> list[str]:
    return [memory.content for memory in (await profile.list(**narrowed)).items]


async def test_a_new_value_takes_the_place_of_the_one_remembered_before(ana: LocalProfile) -> None:
    await ana.remember("I live in Porto")
    kept = await ana.remember("I live in Lisbon now")
    assert (kept.key, kept.version) == ("home-city", 2)
    assert await current(ana) == ["I live in Lisbon now"]
    assert [each.content for each in await ana.history(kept.id)] == ["I live in Lisbon now", "I live in Porto"]


async def test_what_is_said_and_what_is_remembered_take_the_place_of_each_other(ana: LocalProfile) -> None:
    await ana.remember("I live in Porto")
    await ana.remember("I live in Lisbon now")
    await ana.ingest([{"role": "user", "content": "I moved to Rome."}], session_id="s", wait=True)
    assert await current(ana, key="home-city") == ["The user lives in Rome."]
    await ana.remember("User's home city is Oslo")
    assert await current(ana, key="home-city") == ["User's home city is Oslo"]


async def test_what_the_caller_gives_wins(ana: LocalProfile) -> None:
    assert (await ana.remember("I live in Porto", key="address")).key == "address"
    assert (await ana.remember("I live in Porto", kind="note")).key is None
    assert (await ana.remember("I live in Porto", value={"city": "Porto"})).key is None
    assert (await ana.remember("I live in Porto", occurred_at="2019-01-01")).key is None
    assert (await ana.remember("I live in Porto", ttl=60)).key is None
    assert (await ana.remember("I live in Porto", trust="tool")).key is None
    kept = await ana.remember("I live in Porto", metadata={"via": "phone"})
    assert (kept.key, kept.metadata) == ("home-city", {"via": "phone"})


async def test_it_can_be_switched_off(ana: LocalProfile) -> None:
    for city in ("Porto", "Lisbon"):
        assert (await ana.remember(f"I live in {city}", topic=False)).key is None
    assert len(await current(ana)) == 2


async def test_the_same_again_is_one_memory(ana: LocalProfile) -> None:
    first = await ana.remember("I live in Porto", idempotency_key="k")
    assert (await ana.remember("I live in Porto")).id == first.id
    assert (await ana.remember("I live in Porto", idempotency_key="k")).id == first.id


async def test_an_extractor_that_knows_no_topics_is_not_asked() -> None:
    async with AsyncHoldfast(MemoryVault(), HashingEmbedder(), ScriptedExtractor()) as holdfast:
        assert (await holdfast.profile("app", "ana").remember("I live in Porto")).key is None


class Failing(RuleExtractor):
    async def topic(self, text: str, at: datetime) -> Any:
        raise RuntimeError("no")


async def test_a_topic_that_cannot_be_found_out_keeps_nothing_from_being_remembered() -> None:
    async with AsyncHoldfast(MemoryVault(), HashingEmbedder(), Failing()) as holdfast:
        assert (await holdfast.profile("app", "ana").remember("I live in Porto")).key is None


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("I live in Lisbon, Portugal.", "home-city"),
        ("The user lives in Lisbon", "home-city"),
        ("I moved to Lisbon last week", "home-city"),
        ("User's timezone is Europe/Lisbon", "timezone"),
        ("My brother lives in Lyon", "brother.home-city"),
        ("The API rate limit is 500 rps", "api-rate-limit"),
        ("I drive a Tesla now", "car"),
        ("I'm 34 years old", "age"),
    ],
)
def test_a_plain_statement_has_a_topic(text: str, key: str) -> None:
    found = topic_draft(text, NOW)
    assert found is not None
    assert found.key == key


@pytest.mark.parametrize(
    "text",
    [
        "I live in Porto and work at Acme",
        "I live in Porto with my two dogs",
        "I live in Porto on weekends",
        "I live in Porto until March",
        "I live in Porto. I like it.",
        "I used to live in Porto",
        "I no longer live in Porto",
        "Do I live in Porto?",
        "If I live in Porto I will be happy",
        "I have a bike",
        "I like tea",
        "I speak German",
        "never use an ORM",
        "My wifi password is hunter2-blue",
        "Berlin office uses Slack",
    ],
)
def test_what_says_more_or_is_no_single_value_has_none(text: str) -> None:
    assert topic_draft(text, NOW) is None
