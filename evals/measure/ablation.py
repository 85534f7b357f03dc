"""What each group of features is worth: leave it out, train again, ask again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from holdfast.models.local import ArcticEmbedder

from ..data import benchmarks
from ..train.ranker import fold_models, found_at, model_of
from ..train.ranker_rows import Row, gather_proposals, rows_of

GROUPS: dict[str, tuple[str, ...]] = {
    "nothing": (),
    "words (BM25, coverage)": (
        "words", "other_words", "coverage", "other_coverage", "words_rank", "before_words", "after_words",
        "session_words",
    ),
    "meaning (vectors)": ("meaning", "meaning_rank", "before_meaning", "after_meaning", "session_meaning"),
    "near (static MaxSim)": ("near", "near_top", "before_near", "after_near"),
    "neighbours": (
        "before_words", "after_words", "before_meaning", "after_meaning", "before_near", "after_near", "before_asks",
        "before_length", "before_speaker",
    ),
    "session": ("session_words", "session_meaning", "session_share"),
    "speaker and role": ("speaker", "before_speaker", "has_speaker", "from_user", "first_person"),
    "time window": ("in_window", "when_asked"),
    "length and form": ("length", "asks", "word_count", "before_asks", "before_length"),
    "memories": ("memory", "key"),
}  # fmt: skip


async def measure_ablation(names: list[str], rows: list[Row], others: list[Row]) -> dict[str, dict[str, float]]:
    """Group left out → set → R@10. LoCoMo is asked of a model trained on the rest; the others are cross-validated."""
    locomo = await locomo_rows()
    found = {}
    for group, gone in GROUPS.items():
        keep = [n for n, name in enumerate(names) if name not in gone]
        kept = [names[n] for n in keep]
        train, rest, test = ([_only(row, keep) for row in each] for each in (rows, others, locomo))
        model = model_of(kept, train + rest, networks=2)
        scores = {"LoCoMo-dev": [found_at(model, row, 10) for row in test]}
        models = fold_models(kept, train, rest, networks=1)
        for row in train:
            if row.category != "known-item":
                scores.setdefault(row.set, []).append(found_at(models[row.group], row, 10))
        found[group] = {name: 100 * float(np.mean(values)) for name, values in scores.items()}
        print(group, found[group], flush=True)
    return found


async def locomo_rows() -> list[Row]:
    return rows_of(await gather_proposals(benchmarks.locomo(), ArcticEmbedder(), "locomo-arctic"))[1]


async def measure_diversity(names: list[str], rows: list[Row], others: list[Row]) -> dict[float, dict[str, float]]:
    """Penalty for each hit of the same session before it → questions of several messages → R@10."""
    model = model_of(names, rows + others, networks=2)
    models = fold_models(names, rows, others, networks=1)
    locomo = [(model, row) for row in await locomo_rows() if len(row.evidence) > 1]
    trained = [(models[row.group], row) for row in rows if len(row.evidence) > 1]
    found: dict[float, dict[str, float]] = {}
    for spread in (0.0, 0.1, 0.3, 1.0, 3.0):
        scores: dict[str, list[float]] = {}
        for ranker, row in (*locomo, *trained):
            scores.setdefault(row.set, []).append(found_at(ranker, row, 10, spread))
        found[spread] = {name: 100 * float(np.mean(values)) for name, values in scores.items()}
    return found


def _only(row: Row, keep: list[int]) -> Row:
    return replace(row, inputs=row.inputs[:, keep])
