"""What fading costs or brings: `python -m evals.decay`. Recall on our own conversations with several half-lives.

The shipped weights and the cheap embedder; only differences between the lines mean anything.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from holdfast.models.local import PotionEmbedder

from . import data
from .profiles import filled, opened

HALF_LIVES = (None, 365.0, 90.0, 30.0, 7.0)


async def main() -> None:
    async with opened(PotionEmbedder()) as memory:
        found: dict[float | None, list[float]] = {half: [] for half in HALF_LIVES}
        for case in data.own():
            profile, ids = await filled(memory, case)
            for question in case.questions:
                if not (question.scored and question.evidence):
                    continue
                wanted = set(question.evidence)
                for half in HALF_LIVES:
                    memory._models = replace(memory._models, decay=half)
                    hits = await profile.search(question.text, limit=10, reference_date=question.asked_at)
                    seen = {ids.get(id, "") for hit in hits for id in (hit.message_id or "", *hit.sources)}
                    found[half].append(len(wanted & seen) / len(wanted))
        for half, scores in found.items():
            print(f"{half or 'none':>6}  R@10 {100 * sum(scores) / len(scores):.1f}  ({len(scores)} questions)")


if __name__ == "__main__":
    asyncio.run(main())
