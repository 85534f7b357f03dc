"""What anybody writes in an afternoon: texts and vectors in one SQLite table, all cosines in NumPy."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from benchmarks.peers.embedder import DIMENSIONS, Embedder, Vectors
from benchmarks.peers.workload import Message

SETTINGS = "One table, WAL with full sync; vectors also in memory as one float32 matrix; every cosine is computed."
PACKAGES = ("numpy",)
GROWTH = 1.5
"""How much larger the matrix is made when it is full."""


@dataclass
class Table:
    db: sqlite3.Connection
    embedder: Embedder
    ids: list[str] = field(default_factory=list)
    rows: Vectors = field(default_factory=lambda: np.zeros((1024, DIMENSIONS), np.float32))


def open(folder: Path, embedder: Embedder) -> Table:
    db = sqlite3.connect(folder / "messages.db")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("CREATE TABLE message (id TEXT PRIMARY KEY, text TEXT NOT NULL, vector BLOB NOT NULL)")
    return Table(db, embedder)


def store(table: Table, messages: Sequence[Message]) -> None:
    vectors = table.embedder.embed([message.text for message in messages])
    with table.db:
        rows = [(each.id, each.text, vector.tobytes()) for each, vector in zip(messages, vectors, strict=True)]
        table.db.executemany("INSERT INTO message VALUES (?, ?, ?)", rows)
    start, end = len(table.ids), len(table.ids) + len(messages)
    if end > len(table.rows):
        table.rows = np.resize(table.rows, (int(end * GROWTH), DIMENSIONS))
    table.rows[start:end] = vectors
    table.ids += [message.id for message in messages]


def search(table: Table, question: str, limit: int) -> list[tuple[str, ...]]:
    cosines = table.rows[: len(table.ids)] @ table.embedder.embed_query(question)
    best = np.argsort(-cosines)[:limit]
    ids = [table.ids[n] for n in best]
    marks = ", ".join("?" * len(ids))
    texts = dict(table.db.execute(f"SELECT id, text FROM message WHERE id IN ({marks})", ids))
    return [(id,) for id in ids if id in texts]


def close(table: Table) -> None:
    table.db.close()
