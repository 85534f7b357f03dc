"""What every channel of one file proposes for a probe, with the raw numbers. No score of SQLite's own is used."""

from __future__ import annotations

from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from ..moments import micros
from ..types import MOST_AGENTS, Candidate, Floats, Ints, Probe, Proposals
from ..vectors import best, unpacked
from ..words import bm25, decisive
from .board import Board, Told, ints
from .file import query
from .where import KNOWN_THEN, condition

REACH = 1
"""How many messages before and after a proposed one come along as context."""
READ_AT_ONCE = 20_000
"""Up to so many parts, counting postings costs more than reading them."""
RESCORED = 200
MOST_TIMELY = 5_000
MOST_TOLD = 20_000

_ROWS = """
SELECT part.n, part.item, part.number, part.tokens, part.asks, message.id, message.session, message.position,
       message.role, message.speaker, coalesce(message.said_at, message.created_at)
  FROM part JOIN message ON message.n = part.item WHERE part.n IN (SELECT value FROM json_each(?1))
UNION ALL
SELECT part.n, part.item, part.number, part.tokens, part.asks, memory.id, memory.session, -1, NULL, NULL,
       coalesce(memory.occurred_at, memory.created_at)
  FROM part JOIN memory ON memory.n = -part.item WHERE part.n IN (SELECT value FROM json_each(?1))
"""
_TIMELY = """
SELECT part.n, coalesce(said_at, created_at) AS at FROM message JOIN part ON part.item = message.n
 WHERE coalesce(said_at, created_at) >= ?1 AND coalesce(said_at, created_at) < ?2
UNION ALL
SELECT part.n, coalesce(occurred_at, created_at) AS at FROM memory JOIN part ON part.item = -memory.n
 WHERE coalesce(occurred_at, created_at) >= ?1 AND coalesce(occurred_at, created_at) < ?2
ORDER BY 2 DESC, 1 DESC LIMIT ?3
"""
_NEIGHBOURS = """
SELECT group_concat(DISTINCT beside.n)
  FROM part JOIN message ON message.n = part.item
  JOIN message AS other ON other.session = message.session
   AND other.position BETWEEN message.position - ?2 AND message.position + ?2 AND (?3 IS NULL OR other.created_at <= ?3)
  JOIN part AS beside ON beside.item = other.n
 WHERE part.n IN (SELECT value FROM json_each(?1))
"""
_AGENTS = """
WITH RECURSIVE known (agent) AS (
  SELECT min(agent) FROM {table}
  UNION ALL SELECT (SELECT min(agent) FROM {table} WHERE agent > known.agent) FROM known WHERE known.agent IS NOT NULL
) SELECT agent FROM known WHERE agent IS NOT NULL LIMIT ?
"""

Posting = tuple[Ints, NDArray[np.float64], int]


def propose(db: apsw.Connection, board: Board, probe: Probe) -> Proposals:
    allowed = _allowed(db, board, probe)
    postings = _postings(db, board, probe.words)
    cosines = None if probe.vector is None else board.cosines(probe.vector)
    channels: dict[int, dict[str, int]] = {}
    weight = np.zeros(len(board))
    for rows, times, frequency in postings:
        length = board.length[rows].astype(float)
        weight[rows] += bm25(times[:, None], length, [frequency], len(board), board.mean_length)[:, 0]
    rows = np.flatnonzero((weight > 0) & allowed)
    _offer(channels, board, rows, weight[rows], "words", probe)
    if cosines is not None:
        rows = np.flatnonzero(allowed & (cosines != 0))
        if not board.exact:
            cosines = _rescored(db, board, probe, cosines, rows)
        _offer(channels, board, rows, cosines[rows], "meaning", probe)
    for name, found in (("key", _keyed(db, board, probe, allowed)), ("time", _timely(db, board, probe, allowed))):
        for rank, row in enumerate(found, 1):
            channels.setdefault(row, {})[name] = rank
    return _measured(db, board, probe, postings, cosines, channels)


def _offer(
    channels: dict[int, dict[str, int]], board: Board, rows: Ints, scores: NDArray[Any], name: str, probe: Probe
) -> None:
    """Memories and messages are proposed apart, so that neither crowds out the other."""
    for memory in (0, 1):
        mine = np.flatnonzero(board.memory[rows] == memory)
        top = best(scores[mine], probe.memories if memory else probe.limit)
        channel = name if memory else "messages"
        for rank, row in enumerate(rows[mine[top]].tolist(), 1):
            ranks = channels.setdefault(row, {})
            ranks[channel] = min(rank, ranks.get(channel, rank))


def _allowed(db: apsw.Connection, board: Board, probe: Probe) -> NDArray[np.bool_]:
    live = board.live == 1 if probe.as_of is None else _known_then(db, board, micros(probe.as_of))
    gone = query(
        db,
        "SELECT group_concat(part.n) FROM memory JOIN part ON part.item = -memory.n WHERE memory.expires_at <= ?",
        (micros(probe.now),),
    )[0][0]
    if gone is not None:
        live[board.rows(ints(gone))] = False
    if probe.where is None:
        return live
    mask = np.zeros(len(board), bool)
    for table, sign in (("message", ""), ("memory", "-")):
        sql, bound = condition(probe.where, table)
        found = query(
            db, f"SELECT group_concat(part.n) FROM {table} JOIN part ON part.item = {sign}{table}.n WHERE {sql}", bound
        )[0][0]
        mask[board.rows(ints(found))] = True
    live &= mask
    return live


def _known_then(db: apsw.Connection, board: Board, then: int) -> NDArray[np.bool_]:
    """What had arrived or was written by then, and was not superseded by then."""
    mask = np.zeros(len(board), bool)
    joined = "SELECT group_concat(part.n) FROM {} JOIN part ON part.item = {}.n WHERE "
    for found in (
        query(db, joined.format("message", "message") + "message.created_at <= ?", (then,)),
        query(db, joined.format("memory", "-memory") + KNOWN_THEN, (then, then)),
    ):
        mask[board.rows(ints(found[0][0]))] = True
    return mask


def _postings(db: apsw.Connection, board: Board, words: tuple[str, ...]) -> list[Posting]:
    """Of each word: the rows it occurs in, how often in each, and in how many parts in all."""
    held = {word: _places(db, word) for word in words} if len(board) <= READ_AT_ONCE else {}
    known = {word: len(parts) for word, (parts, _) in held.items() if len(parts)} or _frequencies(db, words)
    found: dict[str, Posting] = {}
    read = decisive([known.get(word, 0) for word in words])
    for word in (word for word, wanted in zip(words, read, strict=True) if wanted):
        parts, times = held[word] if held else _places(db, word)
        here = np.isin(parts, board.n, assume_unique=True) if len(parts) and parts[-1] > board.n[-1] else slice(None)
        found[word] = board.rows(parts), times[here].astype(float), known[word]
    nowhere = np.zeros(0, np.int64)
    return [found.get(word, (nowhere, nowhere.astype(float), known.get(word, 0))) for word in words]


def _places(db: apsw.Connection, word: str) -> tuple[Ints, Ints]:
    """The parts that a word occurs in, and how often in each."""
    places = query(db, "SELECT group_concat(doc) FROM word_place WHERE term = ?", (word,))[0][0]
    parts, times = np.unique(ints(places), return_counts=True)
    return parts, times


def _frequencies(db: apsw.Connection, words: tuple[str, ...]) -> dict[str, int]:
    """In how many parts each word occurs: for a large profile, to choose by which postings to read."""
    marks = ", ".join("?" * len(words))
    return dict(query(db, f"SELECT term, doc FROM word_count WHERE term IN ({marks})", words))


def _rescored(db: apsw.Connection, board: Board, probe: Probe, cosines: Floats, rows: Ints) -> Floats:
    """Exact cosines for the best of an approximate scan."""
    for memory in (0, 1):
        mine = rows[board.memory[rows] == memory]
        top = mine[best(cosines[mine], RESCORED)]
        parts = _listed(board.n[top])
        stored = query(
            db,
            "SELECT part, data FROM vector WHERE model = ? AND part IN (SELECT value FROM json_each(?)) ORDER BY part",
            (board.model, parts),
        )
        if stored and probe.vector is not None:
            at = np.searchsorted(board.n, np.array([part for part, _ in stored]))
            cosines[at] = unpacked([data for _, data in stored]) @ probe.vector
    return cosines


def _keyed(db: apsw.Connection, board: Board, probe: Probe, allowed: NDArray[np.bool_]) -> list[int]:
    if not probe.keys:
        return []
    then = [] if probe.as_of is None else [micros(probe.as_of)] * 2
    current = KNOWN_THEN if then else "memory.superseded_by IS NULL"
    found = query(
        db,
        f"SELECT part.n FROM memory JOIN part ON part.item = -memory.n WHERE memory.key IN "
        f"({', '.join('?' * len(probe.keys))}) AND {current} ORDER BY memory.n DESC LIMIT ?",
        (*probe.keys, *then, probe.limit),
    )
    rows = board.rows(np.array([n for (n,) in found], np.int64))
    return [int(row) for row in rows if allowed[row]]


def _timely(db: apsw.Connection, board: Board, probe: Probe, allowed: NDArray[np.bool_]) -> list[int]:
    """What was said or happened in the question's window, newest first."""
    if probe.window is None:
        return []
    found = query(db, _TIMELY, (*map(micros, probe.window), MOST_TIMELY))
    rows = board.rows(np.array([n for n, _ in found], np.int64))
    return [int(row) for row in rows if allowed[row]][: probe.limit]


def _measured(
    db: apsw.Connection,
    board: Board,
    probe: Probe,
    postings: list[Posting],
    cosines: Floats | None,
    channels: dict[int, dict[str, int]],
) -> Proposals:
    """The proposed items with all their proposed parts, their neighbours, and the numbers of each."""
    proposed = board.n[list(channels)] if channels else board.n[:0]
    leading = [row for row, ranks in channels.items() if min(ranks.values()) <= probe.with_neighbours]
    then = None if probe.as_of is None else micros(probe.as_of)
    beside = ints(query(db, _NEIGHBOURS, (_listed(board.n[leading]) if leading else "[]", REACH, then))[0][0])
    wanted = np.union1d(proposed, board.n[board.rows(beside)])
    found = _told(db, board, wanted)
    rows = np.searchsorted(board.n, np.array(list(found), np.int64))
    items: dict[int, Candidate] = {}
    reached: dict[int, dict[str, int]] = {}
    for row, part in zip(rows.tolist(), found.values(), strict=True):
        items.setdefault(part.item, part.about)
        ranks = reached.setdefault(part.item, {})
        for channel, rank in channels.get(row, {}).items():
            ranks[channel] = min(rank, ranks.get(channel, rank))
    places = {item: place for place, item in enumerate(items)}
    cosine = np.full(len(rows), np.nan) if cosines is None else cosines[rows].astype(float)
    return Proposals(
        items=tuple(items.values()),
        channels=tuple(reached.values()),
        of=np.array([places[part.item] for part in found.values()], np.int64),
        number=np.array([part.number for part in found.values()], np.int64),
        length=board.length[rows].astype(float),
        counts=_counts(postings, rows),
        cosine=np.where(cosine == 0, np.nan, cosine),
        tokens=tuple(part.tokens for part in found.values()),
        parts=len(board),
        mean_length=board.mean_length,
        frequency=tuple(frequency for _, _, frequency in postings),
        agents=_agents(db) if probe.agents else (),
    )


def _agents(db: apsw.Connection) -> tuple[str, ...]:
    """One lookup for each, however much they wrote."""
    found = [row for table in ("message", "memory") for row in query(db, _AGENTS.format(table=table), (MOST_AGENTS,))]
    return tuple(sorted({agent for (agent,) in found}))


def _told(db: apsw.Connection, board: Board, parts: Ints) -> dict[int, Told]:
    """What _ROWS tells of these parts, in order, read only once."""
    listed: list[int] = parts.tolist()
    missing = [n for n in listed if n not in board.told]
    if missing:
        if len(board.told) > MOST_TOLD:
            board.told.clear()
            missing = listed
        for n, item, number, tokens, asks, *about, at in query(db, _ROWS, (_listed(np.array(missing)),)):
            id, session, position, role, speaker = about
            known = Candidate(id, item < 0, session, position, role, speaker, bool(asks), at)
            board.told[n] = Told(item, number, tokens, known)
    return {n: told for n in listed if (told := board.told.get(n)) is not None}


def _counts(postings: list[Posting], rows: Ints) -> NDArray[np.float64]:
    """How often each word occurs in each of these rows."""
    counts = np.zeros((len(rows), len(postings)))
    for column, (having, times, _) in enumerate(postings):
        if len(having):
            at = np.minimum(np.searchsorted(having, rows), len(having) - 1)
            counts[:, column] = np.where(having[at] == rows, times[at], 0)
    return counts


def _listed(parts: Ints) -> str:
    return f"[{','.join(map(str, parts.tolist()))}]"
