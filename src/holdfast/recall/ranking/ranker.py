"""Pure: turns features into one order. The ranker averages a few small networks whose weights are data (ranker.json).

`evals/train/ranker.py` trains them on LongMemEval-dev and evals/data/conversations and writes the file; NumPy reads it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.domain.ports.search import Candidate, Proposals
from holdfast.recall.question.analysis import Question
from holdfast.recall.ranking.features import Column, best_cosines, feature_columns

MAX_REASONS = 5


@dataclass(frozen=True, slots=True)
class RankedItem:
    """One item, its score, and what the score is based on."""

    item: Candidate
    channels: dict[str, int]
    score: float
    features: dict[str, float]
    inputs: NDArray[np.float64]
    """The scaled inputs of the networks."""
    marks: float = 0.0
    """How much users' right and wrong marks moved the score."""


def ranked_items(question: Question, proposals: Proposals, limit: int) -> list[RankedItem]:
    """Returns the best proposed items, best first."""
    if not proposals.items:
        return []
    columns = feature_columns(question, proposals)
    inputs = _inputs(columns)
    scores = _network_scores(inputs)
    columns["cosine"] = best_cosines(proposals)
    order = [n for n in np.argsort(-scores, kind="stable").tolist() if proposals.channels[n]][:limit]
    names = list(columns)
    told = np.round(np.stack([columns[name][order] for name in names], axis=1), 4).tolist()
    return [
        RankedItem(
            proposals.items[n], proposals.channels[n], float(scores[n]), dict(zip(names, row, strict=True)), inputs[n]
        )
        for n, row in zip(order, told, strict=True)
    ]


def item_scores(columns: dict[str, Column]) -> Column:
    """The score of each item."""
    return _network_scores(_inputs(columns))


def _inputs(columns: dict[str, Column]) -> NDArray[np.float64]:
    weights = _weights()
    inputs = np.stack([columns[name] for name in weights["features"]], axis=1)
    return np.asarray(np.clip((inputs - weights["mean"]) / weights["spread"], -4, 4))


def _network_scores(inputs: NDArray[np.float64]) -> Column:
    """The average output of the networks, whose weights lie side by side."""
    weights = _weights()
    hidden = np.tanh(inputs @ weights["in"] + weights["bias"])
    return np.asarray(hidden @ weights["out"] + inputs @ weights["direct"])


def reasons(found: Sequence[RankedItem]) -> list[dict[str, float]]:
    """For each item, the features that changed its score most compared with an average value, and by how much."""
    if not found:
        return []
    weights = _weights()
    inputs = np.stack([each.inputs for each in found])
    sums = inputs @ weights["in"] + weights["bias"]
    parts = inputs[:, :, None] * weights["in"]
    """What each feature adds to each sum; without it, an average value adds nothing."""
    changed = np.tanh(sums)[:, None] - np.tanh(np.subtract(sums[:, None], parts, out=parts), out=parts)
    moved = changed @ weights["out"] + inputs * weights["direct"]
    most = np.argsort(-np.abs(moved), axis=1)[:, :MAX_REASONS].tolist()
    names = weights["features"]
    return [{names[f]: round(row[f], 3) for f in best} for best, row in zip(most, moved.tolist(), strict=True)]


def ranker_version() -> str:
    return str(_weights()["version"])


@cache
def _weights() -> dict[str, Any]:
    held: dict[str, Any] = json.loads(resources.files(__package__).joinpath("ranker.json").read_text("utf-8"))
    networks = held["networks"]
    return held | {
        "mean": np.array(held["mean"]),
        "spread": np.array(held["spread"]),
        "in": np.concatenate([network["in"] for network in networks], axis=1),
        "bias": np.concatenate([network["bias"] for network in networks]),
        "out": np.concatenate([network["out"] for network in networks]) / len(networks),
        "direct": np.mean([network["direct"] for network in networks], axis=0),
    }
