"""A profile that nobody has written to yet: every question finds nothing, and asking makes nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from holdfast import AsyncHoldfast, AsyncNotes, Forbidden, NotFound
from holdfast.domain.results import Facets
from holdfast.service.facades.agent_memory import AsyncAgentMemory
from holdfast.storage.postgres.vault import PostgresVault
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from support.http_server import http_server
from support.postgres import database

TOKEN = "a-token-of-these-tests"
Ask = Callable[[Any], Awaitable[Any]]


async def streamed_answer(profile: Any) -> str:
    return "".join([piece async for piece in profile.recall_stream("Where do I live?") if isinstance(piece, str)])


READS: dict[str, tuple[Ask, Any]] = {
    "search": (lambda p: p.search("boat"), []),
    "search then": (lambda p: p.search("boat", as_of="2026-01-01"), []),
    "list": (lambda p: p.list(), ()),
    "list of a kind": (lambda p: p.list(kind="note", key_prefix="/"), ()),
    "messages": (lambda p: p.messages(), ()),
    "facets": (lambda p: p.facets(["kind"]), Facets(0, {"kind": {}}, {"kind": 0})),
    "sessions": (lambda p: p.sessions(), ()),
    "summary": (lambda p: p.summary(), ""),
    "summary of a session": (lambda p: p.summary("s1"), ""),
    "recall_stream": (streamed_answer, ""),
    "documents": (lambda p: p.documents(), ()),
    "kinds": (lambda p: p.kinds(), ()),
    "usage": (lambda p: p.usage(), ()),
    "jobs": (lambda p: p.jobs(), ()),
    "traces": (lambda p: p.traces(), ()),
    "review": (lambda p: p.review(), ()),
    "edits": (lambda p: p.edits(), ()),
    "entities": (lambda p: p.entities(), ()),
    "entity_changes": (lambda p: p.entity_changes(), ()),
    "retention": (lambda p: p.retention(), None),
    "notes": (lambda p: AsyncNotes(p, "/workspace").list(), []),
    "notes found": (lambda p: AsyncNotes(p, "/workspace").search("boat"), []),
    "items": (lambda p: AsyncAgentMemory(p).list(), []),
    "an item": (lambda p: AsyncAgentMemory(p).get("note", "x"), None),
    "settle": (lambda p: p.settle(5), True),
}
BY_ID: dict[str, tuple[Ask, str]] = {
    "get": (lambda p: p.get("01NOBODY"), "id"),
    "history": (lambda p: p.history("01NOBODY"), "id"),
    "document": (lambda p: p.document("01NOBODY"), "id"),
    "passages": (lambda p: p.passages("01NOBODY"), "id"),
    "original": (lambda p: p.original("01NOBODY"), "id"),
    "job": (lambda p: p.job("01NOBODY"), "id"),
    "trace": (lambda p: p.trace("01NOBODY"), "id"),
    "kind": (lambda p: p.kind("note"), "kind"),
    "about": (lambda p: p.about("Marta"), "entity"),
    "graph": (lambda p: p.graph("Marta"), "entity"),
}
WRITES: dict[str, Ask] = {
    "revise": lambda p: p.revise("01NOBODY", content="x"),
    "forget": lambda p: p.forget("01NOBODY"),
    "mark": lambda p: p.mark("01NOBODY"),
    "undo": lambda p: p.undo(),
    "redigest": lambda p: p.redigest(),
    "merge_entities": lambda p: p.merge_entities("Marta", ["Maria"]),
    "drop_kind": lambda p: p.drop_kind("note"),
    "export": lambda p: anext(p.exported()),
}


@pytest.fixture(params=["here", "far", "database"])
async def memory(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    """In this process, behind HTTP, and with a PostgreSQL; the namespace `app` is there, with one profile."""
    async with AsyncExitStack() as stack:
        if request.param == "database":
            vault: Any = PostgresVault(stack.enter_context(database()), connections=4)
        else:
            vault = SqliteVault(tmp_path)
        holdfast = await stack.enter_async_context(AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor()))
        await holdfast.profile("app", "ana").remember("Ana has a boat.")
        if request.param != "far":
            yield holdfast
            return
        await holdfast.access.admin(TOKEN)
        url = await stack.enter_async_context(http_server(holdfast))
        yield await stack.enter_async_context(AsyncHoldfast.connect(url, TOKEN))


async def test_every_question_finds_nothing_and_makes_nothing(memory: Any) -> None:
    for place in (("app", "bob"), ("nowhere", "bob")):
        profile = memory.profile(*place)
        for name, (ask, nothing) in READS.items():
            found = await ask(profile)
            assert (tuple(found) if nothing == () else found) == nothing, name
        answer = await profile.recall("Where is the boat?")
        assert (answer.answer, answer.hits, answer.citations) == ("", (), ())
        assert (await profile.context("boat")).hits == ()
        graph = await profile.graph()
        assert (graph.entities, graph.links) == ((), ())
        stats = await profile.stats()
        assert (stats.messages, stats.memories, stats.pending) == (0, 0, 0)
        assert (await profile.audit()).memories == 0
        assert (await AsyncNotes(profile, "/workspace").entering("")).text == ""
    assert [space.name for space in await memory.namespaces()] == ["app"]
    assert [each.name for each in await memory.profiles("app")] == ["ana"]


async def test_what_is_asked_for_by_its_id_or_name_is_not_found(memory: Any) -> None:
    for name, (ask, field) in BY_ID.items():
        with pytest.raises(NotFound) as absent:
            await ask(memory.profile("app", "bob"))
        assert absent.value.field == field, name


async def test_what_changes_something_is_still_refused(memory: Any) -> None:
    for ask in WRITES.values():
        with pytest.raises(NotFound):
            await ask(memory.profile("app", "bob"))
    assert [each.name for each in await memory.profiles("app")] == ["ana"]


async def test_what_is_written_next_is_found(memory: Any) -> None:
    bob = memory.profile("new", "bob")
    assert await bob.search("kite") == []
    await bob.remember("Bob flies a kite.")
    assert [hit.content for hit in await bob.search("kite")] == ["Bob flies a kite."]
    await memory.delete_profile("new", "bob")
    assert await bob.search("kite") == []


async def test_an_agents_view_of_nothing_is_nothing(memory: Any) -> None:
    assert await memory.profile("app", "bob").as_agent("scout", reads="own").search("boat") == []


async def test_asked_beside_others_it_adds_nothing(memory: Any) -> None:
    for places in (["bob", "ana"], ["ana", ("nowhere", "bob")]):
        both = memory.across("app", places)
        assert {hit.content for hit in await both.search("boat")} == {"Ana has a boat."}
        assert "Ana has a boat." in (await both.context("boat")).text
    assert (await memory.across("app", ["bob", "carl"]).recall("boat")).answer == ""
    assert [each.name for each in await memory.profiles("app")] == ["ana"]


async def test_whoever_may_not_read_it_is_told_the_same_as_of_any_other(tmp_path: Path) -> None:
    async with AsyncHoldfast(SqliteVault(tmp_path), HashingEmbedder(), ScriptedExtractor()) as holdfast:
        await holdfast.profile("app", "ana").remember("Ana has a boat.")
        _, token = await holdfast.access.issue("key", "carl", ["read"], namespace="app", profile="carl")
        async with http_server(holdfast) as url, AsyncHoldfast.connect(url, token) as far:
            assert await far.profile("app", "carl").search("boat") == []
            told = set()
            for place in (("app", "ana"), ("app", "bob"), ("nowhere", "bob")):
                with pytest.raises(Forbidden) as refused:
                    await far.profile(*place).search("boat")
                told.add(str(refused.value))
            for place in (("app", "ana"), ("app", "bob"), ("nowhere", "bob")):
                with pytest.raises(NotFound) as absent:
                    await far.across("app", ["carl", place]).search("boat")
                told.add(str(absent.value))
            assert len(told) == 2
