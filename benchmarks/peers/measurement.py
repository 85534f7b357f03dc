"""Measures one memory in this process: `python -m benchmarks.peers.measurement STORE WORKLOAD VECTORS NETWORKS FOLDER
RESULT`.

Run by the environment of the memory, so it imports nothing but the standard library and the embedder. CPU is that of
all threads and child processes, background work after a call included: whoever counts waits until it is quiet.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.peers import processes
from benchmarks.peers.embedder import Embedder, VectorCache
from benchmarks.peers.workload import Message, Workload, read_workload

LIMIT = 10
WARM_UP = 5
QUIET_SHARE, QUIET_SECONDS = 0.05, 2.0
"""Background work is over when the process takes less than this share of a core for so long; on a very busy machine
waiting work can look so, which is why a memory that knows better is asked first."""
MAX_FINDING_SECONDS = 30.0


def measure(store: Any, workload: Workload, vectors: VectorCache, embedder: Embedder, folder: Path) -> dict[str, Any]:
    opened = store.open(folder, embedder)

    def settle() -> None:
        if hasattr(store, "settle"):
            store.settle(opened)
        wait_until_quiet()

    def timed(calls: Sequence[Callable[[], Any]]) -> tuple[dict[str, float], list[Any]]:
        return _timed(calls, settle)

    embedder.cache = vectors
    for session in workload.sessions():
        store.store(opened, session)
    settle()
    embedder.cache = None
    result: dict[str, Any] = {}
    singles, asked = workload.singles, workload.questions
    result["store"], _ = timed([partial(store.store, opened, [message]) for message in singles])

    def ask() -> dict[str, Any]:
        for message in singles[:WARM_UP]:
            store.search(opened, message.content, LIMIT)
        figures: dict[str, Any] = {}
        figures["search"], hits = timed([partial(store.search, opened, question.text, LIMIT) for question in asked])
        start = time.thread_time()
        for question in asked:
            embedder.embed_query(question.text)
        figures["embedding"] = (time.thread_time() - start) / len(asked) * 1e3
        if any(hits):
            shares = [evidence_share(found, question.evidence) for found, question in zip(hits, asked, strict=True)]
            figures["recall"], figures["questions"] = statistics.fmean(shares), len(shares)
        return figures

    result |= ask()
    if not getattr(store, "EMBEDS_ITSELF", False):
        embedder.as_published = True
        result["published"] = ask()
        embedder.as_published = False
    if "recall" in result:
        result["found after"] = _finding_times(store, opened, workload.probes)
    result["memory"] = processes.peak_memory()
    store.close(opened)
    result["disk"] = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return result


def evidence_share(hits: Sequence[tuple[str, ...]], evidence: Sequence[str]) -> float:
    """The share of the evidence among the hits; a hit counts for the messages it quotes, at most two."""
    return len({id for quoted in hits for id in quoted[:2]}.intersection(evidence)) / len(set(evidence))


def wait_until_quiet() -> None:
    while True:
        cpu, start = processes.cpu_seconds(), time.perf_counter()
        time.sleep(QUIET_SECONDS)
        if processes.cpu_seconds() - cpu < QUIET_SHARE * (time.perf_counter() - start):
            return


def _timed(calls: Sequence[Callable[[], Any]], settle: Callable[[], None]) -> tuple[dict[str, float], list[Any]]:
    """Milliseconds of CPU, and of wall time at the median and the 95th percentile, per call; and what they returned."""
    walls, returned = [], []
    cpu = processes.cpu_seconds()
    for call in calls:
        start = time.perf_counter()
        returned.append(call())
        walls.append((time.perf_counter() - start) * 1e3)
    settle()
    cpu = (processes.cpu_seconds() - cpu) / len(calls) * 1e3
    return {"cpu": cpu, "p50": statistics.median(walls), "p95": statistics.quantiles(walls, n=20)[-1]}, returned


def _finding_times(store: Any, opened: Any, probes: Sequence[Message]) -> list[float | None]:
    """Milliseconds from the call that stores a message to the end of the first search that finds it; None: never."""
    times: list[float | None] = []
    for message in probes:
        start = time.perf_counter()
        store.store(opened, [message])
        found = False
        while not found and time.perf_counter() - start < MAX_FINDING_SECONDS:
            hits = store.search(opened, message.content, LIMIT)
            found = any(message.id in quoted for quoted in hits)
        times.append((time.perf_counter() - start) * 1e3 if found else None)
    return times


def _versions(packages: Sequence[str]) -> dict[str, str]:
    return {"Python": platform.python_version()} | {package: version(package) for package in packages}


def main() -> None:
    name, workload, vectors, networks, folder, result = sys.argv[1:]
    processes.adopt_orphans()
    store = import_module(f"benchmarks.peers.stores.{name}")
    embedder = Embedder(Path(networks))
    figures = measure(store, read_workload(Path(workload)), VectorCache(Path(vectors)), embedder, Path(folder))
    figures |= {"versions": _versions(store.PACKAGES), "settings": store.SETTINGS}
    figures["machine"] = f"on {platform.machine()} with {os.cpu_count()} cores"
    Path(result).write_text(json.dumps(figures), "utf-8")


if __name__ == "__main__":
    main()
