"""What decay costs or brings: `python -m evals.measure.decay`. Recall on our own conversations, several half-lives.

The shipped weights and the cheap embedder; only differences between the lines mean anything.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from holdfast.models.local import PotionEmbedder

from ..data import benchmarks
from ..profiles import filled_profile, open_memory

HALF_LIVES = (None, 365.0, 90.0, 30.0, 7.0)


async def main() -> None:
    async with open_memory(PotionEmbedder()) as memory:
        found: dict[float | None, list[float]] = {half: [] for half in HALF_LIVES}
        for case in benchmarks.own():
            profile, ids = await filled_profile(memory, case)
            for question in case.questions:
                if not (question.scored and question.evidence):
                    continue
                wanted = set(question.evidence)
                for half in HALF_LIVES:
                    memory.runtime.search_models = replace(memory.runtime.search_models, half_life_days=half)
                    hits = await profile.search(question.text, limit=10, reference_date=question.asked_at)
                    seen = {ids.get(id, "") for hit in hits for id in (hit.message_id or "", *hit.sources)}
                    found[half].append(len(wanted & seen) / len(wanted))
        for half, scores in found.items():
            print(f"{half or 'none':>6}  R@10 {100 * sum(scores) / len(scores):.1f}  ({len(scores)} questions)")


if __name__ == "__main__":
    asyncio.run(main())
