"""What a trace records of a search: candidates, ranks and the outcome of each. It holds ids and numbers and no text of
what was found; forgetting removes the ids."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from holdfast.domain.ports.search import Proposals
from holdfast.domain.results import Context, Hit
from holdfast.domain.timestamps import iso_text
from holdfast.domain.tracing import note
from holdfast.recall import context
from holdfast.recall.question.analysis import Question
from holdfast.recall.ranking.steps import RankedHits

MAX_TRACED = 50
"""How many of each channel's candidates a trace lists."""
REPEATABLE = ("kind", "since", "until")
"""The filters whose values a trace keeps, because they contain none of the user's words."""


def trace_arguments(narrowed: Mapping[str, Any], **how: Any) -> None:
    """Records the arguments so that the search can be repeated. Of filters with free text,
    only the names are recorded."""
    given = {name: value for name, value in {**narrowed, **how}.items() if value is not None}
    kept = {name: _plain(value) for name, value in given.items() if name in how or name in REPEATABLE}
    note(asked=kept | ({"narrowed": hidden} if (hidden := sorted(set(given) - set(kept))) else {}))


def trace_of_search(
    question: Question, found: Proposals, ranked: RankedHits, hits: Sequence[Hit], limit: int
) -> dict[str, Any]:
    """Records one search: the candidates of each channel in order, score and reasons of the ranked
    ones, and what was returned."""
    channels: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for item, ranks in zip(found.items, found.channels, strict=True):
        for name, rank in ranks.items():
            channels[name].append((rank, item.id))
    window = None if question.window is None else [iso_text(question.window[0]), iso_text(question.window[1])]
    returned = {hit.id for hit in hits}
    rest = [each.item.id for each in ranked.order if each.item.id not in returned]
    return {
        "question": {
            "text": question.text, "words": list(question.words), "keys": list(question.keys), "window": window,
        },
        "limit": limit,
        "channels": {name: [id for _, id in sorted(ranks)[:MAX_TRACED]] for name, ranks in channels.items()},
        "found": {name: len(ranks) for name, ranks in channels.items()},
        "ranked": {each.item.id: round(each.score, 3) for each in ranked.order},
        "merged": dict(ranked.merged),
        "reasons": {hit.id: hit.reasons for hit in hits} | {id: ranked.reasons[id] for id in rest},
        "returned": [
            {"id": hit.id, "kind": hit.kind, "score": round(hit.score, 3), "features": _told_features(hit.features)}
            for hit in hits
        ],
    }  # fmt: skip


def trace_context(hits: Sequence[Hit], told: Sequence[Hit], block: Context, budget: int) -> None:
    """Records a context: what it contains, what did not fit the budget, and which memories were replaced
    by their source messages."""
    taken, shown = {hit.id for hit in block.hits}, {hit.id for hit in told}
    note(
        tokens=block.tokens,
        budget=budget,
        packed=[hit.id for hit in block.hits],
        unfit={hit.id: context.token_cost(hit) for hit in told if hit.id not in taken},
        told_by={hit.id: [each for each in hit.sources if each in shown] for hit in hits if hit.id not in shown},
    )


def _plain(value: Any) -> Any:
    return iso_text(value) if isinstance(value, datetime) else list(value) if isinstance(value, tuple | set) else value


def _told_features(features: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in features.items() if value}
