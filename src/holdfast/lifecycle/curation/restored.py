"""What is true again when a memory that digestion wrote is marked wrong: the memories that it superseded.

Each comes back with the text, the key and the sources of the ended one: as the next version of the wrong one where that
has its key, else as a new memory. So the ended version stays history, and `undo` of the mark removes what came back.
What is left of it, after a part of it had ended, goes into it again. Nothing comes back in the place of another current
memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from holdfast.domain import identifiers
from holdfast.domain.ports.storage import Store
from holdfast.domain.types import Memory
from holdfast.domain.visibility import is_expired
from holdfast.ingest.remember import find_current_memory
from holdfast.lifecycle.versions import find_remainders
from holdfast.text import tokens


@dataclass(frozen=True, slots=True)
class RestoredMemory:
    """A memory that comes back, and the current memories in whose place it comes: the wrong one that has its key, and
    those that have what was left of it."""

    memory: Memory
    replaced: tuple[Memory, ...]


async def restored_memories(store: Store, wrong: Memory, now: datetime) -> list[RestoredMemory]:
    """The memories to write when `wrong`, which is current, is marked wrong."""
    if wrong.written_by_hand:  # what was revised or merged is wrong in its new words, not true in its old ones
        return []
    versions = await store.history(wrong.id)
    ended = [each for each in versions if each.superseded_by == wrong.ref and _was_ended(each, wrong, now)]
    found = [await _restored(store, each, wrong, now) for each in ended]
    return [each for each in found if each is not None]


def _was_ended(old: Memory, wrong: Memory, now: datetime) -> bool:
    """Whether it says something else than what superseded it, so that it may be true where that is wrong."""
    if old.ref == wrong.ref or old.marks < 0 or is_expired(old, now):
        return False
    words, other = set(tokens.tokens(old.content)), set(tokens.tokens(wrong.content))
    return not (words <= other or other <= words)


async def _restored(store: Store, old: Memory, wrong: Memory, now: datetime) -> RestoredMemory | None:
    left = await find_remainders(store, old)
    if any(not each.current for each in left):  # more of it has ended since
        return None
    request: Any = old  # with the fields of a request
    rival = await find_current_memory(store, request)
    if rival is not None and rival.ref not in (wrong.ref, *(each.ref for each in left)):
        return None
    memory = replace(
        old, id=identifiers.memory_id(now, old.ref, wrong.ref), version=1, origin=None, superseded_by=None,
        last_version=0, updated_at=now,
    )  # fmt: skip
    if old.key is None or (old.kind, old.key) != (wrong.kind, wrong.key):
        return RestoredMemory(memory, tuple(left))
    return RestoredMemory(memory.next_of(wrong), (wrong, *left))
