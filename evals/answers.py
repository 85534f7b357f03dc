"""When to answer at all: `python -m evals.answers`. Fits answer.CALIBRATED and writes docs/results/answers.md.

Each of our conversations is asked its own questions, its unanswerable ones (a false premise, or something that was
never said), and questions about other conversations. The first should be answered, the others should not.
"""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdfast.answer import CALIBRATED, SUPPORTED, support
from holdfast.models.local import ArcticEmbedder, PotionEmbedder
from holdfast.ports import Embedder

from . import data
from .profiles import CachedEmbedder, filled, opened

OUT = Path(__file__).resolve().parent.parent / "docs" / "results" / "answers.md"
Array = NDArray[np.float64]
KINDS = ("answerable", "unanswerable", "about something else")


async def asked(embedder: Embedder) -> tuple[list[str], Array, Array]:
    """Of each question: its kind, (coverage, near, cosine) as `support` sees them, and the support."""
    kinds, inputs, sure = [], [], []
    cases, noise = data.own(), random.Random(5)
    async with opened(CachedEmbedder(embedder)) as memory:
        for case in cases:
            profile, _ = await filled(memory, case)
            others = [q for other in cases if other.id != case.id for q in other.questions if q.scored]
            own = [(q, KINDS[0] if q.scored else KINDS[1]) for q in case.questions]
            for question, kind in [*own, *((q, KINDS[2]) for q in noise.sample(others, 34))]:
                at = question.asked_at or case.sessions[-1]["date"]
                hits = await profile.search(question.text, reference_date=at)
                best = hits[:3]
                kinds.append(kind)
                near = max(hit.features["near"] for hit in best)
                inputs.append([hits[0].features["coverage"], near, max(hit.features["cosine"] for hit in best)])
                sure.append(support(hits, embedder.model))
            await memory.delete_profile(case.set, case.id)
    return kinds, np.array(inputs), np.array(sure)


def fitted(inputs: Array, right: Array) -> Array:
    """Logistic regression by Newton's method: three weights and an offset."""
    rows = np.column_stack([inputs, np.ones(len(inputs))])
    weights = np.zeros(4)
    for _ in range(30):
        chance = 1 / (1 + np.exp(-rows @ weights))
        curve = (rows.T * (chance * (1 - chance))) @ rows + 0.1 * np.eye(4)
        weights += np.linalg.solve(curve, rows.T @ (right - chance) - 0.1 * weights)
    return weights


def auroc(scores: Array, right: NDArray[np.bool_]) -> float:
    """The chance that a right one scores above a wrong one."""
    above = scores[right][:, None] - scores[~right][None, :]
    return float(((above > 0) + 0.5 * (above == 0)).mean())


async def main() -> None:
    lines = ["| embedder | questions | n | answered | AUROC against answerable |", "|---|---|---|---|---|"]
    for embedder in (ArcticEmbedder(), PotionEmbedder()):
        kinds, inputs, sure = await asked(embedder)
        of = np.array(kinds)
        fit = (of == KINDS[0]) | (of == KINDS[2])
        weights = fitted(inputs[fit], (of[fit] == KINDS[0]).astype(float)).round(2).tolist()
        print(embedder.model, "fitted", weights, "in use", CALIBRATED[embedder.model])
        for kind in KINDS:
            mine = of == kind
            both = mine | (of == KINDS[0])
            area = "" if kind == KINDS[0] else f"{auroc(sure[both], of[both] == KINDS[0]):.2f}"
            share = 100 * float((sure[mine] >= SUPPORTED).mean())
            lines.append(f"| {embedder.model} | {kind} | {mine.sum()} | {share:.0f} % | {area} |")
    text = f"""# When Holdfast answers

Written by `python -m evals.answers`. Without a language model an answer is a quotation, given when its support is at
least {SUPPORTED}. Questions about something else are mostly left unanswered. Unanswerable questions of the same
conversation, which use its very words with a false premise or ask what was never said, are not told apart by words and
vectors.

{chr(10).join(lines)}
"""
    OUT.write_text(text)
    print(text)


if __name__ == "__main__":
    asyncio.run(main())
