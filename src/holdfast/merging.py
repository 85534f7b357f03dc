"""The memories of an archive on their way into a profile that may have some of its own."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .archive import Carried
from .moving import Step
from .types import Change, Item, Memory, Part, Test

if TYPE_CHECKING:
    from .restore import Restoring

Place = tuple[str, ...]


class Merging:
    """The memories of an archive, batch by batch, each after what it supersedes; see moving.Step for the stand-ins."""

    def __init__(self, work: Restoring) -> None:
        self._work = work
        self._store = work.store
        self._to_come = dict(work.checked.links)
        """Superseded memory → its successor, until that one has had its turn."""
        self._before: dict[str, list[str]] = defaultdict(list)
        for old, new in self._to_come.items():
            self._before[new].append(old)
        self._step = Step()
        self._copies: dict[str, Carried] = {}
        self._heads: dict[Place, str] = {}
        """What the step in hand brings into a place, and what it takes out of its place."""
        self._past: set[str] = set()
        self.known = 0
        self.written = 0
        self.clashes: list[tuple[str, str, str | None]] = []
        """(what it is called, its id in the archive, the id of what is in its place)"""

    async def bring(self) -> None:
        async for some in self._work.batches("memory"):
            known = {item.id for item in await self._store.get([each.item.id for each in some])}
            held = await self._held([each.item for each in some])
            current = await self._current(some)
            for each in some:
                self._take(each, known, held, current)
            self._work.saw(len(some))
            if not self._step.parked:
                await self._write()
        await self._write()

    def _take(self, each: Carried, known: set[str], held: dict[Place, str], current: set[str]) -> None:
        memory, older = each.item, self._before.pop(each.item.id, [])
        assert isinstance(memory, Memory)
        for old in older:
            self._to_come.pop(old, None)
        place = _place(memory)
        head = self._heads.get(place, held.get(place))
        if memory.id in known or head == memory.id:
            self.known += 1
        elif head is None or head in older or head in self._past:
            self._add(each, place, [old for old in older if old in current or old in self._step.own])
        elif head in self._to_come:
            self._step.park(head)
            self._add(each, place, [old for old in older if old in current or old in self._step.own])
        elif self._work.replacing and memory.key is not None:
            self._add(each, place, [head, *(old for old in older if old in current or old in self._step.own)])
        else:
            self._leave(memory, head, older)

    def _leave(self, memory: Memory, head: str, older: Iterable[str]) -> None:
        for old in older:
            self._step.parked.pop(old, None)
        if memory.key is None:  # the same words: one memory, as when somebody says it again
            self.known += 1
        else:
            self.clashes.append((f"{memory.kind}/{memory.key}", memory.id, head))

    def _add(self, each: Carried, place: Place, older: Sequence[str]) -> None:
        self._step.add(each.item.id, older)
        self._past |= set(older)
        self._heads[place] = each.item.id
        self._copies[each.item.id] = each

    async def _write(self) -> None:
        step, copies = self._step, self._copies
        self._copies = {}
        if self._work.dry_run:
            self.written += len(copies)
            return  # nothing comes into the store: what would be there is remembered here
        self._step, self._heads, self._past = Step(), {}, set()
        if not step.memories:
            return
        plain = {id: _alone(each.item) for id, each in copies.items()}
        memories = [plain[each] if isinstance(each, str) else each for each in step.memories]
        new = await self._work.apply(
            Change(
                memories=tuple(each for each in memories if isinstance(each, Memory)),
                parts=await asyncio.to_thread(parts_of, copies.values()),
                vectors=tuple(vector for each in copies.values() for vector in each.vectors),
                supersede=tuple(step.supersede),
                forget=tuple(step.forget),
            )
        )
        self.written += len(copies.keys() & new)
        self.clashes += [(copies[id].item.content[:80], id, None) for id in copies if id not in new]

    async def _held(self, memories: Sequence[Any]) -> dict[Place, str]:
        """What is current in the places of these."""
        keys = tuple({memory.key for memory in memories if memory.key is not None})
        marks = tuple({memory.fingerprint for memory in memories if memory.key is None})
        found: dict[Place, str] = {}
        for field, values in (("key", keys), ("fingerprint", marks)):
            cursor = None
            while values:
                page = await self._store.scan(Test(field, "in", values), now=None, limit=500, cursor=cursor)
                found |= {_place(m): m.id for m in page if (m.key is None) == (field == "fingerprint")}
                cursor = page.cursor
                if cursor is None:
                    break
        return found

    async def _current(self, some: Sequence[Carried]) -> set[str]:
        """Which of those that these supersede are current in the profile."""
        ids = [old for each in some for old in self._before.get(each.item.id, ())]
        return {item.id for item in await self._store.get(ids) if isinstance(item, Memory) and item.current}


def _place(memory: Memory) -> Place:
    return (memory.fingerprint,) if memory.key is None else (memory.kind, memory.key)


def parts_of(some: Iterable[Carried]) -> tuple[Part, ...]:
    return tuple(part for each in some for part in each.indexed())


def _alone(item: Item) -> Memory:
    """As it was before anything superseded it."""
    assert isinstance(item, Memory)
    return replace(item, superseded_by=None)
