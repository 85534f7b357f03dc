"""What a relevance floor takes from the context of a prompt: `python -m evals.measure.floor [arctic|potion] [MOST]`.

For each floor: the share of the evidence in the block that a hook gives (400 tokens) over the own conversations,
LoCoMo, the everyday questions and profiles of a few messages; what prompts that need no memory get: the share with an
empty block, and lines in a block; and the lines of a block in a small profile, with those that say nothing ("OK.").
MOST is how many of the own conversations and of LoCoMo are measured.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from holdfast import AsyncHoldfast, LocalProfile
from holdfast.models.local import ArcticEmbedder, PotionEmbedder
from holdfast.text.lexicon import word_list

from ..data import benchmarks
from ..paths import DATA
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


SMALL = "small"
SMALL_SET = DATA / "small_profiles.json"
EMPTY_WORDS = frozenset(
    word_list(
        "ok yes no thanks thank you kim you're welcome please great good to hear got it will do done noted anything "
        "else hi there hello how can i help today of course that helps"
    )
)
"""The words of the messages in the small profiles that say nothing."""


def empty_lines(block: Any) -> int:
    """How many lines of a block say nothing."""
    bare = ([word.strip(".,!?").lower() for word in hit.content.split()] for hit in block.hits)
    return sum(all(word in EMPTY_WORDS or not word.isascii() for word in words) for words in bare)


class FloorCounts:
    def __init__(self) -> None:
        self.evidence: dict[tuple[str, float], list[float]] = defaultdict(list)
        self.lines: dict[float, list[int]] = defaultdict(list)
        self.small: dict[float, list[tuple[int, int]]] = defaultdict(list)
        """Floor → lines, and lines that say nothing, of each block in a small profile."""

    async def ask(self, set: str, profile: LocalProfile, text: str, at: Any, share: Any) -> None:
        for floor in FLOORS:
            block = await profile.context(text, tokens=TOKENS, min_relevance=floor, reference_date=at)
            self.evidence[set, floor].append(share(block))
            if set == SMALL:
                self.small[floor].append((len(block.hits), empty_lines(block)))

    async def distract_small(self, profile: LocalProfile) -> None:
        for prompt in PROMPTS:
            for floor in FLOORS:
                block = await profile.context(prompt, tokens=TOKENS, min_relevance=floor)
                self.small[floor].append((len(block.hits), empty_lines(block)))

    async def distract(self, profile: LocalProfile) -> None:
        for prompt in PROMPTS:
            for floor in FLOORS:
                block = await profile.context(prompt, tokens=TOKENS, min_relevance=floor)
                self.lines[floor].append(len(block.hits))

    def report(self) -> None:
        sets = sorted({set for set, _ in self.evidence})
        print("floor  " + "  ".join(f"{set:>9}" for set in sets) + "  empty  lines  small  nothing")
        for floor in FLOORS:
            means = [100 * sum(found) / len(found) for set in sets if (found := self.evidence[set, floor])]
            lines = self.lines[floor]
            empty, mean = 100 * sum(not each for each in lines) / len(lines), sum(lines) / len(lines)
            print(
                f"{floor:5.1f}  " + "  ".join(f"{mean:9.1f}" for mean in means) + f"  {empty:5.1f}  {mean:5.2f}", end=""
            )
            blocks = self.small[floor]
            every, bare = (sum(counts) / len(blocks) for counts in zip(*blocks, strict=True))
            print(f"  {every:5.2f}  {bare:7.2f}")


async def measure_talks(memory: AsyncHoldfast, set: str, file: Path, counts: FloorCounts) -> None:
    """The questions of a file of small conversations, and the prompts that need nothing of them."""
    for talk in json.loads(file.read_text("utf-8"))["conversations"]:
        profile = memory.profile(set, talk["id"])
        for session in talk["sessions"]:
            said = [{**message, "timestamp": session["date"]} for message in session["messages"]]
            await profile.ingest(said, session_id=session["id"])
        await profile.settle()
        for asked in [each for each in talk["questions"] if each["says"]]:

            def told(block: Any, says: Any = asked["says"]) -> float:
                return float(first(says, block.text) >= 0)

            await counts.ask(set, profile, asked["question"], talk["asked_at"], told)
        await (counts.distract_small(profile) if set == SMALL else counts.distract(profile))


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
        await measure_talks(memory, "everyday", SET, counts)
        await measure_talks(memory, SMALL, SMALL_SET, counts)
    return counts


def main() -> None:
    name, most = sys.argv[1] if len(sys.argv) > 1 else "arctic", int(sys.argv[2]) if len(sys.argv) > 2 else 99
    asyncio.run(measure(ArcticEmbedder() if name == "arctic" else PotionEmbedder(), most)).report()


if __name__ == "__main__":
    main()
