"""Bring the memories of a kind from one version of its schema to another, and back.

Nothing says how far a migration is but the memories themselves: each has the version that it is at, a batch is one
change, and what is not there yet is looked for until nothing is left. So one that was killed goes on where it stopped,
and what others write meanwhile, by the old schema or the new one, is found as well. Former values stay as history.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace

from . import passages
from .errors import Conflict, HoldfastError
from .kinds import version_of
from .ports import Store
from .restate import Way
from .types import Change, Json, Memory, Part, Supersede, Test, Vector

BATCH = 100
"""Memories in one change, for which other writers of the profile wait."""
TRIES = 8
PASSES = 20
"""How often to look for what others have written meanwhile, before they have to wait."""
TOLD = 100
"""Failures that are told one by one."""
SHOWN = 5
Turn = Callable[[], AbstractAsyncContextManager[None]]


@dataclass(frozen=True, slots=True)
class Failure:
    """A memory that stays as it is, and why."""

    id: str
    key: str | None
    reason: str
    field: str | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    id: str
    key: str | None
    before: Json
    after: Json


@dataclass(frozen=True, slots=True)
class Migrated:
    """What a migration or a rollback did, or with `dry_run` would do."""

    kind: str
    to: int
    dry_run: bool
    migrated: int = 0
    already: int = 0
    """Memories that are at this version already."""
    left: int = 0
    """Memories of versions that it does not lead from."""
    failed: int = 0
    failures: tuple[Failure, ...] = ()
    """The first hundred."""
    differences: tuple[Difference, ...] = ()
    """The first five, of a dry run."""
    undone: tuple[str, ...] = ()
    """Of a rollback: memories whose later edits are now history only."""


@dataclass(slots=True)
class Tally:
    migrated: int = 0
    already: set[str] = field(default_factory=set)
    left: set[str] = field(default_factory=set)
    failures: dict[str, Failure] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)


class Migration:
    """`turn` is held while a batch is decided and written, so that writers of this process need not be asked again."""

    def __init__(self, store: Store, way: Way, turn: Turn, batch: int = BATCH) -> None:
        self._store = store
        self._way = way
        self._turn = turn
        self._batch = batch
        self._tally = Tally()
        self._made_here: set[str] = set()

    async def rehearsed(self) -> Migrated:
        """What it would do."""
        tally = self._tally
        async for memory in self._of_kind():
            if self._counted(memory):
                made = await self._made(memory)
                if made is not None:
                    tally.migrated += 1
                    if len(tally.differences) < SHOWN:
                        tally.differences.append(Difference(memory.id, memory.key, memory.value, made.value))
        return self.told(dry_run=True)

    async def run(self, settled: Callable[[], Awaitable[None]]) -> None:
        """Until nothing is left but what failed; then `settled`, before anybody can write again."""
        seen: set[str] = set()
        for _ in range(PASSES):
            due = await self._due(seen)
            for start in range(0, len(due), self._batch):
                async with self._turn():
                    await self._move(due[start : start + self._batch])
            if len(due) < self._batch:
                break
        async with self._turn():
            last = await self._due(seen)
            for start in range(0, len(last), self._batch):
                await self._move(last[start : start + self._batch])
            await settled()

    def told(self, *, dry_run: bool = False) -> Migrated:
        tally = self._tally
        return Migrated(
            self._way.kind.name, self._way.to, dry_run, tally.migrated, len(tally.already),
            len(tally.left), len(tally.failures),
            tuple(tally.failures.values())[:TOLD], tuple(tally.differences), tuple(dict.fromkeys(self._way.undone)),
        )  # fmt: skip

    async def _of_kind(self) -> AsyncIterator[Memory]:
        cursor = None
        while True:
            page = await self._store.scan(
                Test("kind", "eq", self._way.kind.name), now=None, limit=self._batch, cursor=cursor
            )
            for memory in page:
                yield memory
            cursor = page.cursor
            if cursor is None:
                return

    def _counted(self, memory: Memory) -> bool:
        """Whether it is to go; if not, it is counted as there or as left."""
        if self._way.takes(memory):
            return True
        there = version_of(memory) == self._way.to
        (self._tally.already if there else self._tally.left).add(memory.id)
        return False

    async def _due(self, seen: set[str]) -> list[str]:
        """What is to go and was not `seen`, oldest first, so that listings keep their order.

        Memories are listed newest first: what stands behind one that was seen was seen as well.
        """
        due, fresh = [], set()
        async for memory in self._of_kind():
            if memory.id in seen:
                break
            fresh.add(memory.id)
            if memory.id not in self._made_here and self._counted(memory):
                due.append(memory.id)
        seen |= fresh
        return due[::-1]

    async def _move(self, ids: Sequence[str]) -> None:
        why: Conflict | None = None
        for attempt in range(2 if len(ids) > 1 else TRIES):
            found = await self._store.get(ids)
            heads = [item for item in found if isinstance(item, Memory) and item.current and self._way.takes(item)]
            pairs = [(head, made) for head in heads if (made := await self._made(head)) is not None]
            try:
                if pairs:
                    await self._store.apply(await self._change(pairs))
                self._made_here |= {made.id for _, made in pairs}
                self._tally.migrated += len(pairs)
                return
            except Conflict as conflict:  # a writer of another process was first, or two become the same
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
            return await self._way.become(head)
        except HoldfastError as refused:
            failure = Failure(head.id, head.key, str(refused), refused.field)
        except Exception as broken:  # a function of the owner's may do anything; the rest goes on
            failure = Failure(head.id, head.key, f"{type(broken).__name__}: {broken}")
        self._tally.failures[head.id] = failure
        return None

    async def _change(self, pairs: Sequence[tuple[Memory, Memory]]) -> Change:
        held: dict[str, list[tuple[Part, Vector | None]]] = {}
        for part, vector in await self._store.indexed([old.id for old, _ in pairs]):
            held.setdefault(part.item, []).append((part, vector))
        parts = [part for old, new in pairs for part in _parts(old, new, held.get(old.id, []))]
        vectors = [vector for old, new in pairs for vector in _vectors(old, new, held.get(old.id, []))]
        return Change(
            memories=tuple(new for _, new in pairs),
            parts=tuple(parts),
            vectors=tuple(each for each in vectors if each.model == vectors[0].model),
            supersede=tuple(Supersede(old.id, new.id) for old, new in pairs),
        )


def _parts(old: Memory, new: Memory, held: Sequence[tuple[Part, Vector | None]]) -> list[Part]:
    """As findable as before: what had no vector on purpose gets none."""
    parts = passages.parts(new)
    if old.content == new.content:
        embed = {part.number: part.embed for part, _ in held}
        return [replace(part, embed=embed.get(part.number, part.embed)) for part in parts]
    if held and not any(part.embed for part, _ in held):
        return [replace(part, embed=False) for part in parts]
    return list(parts)


def _vectors(old: Memory, new: Memory, held: Sequence[tuple[Part, Vector | None]]) -> list[Vector]:
    if old.content != new.content:
        return []
    return [replace(vector, item=new.id) for _, vector in held if vector is not None]
