"""Asking a profile as it stood at a moment, here and over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast import AsyncHoldfast
from holdfast.domain.errors import InvalidInput, NotFound
from holdfast.domain.types import Draft
from holdfast.testing import FrozenClock, HashingEmbedder, ScriptedExtractor
from support.http_server import http_server
from support.vaults import open_vault

DAY = timedelta(days=1)
PORTO, LISBON = "I live in Porto now.", "We moved to Lisbon, that is home."
SCRIPT: Any = {
    PORTO: [Draft("fact", "Ana lives in Porto", (), key="home")],
    LISBON: [Draft("fact", "Ana lives in Lisbon", (), key="home")],
}
everywhere = pytest.mark.parametrize("where", ["memory", "files", "database", "remote"])


@asynccontextmanager
async def profile_that_moved(where: str, path: Path) -> AsyncIterator[tuple[Any, datetime, datetime]]:
    """A profile that heard of Porto on one day and of Lisbon ten days later."""
    clock = FrozenClock()
    with open_vault("files" if where == "remote" else where, path) as vault:
        async with AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor(SCRIPT), clock) as holdfast:
            ana = holdfast.profile("app", "ana")
            first = clock()
            await ana.ingest([{"role": "user", "content": PORTO}], session_id="s", wait=True)
            clock.advance(10 * DAY)
            second = clock()
            await ana.ingest([{"role": "user", "content": LISBON}], session_id="t", wait=True)
            clock.advance(10 * DAY)
            if where != "remote":
                yield ana, first, second
                return
            async with http_server(holdfast) as url:
                issued, token = await holdfast.access.issue("key", "test", ("read", "write", "forget"))
                assert issued.id
                remote = AsyncHoldfast.connect(url, token)
                yield remote.profile("app", "ana"), first, second
                await remote.close()


@everywhere
async def test_every_read_answers_as_of_a_moment(where: str, tmp_path: Path) -> None:
    async with profile_that_moved(where, tmp_path) as (ana, first, second):
        (now,) = (await ana.list(key="home")).items
        (then,) = (await ana.list(key="home", as_of=second - DAY)).items
        assert (now.content, then.content) == ("Ana lives in Lisbon", "Ana lives in Porto")
        assert then.current
        assert not (await ana.get(then.ref)).current
        assert (await ana.get(then.id, as_of=second - DAY)).current
        assert (await ana.get(now.id, as_of=second - DAY)).ref == then.ref  # of what came later, the version there was
        assert [each.ref for each in await ana.history(now.id, as_of=first)] == [then.ref]
        assert len(await ana.history(now.id, as_of=second)) == 2
        found = await ana.search("Where does Ana live?", as_of=second - DAY)
        assert found
        assert not any("Lisbon" in hit.content for hit in found)
        assert "Porto" in (await ana.recall("Where does Ana live?", as_of=second - DAY)).answer
        assert "Lisbon" in (await ana.recall("Where does Ana live?")).answer
        block = await ana.context("Where does Ana live?", as_of=(second - DAY).isoformat())
        assert PORTO in block.text
        assert LISBON not in block.text
        assert "superseded" not in block.text
        assert (await ana.list(as_of=first - DAY)).items == ()
        assert await ana.search("Where does Ana live?", as_of=first - DAY) == []
        with pytest.raises(NotFound):
            await ana.get(now.id, as_of=first - DAY)
        with pytest.raises(InvalidInput):
            await ana.list(as_of="long ago")


@everywhere
async def test_yesterday_is_the_day_before_the_moment(where: str, tmp_path: Path) -> None:
    async with profile_that_moved(where, tmp_path) as (ana, first, second):
        assert "as of 2025-03-15" in (await ana.context("What happened yesterday?", as_of=second + DAY)).text
        (hit, *_) = await ana.search("What was said yesterday?", as_of=second + DAY, kind="message")
        assert (hit.content, "time" in hit.channels) == (LISBON, True)
        told = await ana.context("What happened yesterday?", as_of=second + DAY, reference_date=first + DAY)
        assert "as of 2025-03-05" in told.text


async def test_a_memory_shows_the_sources_it_had(tmp_path: Path) -> None:
    clock = FrozenClock()
    script: Any = {text: [Draft("fact", "Ana likes tea", (), key="drink")] for text in ("Tea!", "More tea!")}
    with open_vault("files", tmp_path) as vault:
        async with AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor(script), clock) as holdfast:
            ana = holdfast.profile("app", "ana")
            await ana.ingest([{"role": "user", "content": "Tea!"}], session_id="s", wait=True)
            then = clock()
            clock.advance(DAY)
            await ana.ingest([{"role": "user", "content": "More tea!"}], session_id="s", wait=True)
            (memory,) = (await ana.list(key="drink")).items
            assert len(memory.sources) == 2
            assert len((await ana.get(memory.id, as_of=then)).sources) == 1  # type: ignore[union-attr]


async def test_a_task_counts_as_over_by_the_session_that_ran_then(tmp_path: Path) -> None:
    clock = FrozenClock()
    with open_vault("files", tmp_path) as vault:
        async with AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor(), clock) as holdfast:
            ana = holdfast.profile("app", "ana")
            await ana.ingest([{"role": "user", "content": "good morning"}], session_id="s", wait=True)
            await ana.remember("Renew the passport", kind="task", session_id="s")
            (then, before) = (clock(), (await ana.search("passport"))[0].score)
            clock.advance(DAY)
            await ana.ingest([{"role": "user", "content": "another day"}], session_id="t", wait=True)
            assert (await ana.search("passport"))[0].score < before - 2
            assert abs((await ana.search("passport", as_of=then))[0].score - before) < 1
