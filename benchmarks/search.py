"""CPU of a search, as a multiple of embedding its question: `python -m benchmarks.search [--quick] [--out PAGE]`.

A profile of 400 messages is three of evals/data/conversations, digested by the default install. Those of 10,000 and
100,000 have messages only, and pseudo-random vectors of the default model's size in the place of the model's own, which
would take an hour; their questions are embedded by the model. Each question is embedded and searched in turn, once,
after a warm-up with 200 others; then all are searched a second time, which embeds none of them. CPU is that of all
threads of the process, traces and their writing included.

What HTTP adds is measured as in benchmarks.service: the server and the library in turns, with the cheap embedder.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.embedded import QUESTIONS, ROOT, RandomEmbedder, fill
from benchmarks.service import EMBEDDER, WHO, calls, in_process, over_http, server_process, table

from holdfast import AsyncHoldfast
from holdfast.domain.types import Floats
from holdfast.models.local import ArcticEmbedder
from holdfast.service.profile.local import LocalProfile
from holdfast.testing import ScriptedExtractor

TALKS = ("assistant-life", "team-launch", "agent-frontend")
BARS = {400: 1.6, 10_000: 2.0, 100_000: 3.0}
"""Messages → the multiple that a search may cost."""
HTTP_BAR = 0.7
"""CPU ms that HTTP may add to a search."""
MEASURED, WARM_UP, ROUNDS = 200, 200, 7


class QuestionEmbedder(ArcticEmbedder):
    """The default model for questions, pseudo-random vectors for passages."""

    def __init__(self) -> None:
        super().__init__()
        self._passages = RandomEmbedder()

    async def embed(self, texts: Sequence[str]) -> list[Floats]:
        return await self._passages.embed(texts)


async def ingest_talk(profile: LocalProfile, name: str) -> list[str]:
    """Ingest a conversation of evals/data; returns its questions."""
    talk = json.loads((ROOT / f"evals/data/conversations/{name}.json").read_text())
    for session in talk["sessions"]:
        at = {"timestamp": f"{session['date'][:10]}T12:00:00+00:00"}
        said = [
            {key: message[key] for key in ("role", "speaker", "content") if key in message} | at
            for message in session["messages"]
        ]
        await profile.ingest(said, session_id=f"{name}-{session['id']}")
    await profile.settle()
    return [question["question"] for question in talk["questions"]]


async def multiple_row(size: int) -> dict[str, Any]:
    """What searches in a profile of about this many messages cost."""
    folder = Path(tempfile.mkdtemp())
    embedder: ArcticEmbedder = ArcticEmbedder() if size == 400 else QuestionEmbedder()
    extractor = None if size == 400 else ScriptedExtractor()
    try:
        async with await AsyncHoldfast.open(folder, embedder=embedder, extractor=extractor) as holdfast:
            profile = holdfast.profile(*WHO)
            if size == 400:
                questions = [question for name in TALKS for question in await ingest_talk(profile, name)]
            else:
                await fill(profile, size, random.Random(1))
                questions = list(QUESTIONS)
            return {"messages": size} | await search_cost(profile, embedder, questions, BARS[size])
    finally:
        shutil.rmtree(folder)


async def search_cost(
    profile: LocalProfile, embedder: ArcticEmbedder, questions: list[str], bar: float
) -> dict[str, Any]:
    asked = random.Random(3).sample(questions, min(len(questions), MEASURED))
    others = sorted(set(QUESTIONS) - set(asked))
    for question in random.Random(4).sample(others, WARM_UP):
        await profile.search(question)
    embedding, searching = [], []
    for question in asked:
        start = time.process_time()
        await embedder.embed_query(question)
        between = time.process_time()
        await profile.search(question)
        embedding.append((between - start) * 1e3)
        searching.append((time.process_time() - between) * 1e3)
    start = time.process_time()
    for question in asked:
        await profile.search(question)
    again = (time.process_time() - start) / len(asked) * 1e3
    multiple = sum(searching) / sum(embedding)
    return {
        "searches": len(asked),
        "embedding, CPU ms": statistics.mean(embedding),
        "search, CPU ms": statistics.mean(searching),
        "multiple": multiple,
        "median multiple": statistics.median(searching) / statistics.median(embedding),
        "asked again, CPU ms": again,
        "bar": f"≤ {bar:g}: {'met' if multiple <= bar else 'missed'}",
    }


async def http_row() -> dict[str, Any]:
    """What HTTP adds to a search in 400 messages."""
    folder = Path(tempfile.mkdtemp())
    try:
        async with await AsyncHoldfast.open(folder / "library", embedder=EMBEDDER) as holdfast:
            for name in TALKS:
                await ingest_talk(holdfast.profile(*WHO), name)
        shutil.copytree(folder / "library", folder / "served")
        async with await AsyncHoldfast.open(folder / "library", embedder=EMBEDDER) as holdfast:
            profile = holdfast.profile(*WHO)
            call = next(call for call in calls([], quick=False) if call.name == "search")
            library, served = [], []
            with server_process(folder / "served") as server:
                for turn in range(ROUNDS + 1):
                    library.append(await in_process(profile, call, turn))
                    served.append((await over_http(server, call, 1, turn))[0])
    finally:
        shutil.rmtree(folder)
    added = statistics.median(theirs - ours for theirs, ours in zip(served[1:], library[1:], strict=True))
    return {
        "library, CPU ms": statistics.median(library[1:]),
        "over HTTP, CPU ms": statistics.median(served[1:]),
        "added": added,
        "bar": f"≤ {HTTP_BAR:g} ms: {'met' if added <= HTTP_BAR else 'missed'}",
    }


async def measure(sizes: Sequence[int]) -> str:
    rows = []
    for size in sizes:
        rows.append(await multiple_row(size))
        print(rows[-1], flush=True)
    return f"""# CPU of a search

`python -m benchmarks.search`, Python {platform.python_version()}, {os.cpu_count()} cores. A search as a multiple of
embedding its question with the default model: all threads, traces included, each question once. The vector of a
question that is asked again is still known.

{table(rows)}

What HTTP adds, with the `{EMBEDDER}` embedder and 400 messages:

{table([await http_row()])}
"""


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--quick", action="store_true", help="400 messages only")
    options.add_argument("--out", type=Path, help="write the page here")
    chosen = options.parse_args()
    page = asyncio.run(measure([400] if chosen.quick else list(BARS)))
    print(page)
    if chosen.out:
        chosen.out.write_text(page)


if __name__ == "__main__":
    main()
