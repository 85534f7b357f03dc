"""Trains the supersession network: `python -m evals.train.supersession`. Writes text/supersession.json.

A small network with dropout and weight decay over the pairs of `evals/train/statement_pairs.py`, in NumPy, the mean of
several fitted as one wider one; cross-validated by conversation first.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import numpy as np

from holdfast.models.local import ArcticEmbedder
from holdfast.text import supersession

from .judge import FOLDS
from .statement_pairs import Array, Talk, talks

OUT = Path(supersession.__file__).with_name("supersession.json")
NETS, HIDDEN, EPOCHS, BATCH = 4, 24, 40, 256
RATE, DECAY, DROP = 2e-3, 0.05, 0.2


def fit_network(inputs: Array, right: Array, seed: int) -> list[Array]:
    dice = np.random.default_rng(seed)
    width = inputs.shape[1]
    net = [
        dice.normal(0, width**-0.5, (width, HIDDEN)),
        np.zeros(HIDDEN),
        dice.normal(0, HIDDEN**-0.5, HIDDEN),
        np.array(-3.0),
    ]
    mean, square, steps = (
        [np.zeros_like(w) for w in net],
        [np.zeros_like(w) for w in net],
        EPOCHS * (len(inputs) // BATCH + 1),
    )
    step = 0
    for _ in range(EPOCHS):
        for some in np.array_split(dice.permutation(len(inputs)), len(inputs) // BATCH + 1):
            step += 1
            before = inputs[some] @ net[0] + net[1]
            kept = (dice.random(before.shape) > DROP) / (1 - DROP) * (before > 0)
            hidden = before * kept
            wrong = (1 / (1 + np.exp(-(hidden @ net[2] + net[3]))) - right[some]) / len(some)
            back = np.outer(wrong, net[2]) * kept
            pulls = [inputs[some].T @ back, back.sum(0), hidden.T @ wrong, wrong.sum()]
            rate = RATE * (1 - step / (steps + 1))
            for n, pull in enumerate(pulls):
                mean[n], square[n] = 0.9 * mean[n] + 0.1 * pull, 0.99 * square[n] + 0.01 * pull**2
                pace = (mean[n] / (1 - 0.9**step)) / (np.sqrt(square[n] / (1 - 0.99**step)) + 1e-7)
                net[n] = net[n] - rate * (pace + (DECAY * net[n] if n in (0, 2) else 0))
    return net


def merged_networks(nets: list[list[Array]]) -> dict[str, Array]:
    """Several networks as one: the mean of their sums."""
    return {
        "in": np.hstack([net[0] for net in nets]),
        "in_bias": np.concatenate([net[1] for net in nets]),
        "out": np.concatenate([net[2] for net in nets]) / len(nets),
        "out_bias": np.mean([net[3] for net in nets]),
    }


def run(net: dict[str, Array], inputs: Array) -> Array:
    hidden = np.maximum(inputs @ net["in"] + net["in_bias"], 0)
    return np.asarray(1 / (1 + np.exp(-(hidden @ net["out"] + net["out_bias"]))))


def train_networks(some: list[Talk]) -> dict[str, Array]:
    inputs = np.vstack([query.features for talk in some for query in talk.queries])
    right = np.concatenate([query.right for talk in some for query in talk.queries])
    inputs, right = inputs[~np.isnan(right)], right[~np.isnan(right)]
    mean, spread = inputs.mean(0), inputs.std(0) + 1e-6
    net = merged_networks([fit_network((inputs - mean) / spread, right, seed) for seed in range(NETS)])
    return {"mean": mean, "spread": spread, **net}


def out_of_fold(some: list[Talk]) -> dict[tuple[str, int], Array]:
    """The odds of each query's candidates, by networks that have not seen the conversation."""
    found = {}
    for fold in range(FOLDS):
        net = train_networks([talk for talk in some if talk.fold != fold])
        for talk in some:
            if talk.fold == fold:
                for query in talk.queries:
                    found[talk.name, query.new] = run(net, (query.features - net["mean"]) / net["spread"])
    return found


def report(name: str, some: list[Talk], odds: dict[tuple[str, int], Array]) -> None:
    """The best candidate of each new statement: precision, recall, and right of all changes and needless ones."""
    best = []
    for talk in some:
        for query in talk.queries:
            mine = odds[talk.name, query.new]
            right = query.right[mine.argmax()]
            if not np.isnan(right):
                best.append((float(mine.max()), float(right)))
    changes = sum(talk.changes for talk in some)
    for least in (0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        told = [right for chance, right in best if chance >= least]
        hits = sum(told)
        print(
            f"{name} at {least}: precision {hits / max(1, len(told)):.2f}, recall {hits / changes:.2f}, "
            f"accuracy {hits / (changes + len(told) - hits):.2f} of {changes}"
        )


async def main() -> None:
    some = [talk async for talk in talks() if talk.queries]
    odds = out_of_fold(some)
    for source in ("conversation", "timeline", "life", "contrast"):
        report(source, [talk for talk in some if talk.source == source], odds)
    net = train_networks(some)
    held = json.loads(OUT.read_text("utf-8"))  # keeps what `evals.train.candidates` wrote
    held |= {"model": ArcticEmbedder.model} | {name: np.round(values, 4).tolist() for name, values in net.items()}
    OUT.write_text(json.dumps(held, separators=(",", ":")) + "\n", "utf-8")
    print(f"wrote {OUT.name}: {OUT.stat().st_size:,} bytes")


if __name__ == "__main__":
    asyncio.run(main())
