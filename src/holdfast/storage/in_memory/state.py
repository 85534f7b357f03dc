"""One profile's data in dictionaries."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from holdfast.domain.types import Floats, Item, Memory, Message, Part


@dataclass
class ProfileState:
    """The data that a change modifies. A change is applied to a copy, so that a failed change has no effect."""

    items: dict[str, Item] = field(default_factory=dict)
    """By reference: the id of a message, or one version of a memory."""
    parts: dict[int, Part] = field(default_factory=dict)
    vectors: dict[int, tuple[str, Floats]] = field(default_factory=dict)
    wait_until: dict[str, datetime] = field(default_factory=dict)
    """Waiting message → when it may be claimed."""
    aside: dict[str, str] = field(default_factory=dict)
    """Message that was set aside → the reason."""
    failures: dict[str, int] = field(default_factory=dict)
    counter: int = 0
    order: dict[str, int] = field(default_factory=dict)
    """Memory → its number in the order of writing."""
    arrivals: dict[str, int] = field(default_factory=dict)
    """Message → its number in the order of arrival."""

    def find(self, reference: str) -> Item | None:
        """The item of a reference; of a memory's id, or the id that a version was drafted with, the newest version."""
        if reference in self.items:
            return self.items[reference]
        memories = [item for item in self.items.values() if isinstance(item, Memory)]
        ids = {m.id for m in memories if reference == m.id} or {m.id for m in memories if reference == m.origin}
        return max((m for m in memories if m.id in ids), key=lambda memory: memory.version, default=None)

    def was_known(self, item: Item, then: datetime) -> bool:
        """Whether an item had arrived or was written by then, and was not yet superseded."""
        if isinstance(item, Message):
            return item.created_at <= then
        newer = self.items.get(item.superseded_by or "")
        return item.updated_at <= then and (item.current or (isinstance(newer, Memory) and newer.updated_at > then))

    def next(self) -> int:
        self.counter += 1
        return self.counter


def is_expired(memory: Memory, now: datetime | None) -> bool:
    return now is not None and memory.expires_at is not None and memory.expires_at <= now
