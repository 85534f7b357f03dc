"""Nearest neighbours are exact, small or large, however the matrix grew."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.domain import vectors
from holdfast.domain.vectors import Matrix, best_rows, matrix_product


def units(count: int, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((count, 64)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("library", ["numkong", "numpy"])
def test_the_quantised_matrix_finds_what_the_exact_one_finds(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "MAX_EXACT_ROWS", 500)
    if library == "numpy":
        monkeypatch.setattr(vectors, "fast_kernel", lambda: None)
    rows = units(3000)
    matrix = Matrix(rows)
    assert not matrix.exact
    exact = rows @ rows[7]
    assert np.abs(matrix.cosines(rows[7]) - exact).max() < 0.02
    assert set(best_rows(exact, 10)) <= set(best_rows(matrix.cosines(rows[7]), 40))


def test_growing_row_by_row_equals_loading_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "MAX_EXACT_ROWS", 50)
    rows = units(120)
    grown = Matrix(rows[:10].copy())
    for start in range(10, 120, 11):
        grown.append(rows[start : start + 11])
    assert len(grown) == 120
    assert np.allclose(grown.cosines(rows[3]), Matrix(rows).cosines(rows[3]), atol=1e-3)


def test_equal_scores_keep_their_order() -> None:
    assert best_rows(np.array([1.0, 3.0, 3.0, 2.0, 3.0]), 3).tolist() == [1, 2, 4]
    assert best_rows(np.array([1.0]), 3).tolist() == [0]


@pytest.mark.parametrize("shape", [(64,), (64, 7), (64, 900)])
@pytest.mark.parametrize("count", [0, 1, 23, 700, 5001])
def test_a_product_in_steps_is_the_product(count: int, shape: tuple[int, ...]) -> None:
    rows, others = units(count), np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    assert matrix_product(rows, others).shape == (rows @ others).shape
    assert np.allclose(matrix_product(rows, others), rows @ others, atol=1e-5)


@pytest.mark.parametrize("limit", [1, 80, 200, 5_000])
def test_of_many_scores_the_best_are_those_of_a_sort(limit: int) -> None:
    scores = np.random.default_rng(3).integers(0, 500, 20_050).astype(np.float32)  # many are equal
    assert best_rows(scores, limit).tolist() == np.argsort(-scores, kind="stable")[:limit].tolist()
