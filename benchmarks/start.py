"""What a start costs: `python -m benchmarks.start [--large] [--out docs/results/start.md]`.

CPU of all threads, user and system, median of several runs. A command is a process of its own, from its start to its
end, on a folder with two memories; its modules are byte-compiled, as an installation has them, and its models were run
once before. A wake is the first search of a profile whose file is closed, in a process that has searched before. A
first search is that of a process that has opened the folder and searched nothing; modules are loaded before, and
vectors are pseudo-random, so that no model is part of it. --large adds a profile of 300,000 messages, which takes
minutes to fill.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from benchmarks.embedded import QUESTIONS, RandomEmbedder, fill

from holdfast import AsyncHoldfast
from holdfast.service.profile.local import LocalProfile
from holdfast.service.wiring import load_modules
from holdfast.testing import ScriptedExtractor

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
RUNS = 7
WAKES = 10
QUESTION = "What do I like to drink?"
COMMANDS = (["--version"], ["list"], ["search", QUESTION], ["recall", QUESTION])
PORT = 18_437


def command_environment(folder: Path) -> dict[str, str]:
    """Byte code and prepared models lie in the folder, so that the first run makes them and the others find them."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HOLDFAST_", "OPENBLAS_"))}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return kept | {
        "HOLDFAST_DATA": str(folder / "data"),
        "HOLDFAST_CACHE": str(folder / "cache"),
        "PYTHONPYCACHEPREFIX": str(folder / "modules"),
    }


def run_command(arguments: list[str], environment: dict[str, str]) -> float:
    """Run a command; return its CPU in milliseconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "holdfast", *arguments], env=environment, check=True, stdout=subprocess.DEVNULL
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3


def median_of_commands(environment: dict[str, str]) -> list[float]:
    for arguments in COMMANDS:
        run_command(arguments, environment)
    rounds = [[run_command(arguments, environment) for arguments in COMMANDS] for _ in range(RUNS)]
    return [statistics.median(times) for times in zip(*rounds, strict=True)]


@contextmanager
def server(environment: dict[str, str]) -> Iterator[None]:
    command = [sys.executable, "-m", "holdfast", "serve", "--quiet", "--port", str(PORT)]
    serving = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert serving.stdout is not None
        for line in serving.stdout:
            if str(PORT) in line:
                break
        yield
    finally:
        serving.terminate()
        serving.communicate()


def commands() -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        environment = command_environment(Path(folder))
        run_command(["remember", "I like green tea", "--key", "drink"], environment)
        run_command(["remember", "My sister lives in Porto"], environment)
        alone = median_of_commands(environment)
        with server(environment):
            beside = median_of_commands(environment)
    rows = [
        f"| `holdfast {arguments[0]}` | {here:.0f} | {there:.0f} |"
        for arguments, here, there in zip(COMMANDS, alone, beside, strict=True)
    ]
    return ["| CPU ms of the process | alone | with a server |", "|---|---|---|", *rows]


async def open_folder(folder: Path) -> tuple[AsyncHoldfast, LocalProfile]:
    memory = await AsyncHoldfast.open(folder, embedder=RandomEmbedder(), extractor=ScriptedExtractor())
    return memory, memory.profile("bench", "p")


async def fill_folder(folder: Path, count: int) -> None:
    memory, profile = await open_folder(folder)
    await fill(profile, count, random.Random(1))
    await memory.close()


async def first_search(folder: Path) -> float:
    load_modules()
    RandomEmbedder()._vector("")  # loads numpy's random generator
    start = time.process_time()
    memory, profile = await open_folder(folder)
    await profile.search(QUESTIONS[0])
    spent = time.process_time() - start
    await memory.close()
    return spent * 1e3


async def wakes(folder: Path) -> tuple[float, float]:
    """CPU of a search whose profile is awake, and of one that wakes it."""
    memory, profile = await open_folder(folder)
    awake, woken = [], []
    for n in range(WAKES):
        await profile.search(QUESTIONS[n])
        start = time.process_time()
        await profile.search(QUESTIONS[WAKES + n])
        awake.append(time.process_time() - start)
        await (await memory.runtime.vault.open("bench", "p", create=False)).sleep()  # type: ignore[attr-defined]
        start = time.process_time()
        await profile.search(QUESTIONS[2 * WAKES + n])
        woken.append(time.process_time() - start)
    await memory.close()
    return statistics.median(awake) * 1e3, statistics.median(woken) * 1e3


def profile_row(count: int) -> str:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        asyncio.run(fill_folder(folder, count))
        awake, woken = asyncio.run(wakes(folder))
        command = [sys.executable, "-m", "benchmarks.start", "--first-search", name]
        firsts = [float(subprocess.check_output(command, cwd=ROOT)) for _ in range(RUNS)]
    return f"| {count:,} | {awake:.0f} | {woken:.0f} | {statistics.median(firsts):.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--first-search", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.first_search is not None:
        print(asyncio.run(first_search(given.first_search)))
        return
    sizes = (10_000, 300_000) if given.large else (10_000,)
    text = "\n".join(
        [
            "# What a start costs",
            "",
            f"`python -m benchmarks.start`, Python {platform.python_version()}, {os.cpu_count()} cores. CPU of all "
            f"threads, user and system, median of {RUNS}. A command runs on a folder with two memories, with the "
            "default models prepared before.",
            "",
            *commands(),
            "",
            "| messages | search, ms | the same, profile asleep | opening the folder and the first search |",
            "|---|---|---|---|",
            *map(profile_row, sizes),
            "",
            "Vectors are pseudo-random, so that no model is part of these; modules are loaded before.",
            "",
        ]
    )
    print(text)
    if given.out is not None:
        given.out.write_text(text)


if __name__ == "__main__":
    main()
