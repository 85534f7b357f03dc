"""What waking a profile reads: its parts and its vectors, each once."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import numpy as np
import pytest

from holdfast.domain import vectors
from holdfast.domain.types import Floats
from holdfast.domain.vectors import vector_bytes, vector_of_bytes
from holdfast.storage.sqlite import vector_cache
from holdfast.storage.sqlite.connection import connect, profile_label
from holdfast.storage.sqlite.file import DatabaseFile
from holdfast.storage.sqlite.vector_cache import VectorCache

PARTS = 40


@pytest.fixture
def db(tmp_path: Path) -> Iterator[apsw.Connection]:
    with ThreadPoolExecutor(1) as pool:
        file = DatabaseFile(tmp_path / "profile.db", bytes(32), profile_label("app", "ana"), pool, new=True)
        assert file.path.exists()
    connection = connect(tmp_path / "profile.db", bytes(32), writing=True)
    for n in range(1, PARTS + 1):
        connection.execute(
            "INSERT INTO part (n, item, number, start, stop, length, live, embed, asks, words, tokens) "
            "VALUES (?, ?, 0, 0, 1, ?, ?, 1, 0, '', x'')",
            (n, n if n % 3 else -n, n % 7, int(n % 5 != 0)),
        )
    yield connection
    connection.close()


def stored_vectors(db: apsw.Connection, parts: list[int], model: str = "m") -> Floats:
    rows = np.random.default_rng(1).standard_normal((len(parts), 8)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    for part, row in zip(parts, rows, strict=True):
        db.execute("INSERT INTO vector VALUES (?, ?, ?)", (part, model, vector_bytes(row)))
    return vector_of_bytes([vector_bytes(row) for row in rows])


@pytest.mark.parametrize("most_exact", [1000, 10])
@pytest.mark.parametrize("missing", [set(), {1}, {17, 18}, {PARTS}])
def test_vectors_are_where_their_parts_are(
    db: apsw.Connection, missing: set[int], most_exact: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "MAX_EXACT_ROWS", most_exact)
    monkeypatch.setattr(vector_cache, "VECTORS_READ_AT_ONCE", 7)
    parts = [n for n in range(1, PARTS + 1) if n not in missing]
    rows = stored_vectors(db, parts)
    cache = VectorCache(db, "m")
    assert cache.exact == (most_exact == 1000)
    expected = np.zeros(PARTS, np.float32)
    expected[np.array(parts) - 1] = rows @ rows[0]
    assert np.allclose(cache.cosines(rows[0]), expected, atol=0 if cache.exact else 0.03)
    assert cache.n.tolist() == list(range(1, PARTS + 1))
    assert cache.length.tolist() == [n % 7 for n in range(1, PARTS + 1)]
    assert cache.live.tolist() == [int(n % 5 != 0) for n in range(1, PARTS + 1)]
    assert cache.memory.tolist() == [int(n % 3 == 0) for n in range(1, PARTS + 1)]


def test_parts_and_vectors_are_read_once(db: apsw.Connection) -> None:
    stored_vectors(db, list(range(1, PARTS + 1)))
    statements: list[str] = []

    def note_statement(_: object, sql: str, __: object) -> bool:
        statements.append(sql)
        return True

    db.exec_trace = note_statement
    VectorCache(db, "m")
    assert [sum(table in sql for sql in statements) for table in ("FROM part", "FROM vector")] == [1, 1]
    assert len(statements) == 2


def test_another_models_vectors_are_not_read(db: apsw.Connection) -> None:
    rows = stored_vectors(db, [1, 2, 3], "other")
    assert not VectorCache(db, "m").cosines(rows[0]).any()
