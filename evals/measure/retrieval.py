"""How much of the evidence is found: Holdfast beside BM25 and beside plain vectors, per set and category.

Through the public interface: profiles are filled by `ingest`, asked by `search` and `context`. On sets that train the
ranker each question is asked with weights that have not seen its conversation (own) or itself (LongMemEval).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from holdfast import AsyncHoldfast, Hit, LocalProfile
from holdfast.domain.timestamps import parse_moment
from holdfast.recall.context import token_count as tokens
from holdfast.recall.question.analysis import analysed_question
from holdfast.recall.ranking import ranker
from holdfast.recall.ranking.features import best_cosines
from holdfast.recall.ranking.steps import SearchModels
from holdfast.recall.search import Searcher

from ..data import benchmarks
from ..profiles import filled_profile
from .bm25 import Bm25
from .metrics import Score, score_of

BUDGET = 1000
Weights = dict[str, Any]


@dataclass
class Figures:
    """One set's scores: system → one per question, with its category."""

    categories: list[str] = field(default_factory=list)
    scores: dict[str, list[Score]] = field(default_factory=dict)
    cpu: list[float] = field(default_factory=list)
    messages: int = 0
    ingest_cpu: float = 0.0


async def measure(memory: AsyncHoldfast, cases: list[benchmarks.Case], fold: dict[str, Weights]) -> Figures:
    """Ask every scored question of every case. `fold` gives the weights for a question's group; none: as shipped."""
    figures = Figures()
    for n, case in enumerate(cases):
        print(f"\r{case.set} {n + 1}/{len(cases)} {case.id:40}", end="", file=sys.stderr, flush=True)
        start = time.process_time()
        profile, ids = await filled_profile(memory, case)
        figures.ingest_cpu += time.process_time() - start
        said = [message for session in case.sessions for message in session["messages"]]
        figures.messages += len(said)
        bm25 = Bm25(said)
        texts = {
            message["id"]: f"{message.get('speaker') or message['role']}: {message['content']}" for message in said
        }
        for question in case.questions:
            if question.scored:
                with weights(fold.get(case.groups.get(question.id, ""))):
                    await _ask(memory, profile, ids, case, question, bm25, texts, figures)
        await memory.delete_profile(case.set, case.id)
    print(file=sys.stderr)
    return figures


async def _ask(
    memory: AsyncHoldfast, profile: LocalProfile, ids: dict[str, str], case: benchmarks.Case,
    question: benchmarks.Question, bm25: Bm25, texts: dict[str, str], figures: Figures,
) -> None:  # fmt: skip
    at = question.asked_at or case.sessions[-1]["date"]
    await profile.search(question.text, reference_date=at)  # the embedding is cached now, and costed apart
    start = time.process_time()
    hits = await profile.search(question.text, limit=20, reference_date=at)
    figures.cpu.append(time.process_time() - start)
    block = await profile.context(question.text, tokens=BUDGET, reference_date=at)
    flat = " ".join(block.text.split())
    seen = {id for id, text in texts.items() if " ".join(text.split(": ", 1)[1].split()) in flat}
    quotes = [_quotes(hit, ids) for hit in hits]
    ranked = bm25.ranked(question.text, 60)
    by_words = [(bm25.ids[n],) for n in ranked]
    by_meaning = await _plain_vectors(memory, profile, ids, question, at)
    for name, found, context in (
        ("Holdfast", quotes, seen),
        ("BM25", by_words, _in_budget([id for (id,) in by_words], texts)),
        ("vectors", [(id,) for id in by_meaning], _in_budget(by_meaning, texts)),
    ):
        figures.scores.setdefault(name, []).append(score_of(found[:20], question.evidence, context))
    figures.categories.append(question.category)


def _quotes(hit: Hit, ids: dict[str, str]) -> tuple[str, ...]:
    return tuple(ids[id] for id in (hit.sources or (hit.message_id or "",)) if id in ids)


async def _plain_vectors(
    memory: AsyncHoldfast, profile: LocalProfile, ids: dict[str, str], question: benchmarks.Question, at: str
) -> list[str]:
    """The messages in order of their best passage's cosine."""
    store = await memory.runtime.vault.open(profile.namespace, profile.name, create=False)
    asked = analysed_question(question.text, parse_moment(at, "at"))
    searcher = Searcher(store, SearchModels(memory.runtime.embedder), None, memory.runtime.clock())
    found = await searcher.proposals(asked)
    order = np.argsort(-best_cosines(found), kind="stable")
    return [ids[found.items[n].id] for n in order if not found.items[n].memory]


def _in_budget(ranked: list[str], texts: dict[str, str]) -> set[str]:
    spent, taken = 0, set()
    for id in ranked:
        cost = tokens(f"- {texts[id]}") + 1
        if spent + cost <= BUDGET:
            spent += cost
            taken.add(id)
    return taken


@contextmanager
def weights(held: Weights | None) -> Iterator[None]:
    """Rank with these weights instead of the shipped ones."""
    if held is None:
        yield
        return
    stacked = ranker.stacked_weights(held)
    shipped, ranker._weights = ranker._weights, lambda: stacked  # type: ignore[assignment]
    try:
        yield
    finally:
        ranker._weights = shipped
