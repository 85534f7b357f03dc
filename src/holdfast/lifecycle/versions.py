"""Finds the versions of one memory: those with its id, what it was merged from, and the statement that it was cut from.

A statement that ended another one is no version of it: they are linked by supersession, and stand in one history.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from holdfast.domain import identifiers
from holdfast.domain.ports.storage import Store
from holdfast.domain.types import Memory, Supersede, Test
from holdfast.domain.visibility import unexpired_versions


async def load_history(store: Store, id: str, *, now: datetime | None = None) -> list[Memory]:
    """All versions that are linked with a memory, newest first: by supersession, and then what it was cut from, with
    what that superseded. Without those that expired by `now`."""
    found = _unexpired(await store.history(id), now)
    linked = {memory.ref: memory for memory in found}
    waiting = [memory for memory in found if id in (memory.id, memory.ref, memory.draft_id)]
    for memory in waiting:
        for whole in await find_wholes(store, memory):
            if whole.ref not in linked:
                older = _unexpired(_older_ones(whole, await store.history(whole.ref)), now)
                linked |= {each.ref: each for each in older if each.ref not in linked}
                waiting += older
    return list(linked.values())


async def load_versions(store: Store, id: str) -> list[Memory]:
    """The versions of a memory, with the statements that it was cut from; where none of them is current, with what is
    left of them as well. Empty when nothing has this id."""
    asked = [item for item in await store.get([id]) if isinstance(item, Memory)]
    if not asked:
        return []
    versions = _same_memory(asked[0], await store.history(asked[0].ref))
    found = {memory.ref: memory for memory in versions}
    if not any(memory.current or memory.retired for memory in versions):
        await _add_linked(found, versions, lambda each: find_remainders(store, each))
    await _add_linked(found, versions, lambda each: find_wholes(store, each))
    return list(found.values())


async def find_wholes(store: Store, memory: Memory) -> list[Memory]:
    """The statements that a memory was cut from when another part of them ended."""
    if memory.version > 1 or memory.key is not None:
        return []
    return [each for each in await _written_beside(store, memory, memory.updated_at) if is_remainder(memory, each)]


async def find_remainders(store: Store, whole: Memory) -> list[Memory]:
    """What stayed true of a memory after a part of it ended, current or superseded."""
    if whole.current or whole.retired:
        return []
    enders = [each for each in await store.history(whole.ref) if each.ref == whole.superseded_by]
    beside = await _written_beside(store, whole, enders[0].updated_at if enders else None)
    return [each for each in beside if is_remainder(each, whole)]


@dataclass(frozen=True, slots=True)
class Restored:
    """What becomes of the statements that forgotten versions had ended."""

    current: tuple[str, ...] = ()
    """References of those that are current again."""
    gone: tuple[str, ...] = ()
    """References of what had stayed true of them, which they say themselves again."""
    kept_ended: tuple[Supersede, ...] = ()
    """Those of which another part ended later: they stay superseded, now by what was left of them."""


async def find_restored(store: Store, forgotten: Sequence[Memory]) -> Restored:
    """What forgetting these versions does to statements that only they had ended."""
    by_ref = {memory.ref: memory for memory in forgotten}
    ended: dict[str, Memory] = {}
    for memory in forgotten:
        for each in await store.history(memory.ref):
            if each.superseded_by in by_ref and each.ref not in by_ref and _ends_with(each, by_ref):
                ended[each.ref] = each
    current, gone, kept = [], [], []
    for whole in ended.values():
        left = [each for each in await find_remainders(store, whole) if each.ref not in by_ref]
        if all(each.current and not each.marks for each in left):
            gone += [each.ref for each in left]
            current += [whole.ref]
        else:
            kept += [Supersede(whole.ref, next(each.ref for each in left if not each.current or each.marks))]
    return Restored(tuple(current), tuple(gone), tuple(kept))


def _ends_with(memory: Memory, forgotten: Mapping[str, Memory]) -> bool:
    """Whether nothing that stays had superseded a memory, which is not marked wrong either."""
    after: Memory | None = memory
    while after is not None and not after.retired and after.superseded_by in forgotten:
        after = forgotten.get(after.superseded_by or "")
    return after is not None and (after.current or after.retired) and memory.marks >= 0


async def _written_beside(store: Store, memory: Memory, at: datetime | None) -> list[Memory]:
    """What rests on the same messages; for a memory without any, what was written or ended at this time."""
    if memory.sources:
        return await store.resting_on(memory.sources)
    if at is None:
        return []
    page = await store.scan(Test("updated_at", "eq", at), now=None, limit=1_000, superseded=True)
    return [version for each in page for version in await store.history(each.ref)]


async def _add_linked(
    found: dict[str, Memory], start: Iterable[Memory], find: Callable[[Memory], Awaitable[list[Memory]]]
) -> None:
    """Add what each memory leads to, and what that leads to."""
    waiting = list(start)
    for memory in waiting:
        new = [each for each in await find(memory) if each.ref not in found]
        found |= {each.ref: each for each in new}
        waiting += new


def _same_memory(asked: Memory, linked: Sequence[Memory]) -> list[Memory]:
    """Those of linked versions that are of the same memory, in their order."""
    by_ref = {memory.ref: memory for memory in linked}
    joined: dict[str, list[str]] = defaultdict(list)
    for old in linked:
        new = by_ref.get(old.superseded_by or "")
        if new is not None and old.id != new.id and _takes_the_place(new, old):
            joined[old.id].append(new.id)
            joined[new.id].append(old.id)
    same = [asked.id]
    for id in same:
        same += [each for each in joined[id] if each not in same]
    return [memory for memory in linked if memory.id in same]


def _takes_the_place(new: Memory, old: Memory) -> bool:
    """Whether a memory stands for another one that it superseded: it has its key, or was written by hand, as a merge
    is."""
    return new.written_by_hand or (old.key is not None and (old.kind, old.key) == (new.kind, new.key))


def _older_ones(memory: Memory, linked: Sequence[Memory]) -> list[Memory]:
    """A version and those that it superseded, directly or through others, in the order of the history."""
    older = [memory.ref]
    for ref in older:
        older += [each.ref for each in linked if each.superseded_by == ref and each.ref not in older]
    return [each for each in linked if each.ref in older]


def _unexpired(versions: list[Memory], now: datetime | None) -> list[Memory]:
    return versions if now is None else unexpired_versions(versions, now)


def is_remainder(memory: Memory, head: Memory) -> bool:
    """Whether a version is what stayed true of another memory when a part of that ended."""
    made = identifiers.remainder_id(head.created_at, head.draft_id, memory.content)
    return memory.version == 1 and memory.draft_id == made
