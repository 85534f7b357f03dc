"""Listing what is no longer shown by itself: earlier versions, and what has expired."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from holdfast import AsyncHoldfast
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing import FrozenClock, HashingEmbedder, ScriptedExtractor
from support.http_server import http_server


@asynccontextmanager
async def closed_after(memory: AsyncHoldfast) -> AsyncIterator[AsyncHoldfast]:
    try:
        yield memory
    finally:
        await memory.close()


async def test_superseded_and_expired_memories_are_listed_when_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.service.profile.context.CATCH_UP_SECONDS", 0.0)
    clock = FrozenClock()
    vault = SqliteVault(tmp_path / "data")
    # not started: the worker would sweep what has expired before anybody could list it
    async with closed_after(AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor({}), clock=clock)) as memory:
        await memory.create_namespace("app")
        ana = memory.profile("app", "ana")
        await ana.remember("Porto", key="city")
        await ana.remember("Lisbon", key="city")
        await ana.remember("Door code 4711", kind="note", ttl=60)
        clock.advance(timedelta(minutes=2))
        async with http_server(memory) as base:
            token = await memory.access.admin() or ""
            async with AsyncHoldfast.connect(base, token) as far:
                for profile in (ana, far.profile("app", "ana")):

                    async def listed(**more: bool) -> list[str]:
                        return [each.content for each in await profile.list(**more)]  # noqa: B023

                    assert await listed() == ["Lisbon"]
                    assert await listed(superseded=True) == ["Lisbon", "Porto"]
                    assert await listed(expired=True) == ["Door code 4711", "Lisbon"]
                    assert await listed(superseded=True, expired=True) == ["Door code 4711", "Lisbon", "Porto"]
