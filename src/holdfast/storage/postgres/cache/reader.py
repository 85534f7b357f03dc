"""Brings the cache of one profile up to date, and answers from it the reads that a search makes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from holdfast.domain.ports.search import Probe, Proposals
from holdfast.domain.tracing import Operation, steady_operation
from holdfast.storage.postgres.cache import statements
from holdfast.storage.postgres.cache.loading import LargeProfileLoader
from holdfast.storage.postgres.cache.profile import ChangeSequence, ProfileCache
from holdfast.storage.postgres.cache.profiles import ProfileCaches
from holdfast.storage.postgres.cache.search import CacheSearch
from holdfast.storage.postgres.connections import NO_ROWS, BoundStatement, Database, Row
from holdfast.storage.postgres.encryption import ProfileCipher
from holdfast.storage.postgres.search import agent_statements

MAX_CONFIRMED_SECONDS = 1.0
"""How long an operation relies on the change sequence that it knows. Chosen by hand: longer than almost all searches
take, and not so long that digestion with a language model goes by what was true before it."""


class Confirmation(NamedTuple):
    """The change sequence that an operation was told, and until when it relies on that."""

    operation: Operation
    sequence: ChangeSequence
    until: float


class CachedProfile:
    """One profile, as its cache and the database have it.

    A steady operation asks for the change sequence once in a while: its later reads see the same state as its first,
    unless this process has written meanwhile.
    """

    def __init__(
        self,
        database: Database,
        profile: int,
        cipher: ProfileCipher,
        caches: ProfileCaches,
        loader: LargeProfileLoader,
    ) -> None:
        self._database = database
        self._profile = profile
        self._cipher = cipher
        self._caches = caches
        self._loader = loader
        self._confirmation: Confirmation | None = None
        """The last answer for a steady operation."""
        self._behind = False
        """Whether this process has written what the cache lacks."""
        self.parts = 0
        """The number of parts when a search last looked whether they may be cached."""

    @property
    def _sequence_statement(self) -> BoundStatement:
        return statements.SEQUENCE, {"p": self._profile}

    def note_write(self, *, searchable: bool) -> None:
        """Ask for the change sequence again, also in an operation that knows it; and for what was written, if searches
        find it."""
        self._confirmation = None
        self._behind |= searchable

    async def propose(self, probe: Probe) -> Proposals | None:
        """What is proposed for the probe; None for one with a filter, or where the profile is not cached."""
        if probe.where is not None or probe.as_of is not None or not self._database.is_partitioned(self._profile):
            return None
        cache = self._caches.find(self._profile) or await self._open(probe)
        if cache is None or cache.is_loading:
            return None
        words = [self._cipher.keyed_hash(word) for word in probe.words]
        async with cache.updating:
            found = await self._search(cache, probe, words)
            if found is None and self._caches.find(self._profile) is cache:
                self._caches.drop(self._profile)
            self._caches.fit(self._profile)
            return found

    async def _search(self, cache: ProfileCache, probe: Probe, words: Sequence[str]) -> Proposals | None:
        """None where the cache cannot be brought up to date."""
        if probe.vector is not None and cache.model != probe.model:
            if cache.large:
                return None
            cache.reset(probe.model, 0)
        if not await self._update(cache, words, probe.agents):
            return None
        if not cache.large and not self._caches.may_hold(self._profile, len(cache)):  # it has grown
            self._caches.drop(self._profile)
        search = CacheSearch(cache, probe, words)
        if cache.large and not await self._compare_exactly(cache, search):
            return None
        return search.proposals()

    async def _open(self, probe: Probe) -> ProfileCache | None:
        """A new cache of the profile, if it may be held whole. A larger one is loaded in the background."""
        sequence = await self._sequence()
        self.parts = 0 if sequence is None else sequence.parts
        if sequence is None or self._caches.may_hold(self._profile, self.parts):
            return None if sequence is None else self._caches.open(self._profile, probe.model)
        if probe.vector is not None and self._caches.may_hold_large(self._profile, self.parts, len(probe.vector)):
            self._loader.load_later(self._profile, probe.model, self._cipher)
        return None

    async def _compare_exactly(self, cache: ProfileCache, search: CacheSearch) -> bool:
        """Compare the nearest rows of a large profile with the stored vectors. False if it was rewritten since."""
        if not search.rows_to_compare:
            return True
        bound = {"p": self._profile, "model": cache.model, "parts": cache.n[search.rows_to_compare].tolist()}
        found, vectors = await self._database.read_rows(
            self._profile, self._sequence_statement, (statements.VECTORS, bound)
        )
        if not found or ChangeSequence(*found[0]).rewrites != cache.sequence.rewrites:
            return False
        search.compare_exactly(vectors)
        return True

    def current(self) -> ProfileCache | None:
        """The cache, if the current operation knows that it is up to date."""
        sequence = self._confirmed()
        cache = None if sequence is None else self._caches.find(self._profile)
        return cache if cache is not None and sequence is not None and cache.is_current(sequence) else None

    def _confirmed(self) -> ChangeSequence | None:
        """The change sequence, if the current operation knows it."""
        known, operation = self._confirmation, steady_operation()
        if known is None or operation is not known.operation or time.monotonic() > known.until:
            return None
        return known.sequence

    async def read(self, *statements: BoundStatement) -> tuple[list[list[Row]], ProfileCache | None]:
        """Read rows in one snapshot, with the cache that may hold them: one that is current and as new as they are."""
        if self.current() is None:
            return await self._database.read_rows(self._profile, *statements), None
        (sequence, *found) = await self._database.read_rows(self._profile, self._sequence_statement, *statements)
        cache = self.current()
        same = cache is not None and [cache.sequence] == [ChangeSequence(*row) for row in sequence]
        return found, cache if same else None

    async def _sequence(self) -> ChangeSequence | None:
        """The profile's change sequence, as this operation knows it or as the database has it now; None without a
        profile."""
        known = self._confirmed()
        if known is not None:
            return known
        found = await self._database.read_row(self._profile, *self._sequence_statement)
        if found is None:
            return None
        return self._confirm(ChangeSequence(*found))

    def _confirm(self, sequence: ChangeSequence) -> ChangeSequence:
        """Note that the database has this change sequence now."""
        operation = steady_operation()
        if operation is not None:
            self._confirmation = Confirmation(operation, sequence, time.monotonic() + MAX_CONFIRMED_SECONDS)
        return sequence

    async def _update(self, cache: ProfileCache, words: Sequence[str], agents: bool) -> bool:
        """Bring the cache up to the last change, with the postings of these words and, if wanted, the agents. False
        without a profile, and after a rewrite of a large one.

        What it lacks is read in one snapshot together with the change sequence, which is asked for alone only where
        nothing is known to be missing. A cache that this snapshot does not continue is read anew, unless it is large.
        """
        sequence = self._confirmed()
        if sequence is None:
            lacks = self._behind or cache.sequence.changes < 0 or not self._has(cache, words, agents)
            sequence = cache.sequence if lacks else await self._sequence()
        while sequence is not None:
            stale = self._behind or cache.sequence.changes < 0 or not cache.is_current(sequence)
            self._behind = False
            if stale and cache.sequence.rewrites != sequence.rewrites:
                if cache.large:
                    return False
                cache.reset(cache.model, sequence.rewrites)
            if not stale and self._has(cache, words, agents):
                return True
            sequence = await self._read_missing(cache, words, agents, stale)
        return False

    def _has(self, cache: ProfileCache, words: Sequence[str], agents: bool) -> bool:
        return cache.words.has(words) and not (agents and cache.agents is None)

    async def _read_missing(
        self, cache: ProfileCache, words: Sequence[str], agents: bool, stale: bool
    ) -> ChangeSequence | None:
        """Read what a cache lacks, and add it if it belongs to the change that the cache has or, where it is stale, to
        a later one. Returns the change sequence; None without a profile, and where it does not continue the cache of a
        large one."""
        cache.words.make_room(words)
        unknown = agents and (stale or cache.agents is None)
        row, counts, postings, messages, memories, *changed = await self._database.read_rows(
            self._profile,
            self._sequence_statement,
            self._word_statement(statements.FREQUENCIES, cache.words.uncounted(words)),
            self._word_statement(statements.POSTINGS, cache.words.unread(words)),
            *(agent_statements(self._profile) if unknown else (NO_ROWS, NO_ROWS)),
            *(self._change_statements(cache) if stale else ()),
        )
        if not row:
            return None
        sequence = self._confirm(ChangeSequence(*row[0]))
        continued = sequence.rewrites == cache.sequence.rewrites and sequence.changes >= cache.sequence.changes
        if len(cache) and not continued:
            if cache.large:
                return None
            cache.reset(cache.model, sequence.rewrites)
        elif stale or sequence.changes == cache.sequence.changes:
            cache.begin_change(sequence)
            if stale:
                self._add(cache, changed)
            cache.words.add(counts, postings, cache.rows)
            cache.agents = tuple(sorted({name for (name,) in (*messages, *memories)})) if unknown else cache.agents
        return sequence

    def _word_statement(self, statement: str, words: list[str]) -> BoundStatement:
        return (statement, {"p": self._profile, "words": words}) if words else NO_ROWS

    def _change_statements(self, cache: ProfileCache) -> list[BoundStatement]:
        """Statements for what `_add` adds."""
        bound = {"p": self._profile, "model": cache.model, "last": cache.last, "limit": None}
        if not len(cache):
            each = (statements.PARTS, statements.ALL_MESSAGES, statements.ALL_MEMORIES)
            return [(statement, bound) for statement in each]
        bare = cache.without_vector()
        ended = statements.ALL_ENDED_PARTS
        if not cache.large:
            ended, bound["memories"] = statements.ENDED_PARTS, cache.live_memories()
        return [
            (statements.PARTS, bound),
            (statements.ITEMS_OF_NEW_PARTS, bound),
            (statements.VECTORS, bound | {"parts": bare}) if bare else NO_ROWS,
            (ended, bound),
            (statements.NEW_POSTINGS, bound) if cache.words.frequency else NO_ROWS,
        ]

    def _add(self, cache: ProfileCache, found: Sequence[list[Row]]) -> None:
        """Add everything to an empty cache, or new parts, the vectors of known ones, parts that ended, and words."""
        if not len(cache):
            cache.words.clear()
            cache.fill(found, self._cipher)
            return
        parts, items, vectors, ended, postings = found
        cache.add(parts, items, self._cipher)
        cache.put_vectors(vectors)
        cache.end(n for (n,) in ended)
        cache.words.append(postings, cache.rows)
