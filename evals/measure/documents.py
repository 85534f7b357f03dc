"""Finding documents: everyday questions about the Python language reference, beside textbook BM25.

The reference is the one that every Python brings along for `help()` (pydoc_data.topics): 79 texts of 200 to 60,000
characters, some of which are also parts of others. The questions avoid the words of the headings where they can, and
name every text that answers them. They were written once, before anything was measured on them. A document's rank is
that of its best passage.

    python -m evals.measure.documents [potion|arctic]
"""

from __future__ import annotations

import asyncio
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable
from pydoc_data.topics import topics  # type: ignore[import-untyped,unused-ignore]
from typing import Any

from holdfast import AsyncHoldfast

from ..paths import DATA
from .bm25 import Bm25

QUESTIONS: list[tuple[str, list[str]]] = json.loads((DATA / "reference.json").read_text())
DEPTH = 100
Ranked = Callable[[str], list[str]]


def scores(ranked: Ranked) -> dict[str, float]:
    told = [_scores(ranked(question), set(answers)) for question, answers in QUESTIONS]
    return {name: round(sum(each[name] for each in told) / len(told), 3) for name in told[0]}


def _scores(found: list[str], answers: set[str]) -> dict[str, float]:
    """nDCG with every answering text worth the same; whether one is first, and among the first ten."""
    gain = sum(1 / math.log2(n + 2) for n, name in enumerate(found[:10]) if name in answers)
    best = sum(1 / math.log2(n + 2) for n in range(min(10, len(answers))))
    first = [float(bool(set(found[:depth]) & answers)) for depth in (1, 3, 10)]
    return {"nDCG@10": gain / best, "success@1": first[0], "success@3": first[1], "success@10": first[2]}


def comparison(one: Ranked, other: Ranked) -> str:
    """In how many questions which of the two does better."""
    pairs = [
        [_scores(each(question), set(answers))["nDCG@10"] for each in (one, other)] for question, answers in QUESTIONS
    ]
    better, worse = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
    return f"better in {better}, worse in {worse}, the same in {len(pairs) - better - worse}"


def by_words(passages: list[dict[str, Any]]) -> Ranked:
    index = Bm25(passages)
    names = [passage["name"] for passage in passages]
    return lambda question: list(dict.fromkeys(names[n] for n in index.ranked(question, DEPTH)))


async def main(embedder: str) -> None:
    whole = [{"id": name, "name": name, "content": text} for name, text in topics.items()]
    with tempfile.TemporaryDirectory() as folder:
        async with await AsyncHoldfast.open(folder, embedder=embedder) as memory:
            reference = memory.profile("evals", "reference")
            for name, text in topics.items():
                await reference.add(text.encode(), name=name)
            await reference.settle()
            assert (await reference.stats()).unembedded == 0
            said = await reference.messages(limit=100_000)
            found = {}
            start = time.perf_counter()
            for question, _ in QUESTIONS:
                hits = await reference.search(question, limit=DEPTH)
                found[question] = list(dict.fromkeys(hit.metadata["name"] for hit in hits if "name" in hit.metadata))
            took = (time.perf_counter() - start) / len(QUESTIONS)
            passages = [{"id": each.id, "name": each.metadata["name"], "content": each.content} for each in said]
    print(f"{len(QUESTIONS)} questions, {len(topics)} documents, {len(passages)} passages, Python {sys.version[:4]}")
    print("BM25, whole documents  ", scores(by_words(whole)))
    print("BM25, the same passages", scores(by_words(passages)))
    print(f"Holdfast, {embedder:<13}", scores(found.__getitem__), f"{1000 * took:.0f} ms a question")
    print("Holdfast beside BM25 over passages:", comparison(found.__getitem__, by_words(passages)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "arctic"))
