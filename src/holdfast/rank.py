"""Pure: what the channels proposed → features of each item → one order, the same on every backend.

Numbers are made free of corpus scale before they meet: BM25 is divided by the best a text could reach for this
question, cosines are centred on the question's own candidates (this model's lie in a narrow band).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .types import Candidate, Proposals
from .words import bm25

WEIGHTS = {"words": 1.0, "meaning": 1.4, "coverage": 0.5, "beside_words": 0.35, "beside_meaning": 0.25, "key": 0.6}


@dataclass(frozen=True, slots=True)
class Ranked:
    """One item, its best passage, and why it stands where it stands."""

    item: str
    part: int
    memory: bool
    score: float
    channels: dict[str, int]
    features: dict[str, float]
    cosine: float
    coverage: float


def ranked(proposals: Proposals) -> list[Ranked]:
    """Every proposed item, best first."""
    candidates = proposals.candidates
    if not candidates:
        return []
    columns = _columns(candidates, proposals)
    scores = sum(weight * columns[name] for name, weight in WEIGHTS.items())
    assert isinstance(scores, np.ndarray)
    found: dict[str, Ranked] = {}
    for row in np.argsort(-scores, kind="stable"):
        candidate = candidates[row]
        if not candidate.channels or candidate.item in found:
            continue
        found[candidate.item] = Ranked(
            item=candidate.item,
            part=candidate.number,
            memory=candidate.memory,
            score=float(scores[row]),
            channels=candidate.channels,
            features={name: round(float(column[row]), 4) for name, column in columns.items()},
            cosine=candidate.cosine or 0.0,
            coverage=float(columns["coverage"][row]),
        )
    return list(found.values())


def _columns(candidates: tuple[Candidate, ...], proposals: Proposals) -> dict[str, NDArray[np.float64]]:
    counts = np.array([candidate.counts for candidate in candidates], float).reshape(len(candidates), -1)
    lengths = np.array([candidate.length for candidate in candidates], float)
    weight = bm25(counts, lengths, proposals.frequency, proposals.parts, proposals.mean_length)
    words = weight.sum(1)
    idf = np.log1p(proposals.parts / (np.array(proposals.frequency) + 0.5)) if counts.shape[1] else np.zeros(0)
    coverage = ((counts > 0) * idf).sum(1) / max(idf.sum(), 1e-9)
    cosines = np.array([np.nan if c.cosine is None else c.cosine for c in candidates])
    meaning = _centred(cosines)
    words = words / max(words.max(), 1e-9)
    before, after = _neighbours(candidates)
    return {
        "words": words,
        "meaning": meaning,
        "coverage": coverage,
        "beside_words": np.maximum(_at(words, before), _at(words, after)),
        "beside_meaning": np.maximum(_at(meaning, before), _at(meaning, after)),
        "key": np.array([1.0 / candidate.channels.get("key", 1e9) for candidate in candidates]),
    }


def _centred(cosines: NDArray[np.float64]) -> NDArray[np.float64]:
    """0 at the median candidate, 1 at the best."""
    known = cosines[~np.isnan(cosines)]
    if not len(known):
        return np.zeros(len(cosines))
    middle, top = float(np.median(known)), float(known.max())
    spread = max(top - middle, 0.02)
    return np.nan_to_num(np.clip((cosines - middle) / spread, 0, 1))


def _neighbours(candidates: tuple[Candidate, ...]) -> tuple[list[int], list[int]]:
    """For each candidate, the row of the message before and of the one after in its session; -1 for none."""
    rows = {(c.session_id, c.position): row for row, c in enumerate(candidates) if not c.memory}
    sides = []
    for step in (-1, 1):
        sides.append([-1 if c.memory else rows.get((c.session_id, c.position + step), -1) for c in candidates])
    return sides[0], sides[1]


def _at(column: NDArray[np.float64], rows: list[int]) -> NDArray[np.float64]:
    return np.append(column, 0.0)[rows]
