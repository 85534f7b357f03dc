"""Speed of the embedded library: `python -m benchmarks.embedded [--quick]`. Writes docs/results/embedded.md.

Sizes of 1k, 10k and 100k messages in one profile, then 2,000 profiles of 200. CPU and wall per operation. Vectors are
pseudo-random of the default model's size, so that the figures are the store's and the ranker's own; what the default
model costs is measured apart and shown beside. Text is drawn from evals/data/conversations.
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import json
import os
import platform
import random
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from holdfast import AsyncHoldfast
from holdfast.domain.types import Floats
from holdfast.models.local import ArcticEmbedder
from holdfast.testing import ScriptedExtractor

ROOT = Path(__file__).resolve().parent.parent
QUESTIONS = [
    q["question"]
    for f in sorted((ROOT / "evals/data/conversations").glob("*.json"))
    for q in json.loads(f.read_text())["questions"]
]
TEXTS = [
    m["content"]
    for f in sorted((ROOT / "evals/data/conversations").glob("*.json"))
    for s in json.loads(f.read_text())["sessions"]
    for m in s["messages"]
    if len(m["content"]) < 900
]


class RandomEmbedder:
    """384 pseudo-random dimensions that follow from the text; costs next to nothing."""

    model = "bench/random/384"

    async def embed(self, texts: Sequence[str]) -> list[Floats]:
        return [self._vector(text) for text in texts]

    async def embed_query(self, text: str) -> Floats:
        return self._vector(text)

    def _vector(self, text: str) -> Floats:
        seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
        vector = np.random.default_rng(seed).standard_normal(384).astype(np.float32)
        return vector / np.linalg.norm(vector)


async def time_calls(act: Callable[[int], Awaitable[Any]], times: int) -> tuple[float, float, float]:
    """(CPU ms, median wall ms, p95 wall ms) per call."""
    walls = []
    cpu = time.process_time()
    for n in range(times):
        start = time.perf_counter()
        await act(n)
        walls.append(time.perf_counter() - start)
    cpu = time.process_time() - cpu
    walls.sort()
    return cpu / times * 1e3, walls[len(walls) // 2] * 1e3, walls[int(len(walls) * 0.95)] * 1e3


def resident() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1]) if Path("/proc/self/statm").exists() else 0
    return pages * resource.getpagesize() / 2**20


async def fill(profile: Any, count: int, rng: random.Random) -> None:
    """Messages in sessions of 40, each with a number so that none repeats."""
    for start in range(0, count, 200):
        for session in range(start, min(start + 200, count), 40):
            said = [
                {"role": "user" if n % 2 else "assistant", "content": f"{rng.choice(TEXTS)} ({n})"}
                for n in range(session, session + 40)
            ]
            await profile.ingest(said, session_id=f"s{session}")
        await profile.settle()


async def one_profile(count: int, embedder: Any = None) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp())
    rng = random.Random(1)
    memory = await AsyncHoldfast.open(folder, embedder=embedder or RandomEmbedder(), extractor=ScriptedExtractor())
    profile = memory.profile("bench", "p")
    before = resident()
    start = time.process_time()
    await fill(profile, count, rng)
    row: dict[str, Any] = {"messages": count, "fill CPU ms/message": (time.process_time() - start) / count * 1e3}
    texts = iter([f"{rng.choice(TEXTS)} [{n}]" for n in range(10_000)])

    async def ingest(_: int) -> None:
        await profile.ingest([{"role": "user", "content": next(texts)}], session_id="live")

    row["ingest one"] = await time_calls(ingest, 100)
    await profile.settle()
    asked = iter(rng.choices(QUESTIONS, k=10_000))

    async def search(_: int) -> None:
        await profile.search(next(asked))

    async def recall(_: int) -> None:
        await profile.recall(next(asked))

    await search(0)
    row["search warm"] = await time_calls(search, 100)
    row["recall warm"] = await time_calls(recall, 100)
    row["resident MB"] = resident() - before

    async def cold(_: int) -> None:
        await profile.search(next(asked))

    colds = []
    for _ in range(10):
        await (await memory.runtime.vault.open("bench", "p", create=False)).sleep()  # type: ignore[attr-defined]
        colds.append(await time_calls(cold, 1))
    row["search cold"] = tuple(sorted(c[i] for c in colds)[len(colds) // 2] for i in range(3))
    await memory.close()
    size = sum(f.stat().st_size for f in folder.rglob("*.db"))
    row["bytes/message"] = size / count
    shutil.rmtree(folder)
    return row


async def many_profiles(count: int, each: int, accesses: int) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp())
    rng = random.Random(2)
    memory = await AsyncHoldfast.open(folder, embedder=RandomEmbedder(), extractor=ScriptedExtractor())
    start = time.process_time()
    for n in range(count):
        await fill(memory.profile("bench", f"profile {n}"), each, rng)
    row: dict[str, Any] = {"profiles": count, "fill CPU ms/message": (time.process_time() - start) / count / each * 1e3}

    async def visit(_: int) -> None:
        await memory.profile("bench", f"profile {rng.randrange(count)}").search(rng.choice(QUESTIONS))

    gc.collect()
    row["search at random"] = await time_calls(visit, accesses)
    row["open files"] = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else -1
    row["resident MB"] = resident()
    await memory.close()
    shutil.rmtree(folder)
    return row


async def default_model() -> dict[str, float]:
    embedder = ArcticEmbedder()
    await embedder.embed_query("warm")
    query = await time_calls(lambda n: embedder.embed_query(QUESTIONS[n]), 50)
    start = time.process_time()
    await embedder.embed(TEXTS[:200])
    return {"query ms": query[0], "messages/CPU s": 200 / (time.process_time() - start)}


def cell_text(value: Any) -> str:
    if isinstance(value, tuple):
        return " / ".join(f"{each:.2f}" for each in value)
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"


def table(rows: list[dict[str, Any]]) -> str:
    names = list(rows[0])
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    return "\n".join(lines + ["| " + " | ".join(cell_text(row[name]) for name in names) + " |" for row in rows])


async def main() -> None:
    quick = "--quick" in sys.argv
    sizes = (1_000, 10_000) if quick else (1_000, 10_000, 100_000)
    rows = []
    for size in sizes:
        rows.append(await one_profile(size))
        print(rows[-1], flush=True)
    real = await one_profile(1_000 if quick else 10_000, ArcticEmbedder())
    print(real, flush=True)
    many = await many_profiles(*((50, 50, 200) if quick else (2_000, 200, 3_000)))
    model = await default_model()
    text = "\n".join(
        [
            "# Speed of the embedded library",
            "",
            f"`python -m benchmarks.embedded`, Python {platform.python_version()}, {os.cpu_count()} cores. Times are "
            "CPU ms / median wall ms / 95th percentile wall ms per call, without the query's embedding; with the "
            f"default model that adds {model['query ms']:.1f} ms CPU a query. Embedding runs in the background at "
            f"{model['messages/CPU s']:.0f} messages a CPU second.",
            "",
            "## One profile",
            "",
            table(rows),
            "",
            "*ingest one* is durable when it returns (WAL, full sync). *cold* means file closed: open, load, search.",
            "",
            "With the default model, its work included:",
            "",
            table([real]),
            "",
            "## Many profiles",
            "",
            table([many]),
            "",
        ]
    )
    print(text)
    if not quick:
        (ROOT / "docs" / "results" / "embedded.md").write_text(text)


if __name__ == "__main__":
    asyncio.run(main())
