"""Cost of asking several profiles at once: `python benchmarks/across.py [--quick] [--out docs/results/across.md]`.

The same questions in turns: to five profiles one after the other, and to all five at once. CPU time of this process,
every thread of it, so that other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import asyncio
import platform
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from embedded import QUESTIONS, TEXTS

from holdfast import AsyncHoldfast

PROFILES, ROUNDS, BAR = 5, 5, 1.5
BATCH = 500
Ask = Callable[[str], Awaitable[Any]]


async def filled(holdfast: AsyncHoldfast, name: str, messages: int) -> None:
    profile = holdfast.profile("bench", name)
    for start in range(0, messages, BATCH):
        said = [
            {"role": "user", "content": f"{TEXTS[(start + n) % len(TEXTS)]} [{name} {start + n}]"}
            for n in range(min(BATCH, messages - start))
        ]
        await profile.ingest(said, session_id=f"s{start // BATCH}")
    await profile.settle()


async def cost(ask: Ask, questions: list[str]) -> float:
    """Milliseconds of CPU for each question."""
    start = time.process_time()
    for question in questions:
        await ask(question)
    return (time.process_time() - start) * 1000 / len(questions)


async def measured(folder: Path, embedder: str, messages: int, questions: int) -> dict[str, list[tuple[float, float]]]:
    names = [f"p{n}" for n in range(PROFILES)]
    found: dict[str, list[tuple[float, float]]] = {}
    async with await AsyncHoldfast.open(folder, embedder=embedder) as holdfast:
        for name in names:
            await filled(holdfast, name, messages)
        apart, together = [holdfast.profile("bench", name) for name in names], holdfast.across("bench", names)
        asked = [QUESTIONS[n % len(QUESTIONS)] for n in range(questions)]

        def each(verb: str) -> tuple[Ask, Ask]:
            async def one_by_one(question: str) -> None:
                for profile in apart:
                    await getattr(profile, verb)(question)

            return one_by_one, lambda question: getattr(together, verb)(question)

        for verb in ("search", "recall", "context"):
            single, several = each(verb)
            await cost(single, asked[:3])
            await cost(several, asked[:3])
            found[verb] = [(await cost(single, asked), await cost(several, asked)) for _ in range(ROUNDS)]
    return found


def told(found: dict[str, dict[str, list[tuple[float, float]]]], messages: int) -> str:
    rows = []
    for embedder, verbs in found.items():
        for verb, pairs in verbs.items():
            single, several = (statistics.median(column) for column in zip(*pairs, strict=True))
            ratio = statistics.median([both / one for one, both in pairs])
            rows.append(f"| {embedder} | `{verb}` | {single:.1f} | {several:.1f} | {ratio:.2f} |")
    head = [
        f"{PROFILES} profiles of {messages:,} messages each, in files. Milliseconds of CPU for one question: asked of",
        f"each profile in turn and added up, and asked of all at once. Medians of {ROUNDS} rounds, both in turns in",
        f"one run of `benchmarks/across.py` on {platform.machine()}, Python {platform.python_version()}.",
        f"The bar is {BAR} times the sum.",
    ]
    why = [
        "At once is cheaper: the question is read and embedded once, and the best hits of all are read and explained,",
        "not those of each.",
    ]
    table = ["| embedder | | one by one | at once | ratio |", "|---|---|---|---|---|", *rows]
    return "\n\n".join(["# Several profiles at once", " ".join(head), "\n".join(table), " ".join(why)]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    messages, questions = (100, 5) if given.quick else (300, 15)
    found = {}
    for embedder in ("potion",) if given.quick else ("potion", "arctic"):
        with tempfile.TemporaryDirectory() as folder:
            found[embedder] = asyncio.run(measured(Path(folder), embedder, messages, questions))
    page = told(found, messages)
    print(page)
    if given.out is not None:
        given.out.write_text(page)


if __name__ == "__main__":
    main()
