"""One profile's memory, in dictionaries."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from .. import cursors, filters
from ..moments import by_day, micros
from ..names import of_document
from ..results import Page, Stats
from ..types import (
    Applied,
    Change,
    Item,
    Memory,
    Message,
    Part,
    Probe,
    Proposals,
    Vector,
    Where,
)
from ..vectors import packed, unpacked
from .apply import add_memories, add_messages, forget, judge, note
from .graph import MemoryGraph
from .journal import MemoryJournal
from .search import propose
from .shelf import MemoryShelf
from .state import State, expired


class MemoryStore:
    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self._state = State()
        self._changed = changed
        self.journal = MemoryJournal()
        self.shelf = MemoryShelf()
        self.graph = MemoryGraph(lambda: self._state)

    async def apply(self, change: Change) -> Applied:
        self.journal.check(change)
        state = State(*(copy.copy(getattr(self._state, name)) for name in State.__dataclass_fields__))
        new = add_messages(state, change) | add_memories(state, change)
        for part in {(part.item, part.number): part for part in change.parts}.values():
            if part.item in new:
                state.parts[state.next()] = part
        numbered = {(part.item, part.number): n for n, part in state.parts.items()}
        for vector in change.vectors:
            if (vector.item, vector.number) in numbered:
                stored = unpacked([packed(vector.values)])[0]
                state.vectors[numbered[vector.item, vector.number]] = (vector.model, stored)
        for item, number in change.refused:
            if (item, number) in numbered:
                n = numbered[item, number]
                state.parts[n] = replace(state.parts[n], embed=False)
        note(state, change)
        judge(state, change)
        gone = forget(state, change)
        applied = Applied(frozenset(new), gone)
        if not change.rehearsed:
            was = {**self._state.items, **{message.id: message for message in change.messages}}
            self.shelf.drop({was[id].session_id for id in gone.messages}, change.documents)
            self._state = state
            self.graph.forget(gone)
            self.journal.record(change, applied, state)
            self._changed()
        return applied

    async def get(self, ids: Sequence[str]) -> list[Item]:
        return [self._seen(self._state.items[id]) for id in ids if id in self._state.items]

    async def scan(
        self,
        where: Where | None,
        *,
        now: datetime | None,
        limit: int,
        cursor: str | None = None,
        superseded: bool = False,
        as_of: datetime | None = None,
    ) -> Page:
        before = cursors.opened(cursor)
        order = self._state.order
        found = [
            memory
            for memory in sorted(self._memories(), key=lambda memory: -order[memory.id])
            if self._listed(memory, superseded, as_of) and not expired(memory, now) and filters.passes(where, memory)
            if order[memory.id] < before
        ]
        more = cursors.sealed(order[found[limit - 1].id]) if len(found) > limit else None
        return Page(tuple(found[:limit]), more)

    async def said(self, session_id: str | None, *, before: int | None = None, limit: int = 1000) -> list[Message]:
        found = [message for message in self._messages() if session_id in (None, message.session_id)]
        if before is None:
            return found[:limit]
        return [message for message in found if message.position < before][-limit:]

    async def history(self, id: str) -> list[Memory]:
        start = self._state.items.get(id)
        if not isinstance(start, Memory):
            return []
        while start.superseded_by is not None:
            start = self._state.items[start.superseded_by]
            assert isinstance(start, Memory)
        chain = [start]
        for link in chain:
            chain += [memory for memory in self._memories() if memory.superseded_by == link.id]
        return sorted(chain, key=lambda memory: (-memory.version, -self._state.order[memory.id]))

    async def propose(self, probe: Probe) -> Proposals:
        return propose(self._state, probe)

    async def resting_on(self, messages: Sequence[str]) -> list[Memory]:
        return [memory for memory in self._memories() if set(memory.sources) & set(messages)]

    async def claim(self, *, now: datetime, lease: timedelta, limit: int) -> list[Message]:
        ready = [
            m for m in self._messages() if self._state.wait_until.get(m.id, datetime.max.replace(tzinfo=UTC)) <= now
        ]
        lent = [message for message in ready if message.session_id == ready[0].session_id][:limit]
        for message in lent:
            self._state.wait_until[message.id] = now + lease
        return sorted(lent, key=lambda message: message.position)

    async def bare(self, model: str, limit: int) -> list[Part]:
        has = {n for n, (name, _) in self._state.vectors.items() if name == model}
        return [
            Part(part.item, part.number, part.start, part.stop)
            for n, part in self._state.parts.items()
            if part.embed and n not in has
        ][:limit]

    async def indexed(self, ids: Sequence[str]) -> list[tuple[Part, Vector | None]]:
        found: list[tuple[Part, Vector | None]] = []
        for n, part in self._state.parts.items():
            if part.item in ids:
                model, values = self._state.vectors.get(n, ("", None))
                vector = None if values is None else Vector(part.item, part.number, model, values)
                found.append((Part(part.item, part.number, part.start, part.stop, embed=part.embed), vector))
        return found

    async def stats(self, model: str) -> Stats:
        current = [memory.kind for memory in self._memories() if memory.current]
        return Stats(
            messages=len(self._messages()),
            memories=len(current),
            kinds={kind: current.count(kind) for kind in sorted(set(current))},
            superseded=len(self._memories()) - len(current),
            sessions=len({m.session_id for m in self._messages() if not of_document(m.session_id)}),
            pending=len(self._state.wait_until),
            failing=sum(id in self._state.failures for id in self._state.wait_until),
            set_aside=len(self._state.aside),
            unembedded=len(await self.bare(model, 2**31)),
            bytes=0,
            said_on=_days(self._messages()),
            written_on=_days(self._memories()),
        )

    async def close(self) -> None:
        return None

    def _listed(self, memory: Memory, superseded: bool, as_of: datetime | None) -> bool:
        if as_of is None:
            return superseded or memory.current
        return memory.updated_at <= as_of if superseded else self._state.known(memory, as_of)

    def _seen(self, item: Item) -> Item:
        if isinstance(item, Memory):
            return item
        state = self._state
        return replace(
            item,
            pending=item.id in state.wait_until,
            failures=state.failures.get(item.id, 0),
            aside=item.id in state.aside,
        )

    def _messages(self) -> list[Message]:
        seen = (self._seen(item) for item in self._state.items.values())
        return [item for item in seen if isinstance(item, Message)]

    def _memories(self) -> list[Memory]:
        return [item for item in self._state.items.values() if isinstance(item, Memory)]


def _days(items: Sequence[Item]) -> dict[str, int]:
    return by_day(Counter(micros(item.created_at) // 86_400_000_000 for item in items).items())
