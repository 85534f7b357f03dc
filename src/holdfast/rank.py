"""Pure: features → one order. The ranker is a few small networks whose weights are data (ranker.json), averaged.

`evals/train_ranker.py` trains them on LongMemEval-dev and evals/conversations and writes the file; NumPy reads it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from .features import Column, cosines, features
from .question import Asked
from .types import Candidate, Proposals


@dataclass(frozen=True, slots=True)
class Ranked:
    """One item, and why it stands where it stands."""

    item: Candidate
    score: float
    features: dict[str, float]


def ranked(asked: Asked, proposals: Proposals, limit: int) -> list[Ranked]:
    """The best proposed items, best first."""
    if not proposals.items:
        return []
    columns = features(asked, proposals)
    scores = score(columns)
    columns["cosine"] = cosines(proposals)
    order = [n for n in np.argsort(-scores, kind="stable").tolist() if proposals.items[n].channels][:limit]
    names = list(columns)
    told = np.round(np.stack([columns[name][order] for name in names], axis=1), 4).tolist()
    return [
        Ranked(proposals.items[n], float(scores[n]), dict(zip(names, row, strict=True)))
        for n, row in zip(order, told, strict=True)
    ]


def score(columns: dict[str, Column]) -> Column:
    """The averaged networks' score of each item."""
    weights = _weights()
    inputs = np.stack([columns[name] for name in weights["features"]], axis=1)
    inputs = np.clip((inputs - weights["mean"]) / weights["spread"], -4, 4)
    total = np.zeros(len(inputs))
    for network in weights["networks"]:
        hidden = np.tanh(inputs @ network["in"] + network["bias"])
        total += hidden @ network["out"] + inputs @ network["direct"]
    return total / len(weights["networks"])


def version() -> str:
    return str(_weights()["version"])


@cache
def _weights() -> dict[str, Any]:
    held: dict[str, Any] = json.loads(resources.files(__package__).joinpath("ranker.json").read_text("utf-8"))
    networks = [{name: np.array(values) for name, values in network.items()} for network in held["networks"]]
    return held | {"networks": networks, "mean": np.array(held["mean"]), "spread": np.array(held["spread"])}
