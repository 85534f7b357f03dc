"""Fuses two lists of hits whose scores cannot be compared: the question's and a hypothetical answer's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from holdfast.domain.results import Hit

RANK_OFFSET = 60
"""The constant of reciprocal-rank fusion that the literature uses."""


def fused_hits(hits: Sequence[Hit], like: Sequence[Hit]) -> tuple[Hit, ...]:
    """Returns the best hits of both lists by reciprocal rank, as many as `hits` has; those in `like`
    get the channel `question`."""
    scores: dict[str, float] = {}
    for found in (hits, like):
        for rank, hit in enumerate(found, 1):
            scores[hit.id] = scores.get(hit.id, 0.0) + 1 / (RANK_OFFSET + rank)
    known = {hit.id: hit for hit in hits}
    for rank, hit in enumerate(like, 1):
        known[hit.id] = replace(known.get(hit.id, hit), channels={**_channels_of(known.get(hit.id)), "question": rank})
    best = sorted(known.values(), key=lambda hit: -scores[hit.id])
    return tuple(best[: max(len(hits), 1)])


def _channels_of(hit: Hit | None) -> dict[str, int]:
    return {} if hit is None else hit.channels
