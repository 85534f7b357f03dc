"""A memory that is marked wrong is retired at once, and does not come back from the same words."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast import AsyncHoldfast, Holdfast
from holdfast.domain import identifiers
from holdfast.domain.errors import AlreadyExists, CannotUndo, Stale
from holdfast.domain.types import Draft, Supersede
from holdfast.models.rules import QuotingSummariser
from holdfast.testing import FrozenClock, HashingEmbedder, ScriptedExtractor
from holdfast.testing.conformance.samples import memory, message, written
from support.http_server import http_server
from support.vaults import open_vault

LISBON = Draft("fact", "Ana lives in Lisbon", (), key="home")
SCRIPT: Any = {
    "I live in Lisbon.": [LISBON],
    "i live in  lisbon": [LISBON],
    "Lisbon is my home.": [LISBON],
    "As I said, I live in Lisbon. It rains.": [LISBON],
    "Well, I live in Lisbon, but I work in Porto.": [Draft("fact", "Ana lives in Lisbon but works in Porto", ())],
    "I moved out, and bought bees.": [],
    "I moved to Porto.": [Draft("fact", "Ana lives in Porto", (), key="home")],
    "I live in Lisbon and I keep bees.": [LISBON, Draft("fact", "Ana keeps bees", ())],
}
everywhere = pytest.mark.parametrize("where", ["memory", "files", "database", "remote"])
stored = pytest.mark.parametrize("where", ["memory", "files", "database"])


@asynccontextmanager
async def open_profile(where: str, path: Path, extractor: str = "scripted/1") -> AsyncIterator[Any]:
    with open_vault("files" if where == "remote" else where, path) as vault:
        scripted = ScriptedExtractor(SCRIPT)
        scripted.name = extractor
        by = QuotingSummariser()
        async with AsyncHoldfast(vault, HashingEmbedder(), scripted, FrozenClock(), summariser=by) as holdfast:
            if where != "remote":
                yield holdfast.profile("app", "ana")
                return
            async with http_server(holdfast) as url:
                _, token = await holdfast.access.issue("key", "test", ("read", "write", "forget", "admin"))
                remote = AsyncHoldfast.connect(url, token)
                yield remote.profile("app", "ana")
                await remote.close()


async def say(ana: Any, text: str, session: str = "s") -> None:
    await ana.ingest([{"role": "user", "content": text}], session_id=session, wait=True)


async def contents(ana: Any) -> list[str]:
    return [memory.content for memory in await ana.list()]


@everywhere
async def test_a_memory_marked_wrong_leaves_every_view_and_stays_readable(where: str, tmp_path: Path) -> None:
    async with open_profile(where, tmp_path) as ana:
        await say(ana, "I live in Lisbon.")
        (home,) = await ana.list()
        done = await ana.mark(home.id, right=False)
        assert [(each.retired, each.current, each.marks) for each in done.memories] == [(True, False, -1)]
        assert await contents(ana) == []
        assert "Lisbon" not in repr(await ana.search("Lisbon"))
        assert "Lisbon" not in str(await ana.context("Lisbon"))
        assert (await ana.recall("Where does Ana live?")).answer == ""
        assert (await ana.get(home.id)).retired
        assert [each.content for each in await ana.history(home.id)] == ["Ana lives in Lisbon"]
        assert [message.content for message in await ana.messages("s")] == ["I live in Lisbon."]
        assert [(each.reason, each.memory.id) for each in await ana.review()] == [("marked-wrong", home.id)]


@everywhere
@pytest.mark.parametrize("back", ["mark", "resolve", "undo"])
async def test_it_comes_back_when_it_was_right_and_its_place_is_free(where: str, back: str, tmp_path: Path) -> None:
    async with open_profile(where, tmp_path) as ana:
        home = await ana.remember("Ana lives in Lisbon", key="home")
        done = await ana.mark(home.id, right=False)
        other = await ana.remember("Ana lives in Porto", key="home")
        assert other.id != home.id

        async def bring_back() -> None:
            if back == "mark":
                await ana.mark(home.id)
            elif back == "resolve":
                await ana.resolve(home.id, "right")
            else:
                await ana.undo(done.undo)

        with pytest.raises((AlreadyExists, CannotUndo), match=other.id):
            await bring_back()
        assert await contents(ana) == ["Ana lives in Porto"]
        await ana.mark(other.id, right=False)
        await bring_back()
        assert await contents(ana) == ["Ana lives in Lisbon"]
        assert [hit.content for hit in await ana.search("Lisbon")] == ["Ana lives in Lisbon"]
        assert (await ana.get(home.id)).marks == 0


@everywhere
@pytest.mark.parametrize("verb", ["pin", "unpin", "revise", "merge", "split"])
async def test_other_verbs_do_not_bring_it_back(where: str, verb: str, tmp_path: Path) -> None:
    async with open_profile(where, tmp_path) as ana:
        home = await ana.remember("Ana lives in Lisbon", key="home", metadata={"pinned": verb == "unpin"})
        bees = await ana.remember("Ana keeps bees")
        await ana.mark(home.id, right=False)
        acts = {
            "pin": lambda: ana.pin(home.id),
            "unpin": lambda: ana.unpin(home.id),
            "revise": lambda: ana.revise(home.id, metadata={"n": 1}, trust="agent"),
            "merge": lambda: ana.merge([home.id, bees.id]),
            "split": lambda: ana.split(home.id, ["Ana lives", "In Lisbon"]),
        }
        with pytest.raises(Stale, match="marked wrong") as refused:
            await acts[verb]()
        assert "Mark it right first" in str(refused.value.fix)
        assert await contents(ana) == ["Ana keeps bees"]
        assert (await ana.get(home.id)).retired
        await ana.revise(home.id, content="Ana lives in Porto")
        assert "Ana lives in Porto" in await contents(ana)


@everywhere
async def test_a_reviewer_answers_what_was_marked_wrong(where: str, tmp_path: Path) -> None:
    async with open_profile(where, tmp_path) as ana:
        await say(ana, "I live in Lisbon.")
        (home,) = await ana.list()
        await ana.mark(home.id, right=False)
        await ana.resolve(home.id, "edit", content="Ana lives in Porto")
        assert await contents(ana) == ["Ana lives in Porto"]
        assert [each.content for each in await ana.history(home.id)] == ["Ana lives in Porto", "Ana lives in Lisbon"]
        assert await ana.review() == ()
        await ana.undo()
        assert ((await ana.get(home.id)).retired, await contents(ana)) == (True, [])
        await ana.resolve(home.id, "wrong")
        assert (await ana.review(), await contents(ana)) == ((), [])
        await ana.revise_where({"right": False}, kind="fact")
        bees = await ana.remember("Ana keeps bees")
        await ana.revise_where({"right": False, "metadata": {"n": 1}}, kind="fact")
        assert await contents(ana) == []
        assert (await ana.get(bees.id)).retired


@everywhere
async def test_the_same_words_do_not_bring_it_back_and_others_do(where: str, tmp_path: Path) -> None:
    async with open_profile(where, tmp_path) as ana:
        await say(ana, "I live in Lisbon and I keep bees.")
        home = next(each for each in await ana.list() if "Lisbon" in each.content)
        await ana.mark(home.id, right=False)
        await ana.redigest()
        await ana.settle()
        assert await contents(ana) == ["Ana keeps bees"]
        await say(ana, "I live in Lisbon and I keep bees.", session="other")
        assert await contents(ana) == ["Ana keeps bees"]
        assert "Lisbon" not in repr(await ana.search("Lisbon"))
        await say(ana, "Lisbon is my home.")
        assert set(await contents(ana)) == {"Ana lives in Lisbon", "Ana keeps bees"}
        (said_otherwise,) = [each for each in await ana.list() if "Lisbon" in each.content]
        assert said_otherwise.id != home.id


@everywhere
@pytest.mark.parametrize("first", ["I live in Lisbon.", "I live in Lisbon and I keep bees."])
async def test_a_longer_message_with_the_same_words_does_not_bring_it_back(
    where: str, first: str, tmp_path: Path
) -> None:
    async with open_profile(where, tmp_path) as ana:
        await say(ana, first)
        home = next(each for each in await ana.list() if "Lisbon" in each.content)
        await ana.mark(home.id, right=False)
        for text in SCRIPT:
            if "live in" in text.lower():
                await say(ana, text, session=f"other {len(text)}")
        assert set(await contents(ana)) <= {"Ana keeps bees"}
        assert "Lisbon" not in repr(await ana.search("Lisbon"))


@everywhere
async def test_what_was_merged_into_it_or_revised_does_not_come_back(where: str, tmp_path: Path) -> None:
    async with open_profile(where, tmp_path) as ana:
        await say(ana, "I live in Lisbon and I keep bees.")
        found = await ana.list()
        merged = await ana.merge([each.id for each in found], content="Ana keeps bees in Lisbon")
        assert await contents(ana) == ["Ana keeps bees in Lisbon"]
        await ana.redigest()
        await ana.settle()
        assert await contents(ana) == ["Ana keeps bees in Lisbon"]
        await ana.mark(merged.memories[0].id, right=False)
        await ana.redigest()
        await ana.settle()
        assert await contents(ana) == []


@stored
async def test_another_extractor_does_not_undo_a_revision(where: str, tmp_path: Path) -> None:
    async with open_profile(where, tmp_path) as ana:
        await say(ana, "I live in Lisbon.")
        (home,) = await ana.list()
        await ana.revise(home.id, content="Ana lives in Faro")
        await ana.export_to(tmp_path / "archive")
    async with open_profile(where, tmp_path / "other", "scripted/2") as ana:
        await ana.import_from(tmp_path / "archive")
        await ana.redigest()
        await ana.settle()
        assert [(each.id, each.content) for each in await ana.list()] == [(home.id, "Ana lives in Faro")]


@everywhere
async def test_summaries_lose_what_was_marked_wrong_until_it_is_undone(where: str, tmp_path: Path) -> None:
    async with open_profile(where, tmp_path) as ana:
        await ana.set_summaries("every 2 turns")
        await say(ana, "I live in Lisbon.")
        await say(ana, "I moved out, and bought bees.")
        await ana.settle()
        (before,) = await ana.list(kind="summary")
        assert ["Lisbon" in text for text in (before.content, await ana.summary())] == [True, True]
        home = next(each for each in await ana.list(kind="fact"))
        done = await ana.mark(home.id, right=False)
        assert done.memories[0].id == home.id
        (after,) = await ana.list(kind="summary")
        assert (after.id, "Lisbon" in after.content, "bees" in after.content) == (before.id, False, True)
        for page in (await ana.summary(), await ana.summary("s"), await ana.summary(tokens=500)):
            assert ["Lisbon" in page, "bees" in page] == [False, True]
        await ana.undo(done.undo)
        assert [each.content for each in await ana.list(kind="summary")] == [before.content]
        assert "Lisbon" in await ana.summary()


@everywhere
async def test_later_summaries_do_not_have_what_was_marked_wrong(where: str, tmp_path: Path) -> None:
    async with open_profile(where, tmp_path) as ana:
        await say(ana, "I live in Lisbon.")
        (home,) = await ana.list()
        await ana.mark(home.id, right=False)
        await ana.set_summaries("every 2 turns")
        await say(ana, "I moved out, and bought bees.")
        await ana.settle()
        (summary,) = await ana.list()
        assert ["Lisbon" in summary.content, "bees" in summary.content] == [False, True]


@everywhere
async def test_it_can_be_remembered_on_purpose(where: str, tmp_path: Path) -> None:
    async with open_profile(where, tmp_path) as ana:
        await say(ana, "I live in Lisbon.")
        (home,) = await ana.list()
        await ana.mark(home.id, right=False)
        await ana.remember("Ana lives in Lisbon", key="home")
        await say(ana, "i live in  lisbon", session="t")
        (again,) = await ana.list()
        assert again.id != home.id


@stored
async def test_another_extractor_does_not_bring_it_back(where: str, tmp_path: Path) -> None:
    async with open_profile(where, tmp_path) as ana:
        await say(ana, "I live in Lisbon.")
        (home,) = await ana.list()
        await ana.mark(home.id, right=False)
        await ana.export_to(tmp_path / "archive")
    async with open_profile(where, tmp_path / "other", "scripted/2") as ana:
        await ana.import_from(tmp_path / "archive")
        assert (await ana.get(home.id)).retired
        await ana.redigest()
        await ana.settle()
        assert await contents(ana) == []
        await say(ana, "I moved to Porto.")
        assert await contents(ana) == ["Ana lives in Porto"]


@stored
async def test_retention_takes_retired_memories_too(where: str, tmp_path: Path) -> None:
    async with open_profile(where, tmp_path) as ana:
        notes = [await ana.remember(f"note {n}", kind="note") for n in range(4)]
        for each in (notes[0], notes[3]):
            await ana.mark(each.id, right=False)
        await ana.set_retention({"forget": [{"kind": "note", "beyond": 1}]})
        await ana.apply_retention()
        left = await ana.list(superseded=True)
        assert [(each.content, each.retired) for each in left] == [("note 3", True), ("note 2", False)]


@pytest.fixture
def ana(tmp_path: Path) -> Iterator[Any]:
    memory = Holdfast.open(tmp_path)
    yield memory.profile("app", "ana")
    memory.close()


def test_an_answer_does_not_quote_what_was_marked_wrong(ana: Any) -> None:
    ana.ingest([{"role": "user", "content": "I live in Lisbon."}], session_id="s", wait=True)
    text = "I'm allergic to peanuts and my dog is called Rex."
    ana.ingest([{"role": "user", "content": text}], session_id="s", wait=True)
    assert "Lisbon" in ana.recall("Where do I live?").answer
    for each in ana.list():
        if "Lisbon" in each.content or "Rex" in each.content:
            ana.mark(each.id, right=False)
    assert ana.recall("Where do I live?").answer == ""
    assert ana.recall("What is my dog called?").answer == ""
    assert "peanuts" in ana.recall("What am I allergic to?").answer
    asked = "Lisbon, my dog Rex, peanuts"
    shown = repr((ana.search(asked), ana.context(asked), ana.recall(asked).hits)).replace(asked, "")
    assert [word in shown for word in ("peanuts", "Lisbon", "Rex")] == [True, False, False]
    ana.ingest([{"role": "user", "content": "I live in Lisbon."}], session_id="t", wait=True)
    assert ana.recall("Where do I live?").answer == ""
    ana.ingest([{"role": "user", "content": "I moved to Porto last week."}], session_id="t", wait=True)
    assert "Porto" in ana.recall("Where do I live?").answer


@everywhere
async def test_what_the_wrong_one_had_superseded_is_true_again(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SCRIPT, "I live in Leeds.", [Draft("fact", "Ana lives in Leeds", (), key="home")])
    moved = "We moved to Xero for the accounts."
    monkeypatch.setitem(SCRIPT, moved, [Draft("fact", "Ana lives in Xero", (), key="home")])
    async with open_profile(where, tmp_path) as ana:
        await say(ana, "I live in Leeds.")
        await say(ana, moved, session="t")
        (wrong,) = await ana.list()
        assert (wrong.content, wrong.version) == ("Ana lives in Xero", 2)
        marked = await ana.mark(wrong.id, right=False)
        assert {each.content for each in marked.memories} == {"Ana lives in Xero", "Ana lives in Leeds"}
        (home,) = await ana.list()
        assert (home.content, home.key, home.id) == ("Ana lives in Leeds", "home", wrong.id)
        assert (home.version, home.marks) == (3, 0)
        leeds, xero, first = await ana.history(home.id)
        assert (leeds.sources, xero.marked_wrong, xero.superseded_by) == (first.sources, True, leeds.ref)
        await ana.undo()
        assert [(each.content, each.current) for each in await ana.history(wrong.id)] == [
            ("Ana lives in Xero", True),
            ("Ana lives in Leeds", False),
        ]
        await ana.mark(wrong.id, right=False)
        await say(ana, moved, session="u")
        assert await contents(ana) == ["Ana lives in Leeds"], "what was wrong does not come back"
        assert "Xero" not in repr([hit for hit in await ana.search("Where does Ana live?") if not hit.message_id])


@stored
async def test_what_was_left_of_a_superseded_memory_goes_into_it_again(where: str, tmp_path: Path) -> None:
    said, later = message("Flour comes from the mill, on Wednesdays."), message("Moved to Matthews for flour.")
    flour = memory("Flour comes from the mill, on Wednesdays", sources=(said.id,), extractor="rules/2")
    left = memory("Flour comes on Wednesdays", sources=(said.id,), extractor="rules/2")
    left = replace(left, id=identifiers.memory_id(flour.created_at, flour.draft_id, left.content))
    wrong = memory("Ana lives in Matthews", key="home", sources=(later.id,), extractor="rules/2", n=1)
    with open_vault(where, tmp_path) as vault:
        await vault.create_namespace("app")
        store = await vault.open("app", "ana", create=True)
        await store.apply(written(said, later, flour))
        await store.apply(written(wrong, left, supersede=(Supersede(flour.ref, wrong.ref),)))
        async with AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor(SCRIPT), FrozenClock()) as holdfast:
            ana = holdfast.profile("app", "ana")
            before = {each.ref: each for each in await ana.list(superseded=True)}
            await ana.mark(wrong.id, right=False)
            (back,) = await ana.list()
            assert (back.content, back.sources, back.key) == (flour.content, flour.sources, None)
            assert [each.reason for each in await ana.review() if each.memory.id == wrong.id] == ["marked-wrong"]
            await ana.settle()
            assert (await ana.search("Where does the flour come from?", kind="fact"))[0].id == back.id
            await ana.undo()
            assert {each.ref: each for each in await ana.list(superseded=True)} == before


@stored
async def test_what_says_the_same_or_has_another_in_its_place_does_not_come_back(where: str, tmp_path: Path) -> None:
    said, later = message("I live in Leeds."), message("I live in Leeds, in Headingley.")
    same = memory("Ana lives in Leeds", sources=(said.id,), extractor="rules/2")
    taken = memory("Ana keeps bees", sources=(said.id,), extractor="rules/2", n=1)
    wrong = memory("Ana lives in Leeds, in Headingley", sources=(later.id,), extractor="rules/2", n=2)
    with open_vault(where, tmp_path) as vault:
        await vault.create_namespace("app")
        store = await vault.open("app", "ana", create=True)
        await store.apply(written(said, later, same, taken))
        ends = (Supersede(same.ref, wrong.ref), Supersede(taken.ref, wrong.ref))
        await store.apply(written(wrong, supersede=ends))
        async with AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor(SCRIPT), FrozenClock()) as holdfast:
            ana = holdfast.profile("app", "ana")
            again = await ana.remember("Ana keeps bees", topic=False)
            await ana.mark(wrong.id, right=False)
            assert [each.id for each in await ana.list()] == [again.id]
