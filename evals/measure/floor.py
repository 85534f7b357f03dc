"""What a relevance floor takes from the context of a prompt: `python -m evals.measure.floor [arctic|potion] [MOST]`.

For each floor: the share of the evidence in the block that a hook gives (400 tokens) over the own conversations, LoCoMo
and the everyday questions, and what prompts that need no memory get: the share with an empty block, and lines in a
block.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import defaultdict
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from holdfast import LocalProfile
from holdfast.models.local import ArcticEmbedder, PotionEmbedder

from ..data import benchmarks
from ..profiles import cached_embedder, filled_profile, open_memory
from .everyday import SET, first

FLOORS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
TOKENS = 400
QUESTIONS = 40
"""Questions of each conversation of the large sets."""
PROMPTS = (
    "Write a haiku about autumn.", "write a haiku", "Fix the failing test in parser.py.",
    "Refactor this function so that it has no side effects.", "Translate this paragraph into French.",
    "Explain how a B-tree splits a page.", "What is the capital of Mongolia?",
    "Add a docstring to every public method.",
    "Rename the variable foo to bar everywhere.", "commit this please", "Summarise the file above in three sentences.",
    "Write a regular expression that matches an IPv6 address.", "Why is the sky blue?",
    "Convert this loop into a list comprehension.", "Give me ten synonyms of quick.",
    "Run the linter and mend what it finds.",
    "Draw an ASCII cat.", "How do I undo the last git commit?", "Write a limerick about a parrot.",
    "Bump the version and update the lock file.", "What does HTTP 429 mean?", "Make the button blue.",
    "Solve x squared minus five x plus six equals zero.", "Generate a random UUID.",
)  # fmt: skip
"""Prompts that no conversation of the sets has anything for."""


class FloorCounts:
    def __init__(self) -> None:
        self.evidence: dict[tuple[str, float], list[float]] = defaultdict(list)
        self.lines: dict[float, list[int]] = defaultdict(list)

    async def ask(self, set: str, profile: LocalProfile, text: str, at: Any, share: Any) -> None:
        for floor in FLOORS:
            block = await profile.context(text, tokens=TOKENS, min_relevance=floor, reference_date=at)
            self.evidence[set, floor].append(share(block))

    async def distract(self, profile: LocalProfile) -> None:
        for prompt in PROMPTS:
            for floor in FLOORS:
                block = await profile.context(prompt, tokens=TOKENS, min_relevance=floor)
                self.lines[floor].append(len(block.hits))

    def report(self) -> None:
        sets = sorted({set for set, _ in self.evidence})
        print("floor  " + "  ".join(f"{set:>9}" for set in sets) + "  empty  lines")
        for floor in FLOORS:
            means = [100 * sum(found) / len(found) for set in sets if (found := self.evidence[set, floor])]
            lines = self.lines[floor]
            empty, mean = 100 * sum(not each for each in lines) / len(lines), sum(lines) / len(lines)
            print(f"{floor:5.1f}  " + "  ".join(f"{mean:9.1f}" for mean in means) + f"  {empty:5.1f}  {mean:5.2f}")


async def measure(embedder: ArcticEmbedder | PotionEmbedder, most: int) -> FloorCounts:
    counts = FloorCounts()
    async with open_memory(cached_embedder(embedder)) as memory:
        for case in [*benchmarks.own()[:most], *benchmarks.locomo()[:most]]:
            profile, ids = await filled_profile(memory, case)
            for question in [each for each in case.questions if each.scored and each.evidence][:QUESTIONS]:

                def share(block: Any, wanted: Any = frozenset(question.evidence), ids: Any = ids) -> float:
                    found = {ids.get(id, "") for hit in block.hits for id in (hit.message_id or "", *hit.sources)}
                    return len(wanted & found) / len(wanted)

                await counts.ask(case.set, profile, question.text, question.asked_at, share)
            await counts.distract(profile)
        for talk in json.loads(SET.read_text("utf-8"))["conversations"]:
            profile = memory.profile("everyday", talk["id"])
            for session in talk["sessions"]:
                said = [{**message, "timestamp": session["date"]} for message in session["messages"]]
                await profile.ingest(said, session_id=session["id"])
            await profile.settle()
            for asked in [each for each in talk["questions"] if each["says"]]:

                def told(block: Any, says: Any = asked["says"]) -> float:
                    return float(first(says, block.text) >= 0)

                await counts.ask("everyday", profile, asked["question"], talk["asked_at"], told)
            await counts.distract(profile)
    return counts


def main() -> None:
    name, most = sys.argv[1] if len(sys.argv) > 1 else "arctic", int(sys.argv[2]) if len(sys.argv) > 2 else 99
    asyncio.run(measure(ArcticEmbedder() if name == "arctic" else PotionEmbedder(), most)).report()


if __name__ == "__main__":
    main()
