"""Cost of asking several profiles at once: `python -m benchmarks.across [--quick] [--out docs/results/across.md]`.

The same questions in turns: to five profiles one after the other, and to all five at once. CPU time of this process,
every thread of it, so that other work on the machine does not count.

`python -m benchmarks.across --many` asks 1, 50, 500 and 2,000 profiles, each twice, and shows time and memory.
"""

from __future__ import annotations

import argparse
import asyncio
import platform
import resource
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks.embedded import QUESTIONS, TEXTS

from holdfast import AsyncHoldfast
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from holdfast.testing.conformance import memory, written

MANY = (1, 50, 500, 2_000)
PROFILES, ROUNDS, BAR = 5, 5, 1.5
BATCH = 500
Ask = Callable[[str], Awaitable[Any]]


async def fill_profile(holdfast: AsyncHoldfast, name: str, messages: int) -> None:
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


async def measure(folder: Path, embedder: str, messages: int, questions: int) -> dict[str, list[tuple[float, float]]]:
    names = [f"p{n}" for n in range(PROFILES)]
    found: dict[str, list[tuple[float, float]]] = {}
    async with await AsyncHoldfast.open(folder, embedder=embedder) as holdfast:
        for name in names:
            await fill_profile(holdfast, name, messages)
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


async def measure_many(folder: Path) -> list[str]:
    """A row for each number of profiles: the first question, which opens their files, and the second."""
    vault, rows = SqliteVault(folder), []
    await vault.create_namespace("bench")
    for n in range(max(MANY)):
        store = await vault.open("bench", f"p{n}", create=True)
        await store.apply(written(*(memory(f"I live in town {n} and I like tea {m}", n=m) for m in range(20))))
        await vault.rested("bench", f"p{n}", HashingEmbedder().model)
    holdfast = AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor())
    for count in MANY:
        several, times = holdfast.across("bench", [f"p{n}" for n in range(count)]), []
        for _ in range(2):
            wall, cpu = time.perf_counter(), time.process_time()
            (best, *_) = await several.search(f"Who lives in town {count - 1}?", limit=10)
            assert best.origin is not None
            assert best.origin.profile == f"p{count - 1}"
            times.append(f"{time.perf_counter() - wall:.2f} / {time.process_time() - cpu:.2f}")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        rows.append(f"| {count:,} | {times[0]} | {times[1]} | {peak} |")
    await holdfast.close()
    return ["| profiles | first question | second | peak memory |", "|---|---|---|---|", *rows]


def report_text(found: dict[str, dict[str, list[tuple[float, float]]]], messages: int) -> str:
    rows = []
    for embedder, verbs in found.items():
        for verb, pairs in verbs.items():
            single, several = (statistics.median(column) for column in zip(*pairs, strict=True))
            ratio = statistics.median([both / one for one, both in pairs])
            rows.append(f"| {embedder} | `{verb}` | {single:.1f} | {several:.1f} | {ratio:.2f} |")
    head = [
        f"{PROFILES} profiles of {messages:,} messages each, in files. Milliseconds of CPU for one question: asked of",
        f"each profile in turn and added up, and asked of all at once. Medians of {ROUNDS} rounds, both in turns in",
        f"one run of `python -m benchmarks.across` on {platform.machine()}, Python {platform.python_version()}.",
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
    parser.add_argument("--many", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.many:
        with tempfile.TemporaryDirectory() as folder:
            print("\n".join(asyncio.run(measure_many(Path(folder)))))
        return
    messages, questions = (100, 5) if given.quick else (300, 15)
    found = {}
    for embedder in ("potion",) if given.quick else ("potion", "arctic"):
        with tempfile.TemporaryDirectory() as folder:
            found[embedder] = asyncio.run(measure(Path(folder), embedder, messages, questions))
    page = report_text(found, messages)
    print(page)
    if given.out is not None:
        given.out.write_text(page)


if __name__ == "__main__":
    main()
