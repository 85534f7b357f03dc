"""A question may leave out the running session: the agent that asks has it in its window."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast import AsyncHoldfast, Draft, InvalidInput
from holdfast.domain.types import Message
from holdfast.models.rules import QuotingSummariser
from holdfast.testing import FrozenClock, HashingEmbedder, ScriptedExtractor
from support.http_server import http_server
from support.vaults import on_every_backend, open_vault

everywhere = pytest.mark.parametrize("where", ["memory", "files", "database", "remote"])
DEPLOY = "We deploy on Thursdays from the harbour office."
OLD = ["The deploy script lives in the tools folder.", DEPLOY]
RUNNING = [DEPLOY, "The deploy of today failed on the harbour server.", "Deploy again after lunch."]


class Statements(ScriptedExtractor):
    """Draws each message as one fact; the same words again are the same fact."""

    async def extract(self, messages: Any, before: Any, keys: Any) -> list[Draft]:
        return [Draft("fact", f"Stated: {each.content}", (each.id,)) for each in messages if isinstance(each, Message)]


@asynccontextmanager
async def two_sessions(where: str, path: Path) -> AsyncIterator[Any]:
    """A profile with an old session and a running one that repeats a statement of it, and a memory written in each."""
    clock = FrozenClock()
    with open_vault("files" if where == "remote" else where, path) as vault:
        async with AsyncHoldfast(vault, HashingEmbedder(), Statements(), clock) as holdfast:
            ana = holdfast.profile("app", "ana")
            for session, texts in (("old", OLD), ("running", RUNNING)):
                clock.advance(timedelta(hours=1))
                await ana.ingest([{"role": "user", "content": text} for text in texts], session_id=session, wait=True)
                await ana.remember(f"The deploy note of the {session} session", kind="note", session_id=session)
            await ana.remember("Deploy keys are rotated in May", kind="note")
            await ana.settle()
            if where != "remote":
                yield ana
                return
            async with http_server(holdfast) as url:
                _, token = await holdfast.access.issue("key", "test", ("read", "write", "forget"))
                remote = AsyncHoldfast.connect(url, token)
                yield remote.profile("app", "ana")
                await remote.close()


@everywhere
async def test_messages_of_the_session_and_what_rests_only_on_them_are_left_out(where: str, tmp_path: Path) -> None:
    async with two_sessions(where, tmp_path) as ana:
        everything = {hit.content for hit in await ana.search("deploy", limit=50)}
        assert any("failed on the harbour server" in text for text in everything)
        hits = await ana.search("deploy", limit=50, exclude_session="running")
        texts = [hit.content for hit in hits]
        assert {hit.session_id for hit in hits if hit.message_id} == {"old"}
        assert not any("failed" in text or "after lunch" in text for text in texts)
        assert "The deploy note of the running session" not in texts
        assert "The deploy note of the old session" in texts
        assert "Deploy keys are rotated in May" in texts


@everywhere
async def test_a_memory_that_another_session_states_too_stays(where: str, tmp_path: Path) -> None:
    async with two_sessions(where, tmp_path) as ana:
        (shared,) = [memory for memory in await ana.list(limit=50) if memory.content == f"Stated: {DEPLOY}"]
        assert len(shared.sources) == 2
        for session in ("old", "running"):
            found = await ana.search("deploy Thursdays", limit=50, kind="fact", exclude_session=session)
            assert shared.id in {hit.id for hit in found}
            assert {hit.content for hit in found if hit.id != shared.id}.isdisjoint(
                f"Stated: {text}" for text in (OLD if session == "old" else RUNNING)
            )


HOMES: Any = {
    "I live in Lisbon.": [Draft("fact", "Ana lives in Lisbon", (), key="home")],
    "I live in Faro and I keep bees.": [
        Draft("fact", "Ana lives in Faro", (), key="home"),
        Draft("fact", "Ana keeps bees", ()),
    ],
    "I moved to Porto.": [Draft("fact", "Ana lives in Porto", (), key="home")],
}


@on_every_backend
async def test_a_superseded_value_is_not_current_because_its_successor_is_left_out(
    backend: str, tmp_path: Path
) -> None:
    clock = FrozenClock()
    with open_vault(backend, tmp_path) as vault:
        async with AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor(HOMES), clock) as holdfast:
            ana = holdfast.profile("app", "ana")
            for n, text in enumerate(HOMES):
                clock.advance(timedelta(hours=1))
                await ana.ingest([{"role": "user", "content": text}], session_id=f"s{n}", wait=True)
            await ana.remember("Ana's flight leaves at 9", key="flight", session_id="s0")
            await ana.remember("Ana's flight leaves at 10", key="flight", session_id="s2")
            for question in ("Where does Ana live?", "Lisbon Faro Porto bees", "When does Ana's flight leave?"):
                hits = await ana.search(question, exclude_session="s2")
                block = await ana.context(question, exclude_session="s2")
                answer = await ana.recall(question, exclude_session="s2")
                shown = " ".join([*(hit.content for hit in (*hits, *answer.hits)), block.text, answer.answer])
                assert [word in shown for word in ("Lisbon", "Faro", "Porto", "flight")] == [False] * 4
            assert any("bees" in hit.content for hit in await ana.search("bees", exclude_session="s2"))
            assert "Porto" in repr(await ana.search("Where does Ana live?", exclude_session="s0"))


@everywhere
async def test_context_and_recall_leave_the_session_out_too(where: str, tmp_path: Path) -> None:
    async with two_sessions(where, tmp_path) as ana:
        assert "after lunch" in (await ana.context("deploy after lunch")).text
        block = await ana.context("deploy after lunch", exclude_session="running")
        assert "after lunch" not in block.text
        assert {hit.session_id for hit in block.hits if hit.message_id} == {"old"}
        answer = await ana.recall("When is the deploy after lunch?", exclude_session="running")
        assert all("lunch" not in hit.content for hit in answer.hits)
        async for piece in ana.recall_stream("When is the deploy after lunch?", exclude_session="running"):
            assert "lunch" not in str(piece).replace("after lunch?", "")


@on_every_backend
async def test_what_is_left_out_takes_no_place_among_the_candidates(backend: str, tmp_path: Path) -> None:
    with open_vault(backend, tmp_path) as vault:
        async with AsyncHoldfast(vault, HashingEmbedder(), Statements(), FrozenClock()) as holdfast:
            ana = holdfast.profile("app", "ana")
            await ana.ingest(
                [{"role": "user", "content": "The harbour deploy key is blue"}], session_id="old", wait=True
            )
            crowd = [{"role": "user", "content": f"harbour deploy key number {n}"} for n in range(150)]
            await ana.ingest(crowd, session_id="running", wait=True)
            hits = await ana.search("harbour deploy key", limit=5, exclude_session="running")
            assert {hit.content for hit in hits} == {"The harbour deploy key is blue"}


async def test_across_profiles_the_session_is_left_out_of_each(tmp_path: Path) -> None:
    clock = FrozenClock()
    with open_vault("files", tmp_path) as vault:
        async with AsyncHoldfast(vault, HashingEmbedder(), Statements(), clock) as holdfast:
            for name in ("ana", "ben"):
                for session, texts in (("old", OLD), ("running", RUNNING)):
                    said = [{"role": "user", "content": f"{text} So says {name}."} for text in texts]
                    await holdfast.profile("app", name).ingest(said, session_id=session, wait=True)
            both = holdfast.across("app", ["ana", "ben"])
            hits = await both.search("deploy", limit=50, exclude_session="running")
            assert {hit.origin.profile for hit in hits if hit.origin} == {"ana", "ben"}
            assert all("lunch" not in hit.content and "failed" not in hit.content for hit in hits)


async def test_a_summary_of_the_session_goes_with_it_and_one_over_others_stays(tmp_path: Path) -> None:
    clock = FrozenClock()
    with open_vault("files", tmp_path) as vault:
        async with AsyncHoldfast(
            vault, HashingEmbedder(), ScriptedExtractor(), clock, summariser=QuotingSummariser()
        ) as holdfast:
            ana = holdfast.profile("app", "ana")
            await ana.set_summaries({"cadence": "every 2 turns", "of": "turn"})
            for session in ("old", "running", "running", "running"):
                clock.advance(timedelta(minutes=1))
                text = f"The harbour deploy of {clock().minute} went well in the {session} session."
                await ana.remember(text, kind="turn", session_id=session)
            await ana.settle()
            made = list(await ana.list(kind="summary"))
            assert len(made) == 2
            found = await ana.search("harbour deploy", kind="summary", exclude_session="running")
            assert [hit.id for hit in found] == [made[1].id]


@everywhere
async def test_a_name_that_no_session_has_leaves_everything_and_a_wrong_one_is_refused(
    where: str, tmp_path: Path
) -> None:
    async with two_sessions(where, tmp_path) as ana:
        assert await ana.search("deploy", exclude_session="nobody") == await ana.search("deploy")
        for wrong in ("", "x" * 70):
            with pytest.raises(InvalidInput, match="exclude_session"):
                await ana.search("deploy", exclude_session=wrong)
