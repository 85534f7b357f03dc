"""Holds the caches of the profiles that were searched last, in the memory that is allowed for them."""

from __future__ import annotations

from collections import OrderedDict

from holdfast.storage.postgres.cache.profile import LARGE_PART_BYTES, ProfileCache

DEFAULT_CACHE_BYTES = 128 * 1024 * 1024
"""How much memory all caches of a process use. Chosen by hand; not measured."""
MAX_CACHED_PARTS = 10_000
"""Up to so many parts a profile is cached whole: scoring them takes the event loop about two milliseconds."""
READINGS_BYTES = 16 * 1024 * 1024
"""What the words and details that searches read of a large profile take at most. Estimated; not measured."""


class ProfileCaches:
    """The caches of the profiles that were searched last, as many as fit into the memory allowed."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._caches: OrderedDict[int, ProfileCache] = OrderedDict()
        self._bytes: dict[int, int] = {}
        """Profile → the memory of its cache, when it was last updated."""
        self._too_large: dict[int, int] = {}
        """Profile → the number of its parts when its cache alone did not fit."""

    def __len__(self) -> int:
        return len(self._caches)

    @property
    def bytes(self) -> int:
        return sum(self._bytes.values())

    def may_hold(self, profile: int, parts: int) -> bool:
        """Whether a profile of so many parts may be cached."""
        return parts <= MAX_CACHED_PARTS and parts < self._too_large.get(profile, parts + 1) and self._max_bytes > 0

    def may_hold_large(self, profile: int, parts: int, dimensions: int) -> bool:
        """Whether the columns and vectors of a profile of so many parts may be held."""
        needed = parts * (dimensions * 3 // 2 + LARGE_PART_BYTES) + READINGS_BYTES  # with room to grow
        return (
            parts > MAX_CACHED_PARTS and parts < self._too_large.get(profile, parts + 1) and needed <= self._max_bytes
        )

    def find(self, profile: int) -> ProfileCache | None:
        if profile in self._caches:
            self._caches.move_to_end(profile)
        return self._caches.get(profile)

    def open(self, profile: int, model: str, *, large: bool = False) -> ProfileCache:
        """The cache of a profile; a new, empty one if there is none. Whoever updates it must call `fit` afterwards."""
        found = self.find(profile)
        if found is None or found.large != large:
            self.drop(profile)
            found = self._caches[profile] = ProfileCache(model, large=large)
        return found

    def fit(self, profile: int) -> None:
        """Note how large a cache has become, and drop those that were used longest ago until all fit."""
        if profile in self._caches:
            self._bytes[profile] = self._caches[profile].bytes
        total = self.bytes
        while total > self._max_bytes and self._caches:
            oldest, cache = next(iter(self._caches.items()))
            total -= self._bytes.get(oldest, 0)
            if len(self._caches) == 1:
                self._too_large[oldest] = len(cache)
            self.drop(oldest)

    def drop(self, profile: int) -> None:
        """A search that uses the cache now goes on with it, and nobody finds it afterwards."""
        self._caches.pop(profile, None)
        self._bytes.pop(profile, None)

    def clear(self) -> None:
        self._caches.clear()
        self._bytes.clear()
        self._too_large.clear()
