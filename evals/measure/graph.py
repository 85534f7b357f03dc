"""Does following the graph help to find evidence? Questions by category, with and without what the graph proposes.

    python -m evals.measure.graph [locomo] [pool] [own] [--hubs]

For each question, entities named in it are looked up, and memories about them, and about what is one link away, bring
the messages they rest on. Told are: how much of the evidence the channels propose, how much more the graph would, and
R@10 and R@20 when what the graph proposes is ranked with the rest, with nothing or a little added to its score.
Entities that very many memories mention, such as the speakers, are left out but with --hubs.
"""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import dataclass, field

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from holdfast import LocalProfile
from holdfast.domain.graph import WITH, Scope, folded_name
from holdfast.domain.timestamps import parse_moment
from holdfast.domain.types import Memory
from holdfast.graph.entities import name_spans
from holdfast.graph.queries import GraphSnapshot, open_graph
from holdfast.models.local import ArcticEmbedder
from holdfast.recall.question.analysis import analysed_question
from holdfast.recall.ranking.ranker import ranked_items
from holdfast.recall.ranking.steps import SearchModels
from holdfast.recall.search import Searcher

from ..data import benchmarks
from ..profiles import cached_embedder, filled_profile, open_memory

BONUSES = (0.0, 0.25, 0.5, 1.0)
COMMON = 0.05
"""An entity that more of the memories mention than this share says little about any of them."""
HUBS = "--hubs" in sys.argv
SETS = {"own": benchmarks.own, "locomo": benchmarks.locomo, "pool": benchmarks.longmemeval_pool}


@dataclass
class Counts:
    """Of one category."""

    questions: int = 0
    evidence: int = 0
    proposed: int = 0
    by_graph: int = 0
    only_graph: int = 0
    reached: int = 0
    """How many messages the graph proposes."""
    found: dict[tuple[float, int], list[float]] = field(default_factory=dict)


async def reached_messages(seen: GraphSnapshot, text: str, memories: int) -> dict[str, float]:
    """Messages that memories about the question's entities rest on → 1 for its own, a half for those a link away."""
    wanted = {folded_name(span.shown) for span in name_spans(text, None)}
    words = [word.strip("?.,!'\"") for word in text.split()]
    wanted |= {folded_name(" ".join(words[n : n + size])) for n in range(len(words)) for size in (1, 2, 3)}
    known = await seen.described(sorted({seen.identity.of(name) for name in wanted if name}))
    most = memories if HUBS else max(3, COMMON * memories)
    near = {id: 1.0 for id, entity in known.items() if entity.memories <= most}
    links, _ = await seen.links(known)
    for link in links:
        if link.relation != WITH:
            for end in {link.subject, link.object} - known.keys():
                near.setdefault(end, 0.5)
    found: dict[str, float] = {}
    for entity, weight in near.items():
        ids = [each.memory for each in await seen.mentions(entity, 60)]
        for item in await seen.store.get(ids):
            for source in item.sources if isinstance(item, Memory) else ():
                found[source] = max(weight, found.get(source, 0.0))
    return found


async def ask_questions(
    profile: LocalProfile, ids: dict[str, str], case: benchmarks.Case, counts: dict[str, Counts]
) -> None:
    store, embedder = await profile.profile_context.store(), profile.profile_context.runtime.embedder
    seen = await open_graph(store, Scope(profile.profile_context.now()))
    memories = (await store.stats("")).memories
    for question in (each for each in case.questions if each.scored):
        at = parse_moment(question.asked_at or case.sessions[-1]["date"], "at")
        read = analysed_question(question.text, at)
        found = await Searcher(store, SearchModels(embedder), None, at).proposals(read)
        order = ranked_items(read, found, 10_000)
        near = await reached_messages(seen, question.text, memories)
        told = counts.setdefault(question.category, Counts())
        sources = {
            item.id: getattr(item, "sources", ()) or (item.id,) for item in await store.get([r.item.id for r in order])
        }
        there = {ids.get(message) for each in sources.values() for message in each}
        wanted = set(question.evidence)
        told.questions += 1
        told.evidence += len(wanted)
        told.proposed += len(wanted & there)
        told.by_graph += len(wanted & {ids.get(id) for id in near})
        told.only_graph += len((wanted - there) & {ids.get(id) for id in near})
        told.reached += len(near)
        for bonus in BONUSES:
            scores = [
                r.score + bonus * max((near.get(m, 0.0) for m in sources.get(r.item.id, ())), default=0.0)
                for r in order
            ]
            best = [order[n].item.id for n in np.argsort(-np.array(scores), kind="stable")]
            for depth in (10, 20):
                told.found.setdefault((bonus, depth), []).append(_recall(best, sources, ids, wanted, depth))


def _recall(
    best: list[str], sources: dict[str, tuple[str, ...]], ids: dict[str, str], wanted: set[str], depth: int
) -> float:
    told: set[str] = set()
    hits: set[str | None] = set()
    for id in best:
        quotes = set(sources.get(id, ()))
        if quotes and not quotes <= told:
            told |= quotes
            hits |= {ids.get(message) for message in list(sources[id])[:2]}
            depth -= 1
        if depth == 0:
            break
    return len(hits & wanted) / len(wanted)


async def main() -> None:
    names = [name for name in sys.argv[1:] if name != "--hubs"] or ["locomo", "pool", "own"]
    async with open_memory(cached_embedder(ArcticEmbedder())) as memory:
        for name in names:
            counts: dict[str, Counts] = {}
            for case in SETS[name]():
                profile, ids = await filled_profile(memory, case)
                await ask_questions(profile, ids, case, counts)
                await memory.delete_profile(case.set, case.id)
            print(f"\n{name}\n{table(counts)}", flush=True)


def table(counts: dict[str, Counts]) -> str:
    head = ["category", "questions", "proposed", "by the graph", "only by the graph", "messages by the graph"]
    head += [f"R@{depth} +{bonus:g}" for depth in (10, 20) for bonus in BONUSES]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for category, told in sorted(counts.items()):
        share = [100 * each / told.evidence for each in (told.proposed, told.by_graph, told.only_graph)]
        cells = [
            category,
            str(told.questions),
            *(f"{each:.1f} %" for each in share),
            f"{told.reached / told.questions:.0f}",
        ]
        cells += [f"{100 * np.mean(told.found[bonus, depth]):.1f}" for depth in (10, 20) for bonus in BONUSES]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    asyncio.run(main())
