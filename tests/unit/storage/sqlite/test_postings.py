"""Postings that searches keep: a word that was written since is found, and what was forgotten is not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast import AsyncHoldfast
from holdfast.domain import vectors
from holdfast.domain.ports.search import Probe, Proposals
from holdfast.domain.types import Floats
from holdfast.storage.sqlite import search, vector_cache
from holdfast.storage.sqlite.store import SqliteStore
from holdfast.testing import ScriptedExtractor
from holdfast.text.tokens import tokens

WORDS = ["apple", "pear", "plum", "quince", "cherry", "lemon", "grape", "melon"]
NOW = datetime(2026, 6, 1, tzinfo=UTC)


class LengthEmbedder:
    """Vectors that follow from a text's length, so that no model is loaded."""

    model = "test/length/4"

    async def embed(self, texts: Any) -> list[Floats]:
        return [await self.embed_query(text) for text in texts]

    async def embed_query(self, text: str) -> Floats:
        row = np.random.default_rng(len(text)).standard_normal(4).astype(np.float32)
        return np.asarray(row / np.linalg.norm(row), np.float32)


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[AsyncHoldfast]:
    async with await AsyncHoldfast.open(
        tmp_path / "data", embedder=LengthEmbedder(), extractor=ScriptedExtractor()
    ) as opened:
        said = [{"role": "user", "content": f"The {word} tart of day {n}"} for n, word in enumerate(WORDS)]
        await opened.profile("app", "ana").ingest(said, session_id="fruit")
        await opened.profile("app", "ana").settle()
        yield opened


async def store_of(memory: AsyncHoldfast) -> SqliteStore:
    store = await memory.runtime.vault.open("app", "ana", create=False)
    assert isinstance(store, SqliteStore)
    return store


async def proposed(memory: AsyncHoldfast, *words: str) -> list[str]:
    """The texts proposed for these words, the best first."""
    store = await store_of(memory)
    stems = tuple(tokens(" ".join(words)))
    found = await store.propose(Probe(now=NOW, words=stems, model=LengthEmbedder.model))
    return [item.content for item in await store.get(_by_words(found))]


def _by_words(found: Proposals) -> list[str]:
    ranks = [(ranks["messages"], item.id) for item, ranks in zip(found.items, found.channels, strict=True) if ranks]
    return [id for _, id in sorted(ranks)]


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that searches need."""
    seen: list[str] = []
    read = vector_cache.read

    def noted(db: Any, sql: str, bound: Any = ()) -> Any:
        if db is not None:
            seen.append(sql)
        return read(db, sql, bound)

    monkeypatch.setattr(search, "read", noted)
    return seen


async def test_a_small_profile_that_is_searched_often_reads_all_words_once(
    memory: AsyncHoldfast, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_cache, "MIN_MISSING_WORDS", 2)
    for word in WORDS[:3]:
        assert await proposed(memory, word) == [f"The {word} tart of day {WORDS.index(word)}"]
    assert sum("GROUP BY term" in sql for sql in reads) == 1
    reads.clear()
    for word in WORDS[3:]:
        assert await proposed(memory, word) == [f"The {word} tart of day {WORDS.index(word)}"]
    assert await proposed(memory, "papaya") == []
    assert not any("word_place" in sql for sql in reads)


async def test_a_word_written_after_all_words_were_read_is_found(
    memory: AsyncHoldfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_cache, "MIN_MISSING_WORDS", 0)
    assert await proposed(memory, "papaya") == []
    said = [{"role": "user", "content": "The papaya and the plum"}]
    await memory.profile("app", "ana").ingest(said, session_id="more")
    await memory.profile("app", "ana").settle()
    assert await proposed(memory, "papaya") == ["The papaya and the plum"]
    assert set(await proposed(memory, "plum")) == {"The papaya and the plum", "The plum tart of day 2"}


@pytest.mark.parametrize("all_words", [True, False])
async def test_a_write_carries_postings_on(
    memory: AsyncHoldfast, reads: list[str], all_words: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_cache, "MIN_MISSING_WORDS", 0 if all_words else 1_000)
    asked = tuple(tokens("plum tart papaya pear"))
    store = await store_of(memory)
    await store.propose(Probe(now=NOW, words=asked, model=LengthEmbedder.model))
    reads.clear()
    for text in ("A plum, a papaya and another plum", "The pear tart", "A tart, a tart"):
        await memory.profile("app", "ana").ingest([{"role": "user", "content": text}], session_id="more")
    await memory.profile("app", "ana").settle()
    carried = [await _postings(store, word) for word in asked]
    assert not any("word_place" in sql for sql in reads)
    await store.sleep()
    assert carried == [await _postings(store, word) for word in asked]
    assert [frequency for *_, frequency in carried] == [2, len(WORDS) + 2, 1, 2]


async def _postings(store: SqliteStore, word: str) -> tuple[list[int], list[int], int]:
    await store.propose(Probe(now=NOW, words=(word,), model=LengthEmbedder.model))
    assert store._cache is not None
    rows, times, frequency = store._cache.posting(word) or (np.zeros(0), np.zeros(0), 0)
    return rows.tolist(), times.tolist(), frequency


async def test_what_is_forgotten_is_in_no_posting(memory: AsyncHoldfast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_cache, "MIN_MISSING_WORDS", 0)
    assert await proposed(memory, "plum")
    await memory.profile("app", "ana").forget_session("fruit")
    store = await store_of(memory)
    assert store._cache is None
    assert await proposed(memory, "plum") == []


async def test_a_large_profile_reads_a_words_frequency_once_until_it_is_written_again(
    memory: AsyncHoldfast, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MAX_PARTS_READ_AT_ONCE", 0)
    monkeypatch.setattr("holdfast.storage.sqlite.store.MAX_PARTS_SEARCHED_IN_PLACE", 0)
    for _ in range(2):
        assert await proposed(memory, "plum") == ["The plum tart of day 2"]
    assert sum("word_count" in sql for sql in reads) == 1
    await memory.profile("app", "ana").ingest([{"role": "user", "content": "A plum"}], session_id="more")
    await memory.profile("app", "ana").settle()
    assert set(await proposed(memory, "plum")) == {"The plum tart of day 2", "A plum"}
    assert sum("word_count" in sql for sql in reads) == 2


async def test_the_posting_used_longest_ago_is_dropped_first(
    memory: AsyncHoldfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_cache, "MAX_CACHED_OCCURRENCES", 2)
    monkeypatch.setattr(vector_cache, "MAX_OCCURRENCES_PER_PART", 0)
    for word in ("plum", "pear", "plum", "apple"):
        await proposed(memory, word)
    cache = (await store_of(memory))._cache
    assert cache is not None
    assert list(cache.postings) == tokens("plum apple")


@pytest.mark.parametrize("share", [1.5, 4.0])
async def test_the_best_of_an_approximate_scan_are_those_of_exact_cosines(
    memory: AsyncHoldfast, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await store_of(memory)
    query = await LengthEmbedder().embed_query("a question")
    probe = Probe(now=NOW, vector=query, model=LengthEmbedder.model, limit=3, memories=3)
    exact = _by_words(await store.propose(probe))
    monkeypatch.setattr(vectors, "MAX_EXACT_ROWS", 0)
    monkeypatch.setattr(search, "RESCORED_SHARE", share)
    await store.sleep()
    found = await store.propose(probe)
    assert store._cache is not None
    assert not store._cache.exact
    assert len(exact) == 3
    assert _by_words(found) == exact
