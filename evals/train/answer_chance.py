"""Fits recall/answer/sureness.WEIGHTS: `python -m evals.train.answer_chance`.

The lives that the reader of answers learned nothing from are ingested and asked through the product; what is answered
is judged, and a logistic fit learns from the features when it is right.
"""

from __future__ import annotations

import asyncio
import pickle
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from holdfast.domain.results import Hit
from holdfast.models.local import ArcticEmbedder
from holdfast.recall.answer import reading
from holdfast.recall.answer.sureness import ReadHits, sureness_features
from holdfast.recall.question.analysis import Question

from ..data.life import FOLDER, parse_lives
from ..measure.lives import VERDICTS, Asked, live
from ..paths import CACHE
from ..profiles import cached_embedder, open_memory
from .life_split import MEASURES, is_held

KEPT = CACHE / "answer-chance.pickle"
FOLDS = 8


@dataclass
class Recorder:
    """Stands in for `sureness`: records the features, and lets every answer through."""

    last: list[tuple[str, tuple[float, ...]]] = field(default_factory=list)

    def __call__(self, question: Question, found: ReadHits, seen: Sequence[Hit], supported: float) -> float:
        if found.kind == "none" or not found.spans:
            return 0.0
        self.last.append((question.text, sureness_features(question, found, seen, supported)))
        return 1.0


async def gather() -> list[tuple[str, str, tuple[float, ...] | None, str, Asked]]:
    """Life, category, features (None when nothing was found), verdict and answer of each question."""
    made = []
    recorder = Recorder()
    reading.sureness = recorder  # type: ignore[assignment]
    async with open_memory(cached_embedder(ArcticEmbedder())) as memory:
        for path in sorted(FOLDER.glob("*.txt")):
            for n, life in enumerate(parse_lives(path.read_text("utf-8"), path.name)[0]):
                name = f"{path.stem}-{n}"
                if path.stem in MEASURES or not is_held(name):
                    continue
                recorder.last.clear()
                asked, _, _ = await live(memory.profile("lives", name), life, name)
                features = dict(recorder.last)
                made += [(name, a.question.category, features.get(a.question.text), a.verdict, a) for a in asked]
                print(name, len(made), file=sys.stderr, flush=True)
    return made


def fit(x: Any, y: Any) -> Any:
    weights = np.zeros(x.shape[1])
    for _ in range(50):
        chances = 1 / (1 + np.exp(-x @ weights))
        bend = (x * (chances * (1 - chances))[:, None]).T @ x + 0.5 * np.eye(len(weights))
        weights -= np.linalg.solve(bend, x.T @ (chances - y) + 0.5 * weights)
    return weights


def main() -> None:
    if "--reuse" not in sys.argv:
        KEPT.write_bytes(pickle.dumps(asyncio.run(gather())))
    rows = pickle.loads(KEPT.read_bytes())
    told = [row for row in rows if row[2] is not None and row[3] in ("right", "wrong")]
    x = np.array([[*row[2], 1.0] for row in told])
    y = np.array([row[3] == "right" for row in told], float)
    lives = sorted({row[0] for row in told})
    unseen = np.zeros(len(told))
    for fold in range(FOLDS):
        held = np.array([lives.index(row[0]) % FOLDS == fold for row in told])
        unseen[held] = 1 / (1 + np.exp(-x[held] @ fit(x[~held], y[~held])))
    print(len(rows), "questions,", len(told), "answers,", int(y.sum()), "right")
    for least in (0.0, 0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8):
        count = Counter(row[3] for row in rows if row[2] is None or row[3] not in ("right", "wrong"))
        for row, chance in zip(told, unseen, strict=True):
            empty = "rightly empty" if row[1] == "never" else "wrongly empty"
            count[row[3] if chance >= least else empty] += 1
        print(f"at {least}:", ", ".join(f"{verdict} {100 * count[verdict] / len(rows):.1f}" for verdict in VERDICTS))
    for low in np.arange(0, 1, 0.1):
        some = (unseen >= low) & (unseen < low + 0.1)
        if some.any():
            print(f"said {low:.1f} to {low + 0.1:.1f}: {some.sum()} answers, {100 * y[some].mean():.0f} % right")
    print(tuple(round(float(each), 2) for each in fit(x, y)))


if __name__ == "__main__":
    main()
