"""Finds what every channel proposes, in the simplest way: by going through all parts each time."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from holdfast.domain import filters
from holdfast.domain.ports.search import MAX_AGENTS, Candidate, Probe, Proposals
from holdfast.domain.timestamps import to_micros
from holdfast.domain.types import Floats, Item, Memory, Message, Part
from holdfast.domain.vectors import best_rows
from holdfast.storage.in_memory.state import ProfileState, is_expired
from holdfast.text.tokens import bm25

NEIGHBOUR_DISTANCE = 1
"""How many messages before and after a proposed one are added as context. Chosen by hand; not measured."""


def propose(state: ProfileState, probe: Probe) -> Proposals:
    numbers = sorted(state.parts)
    parts = [state.parts[n] for n in numbers]
    lengths = np.array([len(part.words) for part in parts], float)
    counts = np.array([[part.words.count(word) for word in probe.words] for part in parts], float)
    counts = counts.reshape(len(parts), len(probe.words))
    frequency = [int(column) for column in (counts > 0).sum(0)]
    mean = float(lengths.mean()) if len(parts) else 0.0
    cosines = np.zeros(len(parts), np.float32)
    for row, n in enumerate(numbers):
        model, values = state.vectors.get(n, ("", None))
        if values is not None and model == probe.model and probe.vector is not None:
            cosines[row] = values @ probe.vector
    allowed = np.array([_is_allowed(state, state.items[part.item], probe) for part in parts], bool)
    channels: dict[int, dict[str, int]] = {}
    weight = bm25(counts, lengths, frequency, len(parts), mean).sum(1)
    for name, scores, found in (("words", weight, counts.any(1)), ("meaning", cosines, cosines != 0)):
        for memory in (False, True):
            mine = [isinstance(state.items[part.item], Memory) == memory for part in parts]
            rows = np.flatnonzero(allowed & found & np.array(mine, bool))
            channel = name if memory else "messages"
            for rank, at in enumerate(best_rows(scores[rows], probe.memories if memory else probe.limit), 1):
                ranks = channels.setdefault(int(rows[at]), {})
                ranks[channel] = min(rank, ranks.get(channel, rank))
    keyed = [
        row
        for row in sorted(range(len(parts)), key=lambda row: -state.order.get(parts[row].item, 0))
        if allowed[row] and getattr(state.items[parts[row].item], "key", None) in probe.keys
    ]
    timely = [row for row in range(len(parts)) if _is_in_window(state.items[parts[row].item], probe)]
    timely.sort(key=lambda row: (-to_micros(_item_time(state.items[parts[row].item])), -numbers[row]))
    timely = [row for row in timely if allowed[row]][: probe.limit]
    for name, found in (("key", keyed[: probe.limit]), ("time", timely)):
        for rank, row in enumerate(found, 1):
            channels.setdefault(row, {})[name] = rank
    leading = [row for row, ranks in channels.items() if min(ranks.values()) <= probe.with_neighbours]
    existing = [probe.as_of is None or state.was_known(state.items[part.item], probe.as_of) for part in parts]
    shown = [
        row
        for row in range(len(parts))
        if row in channels or (existing[row] and _is_neighbour(state, parts, row, leading))
    ]
    found = _proposals(state, parts, shown, counts, cosines, channels, (len(parts), mean, tuple(frequency)))
    agents = sorted({item.agent for item in state.items.values() if item.agent is not None} if probe.agents else ())
    return replace(found, agents=tuple(agents[:MAX_AGENTS]))


def _proposals(
    state: ProfileState,
    parts: list[Part],
    shown: list[int],
    counts: NDArray[np.float64],
    cosines: Floats,
    channels: dict[int, dict[str, int]],
    statistics: tuple[int, float, tuple[int, ...]],
) -> Proposals:
    items: dict[str, Candidate] = {}
    found: dict[str, dict[str, int]] = {}
    for row in shown:
        part = parts[row]
        items.setdefault(part.item, _candidate(state.items[part.item], part))
        ranks = found.setdefault(part.item, {})
        for channel, rank in channels.get(row, {}).items():
            ranks[channel] = min(rank, ranks.get(channel, rank))
    places = {id: place for place, id in enumerate(items)}
    cosine = cosines[shown].astype(float)
    return Proposals(
        items=tuple(items.values()),
        channels=tuple(found.values()),
        of=np.array([places[parts[row].item] for row in shown], np.int64),
        number=np.array([parts[row].number for row in shown], np.int64),
        length=np.array([len(parts[row].words) for row in shown], float),
        counts=counts[shown],
        cosine=np.where(cosine == 0, np.nan, cosine),
        tokens=tuple(parts[row].tokens for row in shown),
        parts=statistics[0],
        mean_length=statistics[1],
        frequency=statistics[2],
    )


def _is_allowed(state: ProfileState, item: Item, probe: Probe) -> bool:
    if isinstance(item, Memory) and is_expired(item, probe.now):
        return False
    if probe.as_of is not None and not state.was_known(item, probe.as_of):
        return False
    if probe.as_of is None and isinstance(item, Memory) and not item.current:
        return False
    return filters.passes(probe.where, item)


def _item_time(item: Item) -> datetime:
    return item.said_at if isinstance(item, Message) else filters.memory_time(item)


def _is_in_window(item: Item, probe: Probe) -> bool:
    return probe.window is not None and probe.window[0] <= _item_time(item) < probe.window[1]


def _is_neighbour(state: ProfileState, parts: list[Part], row: int, leading: list[int]) -> bool:
    item = state.items[parts[row].item]
    for other in (state.items[parts[found].item] for found in leading):
        if isinstance(item, Message) and isinstance(other, Message) and item.session_id == other.session_id:
            if abs(item.position - other.position) <= NEIGHBOUR_DISTANCE:
                return True
    return False


def _candidate(item: Item, part: Part) -> Candidate:
    if isinstance(item, Memory):
        return Candidate(item.id, True, item.session_id, -1, None, None, part.asks, to_micros(_item_time(item)))
    place = (item.session_id, item.position)
    return Candidate(item.id, False, *place, item.role, item.speaker, part.asks, to_micros(item.said_at))
