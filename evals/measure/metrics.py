"""Pure: how well a list of hits covers the evidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Quotes = Sequence[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Score:
    """One question's figures, each 0 to 1."""

    r5: float
    r10: float
    r20: float
    all10: float
    ndcg10: float
    context: float


NAMES = ("R@5", "R@10", "R@20", "all@10", "NDCG@10", "context")


def score_of(hits: Quotes, evidence: Sequence[str], in_context: set[str]) -> Score:
    """`hits` are the messages that each hit quotes, at most two of which count."""
    wanted = set(evidence)
    return Score(
        *(_recall(hits[:k], wanted) for k in (5, 10, 20)),
        float(_recall(hits[:10], wanted) == 1.0),
        _ndcg(hits[:10], wanted),
        len(wanted & in_context) / len(wanted),
    )


def _recall(hits: Quotes, wanted: set[str]) -> float:
    return len({message for quotes in hits for message in quotes[:2]} & wanted) / len(wanted)


def _ndcg(hits: Quotes, wanted: set[str]) -> float:
    gain, told = 0.0, set[str]()
    for rank, quotes in enumerate(hits):
        new = (set(quotes[:2]) & wanted) - told
        told |= new
        gain += len(new) / math.log2(rank + 2)
    return min(1.0, gain / sum(1 / math.log2(rank + 2) for rank in range(min(len(wanted), 10))))


def means(scores: Sequence[Score]) -> list[float]:
    return [100 * float(np.mean([getattr(score, name) for score in scores])) for name in Score.__slots__]


def interval(scores: Sequence[Score], name: str = "r10", times: int = 1000) -> tuple[float, float]:
    """A 95 % bootstrap interval over questions."""
    values = np.array([getattr(score, name) for score in scores])
    noise = np.random.default_rng(0)
    draws = [values[noise.integers(0, len(values), len(values))].mean() for _ in range(times)]
    return 100 * float(np.percentile(draws, 2.5)), 100 * float(np.percentile(draws, 97.5))
