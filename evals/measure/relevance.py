"""How near a hit must be to be about the question: `python -m evals.measure.relevance [arctic|potion] [CONVERSATIONS]`.

Own questions find their evidence; questions of other conversations, asked of the same memory, find nothing of theirs.
A logistic fit on each hit's own signs tells the two apart; the lines below it say what a cut at each value keeps of the
evidence and of what is beside the point, on conversations that the fit has not seen.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from holdfast.domain.results import Hit
from holdfast.models.local import ArcticEmbedder, PotionEmbedder
from holdfast.recall.ranking.relevance import ABOUT

from ..data import benchmarks
from ..profiles import filled_profile, open_memory

FOREIGN = 40
LIMIT = 10
CUTS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
Rows = list[tuple[list[float], int, int]]
"""Of each hit: its signs, whether it is evidence, and the number of its conversation."""


def signs(hit: Hit) -> list[float]:
    return [*(hit.features.get(name, 0.0) for name in ABOUT), 1.0]


async def rows(embedder: ArcticEmbedder | PotionEmbedder, most: int) -> tuple[Rows, list[tuple[list[float], int]]]:
    """Hits, and the first one of each question that is not of the conversation."""
    found: Rows = []
    firsts: list[tuple[list[float], int]] = []
    cases = [*benchmarks.own()]
    dice = random.Random(7)
    async with open_memory(embedder) as memory:
        for n, case in enumerate(cases[:most]):
            profile, ids = await filled_profile(memory, case)
            for question in [each for each in case.questions if each.scored and each.evidence][:FOREIGN]:
                hits = await profile.search(question.text, limit=LIMIT, reference_date=question.asked_at)
                wanted = set(question.evidence)
                for hit in hits:
                    if wanted & {ids.get(id, "") for id in (hit.message_id or "", *hit.sources)}:
                        found.append((signs(hit), 1, n))
            others = [each for m, other in enumerate(cases) if m != n for each in other.questions]
            for question in dice.sample(others, FOREIGN):
                hits = await profile.search(question.text, limit=LIMIT)
                found += [(signs(hit), 0, n) for hit in hits]
                firsts += [(signs(hit), n) for hit in hits[:1]]
    return found, firsts


def fit_weights(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Weights of a logistic fit with both classes weighed alike, by Newton's method with a little shrinkage."""
    weights = np.zeros(x.shape[1])
    share = np.where(y == 1, 0.5 / max(y.sum(), 1), 0.5 / max((1 - y).sum(), 1)) * len(y)
    for _ in range(30):
        p = 1 / (1 + np.exp(-x @ weights))
        gradient = x.T @ (share * (y - p)) - 0.1 * weights
        hessian = (x * (share * p * (1 - p))[:, None]).T @ x + 0.1 * np.eye(x.shape[1])
        weights = weights + np.linalg.solve(hessian, gradient)
    return weights


def report(name: str, found: Rows, firsts: list[tuple[list[float], int]]) -> None:
    x, y, of = np.array([r[0] for r in found]), np.array([r[1] for r in found]), np.array([r[2] for r in found])
    top, top_of = np.array([r[0] for r in firsts]), np.array([r[1] for r in firsts])
    held, best = np.zeros(len(y)), np.zeros(len(top))
    for n in set(of):
        weights = fit_weights(x[of != n], y[of != n])
        held[of == n] = 1 / (1 + np.exp(-x[of == n] @ weights))
        best[top_of == n] = 1 / (1 + np.exp(-top[top_of == n] @ weights))
    print(name, "weights", fit_weights(x, y).round(2).tolist(), f"{int(y.sum())} evidence, {int((1 - y).sum())} beside")
    for cut in CUTS:
        shares = (held[y == 1] >= cut).mean(), (held[y == 0] >= cut).mean(), (best >= cut).mean()
        kept, beside, first = (f"{100 * share:.0f}" for share in shares)
        print(f"{cut:.1f}  evidence kept {kept}  beside kept {beside}  first hits beside {first}")


def main() -> None:
    name, most = sys.argv[1] if len(sys.argv) > 1 else "potion", int(sys.argv[2]) if len(sys.argv) > 2 else 99
    found, firsts = asyncio.run(rows(ArcticEmbedder() if name == "arctic" else PotionEmbedder(), most))
    report(name, found, firsts)
    at = ABOUT.index("cosine")  # an embedder that nobody calibrated: its cosines mean nothing yet
    for signs in [each[0] for each in found] + [each[0] for each in firsts]:
        signs[at] = 0.0
    report("by words", found, firsts)


if __name__ == "__main__":
    main()
