"""An audit and the review queue find what is wrong with memories: splices, cut values, contradictions, secrets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast import AsyncHoldfast
from holdfast.domain.types import Change, Draft
from holdfast.lifecycle.curation.attributes import stated_attribute
from holdfast.testing import FrozenClock, HashingEmbedder, ScriptedExtractor
from holdfast.text.passages import index_parts
from support.vaults import open_vault

SCRIPT: Any = {
    "My budget is 4,000 euros.": [Draft("fact", "The user's budget is 4.", (), key="budget")],
    "Jonas moved to Basel last week": [Draft("fact", "Jonas's birthday is on Basel last week.", ())],
    "I live in Leeds with Tom.": [Draft("fact", "The user lives in Leeds.", (), key="home")],
    "Our new flat in York is lovely, we live in York.": [Draft("fact", "The user lives in York.", (), key="city")],
    "oh, the wifi password is hunter2blue, by the way": [Draft("fact", "The wifi password is hunter2blue.", ())],
    "I play the cello.": [Draft("fact", "The user plays the cello.", ())],
}
SPLICED, CUT = "Jonas's birthday is on Basel last week.", "The user's budget is 4."


class FaultyRules(ScriptedExtractor):
    """Says that it is the rules, whose memories must be proved."""

    name = "rules/0"


@asynccontextmanager
async def told_profile(path: Path, *texts: str) -> AsyncIterator[Any]:
    with open_vault("files", path) as vault:
        async with AsyncHoldfast(vault, HashingEmbedder(), FaultyRules(SCRIPT), FrozenClock()) as holdfast:
            ana = holdfast.profile("app", "ana")
            for n, text in enumerate(texts):
                await ana.ingest([{"role": "user", "content": text}], session_id=f"s{n}", wait=True)
            yield ana


async def counts(ana: Any) -> dict[str, int]:
    return {finding.name: finding.count for finding in (await ana.audit()).findings if finding.count}


async def test_spliced_words_and_cut_values_are_found_and_quoted(tmp_path: Path) -> None:
    texts = ("My budget is 4,000 euros.", "Jonas moved to Basel last week", "I play the cello.")
    async with told_profile(tmp_path, *texts) as ana:
        assert await counts(ana) == {"unproved": 2}
        queue = {entry.memory.content: entry.reason for entry in await ana.review()}
        assert queue == {SPLICED: "unproved", CUT: "unproved"}
        before = (await ana.list()).items
        fixed = (await ana.audit(fix="unproved")).fixed
        assert {each.content for each in fixed.memories} == {
            'The user said: "My budget is 4,000 euros"',
            'The user said: "Jonas moved to Basel last week"',
        }
        assert await counts(ana) == {}
        await ana.undo(fixed.undo)
        assert (await ana.list()).items == before


async def test_two_values_of_one_attribute_contradict_each_other_whatever_their_keys(tmp_path: Path) -> None:
    texts = ("I live in Leeds with Tom.", "Our new flat in York is lovely, we live in York.")
    async with told_profile(tmp_path, *texts) as ana:
        assert await counts(ana) == {"contradictions": 2}
        (entry,) = await ana.review()
        assert (entry.memory.content, entry.reason) == ("The user lives in Leeds.", "contradiction")
        assert entry.other.content == "The user lives in York."
        fixed = (await ana.audit(fix="contradictions")).fixed
        assert [each.content for each in fixed.memories] == ["The user lives in York."]
        assert await counts(ana) == {}


async def test_a_secret_is_found_first_and_redacted(tmp_path: Path) -> None:
    said = "oh, the wifi password is hunter2blue, by the way"
    async with told_profile(tmp_path, "My budget is 4,000 euros.", said) as ana:
        first, second = await ana.review()
        assert (first.reason, second.reason) == ("secret", "unproved")
        finding = next(each for each in (await ana.audit()).findings if each.name == "secrets")
        assert finding.texts == ("The wifi password is [redacted].",)
        fixed = (await ana.audit(fix="secrets")).fixed
        assert [each.content for each in fixed.memories] == ["The wifi password is [redacted]."]
        assert "secrets" not in await counts(ana)


async def test_what_a_document_said_is_an_orphan_without_its_message(tmp_path: Path) -> None:
    async with told_profile(tmp_path, "I play the cello.") as ana:
        store = await ana.profile_context.store_at(None, None)
        (memory,) = (await ana.list()).items
        text = "The manual says to reboot twice."
        lost = replace(memory, id=f"{memory.id[:-3]}XYZ", content=text, sources=(), trust="document")
        await store.apply(Change(memories=(lost,), parts=tuple(index_parts(lost))))
        assert await counts(ana) == {"orphans": 1}
        fixed = (await ana.audit(fix="orphans")).fixed
        assert [(each.content, each.expires_at is not None) for each in fixed.memories] == [(text, True)]


async def test_what_was_reviewed_is_left_alone(tmp_path: Path) -> None:
    async with told_profile(tmp_path, "My budget is 4,000 euros.") as ana:
        (entry,) = await ana.review()
        await ana.resolve(entry.memory.id, "keep")
        assert await ana.review() == ()
        assert await counts(ana) == {}


async def test_what_people_wrote_needs_no_proof(tmp_path: Path) -> None:
    async with told_profile(tmp_path) as ana:
        await ana.remember("The user's budget is 4.")
        assert await counts(ana) == {}


@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [
        ("The user's budget is 4,000 euros.", "The user's budget is now 5,500 euros.", True),
        ("The user lives in Leeds.", "The user and others live in York.", True),
        ("The user's boss is Fintan.", "The user's boss is Marguerite.", True),
        ("The user's boss is Fintan.", "Ana's boss is Marguerite.", False),
        ("The user's sister is called Ann.", "The user's sister is called Eve.", False),
        ("The user's dog is called Pepper.", "The user's dog is 4 years old.", False),
        ("The user lives in Leeds.", "The user lives in Leeds with Tom.", False),
        ("The user's budget is tight.", "The user's budget is 4,000 euros.", False),
        ("The user likes tea.", "The user likes coffee.", False),
    ],
)
async def test_one_attribute_has_one_value(tmp_path: Path, one: str, other: str, clash: bool) -> None:
    async with told_profile(tmp_path) as ana:
        for n, text in enumerate((one, other)):
            await ana.remember(text, key=f"k{n}")
        assert (await counts(ana)).get("contradictions", 0) == (2 if clash else 0)


def test_an_attribute_is_read_off_a_statement() -> None:
    told = stated_attribute("The user's monthly rent is now 1,240 euros (since 1 May 2026).")
    assert told is not None
    assert (told.subject, told.attribute, told.sort) == ("the user", "month rent", "number")
    assert stated_attribute("The user went home.") is None
