"""Finds what every channel proposes for a probe in a profile that is in memory: the same as `PostgresSearch`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.domain.ports.search import CandidateColumns, Probe, Proposals
from holdfast.domain.timestamps import to_micros
from holdfast.domain.types import Floats, Ints
from holdfast.domain.vectors import best_rows
from holdfast.storage.postgres.cache.profile import Posting, ProfileCache
from holdfast.storage.postgres.search import MAX_TIME_CANDIDATES
from holdfast.text.tokens import bm25_saturated, bm25_weights, selective_words

_EMPTY = Posting(np.zeros(0, np.int64), np.zeros(0))
Channel = dict[int, int]
"""Row → its rank in one channel, 1 is best, in this order."""


def propose(cache: ProfileCache, probe: Probe, words: Sequence[str]) -> Proposals:
    """What the cache proposes for a probe without a filter. `words` are the hashes of the probe's words, whose postings
    the cache has."""
    allowed = cache.live & (cache.expires > to_micros(probe.now))
    frequency = tuple([len(cache.postings[word].rows) for word in words])
    wanted = zip(words, selective_words(frequency), strict=True)
    postings = [cache.postings[word] if read else _EMPTY for word, read in wanted]
    weight = np.zeros(len(cache))
    for idf, (rows, times) in zip(bm25_weights(frequency, len(cache)), postings, strict=True):
        weight[rows] += bm25_saturated(idf, times, cache.length_penalty[rows])
    by_words = _ranks(cache, np.flatnonzero((weight > 0) & allowed), weight, probe)
    by_meaning: tuple[Channel, Channel] = ({}, {})
    cosines = None if probe.vector is None else cache.cosines(probe.vector)
    if cosines is not None:
        by_meaning = _ranks(cache, np.flatnonzero(allowed & (cosines != 0)), cosines, probe)
    messages = by_words[0] | {row: min(rank, by_words[0].get(row, rank)) for row, rank in by_meaning[0].items()}
    channels = {
        "messages": messages,
        "words": by_words[1],
        "meaning": by_meaning[1],
        "key": _rank_by_row(_rows_by_key(cache, probe, allowed)),
        "time": _rank_by_row(_rows_in_window(cache, probe, allowed)),
    }
    return _proposals(cache, probe, postings, frequency, cosines, channels)


def _proposals(
    cache: ProfileCache,
    probe: Probe,
    postings: Sequence[Posting],
    frequency: tuple[int, ...],
    cosines: Floats | None,
    channels: dict[str, Channel],
) -> Proposals:
    """The proposed items with their proposed parts, their neighbours, and the numbers of each part."""
    leading = {row for ranks in channels.values() for row, rank in ranks.items() if rank <= probe.with_neighbours}
    listed = sorted({*chain(*channels.values()), *_neighbours(cache, leading)})
    rows = np.array(listed, np.int64)
    _, first, of_item = np.unique(cache.item[rows], return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    of = place[of_item]
    ranks_of: list[dict[str, int]] = [{} for _ in order]
    place_of = dict(zip(listed, of.tolist(), strict=True))
    for name, channel in channels.items():
        for row, rank in channel.items():
            ranks = ranks_of[place_of[row]]
            ranks[name] = min(rank, ranks.get(name, rank))
    cosine = np.full(len(rows), np.nan) if cosines is None else cosines[rows].astype(float)
    items = rows[first[order]]
    return Proposals(
        items=tuple([cache.candidates[row] for row in items.tolist()]),
        channels=tuple(ranks_of),
        of=of,
        number=cache.number[rows],
        length=cache.length[rows].astype(float),
        counts=_word_counts(postings, rows),
        cosine=np.where(cosine == 0, np.nan, cosine),
        tokens=tuple([cache.tokens[row] for row in listed]),
        parts=len(cache),
        mean_length=cache.mean_length,
        frequency=frequency,
        agents=(cache.agents or ()) if probe.agents else (),
        known_columns=CandidateColumns(
            memory=cache.memory[items],
            session=cache.session[items],
            position=cache.position[items],
            from_user=cache.from_user[items],
            speaker=cache.speaker[items],
            asks=cache.asks[items],
            at=cache.at[items],
            speakers=tuple(cache.speakers),
        ),
    )


def _ranks(cache: ProfileCache, rows: Ints, scores: NDArray[Any], probe: Probe) -> tuple[Channel, Channel]:
    """The ranks of messages and of memories: separate, so that neither displaces the other."""
    memory = cache.memory[rows]
    messages, memories = rows[~memory], rows[memory]
    return (
        _rank_by_row(messages[best_rows(scores[messages], probe.limit)].tolist()),
        _rank_by_row(memories[best_rows(scores[memories], probe.memories)].tolist()),
    )


def _rank_by_row(rows: list[int]) -> Channel:
    return dict(zip(rows, range(1, len(rows) + 1), strict=True))


def _rows_by_key(cache: ProfileCache, probe: Probe, allowed: NDArray[np.bool_]) -> list[int]:
    """The rows of current memories with one of the keys, newest first."""
    found = [row for key in dict.fromkeys(probe.keys) for row in cache.keys.get(key, ()) if cache.live[row]]
    found.sort(key=lambda row: (-cache.item[row], row))
    return [row for row in found[: probe.limit] if allowed[row]]


def _rows_in_window(cache: ProfileCache, probe: Probe, allowed: NDArray[np.bool_]) -> list[int]:
    """The rows of messages and memories whose time is in the question's window, newest first."""
    if probe.window is None:
        return []
    start, stop = map(to_micros, probe.window)
    rows = np.flatnonzero((cache.at >= start) & (cache.at < stop))
    newest = rows[np.lexsort((-rows, -cache.at[rows]))][:MAX_TIME_CANDIDATES]
    found: list[int] = newest[allowed[newest]][: probe.limit].tolist()
    return found


def _neighbours(cache: ProfileCache, rows: set[int]) -> Iterator[int]:
    """The rows of the messages that are beside these, and of those themselves."""
    beside = [row for row in rows if not cache.memory[row]]
    for session, position in zip(cache.session[beside].tolist(), cache.position[beside].tolist(), strict=True):
        for near in (position - 1, position, position + 1):
            yield from cache.told.get((session, near), ())


def _word_counts(postings: Sequence[Posting], rows: Ints) -> NDArray[np.float64]:
    """How often each word occurs in each of these rows."""
    counts = np.zeros((len(rows), len(postings)))
    for column, (having, times) in enumerate(postings):
        if len(having):
            at = np.minimum(np.searchsorted(having, rows), len(having) - 1)
            counts[:, column] = np.where(having[at] == rows, times[at], 0)
    return counts
