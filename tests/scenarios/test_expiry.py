"""An expired memory is hidden at once from every read, before the sweep removes it; `expired=True` still shows it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast import AsyncHoldfast, InvalidInput, Memory, NotFound, Stale
from holdfast.domain.json_codec import encode
from holdfast.service.facades.agent_memory import AsyncAgentMemory
from holdfast.service.facades.notes import AsyncNotes
from holdfast.testing import FrozenClock, HashingEmbedder, ScriptedExtractor
from support.http_server import http_server
from support.vaults import open_vault

everywhere = pytest.mark.parametrize("where", ["memory", "files", "database", "remote"])
SECRET = "zanzibar"


@asynccontextmanager
async def profile_and_clock(where: str, path: Path) -> AsyncIterator[tuple[Any, FrozenClock]]:
    clock = FrozenClock()
    with open_vault("files" if where == "remote" else where, path) as vault:
        async with AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor(), clock) as holdfast:
            holdfast.runtime.worker.note_use = lambda who: None  # type: ignore[method-assign]  # a visit would sweep
            ana = holdfast.profile("app", "ana")
            await ana.remember("Anna lives in Porto", key="home")
            await ana.settle()
            if where != "remote":
                yield ana, clock
                return
            async with http_server(holdfast) as url:
                _, token = await holdfast.access.issue("key", "test", ("read", "write", "forget", "admin"))
                remote = AsyncHoldfast.connect(url, token)
                yield remote.profile("app", "ana"), clock
                await remote.close()


async def expired_memory(ana: Any, clock: FrozenClock) -> tuple[Memory, Memory]:
    """Two versions of a memory whose newer one has just expired."""
    first = await ana.remember(f"Anna went to {SECRET} by ship", key="trip", kind="event")
    second = await ana.revise(first.id, content=f"Anna went to {SECRET} by train", ttl=60)
    await ana.settle()
    assert SECRET in (await ana.get(second.id)).content
    clock.advance(timedelta(seconds=61))
    return first, second


DOORS: dict[str, Callable[[Any, Memory], Awaitable[Any]]] = {
    "get": lambda ana, memory: ana.get(memory.id),
    "history": lambda ana, memory: ana.history(memory.id),
    "list": lambda ana, memory: ana.list(kind="event"),
    "list superseded": lambda ana, memory: ana.list(kind="event", key="trip"),
    "search": lambda ana, memory: ana.search(f"Anna {SECRET}"),
    "recall": lambda ana, memory: ana.recall("How did Anna travel?"),
    "context": lambda ana, memory: ana.context(f"{SECRET} Anna"),
    "summary": lambda ana, memory: ana.summary(),
    "about": lambda ana, memory: ana.about("Anna"),
    "graph": lambda ana, memory: ana.graph("Anna"),
    "entities": lambda ana, memory: ana.entities(),
    "review": lambda ana, memory: ana.review(),
    "audit": lambda ana, memory: ana.audit(),
    "revise": lambda ana, memory: ana.revise(memory.id, kind="fact"),
    "mark": lambda ana, memory: ana.mark(memory.id, right=True),
    "merge": lambda ana, memory: ana.merge([memory.id, memory.id]),
    "split": lambda ana, memory: ana.split(memory.id, ["one half", "the other half"]),
    "key-value get": lambda ana, memory: AsyncAgentMemory(ana).get("event", "trip"),
    "key-value search": lambda ana, memory: AsyncAgentMemory(ana).search("Anna ship train"),
    "key-value list": lambda ana, memory: AsyncAgentMemory(ana).list("event"),
    "notes": lambda ana, memory: AsyncNotes(ana, "/").search("Anna train"),
}


@everywhere
async def test_no_read_shows_an_expired_memory_or_its_earlier_versions(where: str, tmp_path: Path) -> None:
    async with profile_and_clock(where, tmp_path) as (ana, clock):
        for name, door in DOORS.items():
            for memory in await expired_memory(ana, clock):
                shown = None
                with suppress(NotFound, Stale, InvalidInput):
                    shown = await door(ana, memory)
                assert SECRET not in str(encode(shown)), name
            await ana.apply_retention()


@everywhere
async def test_expired_versions_are_shown_on_request_until_they_are_swept(where: str, tmp_path: Path) -> None:
    async with profile_and_clock(where, tmp_path) as (ana, clock):
        first, second = await expired_memory(ana, clock)
        for memory in (first, second):
            with pytest.raises(NotFound):
                await ana.get(memory.id)
            with pytest.raises(NotFound):
                await ana.history(memory.id)
            assert SECRET in (await ana.get(memory.id, expired=True)).content
            assert len(await ana.history(memory.id, expired=True)) == 2
        listed = await ana.list(kind="event", expired=True)
        assert [memory.id for memory in listed] == [second.id]


@everywhere
async def test_a_memory_written_over_an_expired_one_hides_it_from_the_history(where: str, tmp_path: Path) -> None:
    async with profile_and_clock(where, tmp_path) as (ana, clock):
        await expired_memory(ana, clock)
        after = await ana.remember("Anna went to Lisbon", key="trip", kind="event")
        assert [version.content for version in await ana.history(after.id)] == ["Anna went to Lisbon"]


@everywhere
async def test_what_had_not_expired_then_is_shown_as_of_then(where: str, tmp_path: Path) -> None:
    async with profile_and_clock(where, tmp_path) as (ana, clock):
        before = await ana.remember("Anna plans a trip", kind="event", ttl=3600)
        then = clock()
        clock.advance(timedelta(hours=2))
        with pytest.raises(NotFound):
            await ana.get(before.id)
        assert (await ana.get(before.id, as_of=then)).id == before.id
        assert len(await ana.history(before.id, as_of=then)) == 1
