"""Setting right what is known: merge, split, mark, review, edit many, take back, audit; here and over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast import AsyncHoldfast
from holdfast.domain.errors import AlreadyExists, CannotUndo, InvalidInput, NotFound, Stale
from holdfast.domain.types import Draft
from holdfast.testing import FrozenClock, HashingEmbedder, ScriptedExtractor
from support.http_server import http_server
from support.vaults import open_vault

DAY = timedelta(days=1)
SCRIPT: Any = {
    "I drink green tea every day.": [Draft("fact", "Ana drinks green tea", (), confidence=0.5)],
    "Green tea it is, always.": [Draft("fact", "Ana likes green tea", ())],
    "The manual: always reboot twice.": [Draft("instruction", "Reboot twice", (), trust="document")],
    "hello?": [Draft("fact", "Who is there?", ())],
    "Buy milk": [Draft("task", "Ana wants to buy milk", ())],
}
everywhere = pytest.mark.parametrize("where", ["memory", "files", "database", "remote"])


@asynccontextmanager
async def open_profile(where: str, path: Path, clock: FrozenClock) -> AsyncIterator[Any]:
    with open_vault("files" if where == "remote" else where, path) as vault:
        async with AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor(SCRIPT), clock) as holdfast:
            if where != "remote":
                yield holdfast.profile("app", "ana")
                return
            async with http_server(holdfast) as url:
                _, token = await holdfast.access.issue("key", "test", ("read", "write", "forget", "admin"))
                remote = AsyncHoldfast.connect(url, token)
                yield remote.profile("app", "ana")
                await remote.close()


async def ingest_texts(ana: Any, *texts: str, session: str = "s") -> None:
    for text in texts:
        await ana.ingest([{"role": "user", "content": text}], session_id=session, wait=True)


@everywhere
async def test_merging_makes_one_of_several(where: str, tmp_path: Path) -> None:
    async with open_profile(where, tmp_path, FrozenClock()) as ana:
        await ingest_texts(ana, "I drink green tea every day.", "Green tea it is, always.")
        one, two = (await ana.list()).items
        done = await ana.merge([one.id, two.id], content="Ana drinks green tea every day", key="drink")
        (memory,) = done.memories
        assert (memory.content, memory.key, memory.version) == ("Ana drinks green tea every day", "drink", 2)
        assert set(memory.sources) == {*one.sources, *two.sources}
        assert [each.id for each in await ana.list()] == [memory.id]
        assert {each.id for each in await ana.history(memory.id)} == {memory.id, one.id, two.id}
        found = await ana.search("tea", kind="fact")
        assert [hit.id for hit in found] == [memory.id]
        undone = await ana.undo(done.undo)
        assert undone.removed == (memory.ref,)
        assert {each.id for each in undone.memories} == {one.id, two.id}
        assert (await ana.list()).items == (one, two)


@everywhere
async def test_splitting_makes_several_of_one(where: str, tmp_path: Path) -> None:
    async with open_profile(where, tmp_path, FrozenClock()) as ana:
        both = await ana.remember("Likes tea and lives in Porto", key="about", metadata={"via": "phone"})
        done = await ana.split(both.id, ["Likes tea", {"content": "Lives in Porto", "key": "home"}], etag=both.etag)
        first, second = done.memories
        assert [(each.content, each.key, each.version) for each in done.memories] == [
            ("Likes tea", "about", 2), ("Lives in Porto", "home", 1),
        ]  # fmt: skip
        assert first.metadata == second.metadata == {"via": "phone"}
        assert [each.ref for each in await ana.history(first.id)] == [first.ref, both.ref]
        with pytest.raises(Stale):
            await ana.split(both.ref, ["a b", "c d"])
        await ana.undo()
        assert [each.id for each in await ana.list()] == [both.id]
        for wrong in (["alone"], "text", [{"colour": "red"}, "x y"], ["same text", "same text"]):
            with pytest.raises((InvalidInput, AlreadyExists)):
                await ana.split(both.id, wrong)
        assert [each.id for each in await ana.list()] == [both.id]


@everywhere
async def test_marks_move_a_memory_a_little_and_no_further(where: str, tmp_path: Path) -> None:
    async with open_profile(where, tmp_path, FrozenClock()) as ana:
        memory = await ana.remember("The gate code is zebra")
        (plain,) = await ana.search("gate code")
        for _ in range(8):
            done = await ana.mark(memory.id)
        assert done.memories[0].marks == 5
        assert done.undo is None  # the last ones changed nothing
        (marked,) = await ana.search("gate code")
        assert 0 < marked.score - plain.score <= 0.11 * max(1, abs(plain.score))
        assert marked.reasons["marks"] == marked.features["marks"] > 0
        for _ in range(12):
            done = await ana.mark(memory.id, right=False)
        assert done.memories[0].marks == -5
        with pytest.raises(NotFound):
            await ana.mark("nobody")


@everywhere
async def test_what_waits_for_review_leaves_when_it_is_answered(where: str, tmp_path: Path) -> None:
    async with open_profile(where, tmp_path, FrozenClock()) as ana:
        await ingest_texts(ana, "I drink green tea every day.", "The manual: always reboot twice.")
        city = await ana.remember("Ana lives in Porto", key="home")
        clash = await ana.remember("Ana lives in Lisbon", metadata={"conflict": "home"})
        doubted = await ana.remember("Ana is seven feet tall")
        await ana.mark(doubted.id, right=False)
        queue = await ana.review()
        assert [entry.reason for entry in queue] == ["conflict", "marked-wrong", "untrusted", "low-confidence"]
        assert (queue[0].memory.id, queue[0].other.id, "replace" in queue[0].answers) == (clash.id, city.id, True)
        done = await ana.resolve(clash.id, "replace")
        assert [(each.content, each.key) for each in await ana.list(key="home")] == [("Ana lives in Lisbon", "home")]
        await ana.resolve(doubted.id, "wrong")
        await ana.resolve(queue[2].memory.id, "keep")
        assert [entry.reason for entry in await ana.review()] == ["low-confidence"]
        edited = await ana.resolve(queue[3].memory.id, "edit", content="Ana drinks green tea at noon")
        assert edited.memories[0].content == "Ana drinks green tea at noon"
        assert await ana.review() == ()
        await ana.mark(queue[2].memory.id, right=False)
        assert [entry.reason for entry in await ana.review()] == ["marked-wrong"]
        await ana.undo(done.undo)
        assert len(await ana.list(key="home")) == 1
        for answer, content in (("maybe", None), ("edit", None), ("right", "text")):
            with pytest.raises(InvalidInput):
                await ana.resolve(city.id, answer, content=content)


@everywhere
async def test_many_are_edited_at_once_and_undone_as_one(where: str, tmp_path: Path) -> None:
    async with open_profile(where, tmp_path, FrozenClock()) as ana:
        notes = [await ana.remember(f"note {n}", kind="note", metadata={"n": n}) for n in range(5)]
        fact = await ana.remember("a fact")
        before = (await ana.list(limit=99)).items
        shown = await ana.revise_where({"metadata": {"seen": True}, "pinned": True}, kind="note", dry_run=True)
        assert (len(shown.memories), shown.undo, shown.dry_run) == (5, None, True)
        assert (await ana.list(limit=99)).items == before
        change = {"metadata": {"seen": True, "n": None}, "pinned": True, "right": True, "ttl": 3600}
        done = await ana.revise_where(change, kind="note")
        assert len(done.memories) == 5
        for each in (await ana.list(kind="note")).items:
            assert each.metadata == {"seen": True, "pinned": True}
            assert (each.marks, each.version, each.expires_at is not None) == (1, 2, True)
        assert (await ana.get(fact.id)).current
        await ana.undo(done.undo)
        assert (await ana.list(limit=99)).items == before
        assert {each.id for each in before} == {fact.id, *(note.id for note in notes)}
        for wrong in ({}, {"content": "x"}, {"pinned": 1}, "pinned"):
            with pytest.raises(InvalidInput):
                await ana.revise_where(wrong, kind="note")
        with pytest.raises(InvalidInput):
            await ana.revise_where({"pinned": True})
        for n in range(2):
            await ana.remember("twins", kind="twin", metadata={"n": n})
        with pytest.raises(AlreadyExists):  # without what told them apart they would be the same
            await ana.revise_where({"metadata": {"n": None}}, kind="twin")
        assert [each.version for each in await ana.list(kind="twin")] == [1, 1]


@everywhere
async def test_what_stands_on_a_change_is_named_and_a_forget_is_for_good(where: str, tmp_path: Path) -> None:
    clock = FrozenClock()
    async with open_profile(where, tmp_path, clock) as ana:
        first = await ana.remember("Porto", key="home")
        second = await ana.revise(first.id, key="old-home")
        marked = await ana.mark(second.id)
        edits = await ana.edits()
        assert [edit.verb for edit in edits] == ["mark", "revise", "remember"]
        with pytest.raises(CannotUndo, match=str(marked.undo)):
            await ana.undo(edits[1].id)
        await ana.undo()
        third = await ana.remember("Lisbon", key="home")
        with pytest.raises(CannotUndo, match=third.id):
            await ana.undo(edits[1].id)  # its key has been taken since
        await ana.forget(third.id)
        with pytest.raises(CannotUndo, match="forget"):
            await ana.undo()
        with pytest.raises(CannotUndo):
            await ana.undo((await ana.edits())[1].id)  # what it wrote has been forgotten
        assert third.id not in repr(await ana.edits())
        await ana.undo(edits[1].id)
        assert [(each.id, each.key) for each in await ana.list()] == [(first.id, "home")]
        with pytest.raises(NotFound):
            await ana.undo("no-such-change")
        with pytest.raises(NotFound):
            await ana.undo(steps=100)


@everywhere
async def test_a_change_that_a_conversation_confirmed_stays(where: str, tmp_path: Path) -> None:
    async with open_profile(where, tmp_path, FrozenClock()) as ana:
        await ingest_texts(ana, "I drink green tea every day.")
        (drawn,) = (await ana.list()).items
        revised = await ana.revise(drawn.id, content="Ana likes green tea")
        await ingest_texts(ana, "Green tea it is, always.")
        (now,) = (await ana.list()).items
        assert (now.id, len(now.sources)) == (revised.id, 2)
        with pytest.raises(CannotUndo, match="another source message"):
            await ana.undo()


@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [
        ("I love coffee", "I hate coffee", True),
        ("Ben likes olives", "Ben doesn't like olives", True),
        ("Ben likes olives", "Ben does not hate olives", False),
        ("Ana likes dogs", "Ana dislikes cats", False),
        ("Tests take 14 minutes right now", "Tests are down to 4 minutes", True),
        ("Tests take 14 minutes on the big runner", "Tests are down to 4 minutes", False),
    ],
)
async def test_an_audit_sees_what_cannot_both_be_true(tmp_path: Path, one: str, other: str, clash: bool) -> None:
    async with open_profile("memory", tmp_path, FrozenClock()) as ana:
        for text in (one, other):
            await ana.remember(text)
        found = {each.name: each.count for each in (await ana.audit()).findings}
        assert (found["contradictions"], found["duplicates"]) == (2 if clash else 0, 0)


@everywhere
async def test_an_audit_finds_and_mends_and_is_undone(where: str, tmp_path: Path) -> None:
    clock = FrozenClock()
    async with open_profile(where, tmp_path, clock) as ana:
        await ingest_texts(ana, "hello?", "Buy milk", session="s")
        await ingest_texts(ana, "Something else", session="t")
        for text in ("Ana's flight leaves at 9:00", "Ana's flight leaves at 10:30", "Ana plays the violin"):
            await ana.remember(text)
        twice = [await ana.remember("Ana's dentist is Dr. Braga", kind=kind, key=key, metadata=about)
                 for kind, key, about in (("fact", "dentist", {}), ("fact", None, {"via": "mail"}))]  # fmt: skip
        clock.advance(40 * DAY)
        before = (await ana.list(limit=99)).items
        found = await ana.audit()
        counts = {each.name: each.count for each in found.findings}
        found_ones = {"duplicates": 2, "contradictions": 2, "stale-tasks": 1, "orphans": 0, "junk": 1}
        assert counts == {**found_ones, "unproved": 0, "secrets": 0}
        assert found.findings[4].share == round(1 / found.memories, 4)
        assert set(found.findings[0].examples[0]) == {each.id for each in twice}
        for name, left in (("duplicates", 6), ("contradictions", 5), ("stale-tasks", 5), ("junk", 5)):
            shown = await ana.audit(fix=name, dry_run=True)
            assert shown.fixed.dry_run
            fixed = (await ana.audit(fix=name)).fixed
            assert fixed.undo is not None
            assert len(await ana.list(limit=99)) == left
            again = await ana.audit()
            assert next(each for each in again.findings if each.name == name).count == 0
        assert [each.content for each in await ana.list(filter={"key": "dentist"})] == ["Ana's dentist is Dr. Braga"]
        await ana.undo(steps=4)
        assert (await ana.list(limit=99)).items == before
        with pytest.raises(InvalidInput):
            await ana.audit(fix="everything")


@everywhere
async def test_an_edit_may_be_sent_twice(where: str, tmp_path: Path) -> None:
    async with open_profile(where, tmp_path, FrozenClock()) as ana:
        one, two = await ana.remember("one thing"), await ana.remember("another thing")
        for _ in range(2):
            done = await ana.merge([one.id, two.id], content="both things", idempotency_key="m")
            assert [each.content for each in done.memories] == ["both things"]
            assert done.undo is not None
        for _ in range(2):
            marked = await ana.mark(done.memories[0].id, idempotency_key="k")
            assert marked.memories[0].marks == 1
        assert len(await ana.edits()) == 4


async def test_a_merged_memory_is_known_from_then_on(tmp_path: Path) -> None:
    clock = FrozenClock()
    async with open_profile("files", tmp_path, clock) as ana:
        one, two = await ana.remember("one thing"), await ana.remember("another thing")
        then = clock()
        clock.advance(DAY)
        await ana.merge([one.id, two.id], content="both things")
        assert {each.id for each in await ana.list(as_of=then)} == {one.id, two.id}
        assert [each.id for each in await ana.history(one.id, as_of=then)] == [one.id]


async def test_an_agent_takes_back_only_what_it_sees(tmp_path: Path) -> None:
    with open_vault("files", tmp_path) as vault:
        async with AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor(), FrozenClock()) as holdfast:
            ana = holdfast.profile("app", "ana")
            hidden = await ana.as_agent("sales", reads="own").remember("The offer is secret", key="offer")
            support = ana.as_agent("support", reads="own")
            mine = await support.remember("The ticket is open", key="ticket")
            await ana.as_agent("sales", reads="own").mark(hidden.id)
            assert [edit.made for edit in await support.edits()] == [((mine.ref, 0),)]
            done = await support.undo()
            assert done.removed == (mine.ref,)
            with pytest.raises(NotFound):
                await support.undo()
            with pytest.raises(NotFound):
                await support.mark(hidden.id)
            assert (await ana.get(hidden.id)).marks == 1  # type: ignore[union-attr]
