"""Trains what tells that a known statement is out of date: `python -m evals.train_outdated`. Writes outdated.json.

Every statement that the extractor draws from the annotated conversations (`training-*`, `tuning-*`; never `unread*`)
and from the timelines is paired with all that were known before it. A small network with dropout and weight decay, in
NumPy, the mean of several fitted as one wider one; cross-validated by conversation first.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import outdated
from holdfast.models.local import ArcticEmbedder
from holdfast.models.rules import RuleExtractor
from holdfast.outdated import Statement
from holdfast.types import Draft, Message

from .profiles import CachedEmbedder
from .timelines import timelines
from .train_judge import _message, cases

OUT = Path(outdated.__file__).with_name("outdated.json")
FOLDS, NETS, HIDDEN, EPOCHS, BATCH = 5, 4, 24, 40, 256
RATE, DECAY, DROP = 2e-3, 0.05, 0.2
Array = NDArray[np.float64]


@dataclass
class Told:
    """A statement, the marks of what it says (numbers of expected items or lines), and which of those it replaces."""

    statement: Statement
    says: set[int]
    replaces: set[int]


@dataclass
class Rows:
    """All pairs of one conversation; `of` numbers the new statement of each."""

    name: str
    features: Array
    right: Array
    of: NDArray[np.int64]


def statement(draft: Draft, session: str) -> Statement:
    return Statement(draft.kind, draft.content, session, draft.sources, draft.key)


async def from_case(case: dict[str, Any], extractor: RuleExtractor) -> list[Told]:
    found: list[Told] = []
    for session, group in groupby(case["messages"], key=lambda message: message["session"]):
        for draft in await extractor.extract([_message(message) for message in group], []):
            content = draft.content.casefold()
            says = {
                n
                for n, item in enumerate(case["expected"])
                if set(item["from"]) & set(draft.sources)
                and all(any(word.casefold() in content for word in each.split("|")) for each in item["says"])
            }
            old = {case["expected"][n]["supersedes"] for n in says} - {None}
            found.append(Told(statement(draft, session), says, old))
    return found


async def from_timeline(name: str, extractor: RuleExtractor) -> list[Told]:
    found: list[Told] = []
    at = datetime(2025, 3, 4, tzinfo=UTC)
    for n, line in enumerate(timelines()[name]):
        said = Message(f"m{n}", f"s{n // 3}", "user", line.text, at, None, at)
        drafts = await extractor.extract([said], [])
        best = max(drafts, key=lambda draft: draft.confidence, default=None)
        for draft in drafts:
            old = {line.replaces} - {None} if draft is best else set()
            found.append(Told(statement(draft, said.session_id), {n} if draft is best else set(), old))
    return found


async def rows(name: str, told: list[Told], embedder: CachedEmbedder) -> Rows | None:
    vectors = (
        np.array(await embedder.embed([each.statement.text for each in told]), float) if told else np.zeros((0, 1))
    )
    features, right, of = [], [], []
    for n in range(1, len(told)):
        known = [each.statement for each in told[:n]]
        features.append(outdated.features(told[n].statement, known, list(vectors[:n] @ vectors[n])))
        right += [bool(each.says & told[n].replaces) for each in told[:n]]
        of += [n] * n
    if not features:
        return None
    return Rows(name, np.vstack(features), np.array(right, float), np.array(of))


def fitted(inputs: Array, right: Array, seed: int) -> list[Array]:
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


def together(nets: list[list[Array]]) -> dict[str, Array]:
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


def learned(some: list[Rows]) -> dict[str, Array]:
    inputs, right = np.vstack([each.features for each in some]), np.concatenate([each.right for each in some])
    mean, spread = inputs.mean(0), inputs.std(0) + 1e-6
    net = together([fitted((inputs - mean) / spread, right, seed) for seed in range(NETS)])
    return {"mean": mean, "spread": spread, **net}


def report(name: str, some: list[Rows], chances: list[Array]) -> None:
    """The best candidate of each new statement: precision and recall, and right of all pairs and needless ones."""
    best = [
        (row_chances[row.of == n].max(), row.right[row.of == n][row_chances[row.of == n].argmax()])
        for row, row_chances in zip(some, chances, strict=True)
        for n in np.unique(row.of)
    ]
    best.sort(key=lambda pair: -pair[0])
    pairs = sum(len(np.unique(row.of[row.right > 0])) for row in some)
    for least in (0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7):
        told = [right for chance, right in best if chance >= least]
        hits = sum(told)
        needless = len(told) - hits
        print(
            f"{name} at {least}: precision {hits / max(1, len(told)):.2f}, recall {hits / pairs:.2f}, "
            f"accuracy {hits / (pairs + needless):.2f} of {pairs}"
        )


async def main() -> None:
    embedder = CachedEmbedder(ArcticEmbedder())
    extractor = RuleExtractor(embedder)
    cased = [row for case in cases() if (row := await rows(case["id"], await from_case(case, extractor), embedder))]
    lined = [row for name in timelines() if (row := await rows(name, await from_timeline(name, extractor), embedder))]
    for name, own, other in (("conversations", cased, lined), ("timelines", lined, cased)):
        order = np.random.default_rng(0).permutation(len(own))
        chances: list[Array] = [np.zeros(0)] * len(own)
        for fold in range(FOLDS):
            held = set(order[fold::FOLDS].tolist())
            net = learned([row for n, row in enumerate(own) if n not in held] + other)
            for n in held:
                chances[n] = run(net, (own[n].features - net["mean"]) / net["spread"])
        report(name, own, chances)
    net = learned(cased + lined)
    held = {"model": embedder.model} | {name: np.round(values, 4).tolist() for name, values in net.items()}
    OUT.write_text(json.dumps(held, separators=(",", ":")) + "\n", "utf-8")
    print(f"wrote {OUT.name}: {OUT.stat().st_size:,} bytes")


if __name__ == "__main__":
    asyncio.run(main())
