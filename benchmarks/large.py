"""One large profile: `python -m benchmarks.large [--messages N] [--folder F]` prints a table for docs/results/scale.md.

Messages are those of `benchmarks.embedded`, with pseudo-random vectors, so that no model is part of the figures. Each
line is a process of its own, so that its memory is its own, too. CPU is of all threads, user and system. With
`--folder` the profile is kept, and measured without filling it again if it is there.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from benchmarks.embedded import QUESTIONS, ROOT, RandomEmbedder, resident, time_calls
from benchmarks.growth_table import report_progress
from benchmarks.start import fill_folder, open_folder

from holdfast.service.wiring import load_modules

SEARCHES, WRITES = 100, 50
Row = dict[str, Any]


async def fill(folder: Path, messages: int) -> Row:
    start = time.process_time()
    await fill_folder(folder, messages)
    return {"CPU ms a message": (time.process_time() - start) / messages * 1e3}


async def use(folder: Path, messages: int) -> Row:
    """Open, search once, then search, recall, count and write in a process that has the profile loaded."""
    load_modules()
    RandomEmbedder()._vector("")  # loads numpy's random generator
    row: Row = {"resident before": resident()}
    start, wall = time.process_time(), time.perf_counter()
    memory, profile = await open_folder(folder)
    await profile.search(QUESTIONS[0])
    row["first"] = ((time.process_time() - start) * 1e3, (time.perf_counter() - wall) * 1e3)

    async def search(n: int) -> None:
        await profile.search(QUESTIONS[n % len(QUESTIONS)])

    async def recall(n: int) -> None:
        await profile.recall(QUESTIONS[n % len(QUESTIONS)])

    async def stats(_: int) -> None:
        assert (await profile.stats()).messages >= messages

    async def write(n: int) -> None:
        await profile.ingest([{"role": "user", "content": f"a new message [{n}]"}], session_id="live")

    row["search"] = await time_calls(search, SEARCHES)
    row["recall"] = await time_calls(recall, SEARCHES)
    row["stats"] = await time_calls(stats, 10)
    row["ingest"] = await time_calls(write, WRITES)
    await profile.settle()
    row["search after writes"] = await time_calls(search, SEARCHES)
    row["resident after"] = resident()
    start = time.process_time()
    await memory.close()
    return row | {"close": (time.process_time() - start) * 1e3}


STEPS: dict[str, Callable[[Path, int], Awaitable[Row]]] = {"fill": fill, "use": use}


def run_process(arguments: list[str], folder: Path) -> tuple[Row, str]:
    """CPU seconds and peak memory of a process, and what it printed."""
    environment = os.environ | {"HOLDFAST_DATA": str(folder), "HOLDFAST_EMBEDDER": "potion"}
    with tempfile.TemporaryFile("w+") as output:
        place = os.dup(output.fileno())
        pid = os.posix_spawn(
            sys.executable, [sys.executable, "-m", *arguments], environment,
            file_actions=[(os.POSIX_SPAWN_DUP2, place, 1)],
        )  # fmt: skip
        _, status, used = os.wait4(pid, 0)
        os.close(place)
        output.seek(0)
        said = output.read()
    spent = {"CPU s": used.ru_utime + used.ru_stime, "peak MB": used.ru_maxrss / 1024}
    report_progress(f"{arguments}: {status}, {spent} {said[-500:]}")
    assert status == 0
    return spent, said


def run_step(name: str, folder: Path, messages: int) -> tuple[Row, Row]:
    """What a step measured, and what its process used."""
    spent, said = run_process(["benchmarks.large", "--step", name, str(folder), "--messages", str(messages)], folder)
    found: Row = json.loads(said)
    return found, spent


def report(folder: Path, messages: int) -> str:
    lines = []
    if not folder.exists():
        filled, spent = run_step("fill", folder, messages)
        lines.append(
            f"| write all | {filled['CPU ms a message']:.2f} ms of CPU a message, {spent['peak MB']:,.0f} MB |"
        )
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    used, spent = run_step("use", folder, messages)
    doctor, _ = run_process(["holdfast", "doctor"], folder)
    with tempfile.TemporaryDirectory() as copy:
        backup, _ = run_process(["holdfast", "backup", f"{copy}/copy"], folder)
    lines += [
        f"| bytes a message | {size / messages:,.0f} |",
        f"| open the folder and search once | {used['first'][0]:,.0f} ms of CPU, {used['first'][1]:,.0f} ms |",
        *(
            f"| {name} | {used[name][0]:.1f} ms of CPU, p50 / p95 {used[name][1]:.1f} / {used[name][2]:.1f} ms |"
            for name in ("search", "recall", "search after writes", "stats", "ingest")
        ),
        f"| resident, before opening and at the end | {used['resident before']:,.0f} and "
        f"{used['resident after']:,.0f} MB, peak {spent['peak MB']:,.0f} MB |",
        f"| close the folder | {used['close']:,.0f} ms of CPU |",
        f"| `holdfast doctor` | {doctor['CPU s']:.1f} s of CPU, peak {doctor['peak MB']:,.0f} MB |",
        f"| `holdfast backup` | {backup['CPU s']:.1f} s of CPU, peak {backup['peak MB']:,.0f} MB |",
    ]
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores"
    head = f"`python -m benchmarks.large --messages {messages}`, {machine}."
    return "\n".join([head, "", f"| one profile of {messages:,} messages | |", "|---|---|", *lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=500_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--step", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.step is not None:
        name, folder = given.step
        print(json.dumps(asyncio.run(_step(name, Path(folder), given.messages))))
        return
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as made:
        print(report(given.folder or Path(made) / "data", given.messages))


async def _step(name: str, folder: Path, messages: int) -> Row:
    return await STEPS[name](folder, messages)


if __name__ == "__main__":
    main()
