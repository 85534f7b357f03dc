"""Pure: joins the proposals of several stores, and keeps of many only what one store would have proposed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from holdfast.domain.ports.search import Probe, Proposals
from holdfast.domain.types import Ints
from holdfast.domain.vectors import best_rows
from holdfast.text.tokens import bm25

ID_SEPARATOR = "\0"
"""Between a store's number and the id there. No text from outside can contain it."""


def prefixed_id(n: int, id: str) -> str:
    return f"{n}{ID_SEPARATOR}{id}"


def prefixed_proposals(n: int, found: Proposals) -> Proposals:
    """One store's proposals, with the ids of their items and sessions prefixed with the store's number."""
    items = tuple(
        replace(
            item,
            id=prefixed_id(n, item.id),
            session_id=None if item.session_id is None else prefixed_id(n, item.session_id),
        )
        for item in found.items
    )
    return replace(found, items=items)


def joined_proposals(found: Sequence[Proposals]) -> Proposals:
    """The proposals of several stores as if one store held all of their items."""
    starts = np.cumsum([0, *(len(each.items) for each in found)])
    parts = sum(each.parts for each in found)
    words = sum(each.parts * each.mean_length for each in found)
    return Proposals(
        items=tuple(item for each in found for item in each.items),
        channels=tuple(ranks for each in found for ranks in each.channels),
        of=np.concatenate([each.of + start for each, start in zip(found, starts[:-1], strict=True)]),
        number=np.concatenate([each.number for each in found]),
        length=np.concatenate([each.length for each in found]),
        counts=np.concatenate([each.counts for each in found]),
        cosine=np.concatenate([each.cosine for each in found]),
        tokens=tuple(tokens for each in found for tokens in each.tokens),
        parts=parts,
        mean_length=words / parts if parts else 0.0,
        frequency=tuple(map(sum, zip(*(each.frequency for each in found), strict=True))),
        agents=tuple(sorted({agent for each in found for agent in each.agents})),
    )


def best_proposals(found: Proposals, probe: Probe) -> Proposals:
    """The best items of each channel, as many as one store would propose, with their neighbours."""
    wanted = _best_items(found, probe)
    beside = {
        (item.session_id, item.position + step)
        for n in wanted
        if not (item := found.items[n]).memory
        for step in (-1, 1)
    }
    kept = [
        n
        for n, item in enumerate(found.items)
        if n in wanted or (not item.memory and (item.session_id, item.position) in beside)
    ]
    places = np.full(len(found.items), -1, np.int64)
    places[kept] = np.arange(len(kept))
    rows = np.flatnonzero(places[found.of] >= 0)
    return replace(
        found,
        items=tuple(found.items[n] for n in kept),
        channels=tuple(found.channels[n] for n in kept),
        of=places[found.of[rows]],
        number=found.number[rows],
        length=found.length[rows],
        counts=found.counts[rows],
        cosine=found.cosine[rows],
        tokens=tuple(found.tokens[row] for row in rows.tolist()),
        known_columns=None,
    )


def _best_items(found: Proposals, probe: Probe) -> set[int]:
    size = len(found.items)
    weight, cosine = np.zeros(size), np.full(size, -np.inf)
    if found.counts.shape[1]:
        every = bm25(found.counts, found.length, found.frequency, found.parts, found.mean_length).sum(axis=1)
        np.maximum.at(weight, found.of, every)
    np.maximum.at(cosine, found.of, np.where(np.isnan(found.cosine), -np.inf, found.cosine))
    at = np.array([item.at for item in found.items], np.float64)
    memory = np.array([item.memory for item in found.items], bool)
    proposed = np.array([bool(ranks) for ranks in found.channels], bool)
    wanted: set[int] = set()
    for among, most in ((~memory, probe.limit), (memory, probe.memories)):
        wanted |= _best(np.flatnonzero(among & proposed & (weight > 0)), weight, most)
        wanted |= _best(np.flatnonzero(among & proposed & np.isfinite(cosine)), cosine, most)
    for channel in ("key", "time"):
        having = np.array([channel in ranks for ranks in found.channels], bool)
        wanted |= _best(np.flatnonzero(having), at, probe.limit)
    return wanted


def _best(items: Ints, scores: NDArray[np.float64], most: int) -> set[int]:
    return set(items[best_rows(scores[items], most)].tolist())
