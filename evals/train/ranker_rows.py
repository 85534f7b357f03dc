"""Questions as the product sees them: what each channel proposed, the features of each candidate, and which are right.

Everything goes through the product's own code on profiles filled as a user would fill them, so what is trained on is
what is ranked later. Proposals are cached (`--reuse` takes them), so that features can be tried quickly.
"""

from __future__ import annotations

import pickle
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from holdfast import AsyncHoldfast, Memory
from holdfast.domain.ports.models import Embedder
from holdfast.domain.ports.search import Proposals
from holdfast.domain.timestamps import parse_moment
from holdfast.domain.types import Test, Where
from holdfast.recall.question.analysis import Question, analysed_question
from holdfast.recall.ranking.features import feature_columns
from holdfast.recall.ranking.steps import SearchModels
from holdfast.recall.search import Searcher
from holdfast.text import tokens

from ..data import benchmarks
from ..profiles import CACHE, cached_embedder, filled_profile, open_memory

Array = NDArray[np.float64]
MAX_QUOTES = 2
"""How many of the messages that a hit quotes count, as in `measure.metrics`."""


@dataclass
class Row:
    """One question: a row of features per candidate, and what each quotes."""

    set: str
    group: str
    category: str
    inputs: Array
    quoting: Array
    """For each piece of evidence that some candidate quotes, which candidates do: 1 or 0."""
    quotes: list[tuple[str, ...]]
    evidence: tuple[str, ...]
    sessions: list[str | None]


@dataclass
class QuestionProposals:
    """What the product proposed for one question, before features: kept, so that features can be tried quickly."""

    set: str
    question: benchmarks.Question
    group: str
    asked: Question
    proposals: Proposals
    quotes: list[tuple[str, ...]]


async def gather_proposals(cases: list[benchmarks.Case], embedder: Embedder, name: str) -> list[QuestionProposals]:
    """Every scored question's proposals, on profiles filled as a user would fill them."""
    kept = CACHE / f"proposals-{name}.pickle"
    if kept.exists() and "--reuse" in sys.argv:
        held: list[QuestionProposals] = pickle.loads(kept.read_bytes())
        return held
    found: list[QuestionProposals] = []
    async with open_memory(cached_embedder(embedder)) as memory:
        for n, case in enumerate(cases):
            print(f"\r{name} {case.set} {n + 1}/{len(cases)} {case.id:40}", end="", file=sys.stderr, flush=True)
            found += await _of_case(memory, case)
            await memory.delete_profile(case.set, case.id)
    print(file=sys.stderr)
    kept.write_bytes(pickle.dumps(found))
    return found


async def _of_case(memory: AsyncHoldfast, case: benchmarks.Case) -> list[QuestionProposals]:
    _, ids = await filled_profile(memory, case)
    store = await memory.runtime.vault.open(case.set, case.id, create=False)
    found = []
    for set_, question, where in _questions_asked(case):
        if not question.scored:
            continue
        at = parse_moment(question.asked_at or case.sessions[-1]["date"], "asked_at")
        asked = analysed_question(question.text, at)
        searcher = Searcher(store, SearchModels(memory.runtime.embedder), where, memory.runtime.clock())
        proposals = await searcher.proposals(asked)
        items = await store.get([item.id for item in proposals.items])
        quotes = {item.id: item.sources if isinstance(item, Memory) else (item.id,) for item in items}
        told = [tuple(ids[source] for source in quotes[item.id]) for item in proposals.items]
        group = case.groups.get(question.id, case.id)
        found.append(QuestionProposals(set_, question, group, asked, proposals, told))
    return found


def _questions_asked(case: benchmarks.Case) -> Iterator[tuple[str, benchmarks.Question, Where | None]]:
    """The questions of a case, with their sets and filters. The pool's are also asked among the sessions of their own
    haystacks: nearly what `s48` asks, without a profile for each question, which takes hours to fill."""
    for question in (*case.questions, *known_items(case)):
        yield case.set, question, None
    if case.set == "pool":
        haystacks = benchmarks.haystacks()
        for question in case.questions:
            sessions = tuple(id[:64] for id in haystacks[question.id])
            yield "s48", question, Test("session_id", "in", sessions)


def known_items(case: benchmarks.Case, most: int = 12) -> list[benchmarks.Question]:
    """People also type a rare word and expect what holds it: one or two words that only one message has."""
    if case.set != "own":
        return []
    noise = random.Random(case.id)
    said = [message for session in case.sessions for message in session["messages"]]
    df = Counter(word for message in said for word in set(tokens.tokens(message["content"])))
    made = []
    for message in noise.sample(said, len(said)):
        rare = sorted(
            {w for w in re.findall(r"[\w-]{4,}", message["content"]) if all(df[t] == 1 for t in tokens.tokens(w))}
        )
        if rare and len(made) < most:
            text = " ".join(noise.sample(rare, min(len(rare), noise.choice([1, 2]))))
            made.append(benchmarks.Question(f"{case.id}~{text}", text, "known-item", (message["id"],), "", None, True))
    return made


def rows_of(found: list[QuestionProposals], blind: bool = False, noisy: bool = False) -> tuple[list[str], list[Row]]:
    """Features of each question. `blind` leaves the vectors out, as when the embedder is down; `noisy` shuffles them,
    as they are for error codes and names that no model has seen."""
    noise = np.random.default_rng(0)
    rows = []
    names: list[str] = []
    for each in found:
        proposals = each.proposals
        if blind:
            proposals = replace(proposals, cosine=np.full(len(proposals.cosine), np.nan))
        if noisy:
            proposals = replace(proposals, cosine=noise.permutation(proposals.cosine))
        columns = feature_columns(each.asked, proposals)
        names = list(columns)
        evidence = set(each.question.evidence)
        shown = np.array([bool(ranks) for ranks in proposals.channels])
        inputs = np.stack([columns[name] for name in names], 1)[shown]
        quotes = [q for q, s in zip(each.quotes, shown, strict=True) if s]
        sessions = [item.session_id for item, ranks in zip(proposals.items, proposals.channels, strict=True) if ranks]
        quoting = _quoting(each.question.evidence, quotes)
        row = Row(each.set, each.group, each.question.category, inputs, quoting, quotes, tuple(evidence), sessions)
        rows.append(row)
    return names, rows


def _quoting(evidence: Sequence[str], quotes: Sequence[tuple[str, ...]]) -> Array:
    told = [[float(message in each[:MAX_QUOTES]) for each in quotes] for message in sorted(set(evidence))]
    found = np.array(told).reshape(-1, len(quotes))
    return found[found.any(1)]
