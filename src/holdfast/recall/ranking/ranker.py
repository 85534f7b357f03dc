"""Pure: turns features into one order. The ranker averages a few small networks whose weights are data (ranker.json).

`evals/train/ranker.py` trains them on LongMemEval-dev and evals/data/conversations and writes the file; NumPy reads it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.domain.ports.search import Candidate, Proposals
from holdfast.domain.vectors import matrix_product
from holdfast.recall.question.analysis import Question
from holdfast.recall.ranking.features import Column, best_cosines, feature_columns

MAX_REASONS = 5
REASONS_AT_ONCE = 26
"""How many items are explained at once: few enough for the arrays to stay in the cache."""


@dataclass(frozen=True, slots=True)
class RankedItem:
    """One item, its score, and what the score is based on."""

    item: Candidate
    channels: dict[str, int]
    score: float
    feature_names: Sequence[str]
    feature_values: NDArray[np.float64]
    inputs: NDArray[np.float64]
    """The scaled inputs of the networks."""
    marks: float = 0.0
    """How much users' right and wrong marks moved the score."""

    @property
    def features(self) -> dict[str, float]:
        """Made when asked for: most ranked items do not become a hit."""
        return dict(zip(self.feature_names, self.feature_values.tolist(), strict=True))


def ranked_items(question: Question, proposals: Proposals, limit: int) -> list[RankedItem]:
    """Returns the best proposed items, best first."""
    proposed = [n for n, ranks in enumerate(proposals.channels) if ranks]  # the others are context only
    if not proposed:
        return []
    columns = feature_columns(question, proposals)
    columns["cosine"] = best_cosines(proposals)
    names, values = list(columns), np.array(list(columns.values()))
    inputs = _scaled_inputs(values.take(_places(tuple(names)), axis=0).take(proposed, axis=1))
    scores = _network_scores(inputs)
    order = (-scores).argsort(kind="stable")[:limit].tolist()
    told = values.take([proposed[n] for n in order], axis=1).T.round(4)
    return [
        RankedItem(
            item=proposals.items[proposed[n]],
            channels=proposals.channels[proposed[n]],
            score=float(scores[n]),
            feature_names=names,
            feature_values=row,
            inputs=inputs[n],
        )
        for n, row in zip(order, told, strict=True)
    ]


def item_scores(columns: dict[str, Column]) -> Column:
    """The score of each item."""
    return _network_scores(_inputs(columns))


def _inputs(columns: dict[str, Column]) -> NDArray[np.float64]:
    return _scaled_inputs(np.array([columns[name] for name in _weights()["features"]]))


@cache
def _places(names: tuple[str, ...]) -> list[int]:
    """Where the networks' features stand among these names."""
    return [names.index(name) for name in _weights()["features"]]


def _scaled_inputs(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """One row of inputs for each column of the features' values."""
    weights = _weights()
    return np.asarray(((values.T - weights["mean"]) / weights["spread"]).clip(-4, 4))


def _network_scores(inputs: NDArray[np.float64]) -> Column:
    """The average output of the networks, whose weights lie side by side."""
    weights = _weights()
    hidden = np.tanh(matrix_product(inputs, weights["in"]) + weights["bias"])
    return np.asarray(matrix_product(hidden, weights["out"]) + matrix_product(inputs, weights["direct"]))


def reasons(found: Sequence[RankedItem]) -> list[dict[str, float]]:
    """For each item, the features that changed its score most compared with an average value, and by how much."""
    names = _weights()["features"]
    why: list[dict[str, float]] = []
    for start in range(0, len(found), REASONS_AT_ONCE):
        moved = _moved_by(np.array([each.inputs for each in found[start : start + REASONS_AT_ONCE]]))
        most = (-np.abs(moved)).argsort(axis=1)[:, :MAX_REASONS]
        rounded = moved[np.arange(len(moved))[:, None], most].round(3).tolist()
        for best, values in zip(most.tolist(), rounded, strict=True):
            why.append(dict(zip(map(names.__getitem__, best), values, strict=True)))
    return why


def _moved_by(inputs: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each row of inputs, by how much each input moves the score; an average input is 0 and moves nothing. In
    float32, which is five times as fast and exact enough for three decimals."""
    weights = _weights()
    sums = (inputs @ weights["in"] + weights["bias"]).astype(np.float32)
    without = inputs.astype(np.float32)[:, :, None] * weights["in32"]
    np.subtract(sums[:, None], without, out=without)
    changed = np.subtract(np.tanh(sums)[:, None], np.tanh(without, out=without), out=without)
    return np.asarray(changed @ weights["out32"] + inputs * weights["direct"])


def ranker_version() -> str:
    return str(_weights()["version"])


@cache
def _weights() -> dict[str, Any]:
    return stacked_weights(json.loads(Path(__file__).with_name("ranker.json").read_text("utf-8")))


def stacked_weights(held: dict[str, Any]) -> dict[str, Any]:
    """The weights of all networks side by side, as arrays."""
    networks = held["networks"]
    into = np.concatenate([network["in"] for network in networks], axis=1)
    out = np.concatenate([network["out"] for network in networks]) / len(networks)
    return held | {
        "mean": np.array(held["mean"]),
        "spread": np.array(held["spread"]),
        "in": into,
        "in32": into.astype(np.float32),
        "bias": np.concatenate([network["bias"] for network in networks]),
        "out": out,
        "out32": out.astype(np.float32),
        "direct": np.mean([network["direct"] for network in networks], axis=0),
    }
