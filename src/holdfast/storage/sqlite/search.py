"""Finds what every channel of one file proposes for a probe, with the raw numbers. SQLite's own scores are not used."""

from __future__ import annotations

from collections.abc import Iterator, Set
from functools import partial
from itertools import chain, takewhile, zip_longest
from typing import Any, NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from holdfast.domain.ports.search import Probe, Proposals
from holdfast.domain.timestamps import to_micros
from holdfast.domain.types import Floats, Ints
from holdfast.domain.vectors import best_rows, matrix_product, plain_product, vector_of_bytes
from holdfast.storage.sqlite.vector_cache import MAX_CACHED_PARTS, Posting, VectorCache, parse_integers, read
from holdfast.storage.sqlite.where import KNOWN_AT, condition
from holdfast.text.tokens import bm25_saturated, bm25_weights, selective_words

NEIGHBOUR_DISTANCE = 1
"""How many messages before and after a proposed one are added as context. Chosen by hand; not measured."""
MAX_PARTS_READ_AT_ONCE = 20_000
"""Up to this many parts, all postings are read at once: counting them first costs more than reading them. The number
itself is chosen by hand."""
RESCORED_SHARE = 1.5
"""How many of the best approximate cosines are computed exactly, as a multiple of those that are proposed. Chosen by
hand: about 20 others lie within five standard errors of the last one, however large a profile is."""
FINE_RESCORED_SHARE = 2.0
"""The same where everything that is proposed is rescored, so that a search finds what it finds with exact vectors: so
did each of 142 questions about 10,000 random vectors."""
MIN_ROWS_IN_PLACE, FEW_ROWS_SHARE = 5_000, 4
"""From so many rows on, all scores are compared in place, unless fewer than one row in so many has one: then those are
taken out first. Measured."""
MAX_TIME_CANDIDATES = 5_000
"""How many parts of a time window are considered. Chosen by hand; not measured."""

_PARTS_OF_MESSAGES = """
SELECT part.n, part.item, part.number, part.tokens, message.id, false, message.session, message.position,
       message.role, message.speaker, part.asks, coalesce(message.said_at, message.created_at)
  FROM part JOIN message ON message.n = part.item WHERE part.n IN (SELECT value FROM json_each(?1))
"""
_PARTS_OF_MEMORIES = """
SELECT part.n, part.item, part.number, part.tokens, memory.id, true, memory.session, -1, NULL, NULL, part.asks,
       coalesce(memory.occurred_at, memory.created_at)
  FROM part JOIN memory ON memory.n = -part.item WHERE part.n IN (SELECT value FROM json_each(?1))
"""
_PARTS_IN_WINDOW = """
SELECT part.n, coalesce(said_at, created_at) AS at FROM message JOIN part ON part.item = message.n
 WHERE coalesce(said_at, created_at) >= ?1 AND coalesce(said_at, created_at) < ?2
UNION ALL
SELECT part.n, coalesce(occurred_at, created_at) AS at FROM memory JOIN part ON part.item = -memory.n
 WHERE coalesce(occurred_at, created_at) >= ?1 AND coalesce(occurred_at, created_at) < ?2
ORDER BY 2 DESC, 1 DESC LIMIT ?3
"""
_NEIGHBOURS = """
SELECT group_concat(part.n), group_concat(beside.n)
  FROM part JOIN message ON message.n = part.item
  JOIN message AS other ON other.session = message.session
   AND other.position BETWEEN message.position - ?2 AND message.position + ?2 AND (?3 IS NULL OR other.created_at <= ?3)
  JOIN part AS beside ON beside.item = other.n
 WHERE part.n IN (SELECT value FROM json_each(?1))
"""
_NO_ROWS, _NO_TIMES = np.zeros(0, np.int32), np.zeros(0, np.uint16)
Channel = dict[int, int]
"""Row → its rank in one channel, 1 is best, in the order of ranks."""


def propose(db: apsw.Connection | None, cache: VectorCache, probe: Probe) -> Proposals:
    """Without a connection it raises CacheMiss where the cache does not have everything."""
    cache.load_exact(db)
    allowed = _allowed_mask(db, cache, probe)
    postings = _load_postings(db, cache, probe.words)
    by_key, in_window = _rows_by_key(db, cache, probe, allowed), _rows_in_window(db, cache, probe, allowed)
    weight = np.zeros(len(cache))
    idf = bm25_weights([frequency for *_, frequency in postings], len(cache))
    for each, (rows, times, _) in zip(idf, postings, strict=True):
        weight[rows] += bm25_saturated(each, times, cache.length_penalty[rows])
    by_words = _ranks(weight, (weight > 0) & allowed, cache.memory, probe)
    by_meaning: tuple[Channel, Channel] = ({}, {})
    cosines = None if probe.vector is None else cache.cosines(probe.vector)
    if cosines is not None:
        having = allowed & (cosines != 0)
        rank = _ranks if cache.exact else partial(_exact_ranks, db, cache)
        by_meaning = rank(cosines, having, cache.memory, probe)
    channels = {
        "messages": _merged_ranks(by_words[0], by_meaning[0]),
        "words": by_words[1],
        "meaning": by_meaning[1],
        "key": _rank_by_row(by_key),
        "time": _rank_by_row(in_window),
    }
    return _proposals(db, cache, probe, FoundRows(postings, cosines, {*chain(*by_meaning)}, channels))


def _ranks(
    scores: NDArray[Any], having: NDArray[np.bool_], memory: NDArray[np.bool_], probe: Probe
) -> tuple[Channel, Channel]:
    """The ranks of messages and of memories among the rows `having` a score: separate, so that neither displaces the
    other."""
    return (
        _rank_by_row(_best(scores, having & ~memory, probe.limit).tolist()),
        _rank_by_row(_best(scores, having & memory, probe.memories).tolist()),
    )


def _best(scores: NDArray[Any], having: NDArray[np.bool_], limit: int) -> Ints:
    """The rows of the highest scores among those `having` one."""
    if len(having) < MIN_ROWS_IN_PLACE or np.count_nonzero(having) * FEW_ROWS_SHARE < len(having):
        rows = having.nonzero()[0]
        return rows[best_rows(scores[rows], limit)]
    rows = best_rows(np.where(having, scores, -np.inf), limit)
    return rows[having[rows]]


def _rank_by_row(rows: list[int]) -> Channel:
    return dict(zip(rows, range(1, len(rows) + 1), strict=True))


def _merged_ranks(one: Channel, other: Channel) -> Channel:
    """The better rank of each row, of two channels that rank their rows from 1 on."""
    merged: Channel = {}
    for rank, rows in enumerate(zip_longest(one, other), 1):
        for row in rows:
            if row is not None:
                merged.setdefault(row, rank)
    return merged


def _allowed_mask(db: apsw.Connection | None, cache: VectorCache, probe: Probe) -> NDArray[np.bool_]:
    live = cache.live.copy() if probe.as_of is None else _known_mask(db, cache, to_micros(probe.as_of))
    now = to_micros(probe.now)
    if cache.may_have_expired(db, now):
        expired = read(
            db,
            "SELECT group_concat(part.n) FROM memory JOIN part ON part.item = -memory.n WHERE memory.expires_at <= ?",
            (now,),
        )[0][0]
        live[cache.rows(parse_integers(expired))] = False
    if probe.where is None:
        return live
    mask = np.zeros(len(cache), bool)
    for table, sign in (("message", ""), ("memory", "-")):
        sql, bound = condition(probe.where, table)
        found = read(
            db, f"SELECT group_concat(part.n) FROM {table} JOIN part ON part.item = {sign}{table}.n WHERE {sql}", bound
        )[0][0]
        mask[cache.rows(parse_integers(found))] = True
    live &= mask
    return live


def _known_mask(db: apsw.Connection | None, cache: VectorCache, then: int) -> NDArray[np.bool_]:
    """Which parts had arrived or were written by then, and were not yet superseded."""
    mask = np.zeros(len(cache), bool)
    joined = "SELECT group_concat(part.n) FROM {} JOIN part ON part.item = {}.n WHERE "
    for found in (
        read(db, joined.format("message", "message") + "message.created_at <= ?", (then,)),
        read(db, joined.format("memory", "-memory") + KNOWN_AT, (then, then)),
    ):
        mask[cache.rows(parse_integers(found[0][0]))] = True
    return mask


def _load_postings(db: apsw.Connection | None, cache: VectorCache, words: tuple[str, ...]) -> list[Posting]:
    """The posting of each word, in order; empty for words that do not decide the ranking."""
    if len(cache) <= MAX_PARTS_READ_AT_ONCE:
        loaded = [_load_posting(db, cache, word) for word in words]
        frequency = [count for *_, count in loaded]
    else:
        loaded = []
        frequency = _load_frequencies(db, cache, words)
    found: list[Posting] = []
    for n, wanted in enumerate(selective_words(frequency)):
        if wanted:
            found.append(loaded[n] if loaded else _load_posting(db, cache, words[n]))
        else:
            found.append((_NO_ROWS, _NO_TIMES, frequency[n]))
    return found


def _load_posting(db: apsw.Connection | None, cache: VectorCache, word: str) -> Posting:
    """The posting of a word. One that the cache has is not read again."""
    known = cache.posting(word)
    if known is not None:
        return known
    if cache.note_missing_word():
        return _load_all_postings(db, cache, word)
    return _add_posting(cache, word, read(db, "SELECT group_concat(doc) FROM word_place WHERE term = ?", (word,))[0][0])


def _load_all_postings(db: apsw.Connection | None, cache: VectorCache, word: str) -> Posting:
    """The posting of a word, after reading those of all words."""
    for term, places in read(db, "SELECT term, group_concat(doc) FROM word_place GROUP BY term"):
        if term not in cache.postings:
            _add_posting(cache, term, places)
    cache.note_all_words()
    return cache.posting(word) or _add_posting(cache, word, None)


def _add_posting(cache: VectorCache, word: str, places: str | int | None) -> Posting:
    """Add the posting of a word that occurs at these places, one part for each occurrence."""
    docs = np.sort(parse_integers(places))
    changes = np.ones(len(docs) + 1, bool)
    changes[1:-1] = docs[1:] != docs[:-1]
    first = changes.nonzero()[0]
    parts, times = docs[first[:-1]], (first[1:] - first[:-1]).astype(np.uint16)
    rows = cache.rows(parts)
    if len(rows) < len(parts):  # some are of a newer write that the cache does not have yet
        cache.read_again(word)
        return rows.astype(np.int32), times[np.isin(parts, cache.n, assume_unique=True)], len(parts)
    posting = rows.astype(np.int32), times, len(parts)
    cache.add_posting(word, posting)
    return posting


def _load_frequencies(db: apsw.Connection | None, cache: VectorCache, words: tuple[str, ...]) -> list[int]:
    """The number of parts each word occurs in. In a large profile it decides which postings are read."""
    missing = [word for word in words if word not in cache.frequencies]
    if missing:
        marks = ", ".join("?" * len(missing))
        found: dict[str, int] = dict(read(db, f"SELECT term, doc FROM word_count WHERE term IN ({marks})", missing))
        cache.add_frequencies({word: found.get(word, 0) for word in missing})
    return [cache.frequencies[word] for word in words]


def _exact_ranks(
    db: apsw.Connection | None,
    cache: VectorCache,
    cosines: Floats,
    having: NDArray[np.bool_],
    memory: NDArray[np.bool_],
    probe: Probe,
) -> tuple[Channel, Channel]:
    """The same as `_ranks` for the cosines of an approximate scan. The best of them are replaced by exact ones."""
    messages = _exact_best(db, cache, probe, cosines, having & ~memory, probe.limit)
    memories = _exact_best(db, cache, probe, cosines, having & memory, probe.memories)
    return _rank_by_row(messages.tolist()), _rank_by_row(memories.tolist())


def _exact_best(
    db: apsw.Connection | None,
    cache: VectorCache,
    probe: Probe,
    cosines: Floats,
    among: NDArray[np.bool_],
    limit: int,
) -> Ints:
    """The rows of the highest cosines. Every row that was not rescored has at most the cosine of the last one that was,
    so that all rows are compared again only where the best of the rescored ones do not exceed that."""
    rows = _best(cosines, among, int(limit * (FINE_RESCORED_SHARE if cache.rescores_all else RESCORED_SHARE)))
    if not len(rows):
        return rows
    cut = cosines[rows[-1]]
    _rescore(db, cache, probe, cosines, rows)
    rows = np.sort(rows)
    best = rows[best_rows(cosines[rows], limit)]
    complete = len(best) == limit and cosines[best[-1]] > cut
    return best if complete else _best(cosines, among, limit)


def _rescore(db: apsw.Connection | None, cache: VectorCache, probe: Probe, cosines: Floats, rows: Ints) -> None:
    """Replace the cosines of these rows by exact ones."""
    stored = read(
        db,
        "SELECT part, data FROM vector WHERE model = ? AND part IN (SELECT value FROM json_each(?)) ORDER BY part",
        (cache.model, _json_array(cache.n[rows])),
    )
    if stored and probe.vector is not None:
        at = np.searchsorted(cache.n, np.array([part for part, _ in stored]))
        product = plain_product if cache.rescores_all else matrix_product
        cosines[at] = product(vector_of_bytes([data for _, data in stored]), probe.vector)


def _rows_by_key(db: apsw.Connection | None, cache: VectorCache, probe: Probe, allowed: NDArray[np.bool_]) -> list[int]:
    if not probe.keys or not cache.may_have_key(db, probe.keys):
        return []
    then = [] if probe.as_of is None else [to_micros(probe.as_of)] * 2
    current = KNOWN_AT if then else "memory.superseded_by IS NULL"
    found = read(
        db,
        f"SELECT part.n FROM memory JOIN part ON part.item = -memory.n WHERE memory.key IN "
        f"({', '.join('?' * len(probe.keys))}) AND {current} ORDER BY memory.n DESC LIMIT ?",
        (*probe.keys, *then, probe.limit),
    )
    rows = cache.rows(np.array([n for (n,) in found], np.int64))
    return [int(row) for row in rows if allowed[row]]


def _rows_in_window(
    db: apsw.Connection | None, cache: VectorCache, probe: Probe, allowed: NDArray[np.bool_]
) -> list[int]:
    """The rows of messages and memories whose time is in the question's window, newest first."""
    if probe.window is None:
        return []
    found = read(db, _PARTS_IN_WINDOW, (*map(to_micros, probe.window), MAX_TIME_CANDIDATES))
    rows = cache.rows(np.array([n for n, _ in found], np.int64))
    return [int(row) for row in rows if allowed[row]][: probe.limit]


class FoundRows(NamedTuple):
    """What the channels of one search found."""

    postings: list[Posting]
    cosines: Floats | None
    by_meaning: Set[int]
    """The rows that are proposed by their cosines, which are exact."""
    channels: dict[str, Channel]


def _proposals(db: apsw.Connection | None, cache: VectorCache, probe: Probe, rows_found: FoundRows) -> Proposals:
    """The proposed items with their proposed parts, their neighbours, and the numbers of each part."""
    postings, cosines, by_meaning, channels = rows_found
    leading = {*chain.from_iterable(_leading_rows(ranks, probe.with_neighbours) for ranks in channels.values())}
    proposed = sorted({*chain(*channels.values()), *_neighbours(db, cache, probe, leading)})
    rows = _load_parts(db, cache, np.array(proposed, np.int64))
    found = cache.parts.found(rows)
    ranks_of: list[dict[str, int]] = [{} for _ in found.items]
    of_row = dict(zip(rows.tolist(), map(ranks_of.__getitem__, found.of.tolist()), strict=True))
    for name, channel in channels.items():
        for row, rank in channel.items():  # in order: the first rank of an item is its best
            ranks = of_row.get(row)
            if ranks is not None:
                ranks.setdefault(name, rank)
    if cosines is not None and cache.rescores_all:
        _rescore(db, cache, probe, cosines, rows[~np.isin(rows, list(by_meaning))])
    cosine = np.full(len(rows), np.nan) if cosines is None else cosines[rows].astype(float)
    return Proposals(
        items=found.items,
        channels=tuple(ranks_of),
        of=found.of,
        number=found.number,
        length=cache.length[rows].astype(float),
        counts=_word_counts(postings, rows),
        cosine=np.where(cosine == 0, np.nan, cosine),
        tokens=found.tokens,
        parts=len(cache),
        mean_length=cache.mean_length,
        frequency=tuple([frequency for _, _, frequency in postings]),
        agents=cache.agents(db) if probe.agents else (),
        known_columns=found.columns,
    )


def _leading_rows(ranks: Channel, last: int) -> Iterator[int]:
    """The rows up to this rank."""
    return takewhile(lambda row: ranks[row] <= last, ranks)


def _neighbours(db: apsw.Connection | None, cache: VectorCache, probe: Probe, rows: Set[int]) -> Iterator[int]:
    """The rows of the messages beside these. Those that the cache has are not read again."""
    known = cache.neighbours if probe.as_of is None else {}
    missing = [row for row in rows if row not in known]
    if missing:
        then = None if probe.as_of is None else to_micros(probe.as_of)
        found = read(db, _NEIGHBOURS, (_json_array(cache.n[missing]), NEIGHBOUR_DISTANCE, then))
        parts, others = map(parse_integers, found[0])
        beside = cache.rows(others)
        if len(beside) < len(others):  # some are of a newer write that the cache does not have yet
            parts = parts[np.isin(others, cache.n)]
        gathered: dict[int, list[int]] = {row: [] for row in missing}
        for row, other in zip(cache.rows(parts).tolist(), beside.tolist(), strict=True):
            gathered[row].append(other)
        known |= {row: tuple(others_of) for row, others_of in gathered.items()}
    return chain.from_iterable([known[row] for row in rows])


def _load_parts(db: apsw.Connection | None, cache: VectorCache, rows: Ints) -> Ints:
    """Read the details of the parts in these rows that the cache lacks. Returns the rows of those that exist."""
    missing = rows[~cache.parts.has(rows)]
    if not len(missing):
        return rows
    if len(cache.parts) > MAX_CACHED_PARTS:
        cache.forget_parts()
        missing = rows
    memory = cache.memory[missing]
    for statement, some in ((_PARTS_OF_MESSAGES, missing[~memory]), (_PARTS_OF_MEMORIES, missing[memory])):
        found = read(db, statement, (_json_array(cache.n[some]),)) if len(some) else []
        cache.parts.add(cache.rows(np.array([n for n, *_ in found], np.int64)), found)
    return rows[cache.parts.has(rows)]


def _word_counts(postings: list[Posting], rows: Ints) -> NDArray[np.float64]:
    """How often each word occurs in each of these rows."""
    counts = np.zeros((len(rows), len(postings)))
    for column, (having, times, _) in enumerate(postings):
        if len(having):
            at = np.minimum(having.searchsorted(rows), len(having) - 1)
            counts[:, column] = np.where(having[at] == rows, times[at], 0)
    return counts


def _json_array(parts: Ints) -> str:
    return f"[{','.join(map(str, parts.tolist()))}]"
