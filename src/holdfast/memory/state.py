"""Everything one profile holds, in dictionaries."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from ..types import Floats, Item, Memory, Message, Part


@dataclass
class State:
    """Everything a change can change; applied to a copy, so that a failed change leaves nothing behind."""

    items: dict[str, Item] = field(default_factory=dict)
    parts: dict[int, Part] = field(default_factory=dict)
    vectors: dict[int, tuple[str, Floats]] = field(default_factory=dict)
    wait_until: dict[str, datetime] = field(default_factory=dict)
    """Waiting messages → when they may be claimed again."""
    aside: dict[str, str] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    counter: int = 0
    order: dict[str, int] = field(default_factory=dict)

    def known(self, item: Item, then: datetime) -> bool:
        """Whether it had arrived or was written by then, and nothing had superseded it by then."""
        if isinstance(item, Message):
            return item.created_at <= then
        newer = self.items.get(item.superseded_by or "")
        return item.updated_at <= then and (item.current or (isinstance(newer, Memory) and newer.updated_at > then))

    def next(self) -> int:
        self.counter += 1
        return self.counter


def expired(memory: Memory, now: datetime | None) -> bool:
    return now is not None and memory.expires_at is not None and memory.expires_at <= now
