"""Loads large profiles in the background, because reading 100,000 parts takes seconds. Until
then, and after a rewrite of the profile, the database searches."""

from __future__ import annotations

import asyncio
import logging
import time

from holdfast.domain.errors import HoldfastError
from holdfast.storage.postgres.cache.profile import ChangeSequence, ProfileCache
from holdfast.storage.postgres.cache.profiles import ProfileCaches
from holdfast.storage.postgres.cache.statements import ITEMS_OF_NEW_PARTS, PARTS, SEQUENCE
from holdfast.storage.postgres.connections import Database, Db, run_pipeline
from holdfast.storage.postgres.encryption import ProfileCipher
from holdfast.storage.tasks import end_tasks

log = logging.getLogger("holdfast")
LOADED_AT_ONCE = 1_000
"""How many parts are read at once; turning their vectors into 8-bit steps holds up other work for about two
milliseconds."""
_READ_IN_ORDER = "SET LOCAL enable_sort = off; SET LOCAL enable_bitmapscan = off"
"""Makes the planner, which underestimates a large profile, read by the primary key and stop after LOADED_AT_ONCE.
Otherwise each statement reads and sorts all parts that are left: 0.3 to 0.8 seconds of 100,000."""
MIN_RELOAD_SECONDS = 60.0
"""How often one profile is loaded at most, since each forgetting makes that necessary. Chosen by hand; not measured."""


class LargeProfileLoader:
    """Loads large profiles that are searched, as many as the memory of the caches allows."""

    def __init__(self, database: Database, caches: ProfileCaches) -> None:
        self._database = database
        self._caches = caches
        self._loading: dict[int, asyncio.Task[None]] = {}
        self._loaded_at: dict[int, float] = {}
        """Profile → when it was loaded last, by the monotonic clock."""

    async def stop(self) -> None:
        await end_tasks(self._loading.values())

    async def loaded(self, profile: int) -> None:
        """Wait for a profile that is being loaded."""
        if profile in self._loading:
            await asyncio.wait([self._loading[profile]])

    def load_later(self, profile: int, model: str, cipher: ProfileCipher) -> None:
        """Load a profile in the background, unless it was loaded lately."""
        lately = time.monotonic() - self._loaded_at.get(profile, -MIN_RELOAD_SECONDS) < MIN_RELOAD_SECONDS
        if profile not in self._loading and not lately:
            self._loading[profile] = asyncio.create_task(self._load(profile, model, cipher), name="holdfast-profile")

    async def _load(self, profile: int, model: str, cipher: ProfileCipher) -> None:
        """Fill a cache that is held from the start, so that a rewrite drops it also while it is filled."""
        cache = self._caches.open(profile, model, large=True)
        try:
            await self._database.read(profile, lambda db: _fill(db, profile, cache, cipher))
            self._caches.fit(profile)
        except HoldfastError as failure:
            log.warning("profile %d was not loaded: %s", profile, failure)
        finally:
            if cache.sequence.changes < 0 and self._caches.find(profile) is cache:
                self._caches.drop(profile)
            self._loaded_at[profile] = time.monotonic()
            self._loading.pop(profile, None)


async def _fill(db: Db, profile: int, cache: ProfileCache, cipher: ProfileCipher) -> None:
    """Read all parts in one snapshot, some at a time."""
    cache.reset(cache.model, 0)
    await db.execute(_READ_IN_ORDER)
    (found,) = await run_pipeline(db, (SEQUENCE, {"p": profile}))
    while found:
        bound = {"p": profile, "model": cache.model, "last": cache.last, "limit": LOADED_AT_ONCE}
        parts, items = await run_pipeline(db, (PARTS, bound), (ITEMS_OF_NEW_PARTS, bound))
        cache.add(parts, items, cipher)
        if len(parts) < LOADED_AT_ONCE:
            cache.sequence = ChangeSequence(*found[0])
            return
