"""Merges the memories of an archive into a profile that may have memories of its own."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast.archive.format import ArchivedItem
from holdfast.archive.transfer.profile import MemoryBatch
from holdfast.domain.filters import keyless
from holdfast.domain.identifiers import referenced_id, split_reference, version_reference
from holdfast.domain.types import Change, Item, Memory, Part, Test, Where

if TYPE_CHECKING:
    from holdfast.archive.restore import ArchiveRestore

MemoryPlace = tuple[str, ...]


class MemoryMerge:
    """Writes memories in batches, each after those it supersedes; see transfer/profile.py for the stand-ins."""

    def __init__(self, work: ArchiveRestore) -> None:
        self._work = work
        self._store = work.store
        self._to_come = dict(work.checked.successors)
        """Superseded version → its successor, until that one has been handled. All names here are references."""
        self._before: dict[str, list[str]] = defaultdict(list)
        for old, new in self._to_come.items():
            self._before[new].append(old)
        self._step = MemoryBatch()
        self._copies: dict[str, ArchivedItem] = {}
        self._heads: dict[MemoryPlace, str] = {}
        """Place → the memory that the current batch writes there; `_past` has those that it supersedes."""
        self._past: set[str] = set()
        self._taken: set[str] = set()
        """References that name another version in the profile than in the archive."""
        self._offsets: dict[str, int] = {}
        """Id → what is added to the archive's version numbers, since the profile has other versions with these."""
        self.known = 0
        self.written = 0
        self.conflicts: list[tuple[str, str, str | None]] = []
        """(name, id in the archive, id of the memory that is in its place)"""

    async def run(self) -> None:
        """Merge all memories. Raise Conflict after a concurrent write."""
        async for some in self._work.batches("memory"):
            memories = [each.item for each in some]
            known = await self._known_versions(memories)
            held = await self._heads_of(memories)
            current = await self._current(some)
            for each in some:
                self._merge(each, known, held, current)
            self._work.report_progress(len(some))
            if not self._step.parked:
                await self._write()
        await self._write()

    def _merge(self, each: ArchivedItem, known: set[str], held: dict[MemoryPlace, Memory], current: set[str]) -> None:
        assert isinstance(each.item, Memory)
        before = self._before.pop(each.item.ref, [])
        each = self._renumbered(each)
        memory, older = each.item, [self._written_as(old) for old in before]
        assert isinstance(memory, Memory)
        for old in before:
            self._to_come.pop(old, None)
        if memory.draft_id in known or memory.ref in self._copies:
            self.known += 1
            return
        heads = [self._heads.get(place) or _current_ref(held.get(place)) for place in _memory_places(memory)]
        heads = [None, heads[1]] if memory.retired else heads
        others = [head for head in dict.fromkeys(heads) if head and head not in older and head not in self._past]
        linked = [old for old in older if old in current or old in self._step.own]
        fork = heads[0] is None
        if memory.ref not in self._taken and all(head in self._to_come and head not in self._taken for head in others):
            for head in others:
                self._step.park(head)
            self._add(each, linked)
        elif self._work.replacing and (memory.key is not None or fork):
            self._add(self._after(each, held), list(dict.fromkeys([*others, *linked])))
        else:
            self._skip(memory, [*others, memory.ref][0], older, fork=fork)

    def _renumbered(self, each: ArchivedItem) -> ArchivedItem:
        memory = each.item
        assert isinstance(memory, Memory)
        offset = self._offsets.get(memory.id, 0)
        return each.with_item(_moved(memory, offset)) if offset else each

    def _written_as(self, ref: str) -> str:
        """The reference under which a version of the archive was written."""
        id, version = split_reference(ref)
        return ref if version is None else version_reference(id, version + self._offsets.get(id, 0))

    def _after(self, each: ArchivedItem, held: dict[MemoryPlace, Memory]) -> ArchivedItem:
        """The version with a number after those that the profile has of the same memory."""
        memory, newest = each.item, held.get(("", each.item.id))
        assert isinstance(memory, Memory)
        if newest is None or newest.version < memory.version:
            return each
        more = newest.version + 1 - memory.version
        self._offsets[memory.id] = self._offsets.get(memory.id, 0) + more
        return each.with_item(_moved(memory, more))

    def _skip(self, memory: Memory, head: str, older: Iterable[str], *, fork: bool) -> None:
        for old in older:
            self._step.parked.pop(old, None)
        if memory.key is None and not fork:  # the same text is one memory, as when it is remembered twice
            self.known += 1
        else:
            name = memory.content[:80] if memory.key is None else f"{memory.kind}/{memory.key}"
            self.conflicts.append((name, memory.id, referenced_id(head)))

    def _add(self, each: ArchivedItem, older: Sequence[str]) -> None:
        memory = each.item
        assert isinstance(memory, Memory)
        self._step.add(memory.ref, older)
        self._past |= set(older)
        if not memory.retired:
            self._heads |= dict.fromkeys(_memory_places(memory), memory.ref)
        self._copies[memory.ref] = each

    async def _write(self) -> None:
        step, copies = self._step, self._copies
        self._copies = {}
        if self._work.dry_run:
            self.written += len(copies)
            return  # nothing is written, so the heads stay in this object for later batches
        self._step, self._heads, self._past = MemoryBatch(), {}, set()
        if not step.memories:
            return
        plain = {id: _without_successor(each.item) for id, each in copies.items()}
        memories = [plain[each] if isinstance(each, str) else each for each in step.memories]
        new = await self._work.apply(
            Change(
                memories=tuple(each for each in memories if isinstance(each, Memory)),
                parts=await asyncio.to_thread(indexed_parts, copies.values()),
                vectors=tuple(vector for each in copies.values() for vector in each.vectors),
                supersede=tuple(step.supersede),
                forget=tuple(step.forget),
            )
        )
        self.written += len(copies.keys() & new)
        self.conflicts += [
            (each.item.content[:80], each.item.id, None) for ref, each in copies.items() if ref not in new
        ]

    async def _known_versions(self, memories: Sequence[Memory]) -> set[str]:
        """The draft ids of those of these versions that the profile has, under whatever id and number."""
        held = {item.ref: item for item in await self._store.get([memory.ref for memory in memories])}
        known = {each.draft_id for each in held.values() if isinstance(each, Memory)}
        known &= {memory.draft_id for memory in memories}
        self._taken |= {memory.ref for memory in memories if memory.ref in held and memory.draft_id not in known}
        others = [memory.draft_id for memory in memories if memory.draft_id not in known]
        for id in others if await self._store.get(others) else ():
            known |= {id} & {version.draft_id for version in await self._store.history(id)}
        return known

    async def _heads_of(self, memories: Sequence[Memory]) -> dict[MemoryPlace, Memory]:
        """Place → the current memory of the profile there, for the places of these memories.

        In the place of an id it is the newest version, also when another memory superseded it.
        """
        keys = tuple({memory.key for memory in memories if memory.key is not None})
        marks = tuple({memory.fingerprint for memory in memories if memory.key is None})
        ids = list(dict.fromkeys(memory.id for memory in memories))
        heads: dict[MemoryPlace, Memory] = {}
        for item in await self._store.get(ids):
            if isinstance(item, Memory):
                heads["", item.id] = item
        of_marks = keyless(Test("fingerprint", "in", marks))
        places: list[tuple[tuple[str, ...], Where]] = [(keys, Test("key", "in", keys)), (marks, of_marks)]
        for values, same in places:
            cursor = None
            while values:
                page = await self._store.scan(same, now=None, limit=500, cursor=cursor)
                heads |= {_memory_places(memory)[0]: memory for memory in page}
                cursor = page.cursor
                if cursor is None:
                    break
        return heads

    async def _current(self, some: Sequence[ArchivedItem]) -> set[str]:
        """The memories superseded by these that are current or retired in the profile."""
        refs = [self._written_as(old) for each in some for old in self._before.get(each.item.ref, ())]
        found = [item for item in await self._store.get(refs) if isinstance(item, Memory)]
        return {item.ref for item in found if item.current or item.retired}


def _current_ref(memory: Memory | None) -> str | None:
    return memory.ref if memory is not None and memory.current else None


def _memory_places(memory: Memory) -> tuple[MemoryPlace, MemoryPlace]:
    """What no other current memory may have: its key, or without one its fingerprint; and its id."""
    own = (memory.fingerprint,) if memory.key is None else (memory.kind, memory.key)
    return own, ("", memory.id)


def indexed_parts(some: Iterable[ArchivedItem]) -> tuple[Part, ...]:
    return tuple(part for each in some for part in each.indexed())


def _without_successor(item: Item) -> Memory:
    """The memory without its successor, as it was before it was superseded; a retired one has none."""
    assert isinstance(item, Memory)
    return item if item.retired else replace(item, superseded_by=None)


def _moved(memory: Memory, more: int) -> Memory:
    """The version with a number that is higher by so many."""
    moved = replace(memory, version=memory.version + more)
    return replace(moved, superseded_by=moved.ref) if memory.retired else moved
