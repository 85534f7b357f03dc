"""`make eval`: measure retrieval on every set and write docs/results/retrieval.md with its plot.

`python -m evals --quick` asks our own conversations only; `--reuse` takes cached proposals for the fold weights.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys
import time

from .paths import RESULTS

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from holdfast.domain.ports.models import Embedder
from holdfast.models.local import ArcticEmbedder, PotionEmbedder

from . import report
from .data import benchmarks
from .measure.ablation import measure_ablation, measure_diversity
from .measure.retrieval import Figures, measure
from .profiles import cached_embedder, open_memory
from .train.ranker import fold_models, training_rows


async def query_cost(embedder: Embedder) -> float:
    """CPU milliseconds to embed one question."""
    questions = [question.text for case in benchmarks.own()[:3] for question in case.questions]
    await embedder.embed_query("warm")
    start = time.process_time()
    for question in questions:
        await embedder.embed_query(question)
    return (time.process_time() - start) / len(questions) * 1e3


async def figures_of(embedder: Embedder, names: tuple[str, ...], fold: dict[str, report.Weights]) -> dict[str, Figures]:
    sets = {
        "own": benchmarks.own,
        "locomo": benchmarks.locomo,
        "pool": benchmarks.longmemeval_pool,
        "s48": benchmarks.longmemeval_s48,
    }
    found = {}
    async with open_memory(cached_embedder(embedder)) as memory:
        for name in names:
            found[name] = await measure(memory, sets[name](), fold)
            print(report.table({name: found[name]}), flush=True)
    return found


async def main() -> None:
    unknown = set(sys.argv[1:]) - {"--quick", "--reuse"}
    if unknown:
        sys.exit(__doc__)
    names, rows, others = await training_rows()
    fold = fold_models(names, rows, others)
    quick = "--quick" in sys.argv
    figures = await figures_of(ArcticEmbedder(), ("own",) if quick else ("locomo", "pool", "s48", "own"), fold)
    if quick:
        return
    potion = await figures_of(PotionEmbedder(), ("locomo", "pool", "own"), fold)
    costs = {"arctic": await query_cost(ArcticEmbedder()), "potion": await query_cost(PotionEmbedder())}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    RESULTS.mkdir(parents=True, exist_ok=True)
    without = await measure_ablation(names, rows, others)
    spread = await measure_diversity(names, rows, others)
    (RESULTS / "retrieval.md").write_text(report.page(figures, potion, costs, peak, without, spread))
    (RESULTS / "retrieval.svg").write_text(report.plot(figures))
    print(f"wrote {RESULTS / 'retrieval.md'}")


if __name__ == "__main__":
    asyncio.run(main())
