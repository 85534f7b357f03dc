"""What a graph costs: reading memories into it, its size, neighbours, ways, the whole.

    python -m benchmarks.graph [--memories 50000] [--out docs/results/graph-cost.md]

A profile is filled with statements about people, places, companies, services and projects (a few of them in very many
memories, most in few, as in life), then asked. Times are CPU of this process, all threads, median and worst of many.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

from holdfast import AsyncHoldfast
from holdfast.domain import identifiers
from holdfast.domain.ports.storage import Store
from holdfast.domain.types import Change, Memory
from holdfast.graph.queries import learn_batch
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing import HashingEmbedder, ScriptedExtractor

START = datetime(2024, 1, 1, tzinfo=UTC)
AT_ONCE = 1000
ASKED = 60
SAYINGS = (
    "The user met {p} in {c}.", "{p} works at {o}.", "{p} lives in {c}.", "{p} is married to {q}.",
    "{p} manages {q} at {o}.", "{o} uses {t}.", "{t} depends on {u}.", "{p} and {q} visited {c}.",
    "The user's friend {p} works on Project {x}.", "Project {x} is owned by {o}.", "{p} loves hiking and long books.",
    "The user prefers tea in the morning.", "{p} is called {n}.",
)  # fmt: skip
WEIGHTS = (10, 12, 10, 3, 4, 6, 5, 8, 6, 4, 20, 11, 1)


@dataclass
class Table:
    rows: list[tuple[str, ...]] = field(default_factory=list)
    memories: int = 0

    def add(self, *cells: object) -> None:
        self.rows.append((f"{self.memories:,}", *map(str, cells)))
        print(" | ".join(self.rows[-1]), flush=True)


def statements(count: int) -> list[str]:
    """As many different statements; whom they are about is distributed as names are: few often, most seldom."""
    noise = random.Random(7)
    made: dict[str, None] = {}
    people = max(50, count // 25)

    def one(prefix: str, among: int) -> str:
        return f"{prefix}{min(int(noise.paretovariate(0.9)), among)}"

    while len(made) < count:
        said = noise.choices(SAYINGS, WEIGHTS)[0].format(
            p=one("Anna", people), q=one("Boris", people), o=one("Company", people // 5), c=one("Town", people // 10),
            t=one("Service", people // 5), u=one("Library", people // 5), x=one("Falcon", people // 10),
            n="",
        )  # fmt: skip
        if said.endswith("is called ."):
            said = f"{said[:-1]}Nick{said.removeprefix('Anna').split()[0]}."
        made[said if said not in made else f"{said[:-1]}, as was said {len(made)} times."] = None
    return list(made)


async def fill_store(store: Store, count: int) -> None:
    said_in_all = statements(count)
    for first in range(0, count, AT_ONCE):
        memories = []
        for n, said in enumerate(said_in_all[first : first + AT_ONCE], first):
            at = START + timedelta(minutes=n)
            id = identifiers.memory_id(at, said)
            memories.append(Memory(id, "fact", said, said[:80], at, at, extractor="benchmark/1"))
        await store.apply(Change(memories=tuple(memories)))


async def time_questions(ask: Callable[[str], Awaitable[Any]], about: list[str]) -> tuple[str, str]:
    took = []
    for each in about:
        start = time.process_time()
        await ask(each)
        took.append(1000 * (time.process_time() - start))
    return f"{median(took):.1f} ms", f"{max(took):.1f} ms"


async def measure(count: int, told: Table) -> None:
    with tempfile.TemporaryDirectory() as folder:
        vault = SqliteVault(Path(folder))
        await vault.create_namespace("bench")
        store = await vault.open("bench", "graph", create=True)
        await fill_store(store, count)
        before = (await store.stats("")).bytes
        start = time.process_time()
        while await learn_batch(store):
            continue
        read = time.process_time() - start
        grown = (await store.stats("")).bytes - before
        told.add("read into the graph, per memory", f"{1e6 * read / count:.0f} µs", f"{read:.1f} s in all")
        told.add("size in the file, per memory", f"{grown / count:.0f} B", f"{grown / 2**20:.1f} MiB in all")
        async with AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor({})) as memory:
            profile = memory.profile("bench", "graph")
            await profile.settle()
            listed = await profile.entities(limit=5000)
            noise = random.Random(3)
            some = [each.id for each in noise.sample(listed, ASKED)]
            hubs = [each.id for each in listed[:20]]
            told.add(f"entities, of which the first is in {listed[0].memories:,} memories", len(listed), "")
            told.add("neighbours of any entity", *await time_questions(lambda name: profile.graph(name), some))
            told.add("neighbours of the twenty most mentioned", *await time_questions(profile.graph, hubs))
            two = await time_questions(lambda name: profile.graph(name, depth=2), some[:20])
            told.add("two links around any entity, 100 entities", *two)
            ends = dict(zip(some, reversed(some), strict=True))
            told.add("the way between two", *await time_questions(lambda name: profile.path(name, ends[name]), some))
            told.add("memories about one", *await time_questions(profile.about, some))
            whole = await time_questions(lambda _: profile.graph(limit=5000), ["", ""])
            told.add("the whole, 5,000 entities at most", *whole)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--memories", type=int, nargs="+", default=[5_000, 50_000])
    options.add_argument("--out", type=Path)
    given = options.parse_args()
    told = Table()
    for count in given.memories:
        told.memories = count
        asyncio.run(measure(count, told))
    if given.out:
        lines = [
            "| memories | what | median | worst |",
            "|---|---|---|---|",
            *(f"| {' | '.join(row)} |" for row in told.rows),
        ]
        given.out.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
