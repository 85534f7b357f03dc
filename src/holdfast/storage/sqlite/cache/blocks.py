"""Blocks of vectors: those of 512 adjoining parts in one row, quantised as a large matrix holds them, which is half the
bytes and nothing to convert. They are derived from the table `vector`. Triggers delete a block with any write to one of
its vectors, so that a block which exists is right, and what is forgotten is in none. Those of a profile that is not
large have other steps, and its name for them: exact numbers follow what they find.
"""

from __future__ import annotations

from collections.abc import Iterator

import apsw
import numpy as np
from numpy.typing import NDArray

from holdfast.domain import vectors
from holdfast.storage.sqlite.connection import query

BLOCK_PARTS = 512
"""The parts of a block; the triggers in the migration have the same number."""
MAX_BLOCKS_WRITTEN = 16
"""How many blocks one write adds: the one that it completes, and some that are missing. Each takes about a
millisecond."""
MAX_MISSING_BLOCKS = 2
"""With more missing blocks than these, a profile that is not large reads its vectors instead: the last block is hardly
ever complete, and one may have lost a vector. Chosen by hand."""


def are_complete(db: apsw.Connection, model: str, parts: NDArray[np.int64]) -> bool:
    """Whether hardly any block of these parts, in order, is missing."""
    if len(parts) <= vectors.MIN_PLAIN_ROWS:
        return False
    wanted = np.count_nonzero(np.diff(parts // BLOCK_PARTS)) + 1
    stored = query(db, "SELECT count(*) FROM vector_block WHERE model = ?", (_block_model(model, large=False),))[0][0]
    return bool(wanted - stored <= MAX_MISSING_BLOCKS)


def _block_model(model: str, *, large: bool) -> str:
    return model if large else f"{model} fine"


def load_blocks(db: apsw.Connection, model: str, *, large: bool) -> Iterator[tuple[int, NDArray[np.int8]]]:
    """The number of each block, and its rows, one for each part that may exist."""
    name = _block_model(model, large=large)
    for number, data in db.execute("SELECT n, data FROM vector_block WHERE model = ? ORDER BY n", (name,)):
        yield number, np.frombuffer(data, np.int8).reshape(BLOCK_PARTS, -1)


def write_complete_blocks(db: apsw.Connection, model: str, parts: list[int]) -> None:
    """Write missing blocks, the newest first, when these parts, whose vectors are new, complete one of a large
    profile."""
    end = (max(parts) + 1) // BLOCK_PARTS
    if max(parts) <= min(vectors.MIN_PLAIN_ROWS, vectors.MAX_EXACT_ROWS) or end == min(parts) // BLOCK_PARTS:
        return
    large = max(parts) > vectors.MAX_EXACT_ROWS
    name = _block_model(model, large=large)
    known = {n for (n,) in query(db, "SELECT n FROM vector_block WHERE model = ?", (name,))}
    written = 0
    for number in reversed(range(end)):
        if number not in known and written < MAX_BLOCKS_WRITTEN:
            written += _write_block(db, model, number, large=large)


def _write_block(db: apsw.Connection, model: str, number: int, *, large: bool) -> bool:
    """Write one block; False when none of its parts has a vector."""
    first = number * BLOCK_PARTS
    stored = query(
        db,
        "SELECT part, data FROM vector WHERE part >= ? AND part < ? AND model = ?",
        (first, first + BLOCK_PARTS, model),
    )
    if not stored:
        return False
    exact = vectors.vector_of_bytes([data for _, data in stored])
    values = vectors.quantised_rows(exact, None if large else vectors.fine_steps(exact.shape[1]))
    rows = np.zeros((BLOCK_PARTS, values.shape[1]), np.int8)
    rows[[part - first for part, _ in stored]] = values
    name = _block_model(model, large=large)
    db.execute("INSERT OR REPLACE INTO vector_block VALUES (?, ?, ?)", (number, name, rows.tobytes()))
    return True
