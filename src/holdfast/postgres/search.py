"""What every channel of one profile proposes for a probe, with the raw numbers. No score of PostgreSQL's is used."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..moments import micros
from ..types import MOST_AGENTS, Candidate, Floats, Probe, Proposals
from ..vectors import best, unpacked
from ..words import bm25_weights, decisive
from .base import Asked, Db, Row, gathered, query
from .nearby import SCANNED, SCANNING, ordering
from .seal import Seal
from .where import KNOWN_THEN, condition

RESCORED = 40
"""So many more than asked for are read by the database's own distance, since its half-precision may misplace a few."""
MOST_TIMELY = 5_000
NOTHING: Asked = ("SELECT 1 WHERE false", ())

# Each lookup is fenced (OFFSET 0) and takes its key from the one before: there is one order in which to run them, which
# no estimate of how many rows a profile has can change.
_TIMELY = """
SELECT part.n FROM (
  SELECT n, coalesce(said_at, created_at) AS at FROM message
   WHERE profile = %(p)s AND coalesce(said_at, created_at) >= %(start)s AND coalesce(said_at, created_at) < %(stop)s
  UNION ALL
  SELECT n, coalesce(occurred_at, created_at) FROM memory
   WHERE profile = %(p)s AND coalesce(occurred_at, created_at) >= %(start)s
     AND coalesce(occurred_at, created_at) < %(stop)s
) AS told, LATERAL (SELECT n FROM part WHERE profile = %(p)s AND item = told.n OFFSET 0) AS part
ORDER BY told.at DESC, part.n DESC LIMIT %(limit)s
"""
_NEIGHBOURS = """
SELECT DISTINCT beside.n FROM unnest(%(parts)s::bigint[]) AS wanted (n),
  LATERAL (SELECT item FROM part WHERE profile = %(p)s AND n = wanted.n OFFSET 0) AS part,
  LATERAL (SELECT session, position FROM message WHERE profile = %(p)s AND n = part.item OFFSET 0) AS said,
  LATERAL (VALUES (said.position - 1), (said.position), (said.position + 1)) AS near (position),
  LATERAL (SELECT n FROM message WHERE profile = %(p)s AND session = said.session AND position = near.position
            AND (%(then)s::bigint IS NULL OR created_at <= %(then)s) OFFSET 0) AS other,
  LATERAL (SELECT n FROM part WHERE profile = %(p)s AND item = other.n OFFSET 0) AS beside
"""
_ROWS = """
SELECT part.n, part.item, part.number, part.length, part.tokens, part.asks, part.memory,
       coalesce(message.id, memory.id), coalesce(message.session, memory.session), coalesce(message.position, -1),
       message.role, message.speaker,
       coalesce(message.said_at, message.created_at, memory.occurred_at, memory.created_at),
       CASE WHEN part.model = %(model)s THEN part.data END
  FROM unnest(%(parts)s::bigint[]) AS wanted (n),
  LATERAL (SELECT * FROM part WHERE profile = %(p)s AND n = wanted.n OFFSET 0) AS part
  LEFT JOIN LATERAL (SELECT * FROM message WHERE profile = %(p)s AND n = part.item OFFSET 0) AS message ON true
  LEFT JOIN LATERAL (SELECT * FROM memory WHERE profile = %(p)s AND n = part.item OFFSET 0) AS memory ON true
 ORDER BY part.n
"""


_AGENTS = """
WITH RECURSIVE known (agent) AS (
  (SELECT agent FROM {table} WHERE profile = %(p)s AND agent IS NOT NULL ORDER BY agent LIMIT 1)
  UNION ALL
  SELECT (SELECT agent FROM {table} WHERE profile = %(p)s AND agent > known.agent ORDER BY agent LIMIT 1)
    FROM known WHERE known.agent IS NOT NULL
) SELECT agent FROM known WHERE agent IS NOT NULL LIMIT %(limit)s
"""
_POSTINGS = """
SELECT wanted.n, held.word, held.times FROM unnest(%(parts)s::bigint[]) AS wanted (n),
  LATERAL (SELECT word, times FROM posting WHERE profile = %(p)s AND part = wanted.n OFFSET 0) AS held
 WHERE held.word = ANY(%(words)s::text[])
"""


@dataclass(frozen=True)
class Whole:
    """What the core's weights need to know of a profile."""

    parts: int
    mean: float
    frequency: tuple[int, ...]
    read: tuple[bool, ...]
    """Of which words the postings are read."""


@dataclass
class Search:
    """One probe of one profile."""

    db: Db
    profile: int
    probe: Probe
    seal: Seal
    giant: bool = False
    """Whether its vectors are searched through an index."""
    channels: dict[int, dict[str, int]] = field(default_factory=dict)
    """Part → channel → rank."""

    async def run(self) -> Proposals:
        """A few round trips: what each channel finds, what of it may be seen, and everything about that."""
        near = [await self._by_index()] if self.giant else []
        first = () if self.giant else (self._near(False),)
        *more, memories, counted, words, keyed, timely = await gathered(
            self.db, *first, self._near(True), self._counts(), self._words(), self._keyed(), self._timely()
        )
        (messages,) = near or more
        parts, length = counted[0] if counted else (0, 0)
        held: dict[str, int] = dict(words)
        frequency = tuple(held.get(mark, 0) for mark in self._marks())
        whole = Whole(parts, length / parts if parts else 0.0, frequency, decisive(frequency))
        named, told = [n for (n,) in keyed], [n for (n,) in timely]
        allowed = await self._allowed([*{*named, *told}])
        for memory in (False, True):
            channel = "words" if memory else "messages"
            self._offer(channel, await self._by_words(memory, whole))
        self._by_meaning(False, messages)
        self._by_meaning(True, memories)
        self._offer("key", [part for part in named if part in allowed])
        self._offer("time", [part for part in told if part in allowed][: self.probe.limit])
        leading = [part for part, ranks in self.channels.items() if min(ranks.values()) <= self.probe.with_neighbours]
        then = None if self.probe.as_of is None else micros(self.probe.as_of)
        beside = await query(self.db, _NEIGHBOURS, {"p": self.profile, "parts": leading, "then": then})
        wanted = sorted({*self.channels, *(n for (n,) in beside)})
        decided = [mark for mark, read in zip(self._marks(), whole.read, strict=True) if read]
        bound = {"p": self.profile, "parts": wanted, "model": self.probe.model, "words": decided}
        found, postings, *writers = await gathered(self.db, (_ROWS, bound), (_POSTINGS, bound), *self._agents())
        agents = sorted({agent for rows in writers for (agent,) in rows})
        return replace(self._measured(found, postings, whole), agents=tuple(agents))

    def _agents(self) -> list[Asked]:
        """Who wrote anything: one lookup for each, however much they wrote."""
        bound = {"p": self.profile, "limit": MOST_AGENTS}
        return [(_AGENTS.format(table=table), bound) for table in ("message", "memory") if self.probe.agents]

    def _marks(self) -> list[str]:
        return [self.seal.mark(word) for word in self.probe.words]

    def _counts(self) -> Asked:
        return "SELECT parts, words FROM profile WHERE id = %s", (self.profile,)

    def _words(self) -> Asked:
        """In how many parts each word occurs."""
        return (
            "SELECT mark, (SELECT count(*) FROM posting WHERE profile = %s AND word = mark) "
            "FROM unnest(%s::text[]) AS asked (mark)",
            (self.profile, self._marks()),
        )

    async def _by_words(self, memory: bool, whole: Whole) -> list[int]:
        """The best by the core's own weights. Few are superseded or filtered away: some more than wanted will do."""
        most = self._most(memory)
        if not most or not any(whole.frequency):
            return []
        for reach in (most * 4 + RESCORED, None):
            statement, bound = self._weighted(memory, whole, reach)
            found = await query(self.db, statement, bound)
            if len(found) >= most or not found or reach is None or found[0][1] < reach:
                break
        return [n for n, _ in found[:most] if n is not None]

    def _weighted(self, memory: bool, whole: Whole, reach: int | None) -> Asked:
        """(part, how many there were), best first."""
        seen, bound = self._seen(memory) if self._narrowed(memory) else ("", [])
        marks = [mark for mark, read in zip(self._marks(), whole.read, strict=True) if read]
        every = bm25_weights(whole.frequency, whole.parts)
        weights = [weight for weight, read in zip(every, whole.read, strict=True) if read]
        return (
            "WITH best AS MATERIALIZED ("
            "  SELECT part, sum(weight * times * 2.2 / "
            "         (times + 1.2::float8 * (0.25::float8 + 0.75::float8 * length / %s::float8))) AS score"
            "    FROM unnest(%s::text[], %s::float8[]) AS asked (mark, weight), LATERAL (SELECT part, times, length "
            "         FROM posting WHERE profile = %s AND word = mark AND memory = %s OFFSET 0) AS held"
            "   GROUP BY part ORDER BY score DESC, part LIMIT %s"
            ") SELECT part.n, (SELECT count(*) FROM best) FROM best, LATERAL "
            f"(SELECT n, item FROM part WHERE profile = %s AND n = best.part AND {self._live} OFFSET 0) AS part "
            f"{seen} ORDER BY best.score DESC, part.n",
            (max(whole.mean, 1.0), marks, weights, self.profile, memory, reach, self.profile, *bound),
        )

    async def _by_index(self) -> list[Row]:
        await self.db.execute(SCANNING)
        (found,) = await gathered(self.db, self._near(False))
        await self.db.execute(SCANNED)
        return found

    def _near(self, memory: bool) -> Asked:
        """The nearest by the database's own distance, some more than are wanted."""
        if self.probe.vector is None:
            return NOTHING
        near = "[" + ",".join([f"{value:.6g}" for value in self.probe.vector.tolist()]) + "]"
        seen, bound = self._seen(memory) if self._narrowed(memory) else ("", [])
        column, mine = ordering(self.profile, self.probe.model, memory, self.giant and not memory)
        return (
            f"SELECT part.n, part.data FROM part {seen} WHERE {mine} AND {self._live} "
            f"ORDER BY {column} <#> %s::halfvec LIMIT %s",
            (*bound, near, self._most(memory) + RESCORED),
        )

    def _by_meaning(self, memory: bool, found: list[Row]) -> None:
        if self.probe.vector is not None:
            found.sort()
            cosines = _cosines([data for _, data in found], self.probe.vector)
            near_at_all = np.flatnonzero(cosines)
            top = near_at_all[best(cosines[near_at_all], self._most(memory))]
            self._offer("meaning" if memory else "messages", [found[at][0] for at in top])

    def _most(self, memory: bool) -> int:
        return self.probe.memories if memory else self.probe.limit

    @property
    def _live(self) -> str:
        """Which parts count: those of what is current, or all when the past is asked, which `_seen` tells apart."""
        return "part.live" if self.probe.as_of is None else "true"

    def _narrowed(self, memory: bool) -> bool:
        return memory or self.probe.where is not None or self.probe.as_of is not None

    def _seen(self, memory: bool) -> tuple[str, list[Any]]:
        """What to join a part with, so that only those are left whose item passes the filter and has not expired."""
        table = "memory" if memory else "message"
        sql, bound = condition(self.probe.where, table, self.seal.mark)
        fresh, at = ("AND (expires_at IS NULL OR expires_at > %s)", [micros(self.probe.now)]) if memory else ("", [])
        if self.probe.as_of is not None:
            then = micros(self.probe.as_of)
            fresh += f" AND {KNOWN_THEN}" if memory else " AND message.created_at <= %s"
            at += [then, then] if memory else [then]
        return (
            f"CROSS JOIN LATERAL (SELECT 1 FROM {table} WHERE {table}.profile = %s AND {table}.n = part.item {fresh} "
            f"AND {sql} OFFSET 0) AS seen",
            [self.profile, *at, *bound],
        )

    async def _allowed(self, parts: list[int]) -> dict[int, bool]:
        """Those that are live and pass the filter, and whether each is a memory's."""
        statements: list[Asked] = []
        for memory in (False, True):
            seen, bound = self._seen(memory)
            statements.append((
                "SELECT part.n FROM unnest(%s::bigint[]) AS wanted (n), LATERAL "
                f"(SELECT n, item FROM part WHERE profile = %s AND part.n = wanted.n AND {self._live} OFFSET 0) "
                f"AS part {seen}",
                (parts, self.profile, *bound),
            ))  # fmt: skip
        messages, memories = await gathered(self.db, *statements) if parts else ([], [])
        return {n: False for (n,) in messages} | {n: True for (n,) in memories}

    def _keyed(self) -> Asked:
        if not self.probe.keys:
            return NOTHING
        then = [] if self.probe.as_of is None else [micros(self.probe.as_of)] * 2
        current = KNOWN_THEN if then else "memory.superseded_by IS NULL"
        return (
            "SELECT part.n FROM memory, "
            "LATERAL (SELECT n FROM part WHERE profile = %s AND item = memory.n OFFSET 0) AS part "
            f"WHERE memory.profile = %s AND memory.key = ANY(%s) AND {current} "
            "ORDER BY memory.n DESC LIMIT %s",
            (self.profile, self.profile, list(self.probe.keys), *then, self.probe.limit),
        )

    def _timely(self) -> Asked:
        """What was said or happened in the question's window, newest first."""
        if self.probe.window is None:
            return NOTHING
        start, stop = map(micros, self.probe.window)
        return _TIMELY, {"p": self.profile, "start": start, "stop": stop, "limit": MOST_TIMELY}

    def _offer(self, channel: str, parts: Iterable[int]) -> None:
        for rank, part in enumerate(parts, 1):
            ranks = self.channels.setdefault(part, {})
            ranks[channel] = min(rank, ranks.get(channel, rank))

    def _measured(self, found: list[Row], postings: list[Row], whole: Whole) -> Proposals:
        items: dict[int, Candidate] = {}
        reached: dict[int, dict[str, int]] = {}
        for n, item, _, _, _, asks, memory, id, session, position, role, speaker, at, _ in found:
            items.setdefault(item, Candidate(id, memory, session, position, role, speaker, bool(asks), at))
            ranks = reached.setdefault(item, {})
            for channel, rank in self.channels.get(n, {}).items():
                ranks[channel] = min(rank, ranks.get(channel, rank))
        places = {item: place for place, item in enumerate(items)}
        rows = {row[0]: n for n, row in enumerate(found)}
        columns = {mark: n for n, mark in enumerate(self._marks())}
        counts = np.zeros((len(found), len(columns)))
        for part, mark, times in postings:
            counts[rows[part], columns[mark]] = times
        return Proposals(
            items=tuple(items.values()),
            channels=tuple(reached.values()),
            of=np.array([places[row[1]] for row in found], np.int64),
            number=np.array([row[2] for row in found], np.int64),
            length=np.array([row[3] for row in found], float),
            counts=counts,
            cosine=self._all_cosines([row[-1] for row in found]),
            tokens=tuple(self.seal.open(row[4]) for row in found),
            parts=whole.parts,
            mean_length=whole.mean,
            frequency=whole.frequency,
        )

    def _all_cosines(self, data: list[bytes | None]) -> Any:
        cosine = np.full(len(data), np.nan)
        having = [n for n, each in enumerate(data) if each is not None]
        if self.probe.vector is not None and having:
            cosine[having] = _cosines([bytes(data[n] or b"") for n in having], self.probe.vector)
        return np.where(cosine == 0, np.nan, cosine)


def _cosines(data: list[bytes], vector: Floats) -> Floats:
    if not data:
        return np.zeros(0, np.float32)
    values = unpacked([bytes(each) for each in data])
    return (
        np.asarray(values @ vector, np.float32) if values.shape[1] == len(vector) else np.zeros(len(data), np.float32)
    )
