"""Pure: the probability that a hit is about the question, and which hits reach a minimum of it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from operator import mul

import numpy as np
from numpy.typing import NDArray

from holdfast.domain.results import Hit
from holdfast.text.courtesies import is_courtesy

ABOUT = ("coverage", "near", "cosine")
"""The features that measure how near a hit is to the question."""
RELEVANT = {
    "local/snowflake-arctic-embed-s-int8/384": (3.91, 3.62, 13.53, -5.8),
    "local/potion-base-8M/256": (6.55, -0.12, 9.57, -3.44),
}
"""Embedder → weights of the features in ABOUT and the offset, fitted by `python -m evals.measure.relevance`."""
RELEVANT_BY_WORDS = (6.73, 3.28, 0.0, -1.95)
"""The weights for an embedder without calibration: its cosines cannot be interpreted, so they weigh 0."""


RELEVANT_AMONG = {
    "local/snowflake-arctic-embed-s-int8/384": (3.26, 2.74, 11.12, 24.64, -8.35),
    "local/potion-base-8M/256": (4.48, 0.06, 7.79, 20.96, -7.72),
}
"""Embedder → weights of the features in ABOUT, of the lead and the offset, fitted on evidence against what questions of
other conversations and prompts without need of memory find. With it, 0.2 keeps 91 % of the evidence and 30 % of what is
beside the point for the first model (conversations and lives), 92 % and 34 % for the second (conversations); without
it, 93 % and 57 %, 94 % and 61 %."""
USUAL_COSINE = {"local/snowflake-arctic-embed-s-int8/384": 0.2, "local/potion-base-8M/256": 0.15}
"""Embedder → the usual cosine of a question and what is beside the point, the mean over the same questions."""
USUAL_ITEMS = 10
"""How many found items weigh as much as the usual cosine. Chosen by hand: a profile of a few memories has hardly any
items that are beside the point to compare with."""


def lead(cosines: NDArray[np.float64], model: str) -> float | None:
    """By how much the nearest item stands out from the others. A question that nothing is known about finds many items
    equally far away. None for an embedder without calibration."""
    if model not in USUAL_COSINE:
        return None
    known = np.sort(cosines[cosines > 0])
    if not len(known):
        return 0.0
    others, top = len(known) - 1, float(known[-1])
    middle = float(known[others // 2]) if others else 0.0
    usual = (middle * others + USUAL_COSINE[model] * USUAL_ITEMS) / (others + USUAL_ITEMS)
    return max(top - usual, 0.0)


def relevance_among(features: Mapping[str, float], channels: Collection[str], model: str, lead: float | None) -> float:
    """The probability that a ranked item is about the question, 0 to 1: by itself, and given by how much the nearest
    item stands out. Both must hold: where something is known, the other items are not about it for that reason. It is
    1 for one found by its key."""
    if "key" in channels:
        return 1.0
    values = [features.get(name, 0.0) for name in ABOUT]
    alone = round(probability(RELEVANT.get(model, RELEVANT_BY_WORDS), values), 3)
    return alone if lead is None else min(alone, round(probability(RELEVANT_AMONG[model], [*values, lead]), 3))


def relevance(hit: Hit, model: str) -> float:
    """The probability that this hit, taken by itself, is about the question. A successor that took the place of a
    superseded message has that message's relevance."""
    return relevance_among(hit.features, () if hit.assessment.successor else hit.channels, model, None)


def relevant_hits(question: str, hits: Sequence[Hit], least: float) -> list[Hit]:
    """The hits with at least this relevance. A message that is only a courtesy is about no question, and no hit is
    about a question that is only a courtesy, unless the question is its key: a short text has a high cosine with any
    other."""
    asks_nothing = is_courtesy(question)

    def weighed(hit: Hit) -> Hit:
        nothing = asks_nothing and "key" not in hit.channels
        return replace(hit, relevance=0.0) if nothing or (hit.message_id and is_courtesy(hit.content)) else hit

    return [hit for hit in map(weighed, hits) if hit.relevance >= least]


def probability(weights: Sequence[float], values: Sequence[float]) -> float:
    """The logistic function of the weighted values; the last weight is the offset."""
    total = sum(map(mul, weights, values)) + weights[-1]
    return 1 / (1 + math.exp(-total))
