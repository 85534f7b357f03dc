"""The items of an open profile that were read, in memory until a write changes them, and the last messages of sessions,
which writes carry on. No numpy: listing needs none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from holdfast.domain.identifiers import is_message_id
from holdfast.domain.types import Change, Item, Memory
from holdfast.storage import rows

ItemMaker = Callable[[], Item]
MemoryMaker = Callable[[], Memory]
MAX_CACHED_ITEMS = 2000
"""How many items of each sort are held before they are dropped, about three megabytes. Chosen by hand; not measured."""


MAX_CACHED_ENDS = 100
"""How many sessions are held before they are dropped. Chosen by hand; not measured."""
SessionEnds = dict[str, rows.Row]
"""Session → its last message: the columns MESSAGE followed by STATE."""


class CacheMiss(Exception):
    """A search without a connection needs something that the cache does not have."""


class ItemCache:
    """Makes items of rows that were read. Every reader gets an item of its own, because metadata can be changed."""

    def __init__(self, ends: SessionEnds | None = None) -> None:
        self.ends: SessionEnds = {} if ends is None else ends
        self.items: dict[str, ItemMaker] = {}
        """Reference, as it was asked for → item."""
        self.resting: dict[str, list[tuple[int, MemoryMaker]]] = {}
        """Message → the memories that rest on it, each with its row number."""
        self.histories: dict[str, list[MemoryMaker]] = {}
        """Reference → the versions of the memory."""

    def after(self, change: Change, messages: Sequence[rows.Row], memories: Mapping[str, rows.Row]) -> ItemCache:
        """The cache after a change that added these messages, and these memories by their ids: with the items that the
        change left as they are, and what rests on messages unless some of it is new. A new cache, since whoever reads
        meanwhile adds to the old one what was read before."""
        cache = ItemCache(session_ends(self.ends, change, messages))
        resent = len(messages) < len(change.messages)
        if change.erases or change.inserted or resent:
            return cache
        cache.items = self.items.copy()
        for id in (*change.settle, *change.redo, *(late.message for late in change.defer)):
            cache.items.pop(id, None)
        new = all(memory.version == 1 and memory.current for memory in change.memories)
        if not new or change.supersede or change.sources or change.judged:
            cache.items = {id: make for id, make in cache.items.items() if is_message_id(id)}
        else:
            sources = {memory.id: memory.sources for memory in change.memories}
            cache.histories, cache.resting = self.histories.copy(), self.resting.copy()
            for message in {message for each in sources.values() for message in each}:
                cache.resting.pop(message, None)
            cache.add_items({id: rows.new_memory_maker(row, sources[id]) for id, row in memories.items()})
        return cache

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

    def add_end(self, session: str, row: rows.Row) -> None:
        if len(self.ends) >= MAX_CACHED_ENDS:
            self.ends.clear()
        self.ends[session] = row


def session_ends(ends: SessionEnds, change: Change, added: Sequence[rows.Row]) -> SessionEnds:
    """The ends of sessions after a change, from those before it and the messages that it added, in order."""
    resent = len(added) < len(change.messages)
    if change.erases or change.inserted or change.defer or change.redo or resent:
        return {}
    kept = dict(ends) if len(ends) < MAX_CACHED_ENDS else {}  # a copy at once: a reader in another thread may add to it
    settled = set(change.settle)
    carried = {session: rows.settled_row(row) if row[0] in settled else row for session, row in kept.items()}
    return carried | {rows.session_of(row): (*row, *rows.NEW_STATE) for row in added}
