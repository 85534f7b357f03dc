"""The items of an open profile that were read, in memory until the next write. No numpy: listing needs none."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from holdfast.domain.types import Item, Memory

ItemMaker = Callable[[], Item]
MemoryMaker = Callable[[], Memory]
MAX_CACHED_ITEMS = 2000
"""How many items of each sort are held before they are dropped, about three megabytes. Chosen by hand; not measured."""


class CacheMiss(Exception):
    """A search without a connection needs something that the cache does not have."""


class ItemCache:
    """Makes items of rows that were read. Every reader gets an item of its own, because metadata can be changed."""

    def __init__(self) -> None:
        self.items: dict[str, ItemMaker] = {}
        """Reference, as it was asked for → item."""
        self.resting: dict[str, list[tuple[int, MemoryMaker]]] = {}
        """Message → the memories that rest on it, each with its row number."""
        self.histories: dict[str, list[MemoryMaker]] = {}
        """Reference → the versions of the memory."""

    def add_items(self, found: Mapping[str, ItemMaker]) -> None:
        if len(self.items) + len(found) > MAX_CACHED_ITEMS:
            self.items.clear()
        if len(found) <= MAX_CACHED_ITEMS:
            self.items |= found

    def add_resting(self, found: Mapping[str, list[tuple[int, MemoryMaker]]]) -> None:
        if len(self.resting) + len(found) > MAX_CACHED_ITEMS:
            self.resting.clear()
        if len(found) <= MAX_CACHED_ITEMS:
            self.resting |= found

    def add_history(self, id: str, found: list[MemoryMaker]) -> None:
        if len(self.histories) >= MAX_CACHED_ITEMS:
            self.histories.clear()
        self.histories[id] = found
