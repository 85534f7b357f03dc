"""Pure: exact nearest neighbours over a growing matrix. float32 while small, int8 with rescoring when large.

Up to `MAX_EXACT_ROWS` rows a float32 product is fastest. Above, rows are stored as int8 (a quarter of the memory), all
are scored, and the caller rescores the best few hundred from the stored rows, which loses nothing measurable.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.domain.types import Floats

MAX_EXACT_ROWS = 20_000
MAX_MATRIX_STEP, MAX_VECTOR_STEP = 1 << 18, 9_000
"""Multiplications in one product with a matrix, and with a vector, up to which OpenBLAS uses the calling thread alone.
A thread that it wakes for more spins for a while afterwards and costs more than it saves in products as small as ours.
"""
MIN_PLAIN_ROWS = 4_096
"""Above so many rows, a plain loop takes half the time of BLAS in steps that small; below, the rest of a search takes
most of it."""
MIN_FINE_BOUND = 0.6
"""The greatest component that fine steps hold. Those of the default model reach 0.5."""
_CHUNK = 512  # one converted chunk fits into the second-level cache
_BLOCK = 64
"""How many scores are compared as one before the best are looked for. Chosen by hand."""


class Matrix:
    """Rows of unit vectors with room to grow; a row of zeros means no vector."""

    def __init__(self, rows: Floats, steps_per_unit: float | None = None) -> None:
        self._count = len(rows)
        self._steps = _scale(rows.shape[1]) if steps_per_unit is None else steps_per_unit
        self._rows: NDArray[np.float32] | NDArray[np.int8]
        self._rows = rows if len(rows) <= MAX_EXACT_ROWS or rows.dtype == np.int8 else quantised_rows(rows)

    @classmethod
    def without_vectors(cls, count: int, dimensions: int, *, quantised: bool = False) -> Matrix:
        """So many rows of zeros, into which vectors are put; `quantised` in fine steps, however few there are."""
        exact = count <= MAX_EXACT_ROWS and not quantised
        rows: Any = np.zeros((count, dimensions), np.float32 if exact else np.int8)
        return cls(rows, fine_steps(dimensions) if quantised else None)

    def __len__(self) -> int:
        return self._count

    @property
    def exact(self) -> bool:
        return self._rows.dtype == np.float32

    @property
    def nbytes(self) -> int:
        return int(self._rows.nbytes)

    def append(self, rows: Floats) -> None:
        if self.exact and self._count + len(rows) > MAX_EXACT_ROWS:
            self._rows = quantised_rows(self._rows[: self._count].astype(np.float32))
        added = rows if self.exact else quantised_rows(rows, self._steps)
        need = self._count + len(rows)
        if need > len(self._rows):
            grown = np.zeros((max(need, len(self._rows) * 3 // 2, 64), rows.shape[1]), self._rows.dtype)
            grown[: self._count] = self._rows[: self._count]
            self._rows = grown
        self._rows[self._count : need] = added
        self._count = need

    def put(self, at: NDArray[np.int64] | slice, rows: Floats) -> None:
        self._rows[at] = rows if self.exact else quantised_rows(rows, self._steps)

    def put_quantised(self, at: slice, rows: NDArray[np.int8]) -> None:
        """Put rows that are quantised already into a matrix that is."""
        self._rows[at] = rows

    def cosines(self, query: Floats) -> Floats:
        """The cosine of the query with every row; approximate to about 0.004 once the matrix is quantised."""
        rows = self._rows[: self._count]
        if self.exact:
            many = len(rows) > MIN_PLAIN_ROWS
            return plain_product(rows, query) if many else np.asarray(matrix_product(rows, query), np.float32)
        if (kernel := fast_kernel()) is not None:
            dots = np.asarray(kernel.cdist(quantised_rows(query[None, :], self._steps), rows, "dot")).reshape(-1)
            return np.asarray(dots / self._steps**2, np.float32)
        out = np.empty(self._count, np.float32)
        wide = np.empty((_CHUNK, rows.shape[1]), np.float32)
        for start in range(0, self._count, _CHUNK):
            chunk = rows[start : start + _CHUNK]
            np.copyto(wide[: len(chunk)], chunk)
            out[start : start + len(chunk)] = matrix_product(wide[: len(chunk)], query)
        return out / np.float32(self._steps)


@cache
def fast_kernel() -> Any:
    """The library for products of many rows, loaded when there are many; None without the `fast` extra."""
    try:
        import numkong
    except ImportError:
        return None
    return numkong


def plain_product(rows: NDArray[Any], query: Floats) -> Floats:
    """`rows @ query` in a plain loop: what it gives for a row does not depend on the others."""
    return np.asarray(np.einsum("ij,j->i", rows, query), np.float32)


def matrix_product(rows: NDArray[Any], others: NDArray[Any]) -> NDArray[Any]:
    """`rows @ others` for a matrix or a vector, in steps that BLAS does in the calling thread."""
    step = max(1, (MAX_MATRIX_STEP if others.ndim > 1 else MAX_VECTOR_STEP) // max(1, others.size))
    step -= step % 4 if step > 4 else 0  # BLAS takes four rows at a time: the steps do not change the result
    whole = len(rows) - len(rows) % step
    if len(rows) <= step:
        return np.asarray(rows @ others)
    shape = others.shape[1:]
    found: NDArray[Any] = np.empty((len(rows), *shape), np.result_type(rows, others))
    np.matmul(rows[:whole].reshape(-1, step, rows.shape[1]), others, out=found[:whole].reshape(-1, step, *shape))
    np.matmul(rows[whole:], others, out=found[whole:])
    return found


def quantised_rows(rows: Floats, steps_per_unit: float | None = None) -> NDArray[np.int8]:
    """Unit vectors in 8-bit steps, as a large matrix holds them."""
    steps = rows * np.float32(_scale(rows.shape[1]) if steps_per_unit is None else steps_per_unit)
    np.rint(steps, out=steps)
    np.clip(steps, -127, 127, out=steps)
    return steps.astype(np.int8)


def _scale(dimensions: int) -> float:
    """Quantisation steps per unit. A component over seven times the usual size is rare, and clipped."""
    return 127.0 / min(1.0, 7.0 / math.sqrt(dimensions))


def fine_steps(dimensions: int) -> float:
    """Quantisation steps per unit where exact numbers follow: hardly any component is clipped."""
    return min(127.0 / MIN_FINE_BOUND, _scale(dimensions))


def vector_bytes(values: Floats) -> bytes:
    """A unit vector in stored form: 16-bit steps of 1/32767, finer than float16 here and far faster to read."""
    return np.rint(values * 32767).astype("<i2").tobytes()


def vector_of_bytes(data: Sequence[bytes]) -> Floats:
    """Decode stored vectors as rows of a matrix."""
    steps = np.frombuffer(b"".join(data), "<i2").reshape(len(data), -1)
    return np.asarray(np.multiply(steps, np.float32(1 / 32767), dtype=np.float32))


def best_rows(scores: NDArray[np.floating], limit: int) -> NDArray[np.int64]:
    """Indices of the highest scores, best first; equal scores by index, so that every backend agrees."""
    if not limit:
        return np.zeros(0, np.int64)
    if len(scores) > limit:
        cut = _lower_bound(scores, limit)
        rows = (scores >= cut).nonzero()[0]
        if len(rows) > limit:
            best = scores[rows]
            rows = rows[best >= np.partition(best, len(best) - limit)[len(best) - limit]]
    else:
        rows = np.arange(len(scores))
    return rows[(-scores[rows]).argsort(kind="stable")][:limit]  # the rows ascend


def _lower_bound(scores: NDArray[np.floating], count: int) -> float:
    """A number that at least so many scores reach, and of many scores few others: that many blocks have one."""
    blocks = len(scores) // _BLOCK
    if blocks < 2 * count:
        return -np.inf
    highest = scores[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
    return float(np.partition(highest, blocks - count)[blocks - count])
