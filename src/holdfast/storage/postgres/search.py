"""Finds what every channel of one profile proposes for a probe, with the raw numbers. PostgreSQL's scores are not
used."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from holdfast.domain.ports.search import MAX_AGENTS, Candidate, Probe, Proposals
from holdfast.domain.timestamps import to_micros
from holdfast.domain.types import Floats
from holdfast.domain.vectors import best_rows, matrix_product, vector_of_bytes
from holdfast.storage.postgres.connections import NO_ROWS, BoundStatement, Db, Row, query, run_pipeline
from holdfast.storage.postgres.encryption import ProfileCipher
from holdfast.storage.postgres.vectors import BEGIN_INDEX_SCAN, END_INDEX_SCAN, distance_ordering
from holdfast.storage.postgres.where import KNOWN_AT, exact_condition
from holdfast.storage.where import Sql
from holdfast.text.tokens import bm25_weights, selective_words

EXTRA_CANDIDATES = 40
"""How many more than wanted are read by the database's own distance, since half precision may misorder a few. Chosen
by hand; not measured."""
MAX_TIME_CANDIDATES = 5_000
"""How many parts of a time window are considered. Chosen by hand; not measured."""

# Each lookup is an optimisation fence (OFFSET 0) and takes its key from the one before. So there is only one order in
# which to run them, whatever the planner estimates.
_PARTS_IN_WINDOW = """
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
_PART_ROWS = """
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
SELECT held.part, asked.word, held.times
  FROM unnest(%(words)s::text[]) AS asked (word), (VALUES (false), (true)) AS of (memory),
  LATERAL (SELECT part, times FROM posting
            WHERE profile = %(p)s AND word = asked.word AND memory = of.memory AND part = ANY(%(parts)s::bigint[])
            OFFSET 0) AS held
"""


def agent_statements(profile: int) -> list[BoundStatement]:
    """Statements for the agents that wrote anything; one index lookup per agent, however much it wrote."""
    return [(_AGENTS.format(table=table), {"p": profile, "limit": MAX_AGENTS}) for table in ("message", "memory")]


@dataclass(frozen=True)
class CorpusStatistics:
    """The statistics of a profile that BM25 needs."""

    parts: int
    mean: float
    frequency: tuple[int, ...]
    read: tuple[bool, ...]
    """Whether the postings of each word are read."""


@dataclass
class PostgresSearch:
    """The search of one profile for one probe."""

    db: Db
    profile: int
    probe: Probe
    cipher: ProfileCipher
    indexed: bool = False
    """Whether the profile's vectors are searched through its HNSW index."""
    channels: dict[int, dict[str, int]] = field(default_factory=dict)
    """Part → channel → rank."""
    conditions: dict[str, Sql] = field(default_factory=dict)
    """Table → the condition on its items that pass the filter."""

    async def run(self) -> Proposals:
        """Run the search in a few round trips: find by each channel, filter, and load the details."""
        for table in ("message", "memory"):
            self.conditions[table] = await exact_condition(self.db, self.profile, self.cipher, self.probe.where, table)
        near = [await self._find_by_index()] if self.indexed else []
        *more, memories, counted, words, keyed, timely = await run_pipeline(
            self.db,
            *(() if near else (self._distance_statement(False),)),
            self._distance_statement(True),
            self._count_statement(),
            self._frequency_statement(),
            self._key_statement(),
            self._time_statement(),
        )
        (messages,) = near or more
        parts, length = counted[0] if counted else (0, 0)
        counts: dict[str, int] = dict(words)
        frequency = tuple(counts.get(mark, 0) for mark in self._word_hashes())
        statistics = CorpusStatistics(parts, length / parts if parts else 0.0, frequency, selective_words(frequency))
        by_key, by_time = [n for (n,) in keyed], [n for (n,) in timely]
        allowed = await self._find_allowed([*{*by_key, *by_time}])
        for memory, found_by_words in (await self._find_by_words(statistics)).items():
            self._add_ranks("words" if memory else "messages", found_by_words)
        self._rank_by_distance(False, messages)
        self._rank_by_distance(True, memories)
        self._add_ranks("key", [part for part in by_key if part in allowed])
        self._add_ranks("time", [part for part in by_time if part in allowed][: self.probe.limit])
        leading = [part for part, ranks in self.channels.items() if min(ranks.values()) <= self.probe.with_neighbours]
        then = None if self.probe.as_of is None else to_micros(self.probe.as_of)
        neighbours = await query(self.db, _NEIGHBOURS, {"p": self.profile, "parts": leading, "then": then})
        wanted = sorted({*self.channels, *(n for (n,) in neighbours)})
        decided = [mark for mark, read in zip(self._word_hashes(), statistics.read, strict=True) if read]
        bound = {"p": self.profile, "parts": wanted, "model": self.probe.model, "words": decided}
        found, postings, *writers = await run_pipeline(
            self.db,
            (_PART_ROWS, bound),
            (_POSTINGS, bound),
            *(agent_statements(self.profile) if self.probe.agents else ()),
        )
        agents = sorted({agent for rows in writers for (agent,) in rows})
        return replace(self._proposals(found, postings, statistics), agents=tuple(agents))

    def _word_hashes(self) -> list[str]:
        return [self.cipher.keyed_hash(word) for word in self.probe.words]

    def _count_statement(self) -> BoundStatement:
        return "SELECT parts, words FROM profile WHERE id = %s", (self.profile,)

    def _frequency_statement(self) -> BoundStatement:
        """A statement for the number of parts each word occurs in."""
        return (
            "SELECT mark, (SELECT count(*) FROM posting WHERE profile = %s AND word = mark) "
            "FROM unnest(%s::text[]) AS asked (mark)",
            (self.profile, self._word_hashes()),
        )

    async def _find_by_words(self, statistics: CorpusStatistics) -> dict[bool, list[int]]:
        """The best parts of messages and of memories by BM25. Few are superseded or filtered out, so it first reads
        only some more than wanted."""
        wanted = {memory: self._wanted(memory) for memory in (False, True) if self._wanted(memory)}
        if not wanted or not any(statistics.frequency):
            return {}
        limits = {memory: most * 4 + EXTRA_CANDIDATES for memory, most in wanted.items()}
        first = await run_pipeline(
            self.db, *(self._bm25_statement(memory, statistics, limit) for memory, limit in limits.items())
        )
        ranked: dict[bool, list[int]] = {}
        for (memory, most), rows in zip(wanted.items(), first, strict=True):
            if rows and len(rows) < most and rows[0][1] >= limits[memory]:
                (rows,) = await run_pipeline(self.db, self._bm25_statement(memory, statistics, None))
            ranked[memory] = [n for n, _ in rows[:most] if n is not None]
        return ranked

    def _bm25_statement(self, memory: bool, statistics: CorpusStatistics, limit: int | None) -> BoundStatement:
        """A statement for (part, number of candidates), best first."""
        join, bound = self._visibility_join(memory) if self._is_filtered(memory) else ("", [])
        marks = [mark for mark, read in zip(self._word_hashes(), statistics.read, strict=True) if read]
        every = bm25_weights(statistics.frequency, statistics.parts)
        weights = [weight for weight, read in zip(every, statistics.read, strict=True) if read]
        return (
            "WITH best AS MATERIALIZED ("
            "  SELECT part, sum(weight * times * 2.2 / "
            "         (times + 1.2::float8 * (0.25::float8 + 0.75::float8 * length / %s::float8))) AS score"
            "    FROM unnest(%s::text[], %s::float8[]) AS asked (mark, weight), LATERAL (SELECT part, times, length "
            "         FROM posting WHERE profile = %s AND word = mark AND memory = %s OFFSET 0) AS held"
            "   GROUP BY part ORDER BY score DESC, part LIMIT %s"
            ") SELECT part.n, (SELECT count(*) FROM best) FROM best, LATERAL "
            f"(SELECT n, item FROM part WHERE profile = %s AND n = best.part AND {self._live} OFFSET 0) AS part "
            f"{join} ORDER BY best.score DESC, part.n",
            (max(statistics.mean, 1.0), marks, weights, self.profile, memory, limit, self.profile, *bound),
        )

    async def _find_by_index(self) -> list[Row]:
        await self.db.execute(BEGIN_INDEX_SCAN)
        (found,) = await run_pipeline(self.db, self._distance_statement(False))
        await self.db.execute(END_INDEX_SCAN)
        return found

    def _distance_statement(self, memory: bool) -> BoundStatement:
        """A statement for the nearest parts by the database's own distance, some more than wanted."""
        if self.probe.vector is None:
            return NO_ROWS
        near = "[" + ",".join([f"{value:.6g}" for value in self.probe.vector.tolist()]) + "]"
        join, bound = self._visibility_join(memory) if self._is_filtered(memory) else ("", [])
        column, mine = distance_ordering(self.profile, self.probe.model, memory, self.indexed and not memory)
        return (
            f"SELECT part.n, part.data FROM part {join} WHERE {mine} AND {self._live} "
            f"ORDER BY {column} <#> %s::halfvec LIMIT %s",
            (*bound, near, self._wanted(memory) + EXTRA_CANDIDATES),
        )

    def _rank_by_distance(self, memory: bool, found: list[Row]) -> None:
        if self.probe.vector is not None:
            found.sort()
            cosines = _cosines([data for _, data in found], self.probe.vector)
            near_at_all = np.flatnonzero(cosines)
            top = near_at_all[best_rows(cosines[near_at_all], self._wanted(memory))]
            self._add_ranks("meaning" if memory else "messages", [found[at][0] for at in top])

    def _wanted(self, memory: bool) -> int:
        return self.probe.memories if memory else self.probe.limit

    @property
    def _live(self) -> str:
        """The condition on parts: current ones, or all for a past moment, which `_visibility_join` then filters."""
        return "part.live" if self.probe.as_of is None else "true"

    def _is_filtered(self, memory: bool) -> bool:
        return memory or self.probe.where is not None or self.probe.as_of is not None

    def _visibility_join(self, memory: bool) -> tuple[str, list[Any]]:
        """A join that leaves only parts whose item passes the filter and has not expired, with its parameters."""
        table = "memory" if memory else "message"
        sql, bound = self.conditions[table]
        fresh, at = ("AND (expires_at IS NULL OR expires_at > %s)", [to_micros(self.probe.now)]) if memory else ("", [])
        if self.probe.as_of is not None:
            then = to_micros(self.probe.as_of)
            fresh += f" AND {KNOWN_AT}" if memory else " AND message.created_at <= %s"
            at += [then, then] if memory else [then]
        return (
            f"CROSS JOIN LATERAL (SELECT 1 FROM {table} WHERE {table}.profile = %s AND {table}.n = part.item {fresh} "
            f"AND {sql} OFFSET 0) AS seen",
            [self.profile, *at, *bound],
        )

    async def _find_allowed(self, parts: list[int]) -> dict[int, bool]:
        """The parts that are live and pass the filter → whether each belongs to a memory."""
        statements: list[BoundStatement] = []
        for memory in (False, True):
            join, bound = self._visibility_join(memory)
            statements.append((
                "SELECT part.n FROM unnest(%s::bigint[]) AS wanted (n), LATERAL "
                f"(SELECT n, item FROM part WHERE profile = %s AND part.n = wanted.n AND {self._live} OFFSET 0) "
                f"AS part {join}",
                (parts, self.profile, *bound),
            ))  # fmt: skip
        messages, memories = await run_pipeline(self.db, *statements) if parts else ([], [])
        return {n: False for (n,) in messages} | {n: True for (n,) in memories}

    def _key_statement(self) -> BoundStatement:
        if not self.probe.keys:
            return NO_ROWS
        then = [] if self.probe.as_of is None else [to_micros(self.probe.as_of)] * 2
        current = KNOWN_AT if then else "memory.superseded_by IS NULL"
        return (
            "SELECT part.n FROM memory, "
            "LATERAL (SELECT n FROM part WHERE profile = %s AND item = memory.n OFFSET 0) AS part "
            f"WHERE memory.profile = %s AND memory.key = ANY(%s) AND {current} "
            "ORDER BY memory.n DESC LIMIT %s",
            (self.profile, self.profile, list(self.probe.keys), *then, self.probe.limit),
        )

    def _time_statement(self) -> BoundStatement:
        """A statement for messages and memories whose time is in the question's window, newest first."""
        if self.probe.window is None:
            return NO_ROWS
        start, stop = map(to_micros, self.probe.window)
        return _PARTS_IN_WINDOW, {"p": self.profile, "start": start, "stop": stop, "limit": MAX_TIME_CANDIDATES}

    def _add_ranks(self, channel: str, parts: Iterable[int]) -> None:
        for rank, part in enumerate(parts, 1):
            ranks = self.channels.setdefault(part, {})
            ranks[channel] = min(rank, ranks.get(channel, rank))

    def _proposals(self, found: list[Row], postings: list[Row], statistics: CorpusStatistics) -> Proposals:
        items: dict[int, Candidate] = {}
        item_ranks: dict[int, dict[str, int]] = {}
        for n, item, _, _, _, asks, memory, id, session, position, role, speaker, at, _ in found:
            items.setdefault(item, Candidate(id, memory, session, position, role, speaker, bool(asks), at))
            ranks = item_ranks.setdefault(item, {})
            for channel, rank in self.channels.get(n, {}).items():
                ranks[channel] = min(rank, ranks.get(channel, rank))
        places = {item: place for place, item in enumerate(items)}
        rows = {row[0]: n for n, row in enumerate(found)}
        columns = {mark: n for n, mark in enumerate(self._word_hashes())}
        counts = np.zeros((len(found), len(columns)))
        for part, mark, times in postings:
            counts[rows[part], columns[mark]] = times
        return Proposals(
            items=tuple(items.values()),
            channels=tuple(item_ranks.values()),
            of=np.array([places[row[1]] for row in found], np.int64),
            number=np.array([row[2] for row in found], np.int64),
            length=np.array([row[3] for row in found], float),
            counts=counts,
            cosine=self._all_cosines([row[-1] for row in found]),
            tokens=tuple(self.cipher.decrypt(row[4]) for row in found),
            parts=statistics.parts,
            mean_length=statistics.mean,
            frequency=statistics.frequency,
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
    values = vector_of_bytes([bytes(each) for each in data])
    return (
        np.asarray(matrix_product(values, vector), np.float32)
        if values.shape[1] == len(vector)
        else np.zeros(len(data), np.float32)
    )
