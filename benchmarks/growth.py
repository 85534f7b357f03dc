"""How a data folder grows: `python -m benchmarks.growth [--profiles N] [--messages M] [--out docs/results/scale.md]`.

Profiles are written under steady traffic: some at a time, in turns of ten messages, while profiles in use are searched.
Embeddings are potion's, every tenth message becomes a memory, and digestion, resting and closing run as in a server. At
each size: CPU of the process for one message, with everything that it causes until its profile rests, and how long
searches take during the traffic and without it. Then the folder is opened by new processes, one of them after another
was killed with work to do, and checked, copied and listed. CPU is of all threads, user and system. How much of it a
busy machine takes changes by the minute: so, at each size, some profiles are written to this folder and as many to a
small one in turns, and their ratio tells what the size costs. The small one has so many profiles that it, too, closes
one for each that it opens. What was measured is written to the error output as it is measured, so that a run that is
stopped is not lost; `--minutes` ends the growth by itself, with what the folder has then as the last size.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import platform
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from benchmarks.embedded import QUESTIONS, ROOT, TEXTS, resident
from benchmarks.growth_table import Latency, Stage, report_progress, stage_table

from holdfast import AsyncHoldfast
from holdfast.domain.ports.storage import TopicKeyLoader, load_no_topic_keys
from holdfast.domain.types import Draft, Message
from holdfast.service.profile.local import LocalProfile
from holdfast.service.wiring import load_modules

NAMESPACE = "bench"
SIZES = (100, 500, 1_000, 2_000, 5_000, 10_000, 20_000)
WRITTEN_AT_ONCE, TURN_MESSAGES = 20, 10
HOT_PROFILES = 20
"""The first ones, which are searched, as those in use are."""
MESSAGES_PER_SEARCH = 20
IDLE_SEARCHES = 200
REST_POLL_SECONDS = 0.5
BACKLOG_PROFILES = 200
COMPARISONS = 5
"""How often a group of profiles is written to the folder and one to a small folder, at most."""
PROGRESS_PROFILES = 500
SMALL_FOLDER = 140
"""How many profiles the small folder has, at most: more than the 128 that a process keeps open."""


class EveryTenth:
    """Makes a memory of every tenth message."""

    name = "bench/1"

    async def extract(
        self, messages: Sequence[Message], before: Sequence[Message], keys: TopicKeyLoader = load_no_topic_keys
    ) -> list[Draft]:
        return [Draft("fact", each.content[:200], (each.id,)) for each in messages if each.content.endswith("0)")]


class Never(EveryTenth):
    """Digests nothing, so that work is left."""

    async def extract(
        self, messages: Sequence[Message], before: Sequence[Message], keys: TopicKeyLoader = load_no_topic_keys
    ) -> list[Draft]:
        await asyncio.Event().wait()
        return []


async def open_folder(folder: Path, extractor: EveryTenth | None = None) -> AsyncHoldfast:
    return await AsyncHoldfast.open(folder, embedder="potion", extractor=extractor or EveryTenth())


def profile_of(memory: AsyncHoldfast, n: int) -> LocalProfile:
    return memory.profile(NAMESPACE, f"profile {n}")


def turn(dice: random.Random, start: int) -> list[dict[str, Any]]:
    return [
        {"role": "user" if n % 2 else "assistant", "content": f"{dice.choice(TEXTS)} ({n})"}
        for n in range(start, start + TURN_MESSAGES)
    ]


async def timed_search(memory: AsyncHoldfast, dice: random.Random, hot: int) -> float:
    start = time.perf_counter()
    await profile_of(memory, dice.randrange(hot)).search(dice.choice(QUESTIONS))
    return time.perf_counter() - start


async def write_profiles(
    memory: AsyncHoldfast, numbers: range, messages: int, hot: int, deadline: float = math.inf
) -> tuple[list[float], int]:
    """Write these profiles under steady traffic, as many as there is time for.

    Return how long the searches beside it took, and the first profile that was not written.
    """
    dice = random.Random(numbers.start)
    seconds: list[float] = []
    permits = asyncio.Semaphore(0)

    async def search() -> None:
        while True:
            await permits.acquire()
            seconds.append(await timed_search(memory, dice, hot))

    searching = asyncio.create_task(search())
    unsettled: deque[LocalProfile] = deque()
    written, reached = 0, numbers.start
    for first in range(numbers.start, numbers.stop, WRITTEN_AT_ONCE):
        if time.monotonic() > deadline:
            break
        if first % PROGRESS_PROFILES == 0:
            report_progress(f"{first} profiles, {time.process_time():.0f} s of CPU, {resident():.0f} MB")
        reached = min(first + WRITTEN_AT_ONCE, numbers.stop)
        for start in range(0, messages, TURN_MESSAGES):
            for n in range(first, reached):
                profile = profile_of(memory, n)
                await profile.ingest(turn(dice, start), session_id=f"s{start // 50}")
                unsettled.append(profile)
                written += TURN_MESSAGES
                if written % MESSAGES_PER_SEARCH == 0:
                    permits.release()
                while len(unsettled) > WRITTEN_AT_ONCE:
                    await unsettled.popleft().settle()
    for profile in unsettled:
        await profile.settle()
    while not permits.locked():  # noqa: ASYNC110  (until the searches are done)
        await asyncio.sleep(0.01)
    searching.cancel()
    await asyncio.gather(searching, return_exceptions=True)
    return seconds, reached


async def until_rested(memory: AsyncHoldfast) -> None:
    """Wait until every profile rests, which it does some seconds after its last work, and was visited."""
    worker, vault, model = memory.runtime.worker, memory.runtime.vault, memory.runtime.embedder.model
    while worker._to_visit or await vault.waiting(model):  # noqa: ASYNC110  (the worker has no event for it)
        await asyncio.sleep(REST_POLL_SECONDS)


async def cpu_of_writing(memory: AsyncHoldfast, numbers: range, messages: int) -> float:
    """CPU milliseconds of each message of these profiles, until the profiles rest."""
    start = time.process_time()
    await write_profiles(memory, numbers, messages, WRITTEN_AT_ONCE)
    await until_rested(memory)
    return (time.process_time() - start) / (len(numbers) * messages) * 1e3


async def compare(memory: AsyncHoldfast, numbers: range, messages: int) -> tuple[float, float, float]:
    """CPU milliseconds of a message in this folder and in a small one, in turns, and the ratio of a pair of turns.

    Medians: what else the machine does may double the cost of a turn. Neither folder is always the first of a pair.
    """
    here: list[float] = []
    there: list[float] = []
    before = min(numbers.start, SMALL_FOLDER)
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        control = await open_folder(Path(folder))
        await write_profiles(control, range(before), messages, WRITTEN_AT_ONCE)
        await until_rested(control)
        for n, first in enumerate(range(numbers.start, numbers.stop, WRITTEN_AT_ONCE)):
            place = before + n * WRITTEN_AT_ONCE
            pair = [(memory, first, here), (control, place, there)]
            for folder_of, start, cost in pair if n % 2 == 0 else reversed(pair):
                cost.append(await cpu_of_writing(folder_of, range(start, start + WRITTEN_AT_ONCE), messages))
        await control.close()
    ratio = statistics.median(one / other for one, other in zip(here, there, strict=True))
    return statistics.median(here), statistics.median(there), ratio


async def grow(memory: AsyncHoldfast, numbers: range, messages: int, deadline: float) -> Stage:
    comparisons = min(COMPARISONS, len(numbers) // WRITTEN_AT_ONCE - 1)  # some are left to be searched beside
    wanted = range(numbers.start, numbers.stop - comparisons * WRITTEN_AT_ONCE)
    busy, reached = await write_profiles(memory, wanted, messages, HOT_PROFILES, deadline)
    compared = range(reached, reached + comparisons * WRITTEN_AT_ONCE)
    await until_rested(memory)
    for n in range(HOT_PROFILES):
        await profile_of(memory, n).search(QUESTIONS[n])
    dice = random.Random(compared.stop)
    start = time.process_time()
    idle = [await timed_search(memory, dice, HOT_PROFILES) for _ in range(IDLE_SEARCHES)]
    idle_cpu = (time.process_time() - start) / IDLE_SEARCHES * 1e3
    here, there, ratio = await compare(memory, compared, messages)
    files = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else -1
    return Stage(compared.stop, here, there, ratio, Latency.of(busy), Latency.of(idle), idle_cpu, resident(), files)


async def fill(folder: Path, profiles: int, messages: int, minutes: float) -> tuple[list[Stage], dict[str, float]]:
    load_modules()
    deadline = time.monotonic() + minutes * 60
    memory = await open_folder(folder)
    await write_profiles(memory, range(HOT_PROFILES), messages, 1)  # loads and fills what a running process has
    sizes = [HOT_PROFILES, *(size for size in SIZES if size < profiles), profiles]
    stages: list[Stage] = []
    for before, size in pairwise(sizes):
        if stages and time.monotonic() > deadline:
            break
        stages.append(await grow(memory, range(before, size), messages, deadline))
        report_progress(stage_table(stages)[-1])
    start = time.process_time()
    listed = await memory.profiles(NAMESPACE)
    costs = {"list": (time.process_time() - start) * 1e3}
    assert len(listed) == stages[-1].profiles
    start = time.process_time()
    await memory.runtime.worker.tour()
    costs["tour"] = (time.process_time() - start) * 1e3
    report_progress(costs)
    start = time.process_time()
    await memory.close()
    return stages, costs | {"close": (time.process_time() - start) * 1e3}


async def first_search(folder: Path) -> dict[str, float]:
    load_modules()
    start, wall = time.process_time(), time.perf_counter()
    memory = await open_folder(folder)
    opened = time.process_time() - start
    await profile_of(memory, 0).search(QUESTIONS[0])
    found = {"open": opened * 1e3, "first": (time.process_time() - start) * 1e3, "wall": time.perf_counter() - wall}
    await memory.close()
    return found


async def leave_backlog(folder: Path) -> dict[str, float]:
    """Write messages that nobody digests, and die."""
    memory = await open_folder(folder, Never())
    for n in range(HOT_PROFILES, HOT_PROFILES + BACKLOG_PROFILES):
        await profile_of(memory, n).ingest(turn(random.Random(n), 10**6), session_id="left")
    os._exit(0)


async def resume(folder: Path) -> dict[str, float]:
    """Open a folder with a backlog: the first search beside the work, then the work."""
    load_modules()
    start, wall = time.process_time(), time.perf_counter()
    memory = await open_folder(folder)
    opened = time.perf_counter() - wall
    await profile_of(memory, 0).search(QUESTIONS[0])
    first = time.perf_counter() - wall
    for n in range(HOT_PROFILES, HOT_PROFILES + BACKLOG_PROFILES):
        await profile_of(memory, n).settle()
    spent, waited = time.process_time() - start, time.perf_counter() - wall
    await memory.close()
    return {"opened": opened, "first": first, "cpu": spent, "wall": waited}


CHILDREN = {"first-search": first_search, "leave-backlog": leave_backlog, "resume": resume}


def run_child(name: str, folder: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.growth", "--child", name, str(folder)]
    said = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    found: dict[str, float] = json.loads(said or "{}")
    report_progress(f"{name}: {found}")
    return found


def command_cpu(*arguments: str, folder: Path) -> float:
    """CPU seconds of a command of the command line."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"HOLDFAST_DATA": str(folder), "HOLDFAST_EMBEDDER": "potion"}
    subprocess.run(
        [sys.executable, "-m", "holdfast", *arguments], env=environment, check=True, stdout=subprocess.DEVNULL
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    report_progress(f"{arguments[0]}: {spent:.1f} s")
    return spent


def report(folder: Path, wanted: int, messages: int, minutes: float) -> str:
    stages, costs = asyncio.run(fill(folder, wanted, messages, minutes))
    profiles = stages[-1].profiles
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    count = sum(file.is_file() for file in folder.rglob("*"))
    first = run_child("first-search", folder)
    run_child("leave-backlog", folder)
    resumed = run_child("resume", folder)
    left = BACKLOG_PROFILES * TURN_MESSAGES
    doctor = command_cpu("doctor", folder=folder)
    with tempfile.TemporaryDirectory() as copy:
        backup = command_cpu("backup", f"{copy}/copy", folder=folder)
    tour = costs["tour"] / 1e3
    rows = {
        "files in the folder": f"{count:,}",
        "bytes a message": f"{size / profiles / messages:,.0f}",
        "list the profiles": f"{costs['list']:.0f} ms",
        "the hourly visit of every profile": f"{tour:.1f} s, {tour / profiles * 1e3:.1f} ms a profile",
        "close the folder": f"{costs['close']:.0f} ms",
        "open the folder in a new process": f"{first['open']:.0f} ms",
        "open it and search once": f"{first['first']:.0f} ms",
        f"after a kill with {left:,} undigested messages in {BACKLOG_PROFILES} profiles: open, search once": (
            f"{resumed['first']:.2f} s (wall), {resumed['opened']:.2f} of them to open"
        ),
        "until all of them are digested": f"{resumed['cpu']:.1f} s, {resumed['cpu'] / left * 1e3:.1f} ms a message",
        "`holdfast doctor`": f"{doctor:.1f} s, {doctor / profiles * 1e3:.1f} ms a profile",
        "`holdfast backup`": f"{backup:.1f} s, {backup / profiles * 1e3:.1f} ms a profile",
    }
    return "\n".join(
        [
            "# How a data folder grows",
            "",
            f"`python -m benchmarks.growth --profiles {wanted} --messages {messages}`, Python "
            f"{platform.python_version()}, {os.cpu_count()} cores, embedder `potion`, every tenth message a memory. "
            f"{WRITTEN_AT_ONCE} profiles at a time are written in turns of {TURN_MESSAGES} messages, and for "
            f"{MESSAGES_PER_SEARCH} messages one of {HOT_PROFILES} profiles in use is searched. CPU of a message "
            "includes its share of these searches, digestion, embedding, and resting and closing its profile; it was "
            f"measured with the last {COMPARISONS * WRITTEN_AT_ONCE} profiles of each size (60 of 100), in turns "
            f"with as many in a small folder: one of {SMALL_FOLDER} profiles, of 40 for the size 100. Cost and ratio "
            "are medians of these turns. Resident memory and open files are those of the process with both "
            "folders open.",
            "",
            *stage_table(stages),
            "",
            f"With {profiles:,} profiles of {messages} messages, CPU unless marked:",
            "",
            "| | |",
            "|---|---|",
            *(f"| {name} | {value} |" for name, value in rows.items()),
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profiles", type=int, default=2_000)
    parser.add_argument("--messages", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=math.inf, help="grow no longer than this")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child is not None:
        name, folder = given.child
        print(json.dumps(asyncio.run(CHILDREN[name](Path(folder)))))
        return
    folder = Path(tempfile.mkdtemp(prefix="holdfast-bench-"))
    try:
        text = report(folder, given.profiles, given.messages, given.minutes)
    finally:
        shutil.rmtree(folder)
    print(text)
    if given.out is not None:
        given.out.write_text(text)


if __name__ == "__main__":
    main()
