"""Brings the cache of one profile up to date, and answers from it the reads that a search makes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from holdfast.domain.ports.search import Probe, Proposals
from holdfast.domain.tracing import Operation, steady_operation
from holdfast.storage.postgres.cache.profile import (
    ALL_MEMORIES,
    ALL_MESSAGES,
    ENDED_PARTS,
    ITEMS_OF_NEW_PARTS,
    NEW_VECTORS,
    PARTS,
    POSTINGS,
    ChangeSequence,
    ProfileCache,
    ProfileCaches,
)
from holdfast.storage.postgres.cache.search import propose
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

    def __init__(self, database: Database, profile: int, cipher: ProfileCipher, caches: ProfileCaches) -> None:
        self._database = database
        self._profile = profile
        self._cipher = cipher
        self._caches = caches
        self._confirmation: Confirmation | None = None
        """The last answer for a steady operation."""
        self.parts = 0
        """The number of parts when a search last looked whether they may be cached."""

    @property
    def _sequence_statement(self) -> BoundStatement:
        return "SELECT changes, rewrites, parts FROM profile WHERE id = %s", (self._profile,)

    def note_write(self) -> None:
        """Ask for the change sequence again, also in an operation that knows it."""
        self._confirmation = None

    async def propose(self, probe: Probe) -> Proposals | None:
        """What is proposed for the probe; None for one with a filter, or where the profile is not cached."""
        if probe.where is not None or probe.as_of is not None or not self._database.is_partitioned(self._profile):
            return None
        words = [self._cipher.keyed_hash(word) for word in probe.words]
        if self._caches.find(self._profile) is None:
            sequence = await self._sequence()
            self.parts = 0 if sequence is None else sequence.parts
            if sequence is None or not self._caches.may_hold(self._profile, sequence.parts):
                return None
        cache = self._caches.open(self._profile, probe.model)
        async with cache.updating:
            if probe.vector is not None and cache.model != probe.model:
                cache.reset(probe.model, 0)
            if not await self._update(cache, words, probe.agents):
                return None
            if not self._caches.may_hold(self._profile, len(cache)):  # it has grown
                self._caches.drop(self._profile)
            self._caches.fit(self._profile)
            return propose(cache, probe, words)

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
        without a profile.

        What it lacks is read in one snapshot together with the change sequence, which is asked for alone only where
        nothing is known to be missing. A cache that this snapshot does not continue is read anew.
        """
        sequence = self._confirmed()
        if sequence is None:
            lacks = cache.sequence.changes < 0 or not cache.has(words, agents)
            sequence = cache.sequence if lacks else await self._sequence()
        while sequence is not None:
            stale = cache.sequence.changes < 0 or not cache.is_current(sequence)
            if stale and cache.sequence.rewrites != sequence.rewrites:
                cache.reset(cache.model, sequence.rewrites)
            if not stale and cache.has(words, agents):
                return True
            missing = [word for word in words if stale or word not in cache.postings]
            unknown = agents and (stale or cache.agents is None)
            writers = agent_statements(self._profile) if unknown else []
            row, postings, *changed, messages, memories = await self._database.read_rows(
                self._profile,
                self._sequence_statement,
                *self._statements(cache, missing, stale),
                *(writers or (NO_ROWS, NO_ROWS)),
            )
            if not row:
                return False
            sequence = self._confirm(ChangeSequence(*row[0]))
            continued = sequence.rewrites == cache.sequence.rewrites and sequence.changes >= cache.sequence.changes
            if len(cache) and not continued:
                cache.reset(cache.model, sequence.rewrites)
            elif stale or sequence.changes == cache.sequence.changes:
                cache.begin_change(sequence)
                if stale:
                    self._add(cache, changed)
                cache.add_postings(missing, postings)
                cache.agents = tuple(sorted({name for (name,) in (*messages, *memories)})) if unknown else cache.agents
                return True
        return False

    def _statements(self, cache: ProfileCache, words: list[str], stale: bool) -> list[BoundStatement]:
        """Statements for postings, and for what `_add` adds."""
        bound = {"p": self._profile, "model": cache.model, "last": cache.last, "words": words}
        if not stale:
            return [(POSTINGS, bound)]
        if not len(cache):
            return [(each, bound) for each in (POSTINGS, PARTS, ALL_MESSAGES, ALL_MEMORIES)]
        bound |= {"bare": cache.without_vector(), "memories": cache.live_memories()}
        return [(each, bound) for each in (POSTINGS, PARTS, ITEMS_OF_NEW_PARTS, NEW_VECTORS, ENDED_PARTS)]

    def _add(self, cache: ProfileCache, found: Sequence[list[Row]]) -> None:
        """Add everything to an empty cache, or new parts, the vectors of known ones and parts that ended."""
        if not len(cache):
            cache.fill(found, self._cipher)
            return
        parts, items, vectors, ended = found
        cache.add(parts, items, self._cipher)
        cache.put_vectors(vectors)
        cache.end(n for (n,) in ended)
