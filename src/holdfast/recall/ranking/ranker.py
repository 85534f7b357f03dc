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
    """The average output of the networks."""
    networks = _weights()["networks"]
    total = np.zeros(len(inputs))
    for network in networks:
        hidden = np.tanh(inputs @ network["in"] + network["bias"])
        total += hidden @ network["out"] + inputs @ network["direct"]
    return total / len(networks)


def reasons(found: Sequence[RankedItem]) -> list[dict[str, float]]:
    """For each item, the features that changed its score most compared with an average value, and by how much."""
    if not found:
        return []
    inputs = np.stack([each.inputs for each in found])
    scores = _network_scores(inputs)
    names = _weights()["features"]
    without = np.repeat(inputs[None], len(names), axis=0)
    without[np.arange(len(names)), :, np.arange(len(names))] = 0.0
    moved = scores - _network_scores(without.reshape(-1, len(names))).reshape(len(names), -1)
    most = np.argsort(-np.abs(moved), axis=0)[:MAX_REASONS].T.tolist()
    return [{names[f]: round(float(moved[f, n]), 3) for f in found} for n, found in enumerate(most)]


def ranker_version() -> str:
    return str(_weights()["version"])


@cache
def _weights() -> dict[str, Any]:
    held: dict[str, Any] = json.loads(resources.files(__package__).joinpath("ranker.json").read_text("utf-8"))
    networks = [{name: np.array(values) for name, values in network.items()} for network in held["networks"]]
    return held | {"networks": networks, "mean": np.array(held["mean"]), "spread": np.array(held["spread"])}
