"""Migrates the memories of a kind from one version of its schema to another, and back.

The memories themselves are the only record of progress: each has its version, a batch is one change, and the migration
looks for memories of other versions until none is left. So a migration that was killed continues where it stopped, and
memories that others write meanwhile, under the old schema or the new one, are found as well. Former values stay as
history.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace

from holdfast.domain.errors import Conflict, HoldfastError
from holdfast.domain.ports.storage import Store
from holdfast.domain.reports import Difference, Failure, Migrated
from holdfast.domain.types import (
    Change,
    Memory,
    Part,
    Supersede,
    Test,
    Vector,
)
from holdfast.ingest.kinds.versions import schema_version
from holdfast.lifecycle.migration.conversion import Conversion
from holdfast.text import passages

BATCH_MEMORIES = 100
"""How many memories one change converts, while other writers of the profile wait. Chosen by hand; not measured."""
MAX_ATTEMPTS = 8
"""How often a single memory is tried when other processes write it. Chosen by hand; not measured."""
MAX_PASSES = 20
"""How often to look for memories that others wrote meanwhile, before the last pass blocks other writers. Chosen by
hand; not measured."""
MAX_REPORTED_FAILURES = 100
"""How many failures are reported one by one."""
MAX_SHOWN_DIFFERENCES = 5
"""How many differences a dry run shows."""
WriteLock = Callable[[], AbstractAsyncContextManager[None]]


@dataclass(slots=True)
class MigrationTally:
    """The counts of a migration so far."""

    migrated: int = 0
    already: set[str] = field(default_factory=set)
    left: set[str] = field(default_factory=set)
    failures: dict[str, Failure] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)


class Migration:
    """One migration of one profile.

    `lock` is held while a batch is converted and written, so that it does not conflict with other writers of this
    process.
    """

    def __init__(self, store: Store, conversion: Conversion, lock: WriteLock, batch: int = BATCH_MEMORIES) -> None:
        self._store = store
        self._conversion = conversion
        self._lock = lock
        self._batch = batch
        self._tally = MigrationTally()
        self._made_here: set[str] = set()

    async def dry_run(self) -> Migrated:
        """Count what the migration would do, without writing."""
        tally = self._tally
        async for memory in self._of_kind():
            if self._counted(memory):
                made = await self._made(memory)
                if made is not None:
                    tally.migrated += 1
                    if len(tally.differences) < MAX_SHOWN_DIFFERENCES:
                        tally.differences.append(Difference(memory.id, memory.key, memory.value, made.value))
        return self.told(dry_run=True)

    async def run(self, settled: Callable[[], Awaitable[None]]) -> None:
        """Migrate until only failures are left; then call `settled` before other writers can write again."""
        seen: set[str] = set()
        for _ in range(MAX_PASSES):
            due = await self._due(seen)
            for start in range(0, len(due), self._batch):
                async with self._lock():
                    await self._move(due[start : start + self._batch])
            if len(due) < self._batch:
                break
        async with self._lock():
            last = await self._due(seen)
            for start in range(0, len(last), self._batch):
                await self._move(last[start : start + self._batch])
            await settled()

    def told(self, *, dry_run: bool = False) -> Migrated:
        tally = self._tally
        return Migrated(
            self._conversion.kind.name,
            self._conversion.to,
            dry_run,
            tally.migrated,
            len(tally.already),
            len(tally.left),
            len(tally.failures),
            tuple(tally.failures.values())[:MAX_REPORTED_FAILURES],
            tuple(tally.differences),
            tuple(dict.fromkeys(self._conversion.undone)),
        )

    async def _of_kind(self) -> AsyncIterator[Memory]:
        cursor = None
        while True:
            page = await self._store.scan(
                Test("kind", "eq", self._conversion.kind.name), now=None, limit=self._batch, cursor=cursor
            )
            for memory in page:
                yield memory
            cursor = page.cursor
            if cursor is None:
                return

    def _counted(self, memory: Memory) -> bool:
        """Whether the memory is to be migrated; if not, count it as already migrated or as not affected."""
        if self._conversion.takes(memory):
            return True
        there = schema_version(memory) == self._conversion.to
        (self._tally.already if there else self._tally.left).add(memory.id)
        return False

    async def _due(self, seen: set[str]) -> list[str]:
        """Ids of memories to migrate whose versions were not `seen`, oldest first, so that listings keep their order.

        Memories are listed newest first: those behind one that was seen were seen as well.
        """
        due, fresh = [], set()
        async for memory in self._of_kind():
            if memory.ref in seen:
                break
            fresh.add(memory.ref)
            if memory.ref not in self._made_here and self._counted(memory):
                due.append(memory.id)
        seen |= fresh
        return due[::-1]

    async def _move(self, ids: Sequence[str]) -> None:
        why: Conflict | None = None
        for attempt in range(2 if len(ids) > 1 else MAX_ATTEMPTS):
            found = await self._store.get(ids)
            heads = [
                item for item in found if isinstance(item, Memory) and item.current and self._conversion.takes(item)
            ]
            pairs = [(head, made) for head in heads if (made := await self._made(head)) is not None]
            try:
                if pairs:
                    await self._store.apply(await self._change(pairs))
                self._made_here |= {made.ref for _, made in pairs}
                self._tally.migrated += len(pairs)
                return
            except Conflict as conflict:  # a writer in another process was first, or two memories become the same
                why = conflict
                await asyncio.sleep(random.random() * 0.005 * attempt)
        if len(ids) > 1:
            for id in ids:
                await self._move([id])
        elif heads:
            reason = str(why) if heads[0].key else "It would become the same as another memory."
            self._tally.failures[ids[0]] = Failure(ids[0], heads[0].key, reason)

    async def _made(self, head: Memory) -> Memory | None:
        try:
            return await self._conversion.convert_memory(head)
        except HoldfastError as refused:
            failure = Failure(head.id, head.key, str(refused), refused.field)
        except Exception as broken:  # the owner's function may raise anything; the other memories go on
            failure = Failure(head.id, head.key, f"{type(broken).__name__}: {broken}")
        self._tally.failures[head.id] = failure
        return None

    async def _change(self, pairs: Sequence[tuple[Memory, Memory]]) -> Change:
        held: dict[str, list[tuple[Part, Vector | None]]] = {}
        for part, vector in await self._store.indexed([old.ref for old, _ in pairs]):
            held.setdefault(part.item, []).append((part, vector))
        parts = [part for old, new in pairs for part in _parts(old, new, held.get(old.ref, []))]
        vectors = [vector for old, new in pairs for vector in _vectors(old, new, held.get(old.ref, []))]
        return Change(
            memories=tuple(new for _, new in pairs),
            parts=tuple(parts),
            vectors=tuple(each for each in vectors if each.model == vectors[0].model),
            supersede=tuple(Supersede(old.ref, new.ref) for old, new in pairs),
        )


def _parts(old: Memory, new: Memory, held: Sequence[tuple[Part, Vector | None]]) -> list[Part]:
    """The parts of the new version; a memory that was written without vectors on purpose gets none."""
    parts = passages.index_parts(new)
    if old.content == new.content:
        embed = {part.number: part.embed for part, _ in held}
        return [replace(part, embed=embed.get(part.number, part.embed)) for part in parts]
    if held and not any(part.embed for part, _ in held):
        return [replace(part, embed=False) for part in parts]
    return list(parts)


def _vectors(old: Memory, new: Memory, held: Sequence[tuple[Part, Vector | None]]) -> list[Vector]:
    if old.content != new.content:
        return []
    return [replace(vector, item=new.ref) for _, vector in held if vector is not None]
