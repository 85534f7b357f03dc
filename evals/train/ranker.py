"""Train the ranker: `python -m evals.train.ranker`. Writes recall/ranking/ranker.json and prints the cross-validation.

Small networks (one hidden layer beside a direct path), each pulled towards ranking, for every piece of evidence, one of
the hits that quote it above all that quote none; plain NumPy, deterministic. Trains on LongMemEval-dev (MIT) and
evals/data (Apache-2.0: conversations and everyday lives) only.
"""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import numpy as np

from holdfast.models.local import ArcticEmbedder, PotionEmbedder

from ..data import benchmarks
from ..paths import PACKAGE
from .ranker_rows import MAX_QUOTES, Array, Row, gather_proposals, rows_of

OUT = PACKAGE / "recall" / "ranking" / "ranker.json"
HIDDEN, EPOCHS, NETWORKS, BATCH, RATE, DECAY = 16, 20, 4, 16, 3e-3, 1e-2
FOLDS = 5
LIVES_SHARE = 0.5
"""How many of the questions of everyday lives are learned. With all of them, LoCoMo loses half a point; with a seventh,
the first eight hits of everyday lives have one in a hundred fewer of the messages that answer."""


class Network:
    def __init__(self, inputs: int, seed: int) -> None:
        noise = np.random.default_rng(seed)
        self.weights = {
            "in": noise.normal(0, inputs**-0.5, (inputs, HIDDEN)),
            "bias": np.zeros(HIDDEN),
            "out": noise.normal(0, HIDDEN**-0.5, HIDDEN),
            "direct": np.zeros(inputs),
        }

    def __call__(self, inputs: Array) -> tuple[Array, Array]:
        hidden = np.tanh(inputs @ self.weights["in"] + self.weights["bias"])
        return hidden, hidden @ self.weights["out"] + inputs @ self.weights["direct"]

    def gradient(self, inputs: Array, quoting: Array) -> dict[str, Array]:
        """Of the mean, over the evidence, of -log P(one that quotes it is chosen among those and all that quote none).

        A message is often quoted by several memories, of which most say something else than what is asked for: they are
        not pulled up one by one.
        """
        hidden, scores = self(inputs)
        strength = np.exp(scores - scores.max())
        wrong = strength * (1 - quoting.max(0))
        chosen = strength * quoting
        total = chosen.sum(1, keepdims=True)
        pull = ((wrong + chosen) / (wrong.sum() + total) - chosen / total).mean(0)
        back = np.outer(pull, self.weights["out"]) * (1 - hidden**2)
        return {"in": inputs.T @ back, "bias": back.sum(0), "out": hidden.T @ pull, "direct": inputs.T @ pull}


def train_network(rows: list[Row], seed: int, mean: Array, spread: Array) -> Network:
    network = Network(len(mean), seed)
    noise = np.random.default_rng(seed)
    usable = [(np.clip((r.inputs - mean) / spread, -4, 4), r.quoting) for r in rows if _can_teach(r)]
    first = {name: np.zeros_like(w) for name, w in network.weights.items()}
    second = {name: np.zeros_like(w) for name, w in network.weights.items()}
    step = 0
    for epoch in range(EPOCHS):
        rate = RATE * 0.5 * (1 + np.cos(np.pi * epoch / EPOCHS)) + 1e-5
        order = noise.permutation(len(usable))
        for start in range(0, len(order), BATCH):
            batch = [network.gradient(*usable[n]) for n in order[start : start + BATCH]]
            step += 1
            for name, weight in network.weights.items():
                slope = sum(g[name] for g in batch) / BATCH + (DECAY * weight if name != "bias" else 0)
                first[name] = 0.9 * first[name] + 0.1 * slope
                second[name] = 0.999 * second[name] + 0.001 * slope**2
                rise = first[name] / (1 - 0.9**step)
                weight -= rate * rise / (np.sqrt(second[name] / (1 - 0.999**step)) + 1e-8)
    return network


def _can_teach(row: Row) -> bool:
    """Whether some candidate quotes evidence and another does not."""
    return len(row.quoting) > 0 and not row.quoting.max(0).all()


def model_of(names: list[str], rows: list[Row], networks: int = NETWORKS) -> dict[str, Any]:
    stacked = np.concatenate([row.inputs for row in rows])
    mean, spread = stacked.mean(0), stacked.std(0) + 1e-6
    made = [train_network(rows, seed, mean, spread).weights for seed in range(networks)]
    return {"features": names, "mean": mean, "spread": spread, "networks": made}


def found_at(model: dict[str, Any], row: Row, k: int, spread: float = 0.0) -> float:
    """Share of the evidence among the first k hits; what a hit quotes is told once, at most two messages a hit.

    `spread` is what an item loses for each hit of its session that stands before it.
    """
    inputs = np.clip((row.inputs - model["mean"]) / model["spread"], -4, 4)
    scores = sum(np.tanh(inputs @ n["in"] + n["bias"]) @ n["out"] + inputs @ n["direct"] for n in model["networks"])
    left = np.array(scores) / len(model["networks"])
    told: set[str] = set()
    for _ in range(len(left)):
        n = int(np.argmax(left))
        left[n] = -np.inf
        quotes = set(row.quotes[n][:MAX_QUOTES])
        if quotes and quotes <= told:
            continue
        told |= quotes
        k -= 1
        if k == 0:
            break
        if spread:
            left[[session == row.sessions[n] for session in row.sessions]] -= spread
    return len(told & set(row.evidence)) / len(set(row.evidence))


def fold_models(names: list[str], rows: list[Row], others: list[Row], networks: int = 2) -> dict[str, dict[str, Any]]:
    """Group → a model that has not seen it. `others` (other embedders) train on the same side of each split."""
    groups = sorted({row.group for row in rows})
    fold = {group: n % FOLDS for n, group in enumerate(np.random.default_rng(0).permutation(groups))}
    models = [
        model_of(names, [row for row in rows + others if fold[row.group] != held_out], networks)
        for held_out in range(FOLDS)
    ]
    return {group: models[n] for group, n in fold.items()}


def cross_validated(names: list[str], rows: list[Row], others: list[Row]) -> dict[str, float]:
    """R@10 by set, each question asked of a model that has not seen its group."""
    models = fold_models(names, rows, others)
    found: dict[str, list[float]] = {}
    for row in rows:
        name = row.category if row.category == "known-item" else row.set
        found.setdefault(name, []).append(found_at(models[row.group], row, 10))
    return {name: 100 * float(np.mean(values)) for name, values in found.items()}


def model_json(model: dict[str, Any], version: str) -> str:
    def plain(value: Any) -> Any:
        return np.round(value, 4).tolist() if isinstance(value, np.ndarray) else value

    networks = [{name: plain(weight) for name, weight in network.items()} for network in model["networks"]]
    held = {"version": version, "features": model["features"], "mean": plain(model["mean"])}
    held |= {"spread": np.maximum(np.round(model["spread"], 6), 1e-6).tolist(), "networks": networks}
    return json.dumps(held, separators=(",", ":")) + "\n"


async def training_rows() -> tuple[list[str], list[Row], list[Row]]:
    """The features' names, the rows under the default embedder, and those under others."""
    cases = benchmarks.own() + benchmarks.longmemeval_pool()
    assert all(case.trainable for case in cases)
    arctic = await gather_proposals(cases, ArcticEmbedder(), "arctic")
    own = await gather_proposals(benchmarks.own(), PotionEmbedder(), "potion")
    names, rows = rows_of(arctic)
    lives = rows_of(await gather_proposals(benchmarks.everyday_lives(), ArcticEmbedder(), "lives"))[1]
    some = [row for row in lives if row.category != "known-item"]
    random.Random(0).shuffle(some)
    rows += some[: int(LIVES_SHARE * len(some))]
    known = [each for each in own if each.question.category == "known-item"]
    return names, rows, rows_of(own)[1] + rows_of(own, blind=True)[1] + rows_of(known, noisy=True)[1]


async def main() -> None:
    names, rows, others = await training_rows()
    print("R@10, cross-validated by conversation and question:", cross_validated(names, rows, others))
    OUT.write_text(model_json(model_of(names, rows + others), "2"))
    print(f"wrote {OUT.name}: {OUT.stat().st_size:,} bytes, {len(names)} features, {len(rows)} questions")


if __name__ == "__main__":
    asyncio.run(main())
