"""What a trace keeps of a read: who was proposed, how they ranked, what became of each. Ids and numbers, no text of
what was found; forgetting takes the ids out again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from . import pack
from .moments import iso
from .question import Asked
from .rank import Ranked, reasons
from .results import Context, Hit
from .trail import note
from .types import Proposals

TRACED = 50
"""How many of each channel's candidates a trace names."""
REPEATABLE = ("kind", "since", "until")
"""What a search may be narrowed to that is no word of its owner's."""


def asked(narrowed: Mapping[str, Any], **how: Any) -> None:
    """Keep how it was asked, for asking it again; of what it was narrowed to by words, only that it was."""
    given = {name: value for name, value in {**narrowed, **how}.items() if value is not None}
    kept = {name: _plain(value) for name, value in given.items() if name in how or name in REPEATABLE}
    note(asked=kept | ({"narrowed": hidden} if (hidden := sorted(set(given) - set(kept))) else {}))


def search(asked: Asked, found: Proposals, order: Sequence[Ranked], merged: Mapping[str, str], hits: Sequence[Hit],
           limit: int) -> dict[str, Any]:  # fmt: skip
    """One search: of every channel the candidates in order; of the ranked ones score and reasons; what was returned."""
    channels: dict[str, list[tuple[int, str]]] = {}
    for item, ranks in zip(found.items, found.channels, strict=True):
        for channel, rank in ranks.items():
            channels.setdefault(channel, []).append((rank, item.id))
    window = None if asked.window is None else [iso(asked.window[0]), iso(asked.window[1])]
    returned = {hit.id for hit in hits}
    rest = [each for each in order if each.item.id not in returned]
    return {
        "question": {"text": asked.text, "words": list(asked.words), "keys": list(asked.keys), "window": window},
        "limit": limit,
        "channels": {name: [id for _, id in sorted(ranks)[:TRACED]] for name, ranks in channels.items()},
        "found": {name: len(ranks) for name, ranks in channels.items()},
        "ranked": {each.item.id: round(each.score, 3) for each in order},
        "merged": dict(merged),
        "reasons": {hit.id: hit.reasons for hit in hits}
        | {each.item.id: why for each, why in zip(rest, reasons(rest), strict=True)},
        "returned": [
            {"id": hit.id, "kind": hit.kind, "score": round(hit.score, 3), "features": _rounded(hit.features)}
            for hit in hits
        ],
    }


def packing(hits: Sequence[Hit], told: Sequence[Hit], block: Context, budget: int) -> None:
    """A context: what went in, what would have cost too much, and which memories were told in their sources' words."""
    taken, shown = {hit.id for hit in block.hits}, {hit.id for hit in told}
    note(
        tokens=block.tokens,
        budget=budget,
        packed=[hit.id for hit in block.hits],
        unfit={hit.id: pack.cost(hit) for hit in told if hit.id not in taken},
        told_by={hit.id: [each for each in hit.sources if each in shown] for hit in hits if hit.id not in shown},
    )


def _plain(value: Any) -> Any:
    return iso(value) if isinstance(value, datetime) else list(value) if isinstance(value, tuple | set) else value


def _rounded(features: Mapping[str, float]) -> dict[str, float]:
    return {name: round(float(value), 3) for name, value in features.items() if value}
