"""Neighbours that searches keep: those of a session that goes on are read again, those of others are not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from holdfast import AsyncHoldfast
from holdfast.domain.ports.search import Probe
from holdfast.storage.sqlite import search, vector_cache
from holdfast.storage.sqlite.store import SqliteStore
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from holdfast.text.tokens import tokens

NOW = datetime(2026, 6, 1, tzinfo=UTC)
SAID = {"fruit": ["apple", "pear", "plum"], "trees": ["oak", "beech", "ash"], "birds": ["wren", "owl", "kite"]}


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[AsyncHoldfast]:
    async with await AsyncHoldfast.open(
        tmp_path / "data", embedder=HashingEmbedder(), extractor=ScriptedExtractor()
    ) as opened:
        for session, words in SAID.items():
            await say(opened, session, *words)
        yield opened


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that searches need."""
    seen: list[str] = []

    def noted(db: Any, sql: str, bound: Any = ()) -> Any:
        if db is not None:
            seen.append(sql)
        return vector_cache.read(db, sql, bound)

    monkeypatch.setattr(search, "read", noted)
    return seen


async def say(memory: AsyncHoldfast, session: str, *texts: str) -> None:
    profile = memory.profile("app", "ana")
    await profile.ingest([{"role": "user", "content": text} for text in texts], session_id=session)
    await profile.settle()


async def proposed(memory: AsyncHoldfast, word: str) -> set[str]:
    """The texts proposed for a word: the message that has it, and those beside it."""
    store = await memory.runtime.vault.open("app", "ana", create=False)
    assert isinstance(store, SqliteStore)
    found = await store.propose(Probe(now=NOW, words=tuple(tokens(word))))
    return {item.content for item in await store.get([item.id for item in found.items])}


async def test_who_goes_on_with_a_session_is_beside_its_last_message(memory: AsyncHoldfast) -> None:
    assert await proposed(memory, "plum") == {"pear", "plum"}
    await say(memory, "fruit", "quince")
    assert await proposed(memory, "plum") == {"pear", "plum", "quince"}
    await say(memory, "trees", "elm")
    assert await proposed(memory, "plum") == {"pear", "plum", "quince"}
    assert await proposed(memory, "ash") == {"beech", "ash", "elm"}


async def test_neighbours_in_other_sessions_are_not_read_again(memory: AsyncHoldfast, reads: list[str]) -> None:
    for word in ("plum", "oak"):
        await proposed(memory, word)
    await say(memory, "fruit", "quince")
    reads.clear()
    assert await proposed(memory, "oak") == {"oak", "beech"}
    assert not any("AS beside" in sql for sql in reads)
    await proposed(memory, "plum")
    assert sum("AS beside" in sql for sql in reads) == 1


async def test_neighbours_go_with_the_details_of_parts(memory: AsyncHoldfast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MAX_CACHED_PARTS", 2)
    for word in ("plum", "oak", "owl"):
        await proposed(memory, word)
    await say(memory, "fruit", "quince")
    await say(memory, "birds", "lark")
    assert await proposed(memory, "plum") == {"pear", "plum", "quince"}
    assert await proposed(memory, "owl") == {"wren", "owl", "kite"}
    assert await proposed(memory, "kite") == {"owl", "kite", "lark"}
