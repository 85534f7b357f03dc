"""Finds what every channel proposes for a probe in a profile that is in memory: the same as `PostgresSearch`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.domain.ports.search import CandidateColumns, Probe, Proposals
from holdfast.domain.timestamps import to_micros
from holdfast.domain.types import Ints
from holdfast.domain.vectors import MAX_EXACT_ROWS, best_rows, matrix_product, vector_of_bytes
from holdfast.storage.postgres.cache.postings import Posting
from holdfast.storage.postgres.cache.profile import ProfileCache
from holdfast.storage.postgres.connections import Row
from holdfast.storage.postgres.search import EXTRA_CANDIDATES, MAX_TIME_CANDIDATES
from holdfast.text.tokens import bm25_saturated, bm25_weights

Channel = dict[int, int]
"""Row → its rank in one channel, 1 is best, in this order."""
BestRows = tuple[Ints, Ints]
"""The best rows of messages and of memories: separate, so that neither displaces the other."""


class CacheSearch:
    """The search of a cache for a probe without a filter. `words` are the hashes of the probe's words, whose postings
    the cache has."""

    def __init__(self, cache: ProfileCache, probe: Probe, words: Sequence[str]) -> None:
        self._cache, self._probe = cache, probe
        self._allowed = cache.live & (cache.expires > to_micros(probe.now))
        self._postings = cache.words.find(words)
        self._frequency = tuple([cache.words.frequency[word] for word in words])
        self._by_words = self._best_by_words()
        self._by_key, self._by_time = self._rows_by_key(), self._rows_in_window()
        self._cosines = None if probe.vector is None else cache.cosines(probe.vector)
        self._near = self._best_by_cosine(EXTRA_CANDIDATES if cache.large else 0)

    @cached_property
    def rows_to_compare(self) -> list[int]:
        """The rows of a large profile whose exact cosines are needed: the nearest, of which some are proposed; and all
        that may be proposed in one of so many parts that a data folder has exact vectors of it."""
        rows = np.concatenate(self._near)
        if len(self._cache) <= MAX_EXACT_ROWS:
            ranked = [*self._by_words, *self._near, self._by_key, self._by_time]
            leading = np.concatenate([each[: self._probe.with_neighbours + EXTRA_CANDIDATES] for each in ranked])
            rows = np.concatenate([*ranked, self._neighbours(leading)])
        found: list[int] = np.unique(rows).tolist() if self._cosines is not None else []
        return found

    def compare_exactly(self, stored: Sequence[Row]) -> None:
        """Replace the approximate cosines of parts, given as (n, data), and choose the nearest by the exact ones."""
        if stored and self._cosines is not None and self._probe.vector is not None:
            values = vector_of_bytes([bytes(data) for _, data in stored])
            if values.shape[1] != len(self._probe.vector):
                return
            rows = self._cache.rows(np.array([n for n, _ in stored], np.int64))
            self._cosines[rows] = matrix_product(values, self._probe.vector)
            self._near = self._best_by_cosine(0, np.concatenate(self._near))

    def proposals(self) -> Proposals:
        """The proposed items with their proposed parts, their neighbours, and the numbers of each part."""
        cache, channels = self._cache, self._channels()
        listed = self._proposed_rows(channels)
        rows = np.array(listed, np.int64)
        _, first, of_item = np.unique(cache.item[rows], return_index=True, return_inverse=True)
        order = np.argsort(first)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        of = place[of_item]
        cosine = np.full(len(rows), np.nan) if self._cosines is None else self._cosines[rows].astype(float)
        items = rows[first[order]]
        return Proposals(
            items=tuple(cache.candidates(items.tolist())),
            channels=_ranks_of_items(channels, dict(zip(listed, of.tolist(), strict=True)), len(order)),
            of=of,
            number=cache.number[rows],
            length=cache.length[rows].astype(float),
            counts=_word_counts(self._postings, rows),
            cosine=np.where(cosine == 0, np.nan, cosine),
            tokens=tuple([cache.tokens[row] for row in listed]),
            parts=len(cache),
            mean_length=cache.mean_length,
            frequency=self._frequency,
            agents=(cache.agents or ()) if self._probe.agents else (),
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

    def _best_by_words(self) -> BestRows:
        weight = np.zeros(len(self._cache))
        for idf, (rows, times) in zip(bm25_weights(self._frequency, len(weight)), self._postings, strict=True):
            weight[rows] += bm25_saturated(idf, times, self._cache.length_penalty[rows])
        return self._best(weight, weight > 0)

    def _best_by_cosine(self, extra: int, among: Ints | None = None) -> BestRows:
        if self._cosines is None:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        having = self._cosines != 0
        if among is not None:
            chosen = np.zeros(len(having), bool)
            chosen[among] = True
            having &= chosen
        return self._best(self._cosines, having, extra)

    def _best(self, scores: NDArray[Any], having: NDArray[np.bool_], extra: int = 0) -> BestRows:
        """The best of the rows `having` a score, with so many more than are proposed."""
        having = having & self._allowed
        found = []
        for mask, most in (
            (having & ~self._cache.memory, self._probe.limit),
            (having & self._cache.memory, self._probe.memories),
        ):
            rows = best_rows(np.where(mask, scores, -np.inf), most and most + extra)
            found.append(rows[mask[rows]])
        return found[0], found[1]

    def _rows_by_key(self) -> Ints:
        """The rows of current memories with one of the keys, newest first."""
        cache, probe = self._cache, self._probe
        found = [row for key in dict.fromkeys(probe.keys) for row in cache.keys.get(key, ()) if cache.live[row]]
        found.sort(key=lambda row: (-cache.item[row], row))
        rows = np.array(found[: probe.limit], np.int64)
        return rows[self._allowed[rows]]

    def _rows_in_window(self) -> Ints:
        """The rows of messages and memories whose time is in the question's window, newest first."""
        cache, probe = self._cache, self._probe
        if probe.window is None:
            return np.zeros(0, np.int64)
        start, stop = map(to_micros, probe.window)
        rows = np.flatnonzero((cache.at >= start) & (cache.at < stop))
        newest = rows[np.lexsort((-rows, -cache.at[rows]))][:MAX_TIME_CANDIDATES]
        return newest[self._allowed[newest]][: probe.limit]

    def _channels(self) -> dict[str, Channel]:
        words, meaning = _ranks(self._by_words[0]), _ranks(self._near[0])
        return {
            "messages": words | {row: min(rank, words.get(row, rank)) for row, rank in meaning.items()},
            "words": _ranks(self._by_words[1]),
            "meaning": _ranks(self._near[1]),
            "key": _ranks(self._by_key),
            "time": _ranks(self._by_time),
        }

    def _proposed_rows(self, channels: dict[str, Channel]) -> list[int]:
        """The rows of all channels, and the neighbours of those that lead one."""
        most = self._probe.with_neighbours
        leading = {row for ranks in channels.values() for row, rank in ranks.items() if rank <= most}
        return sorted({*chain(*channels.values()), *self._neighbours(np.array([*leading], np.int64)).tolist()})

    def _neighbours(self, rows: Ints) -> Ints:
        return self._cache.rows_beside(rows[~self._cache.memory[rows]])


def _ranks_of_items(channels: dict[str, Channel], place_of: dict[int, int], count: int) -> tuple[dict[str, int], ...]:
    """For each item the best rank of its rows in each channel. `place_of` gives the item of a row."""
    ranks_of: list[dict[str, int]] = [{} for _ in range(count)]
    for name, channel in channels.items():
        for row, rank in channel.items():
            ranks = ranks_of[place_of[row]]
            ranks[name] = min(rank, ranks.get(name, rank))
    return tuple(ranks_of)


def _ranks(rows: Ints) -> Channel:
    return dict(zip(rows.tolist(), range(1, len(rows) + 1), strict=True))


def _word_counts(postings: Sequence[Posting], rows: Ints) -> NDArray[np.float64]:
    """How often each word occurs in each of these rows."""
    counts = np.zeros((len(rows), len(postings)))
    for column, (having, times) in enumerate(postings):
        if len(having):
            at = np.minimum(np.searchsorted(having, rows), len(having) - 1)
            counts[:, column] = np.where(having[at] == rows, times[at], 0)
    return counts
