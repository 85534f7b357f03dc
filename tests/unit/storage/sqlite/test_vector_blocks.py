"""Blocks of vectors: they agree with the vectors whatever is written, and nothing forgotten is in one."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from holdfast import AsyncHoldfast
from holdfast.domain import vectors
from holdfast.domain.types import Floats
from holdfast.domain.vectors import quantised_rows, vector_bytes, vector_of_bytes
from holdfast.storage.sqlite import vector_cache
from holdfast.storage.sqlite.cache import blocks as blocks_module
from holdfast.storage.sqlite.cache.blocks import BLOCK_PARTS, write_complete_blocks
from holdfast.storage.sqlite.connection import connect, profile_label, query
from holdfast.storage.sqlite.file import DatabaseFile
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.storage.sqlite.vector_cache import VectorCache
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from support.stored_bytes import sqlite_bytes

PARTS = 3 * BLOCK_PARTS
"""Parts from 1 to this number: two whole blocks, which begin at 512, one without its part 0, and one of one part."""
WHOLE = [0, 1, 2]


@pytest.fixture(autouse=True)
def large_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "MAX_EXACT_ROWS", 100)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[apsw.Connection]:
    """A profile whose parts all have vectors, without blocks."""
    with ThreadPoolExecutor(1) as pool:
        DatabaseFile(tmp_path / "profile.db", bytes(32), profile_label("app", "ana"), pool, new=True)
    connection = connect(tmp_path / "profile.db", bytes(32), writing=True)
    with connection:
        connection.executemany(
            "INSERT INTO part (n, item, number, start, stop, length, embed, asks, words, tokens) "
            "VALUES (?1, ?1, 0, 0, 1, 1, 1, 0, '', x'')",
            [(n,) for n in range(1, PARTS + 1)],
        )
        connection.executemany("INSERT INTO vector VALUES (?, 'm', ?)", list(enumerate(random_vectors(PARTS), 1)))
    yield connection
    connection.close()


def random_vectors(count: int) -> list[bytes]:
    rows = np.random.default_rng(1).standard_normal((count, 8)).astype(np.float32)
    return [vector_bytes(row) for row in rows / np.linalg.norm(rows, axis=1, keepdims=True)]


def blocks(db: apsw.Connection) -> list[int]:
    return [n for (n,) in query(db, "SELECT n FROM vector_block ORDER BY n")]


def similarities(db: apsw.Connection, model: str = "m") -> Floats:
    return VectorCache(db, model).cosines(np.eye(8, dtype=np.float32)[0])


def similarities_without_blocks(db: apsw.Connection, model: str = "m") -> Floats:
    db.execute("SAVEPOINT without")
    db.execute("DELETE FROM vector_block")
    found = similarities(db, model)
    db.execute("ROLLBACK TO without")
    db.execute("RELEASE without")
    return found


def test_complete_blocks_are_written_and_read_as_the_vectors_are(db: apsw.Connection) -> None:
    expected = similarities(db)
    assert np.count_nonzero(expected) > PARTS / 2
    write_complete_blocks(db, "m", list(range(1, PARTS + 1)))
    assert blocks(db) == WHOLE
    assert np.array_equal(similarities(db), expected)


def test_what_is_in_a_block_is_not_read_from_the_vectors(db: apsw.Connection) -> None:
    write_complete_blocks(db, "m", [PARTS - 1])
    db.execute("DELETE FROM vector_block WHERE n = 1")
    ranges: list[tuple[int, int]] = []

    def note_range(_: object, sql: str, bound: Any) -> bool:
        if "FROM vector WHERE" in sql:
            ranges.append(bound[:2])
        return True

    db.exec_trace = note_range
    VectorCache(db, "m")
    assert ranges == [(512, 1024), (1536, 2048)]


@pytest.mark.parametrize(
    ("statement", "left"),
    [
        ("DELETE FROM vector WHERE part = 511", [1, 2]),
        ("DELETE FROM vector WHERE part = 512", [0, 2]),
        ("DELETE FROM vector WHERE part IN (1023, 1024)", [0]),
        ("UPDATE vector SET data = zeroblob(16) WHERE part = 700", [0, 2]),
        ("UPDATE vector SET part = 5000 WHERE part = 3", [1, 2]),
        ("INSERT OR REPLACE INTO vector VALUES (1500, 'm', zeroblob(16))", [0, 1]),
        ("INSERT OR REPLACE INTO vector VALUES (1500, 'other', zeroblob(16))", [0, 1]),
        ("DELETE FROM vector", []),
    ],
)
def test_a_block_goes_with_any_of_its_vectors(db: apsw.Connection, statement: str, left: list[int]) -> None:
    write_complete_blocks(db, "m", [PARTS - 1])
    db.execute(statement)
    assert blocks(db) == left
    if "5000" not in statement:
        assert np.array_equal(similarities(db), similarities_without_blocks(db))


def test_a_block_of_another_model_is_not_read(db: apsw.Connection) -> None:
    write_complete_blocks(db, "m", [PARTS - 1])
    assert not similarities(db, "other").any()


def test_parts_that_are_gone_leave_gaps(db: apsw.Connection) -> None:
    gone = "(20, 21, 600, 1100)"
    db.execute(f"DELETE FROM vector WHERE part IN {gone}")
    db.execute(f"DELETE FROM part WHERE n IN {gone}")
    write_complete_blocks(db, "m", [PARTS - 1])
    assert blocks(db) == WHOLE
    assert np.array_equal(similarities(db), similarities_without_blocks(db))


def test_missing_blocks_are_written_a_few_at_a_time_and_the_newest_first(
    db: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks_module, "MAX_BLOCKS_WRITTEN", 2)
    write_complete_blocks(db, "m", [PARTS - 1])
    assert blocks(db) == [1, 2]
    write_complete_blocks(db, "m", [PARTS - 1])
    assert blocks(db) == WHOLE


def test_only_a_write_that_completes_a_block_of_a_large_profile_writes_any(
    db: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_complete_blocks(db, "m", list(range(1025, PARTS - 1)))
    assert blocks(db) == []
    monkeypatch.setattr(vectors, "MAX_EXACT_ROWS", PARTS)
    write_complete_blocks(db, "m", list(range(1025, PARTS)))
    assert blocks(db) == []


async def test_what_is_forgotten_is_in_no_block(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    vault = SqliteVault(tmp_path / "data")
    async with AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor()) as memory:
        ana = memory.profile("app", "ana")
        await ana.ingest([{"role": "user", "content": "Nobody may know of the locker at Porto"}], session_id="secret")
        for n in range(0, BLOCK_PARTS, 50):
            said = [{"role": "user", "content": f"This is number {m} of many"} for m in range(n, n + 50)]
            await ana.ingest(said, session_id=f"s{n}")
        await ana.settle()
        ((name, key),) = await vault._catalogue.read(lambda db: query(db, "SELECT file, key FROM profile"))
        file = vault._folder.file(name)
        stored = vector_of_bytes(
            [vector_bytes(row) for row in await HashingEmbedder().embed(["Nobody may know of the locker at Porto"])]
        )
        block_row = quantised_rows(stored).tobytes()
        assert block_row in sqlite_bytes(file, key, bare), "the search would not find it"
        before = [hit.id for hit in await ana.search("number 7 of many")]
        await ana.forget_session("secret")
        assert block_row not in sqlite_bytes(file, key, bare)
        assert [hit.id for hit in await ana.search("number 7 of many")] == before


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A profile of these tests is not large, and yet has blocks."""
    monkeypatch.setattr(vectors, "MAX_EXACT_ROWS", 10 * PARTS)
    monkeypatch.setattr(vectors, "MIN_PLAIN_ROWS", 100)


@pytest.mark.usefixtures("small_blocks")
def test_a_profile_that_is_not_large_wakes_with_blocks_too(db: apsw.Connection) -> None:
    exact = VectorCache(db, "m")
    assert exact.exact
    write_complete_blocks(db, "m", [PARTS - 1])
    woken = VectorCache(db, "m")
    assert not woken.exact
    assert woken.rescores_all
    query_vector = np.eye(8, dtype=np.float32)[0]
    assert np.abs(woken.cosines(query_vector) - exact.cosines(query_vector)).max() < 0.02


@pytest.mark.usefixtures("small_blocks")
def test_no_component_is_clipped_in_the_blocks_of_a_profile_that_is_not_large(db: apsw.Connection) -> None:
    row = np.array([0.55, 0.55, 0.55, 0.3, 0, 0, 0, 0], np.float32)
    row /= np.linalg.norm(row)
    db.execute("UPDATE vector SET data = ? WHERE part = 700", (vector_bytes(row),))
    write_complete_blocks(db, "m", [PARTS - 1])
    assert VectorCache(db, "m").cosines(row)[699] == pytest.approx(1.0, abs=0.02)


@pytest.mark.usefixtures("small_blocks")
def test_with_many_blocks_missing_the_exact_vectors_are_read(db: apsw.Connection) -> None:
    write_complete_blocks(db, "m", [PARTS - 1])
    assert not VectorCache(db, "m").exact
    db.execute("DELETE FROM vector_block WHERE n < 2")
    assert VectorCache(db, "m").exact


@pytest.mark.usefixtures("small_blocks")
def test_exact_vectors_are_read_once_a_profile_is_searched_again_and_again(
    db: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_cache, "MAX_RESCORED_SEARCHES", 2)
    expected = similarities(db)
    write_complete_blocks(db, "m", [PARTS - 1])
    cache = VectorCache(db, "m")
    for exact in (False, False, True, True):
        cache.load_exact(db)
        assert cache.exact == exact
    assert np.array_equal(cache.cosines(np.eye(8, dtype=np.float32)[0]), expected)


@pytest.mark.usefixtures("small_blocks")
async def test_a_search_finds_the_same_before_and_after_exact_vectors_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_cache, "MAX_RESCORED_SEARCHES", 1)
    vault = SqliteVault(tmp_path / "data")
    async with AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor()) as memory:
        ana = memory.profile("app", "ana")
        words = ["oak", "elm", "ash", "fir", "yew", "bay", "fig"]
        for n in range(0, 2 * BLOCK_PARTS, 100):
            texts = [f"The {words[m % 7]} and the {words[m % 5]}, {m}" for m in range(n, n + 100)]
            said = [{"role": "user", "content": text} for text in texts]
            await ana.ingest(said, session_id=f"s{n}")
        await ana.settle()
        store = await vault.open("app", "ana", create=False)
        await store.sleep()
        cold = await ana.search("fig yew bay", limit=20)
        assert store._cache is not None
        assert not store._cache.exact
        await ana.search("oak")
        assert store._cache.exact
        assert await ana.search("fig yew bay", limit=20) == cold
