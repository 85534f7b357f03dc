"""Forgetting what was cut from another statement, what another memory says too, and what had ended something."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from holdfast import AsyncHoldfast
from holdfast.domain.identifiers import remainder_id
from holdfast.domain.types import Change, Draft, Memory, Supersede
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing import HashingEmbedder, ScriptedExtractor

HUSBAND, REST, OFF_NIGHTS = "husband is Callum, he works nights", "husband is Callum", "Callum's off nights finally"
CHEAPER = (
    "sourdough is 4.20, rye 4.80, cinnamon buns 2.60 each",
    "putting prices up: sourdough to 4.50, buns 2.80. rye stays",
)
DOSES = (
    "the doctor put me on metformin 500mg twice a day",
    "Dr Lim upped the metformin to 1000 twice a day. sugar 7.8 this morning",
)


@pytest.fixture
async def ana(tmp_path: Path) -> AsyncIterator[Any]:
    async with await AsyncHoldfast.open(tmp_path) as holdfast:
        yield holdfast.profile("app", "ana")


async def told(ana: Any, *texts: str) -> dict[str, Memory]:
    """Content → memory, superseded ones too, after these messages on days of their own."""
    for n, text in enumerate(texts):
        said = {"role": "user", "content": text, "timestamp": f"2026-01-{n + 10}T10:00:00Z"}
        await ana.ingest([said], session_id=f"s{n}", wait=True)
    return {each.content: each for each in await ana.list(limit=100, superseded=True)}


def only(memories: dict[str, Memory], words: str, *, current: bool = True) -> Memory:
    (found,) = [each for text, each in memories.items() if words in text and each.current == current]
    return found


@dataclass
class Family:
    """A statement that another one ended in part, what was left of it, and what had ended it."""

    ana: Any
    whole: Memory
    rest: Memory
    ender: Memory

    async def texts(self) -> str:
        return repr([*await self.ana.list(limit=100, superseded=True), *await self.ana.messages()])


@pytest.fixture
async def family(tmp_path: Path) -> AsyncIterator[Family]:
    script: dict[str, Any] = {
        f"{HUSBAND}. I like tea": [Draft("fact", f'The user said: "{HUSBAND}"', ()), Draft("fact", "Likes tea.", ())],
        OFF_NIGHTS: [Draft("fact", "Callum is off nights.", ())],
    }
    async with AsyncHoldfast(SqliteVault(tmp_path), HashingEmbedder(), ScriptedExtractor(script)) as holdfast:
        ana = holdfast.profile("app", "ana")
        memories = await told(ana, *script)
        whole, ender = only(memories, "works nights"), only(memories, "off nights")
        content = f'The user said: "{REST}"'
        rest = replace(
            whole,
            id=remainder_id(whole.created_at, whole.draft_id, content),
            content=content,
            summary=content,
            keywords=(),
        )
        store = await holdfast.runtime.vault.open("app", "ana", create=False)
        again = replace(ender, id="01ENDERENDERENDERENDERENDE", content="Callum has left nights.")
        change = Change(memories=(again, rest), supersede=(Supersede(whole.ref, again.ref),), forget=(ender.ref,))
        await store.apply(change)
        yield Family(ana, whole, rest, again)


async def test_what_was_cut_from_a_statement_goes_with_that_and_its_words(family: Family) -> None:
    ana, rest, whole = family.ana, family.rest, family.whole
    assert [each.ref for each in await ana.history(rest.id)] == [rest.ref, whole.ref]
    would = await ana.forget(rest.id, dry_run=True)
    gone = await ana.forget(rest.id)
    assert gone == would
    assert set(gone.memories) == {rest.id, whole.id}
    assert gone.shortened == rest.sources
    assert would.reasons == {whole.id: "an earlier form of it"}
    assert "husband" not in await family.texts()
    assert "works nights" not in await family.texts()
    assert "tea" in await family.texts()


async def test_forgetting_the_whole_takes_what_is_left_of_it(family: Family) -> None:
    gone = await family.ana.forget(family.whole.id)
    assert set(gone.memories) == {family.whole.id, family.rest.id}
    assert "husband" not in await family.texts()


async def test_what_a_forgotten_memory_had_ended_is_current_again(family: Family) -> None:
    ana, rest, whole = family.ana, family.rest, family.whole
    would = await ana.forget(family.ender.id, dry_run=True)
    assert (would.reasons, would.restored) == ({rest.id: "a part of what is current again"}, (whole.ref,))
    assert await ana.forget(family.ender.id) == would
    assert {each.content for each in await ana.list(superseded=True)} == {whole.content, "Likes tea."}
    assert HUSBAND in await family.texts()


async def test_a_statement_that_also_ended_otherwise_stays_ended(family: Family) -> None:
    """It is linked with what was left of it, and is not said to be true again."""
    await family.ana.mark(family.rest.id, right=False)
    gone = await family.ana.forget(family.ender.id)
    assert (gone.memories, gone.restored) == ((family.ender.id,), ())
    assert (await family.ana.get(family.whole.id)).superseded_by == family.rest.ref
    assert [each.content for each in await family.ana.list()] == ["Likes tea."]


async def test_what_ended_a_price_list_is_no_version_of_it(ana: Any) -> None:
    order = "mrs Okafor wants 3 rye now, and a sourdough"
    memories = await told(ana, *CHEAPER, order)
    gone = await ana.forget(only(memories, "Okafor").id)
    assert gone.shortened == ()
    assert [each.content for each in await ana.messages()] == [*CHEAPER]
    assert "2.80" in (await ana.recall("What do the buns cost?")).answer


async def test_a_quotation_of_the_same_words_goes_and_the_rest_of_it_stays(ana: Any) -> None:
    await told(ana, *DOSES)
    (dose,) = [each for each in await ana.list(limit=50) if "1000" in each.content and "7.8" not in each.content]
    await ana.forget(dose.id)
    left = repr([*await ana.list(limit=100, superseded=True), *await ana.messages()])
    assert "1000" not in left
    assert "7.8" in left
    assert "1000" not in (await ana.recall("What dose of metformin am I on?")).answer


async def test_siblings_that_only_share_a_word_stay(ana: Any) -> None:
    memories = await told(ana, "my sister Ann lives in Porto. my mum lives in Porto too", "I live in Leeds")
    mum = only(memories, "mum")
    gone = await ana.forget(mum.id)
    assert gone.memories == (mum.id,)
    assert gone.reasons == {}
    assert any("Ann" in each.content for each in await ana.list(limit=50))
