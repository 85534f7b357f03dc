"""What is measured while a data folder grows, as a table; and progress, on the error output."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Latency:
    """Wall milliseconds of some searches."""

    p50: float
    p95: float

    @staticmethod
    def of(seconds: list[float]) -> Latency:
        ordered = sorted(seconds)
        return Latency(ordered[len(ordered) // 2] * 1e3, ordered[int(len(ordered) * 0.95)] * 1e3)


@dataclass(frozen=True, slots=True)
class Stage:
    """What was measured while the folder grew to so many profiles."""

    profiles: int
    cpu_per_message: float
    in_small_folder: float
    """The same in a small folder, in turns with the last profiles of this stage."""
    ratio: float
    """What a message costs in this folder, as a multiple of that; the median of pairs of turns."""
    busy: Latency
    idle: Latency
    idle_cpu: float
    resident: float
    open_files: int


def report_progress(what: object) -> None:
    print(time.strftime("%H:%M:%S"), what, file=sys.stderr, flush=True)


def stage_table(stages: list[Stage]) -> list[str]:
    lines = [
        "| profiles | CPU ms a message | in a small folder | ratio | search during the fill, p50 / p95 ms | "
        "search without, "
        "p50 / p95 ms | ratio of p95 | CPU ms a search | resident MB | open files |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for each in stages:
        lines.append(
            f"| {each.profiles:,} | {each.cpu_per_message:.2f} | {each.in_small_folder:.2f} | {each.ratio:.2f} | "
            f"{each.busy.p50:.1f} / {each.busy.p95:.1f} | "
            f"{each.idle.p50:.1f} / {each.idle.p95:.1f} | {each.busy.p95 / each.idle.p95:.1f} | {each.idle_cpu:.1f} | "
            f"{each.resident:,.0f} | {each.open_files} |"
        )
    return lines
