"""Reading documents: pages per second of CPU time and the highest memory of the child, for every format.

python -m benchmarks.documents [--pages 300] [--out docs/results/documents.md]

A page is 3,000 characters of text, or a page of a PDF, a slide, a picture. The CPU time counts the whole child, its
start included. Each document is read by a process of its own, so that the kernel's highest mark is this document's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import aclosing
from pathlib import Path
from typing import Any

PAGE = 3_000


def main(pages: int, out: str | None) -> None:
    from tests.support.documents.long_samples import samples

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, make, most in samples():
            count = min(pages, most)
            start, whole = (measure(Path(folder), name, make(each)) for each in (1, count))
            paged = whole["pages"] or max(1, whole["chars"] // PAGE)
            rows.append(
                f"| {name} | {paged:,} | {whole['bytes'] / 1e6:.2f} | {speed(paged / whole['cpu'])} | "
                f"{start['cpu'] * 1000:.0f} ms | {whole['wall']:.2f} s | {whole['peak'] / 1024:.0f} MB |"
            )
            print(rows[-1], flush=True)
    lines = [
        "# Reading documents", "",
        "One document of each format, read in its sealed child on one core of a small cloud machine. A page is 3,000 "
        "characters, or a page of a PDF, a slide, a picture. `python -m benchmarks.documents` measures it again.", "",
        "| format | pages | MB | pages per CPU second | CPU of a one-page document | time | highest memory |",
        "|---|---|---|---|---|---|---|", *rows,
    ]  # fmt: skip
    if out:
        held = Path(out).read_text() if Path(out).exists() else ""
        rest = "".join(held.partition("\n## ")[1:])  # what was measured otherwise stays
        Path(out).write_text("\n".join(lines) + "\n" + rest)


def speed(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.2f}"


def measure(folder: Path, name: str, data: bytes) -> dict[str, Any]:
    path = folder / name.replace(" ", "-")
    path.write_bytes(data)
    command = [sys.executable, "-m", "benchmarks.documents", "--read", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    return {**json.loads(done.stdout), "bytes": len(data)}


async def parse_document(path: Path) -> dict[str, Any]:
    from holdfast.documents.sandbox.spawn import parse_file
    from holdfast.documents.types import DocumentProperties, ParseLimits, Section

    chars, about, began = 0, DocumentProperties(), time.perf_counter()
    async with aclosing(parse_file(path, path.name, ParseLimits(cpu_seconds=500))) as pieces:
        async for piece in pieces:
            if isinstance(piece, Section):
                chars += len(piece.text)
            elif isinstance(piece, DocumentProperties):
                about = piece
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "chars": chars, "pages": about.pages, "cpu": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss,
        "wall": time.perf_counter() - began,
    }  # fmt: skip


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--pages", type=int, default=300)
    arguments.add_argument("--out")
    arguments.add_argument("--read", type=Path)
    given = arguments.parse_args()
    if given.read:
        print(json.dumps(asyncio.run(parse_document(given.read))))
    else:
        main(given.pages, given.out)
