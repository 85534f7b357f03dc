"""One profile's memory in dictionaries."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate, islice
from typing import Any

from holdfast.domain import filters
from holdfast.domain.erasure import RemovedVersion, removed_ids
from holdfast.domain.identifiers import is_document_session
from holdfast.domain.ports.search import Probe, Proposals
from holdfast.domain.results import MessagePage, Page, Stats
from holdfast.domain.timestamps import counts_by_day, to_micros
from holdfast.domain.types import Applied, Change, Facet, Item, Memory, Message, Order, Part, Vector, Where
from holdfast.domain.vectors import vector_bytes, vector_of_bytes
from holdfast.storage import cursors
from holdfast.storage.facets import count_by_reading
from holdfast.storage.in_memory.apply import (
    add_memories,
    add_messages,
    apply_judgements,
    check_current,
    find_erasure,
    forget,
    record_digestion,
    remaining_ids,
)
from holdfast.storage.in_memory.documents import MemoryDocumentStore
from holdfast.storage.in_memory.graph import MemoryGraphStore
from holdfast.storage.in_memory.journal import MemoryJournal
from holdfast.storage.in_memory.search import propose
from holdfast.storage.in_memory.state import ProfileState, is_expired
from holdfast.storage.statistics import waiting_stats
from holdfast.text.cache import clear_text_caches


class MemoryStore:
    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self._state = ProfileState()
        self._changed = changed
        self.journal = MemoryJournal()
        self.documents = MemoryDocumentStore()
        self.graph = MemoryGraphStore(lambda: self._state)

    async def apply(self, change: Change) -> Applied:
        self.journal.check(change)
        state = ProfileState(*(copy.copy(getattr(self._state, name)) for name in ProfileState.__dataclass_fields__))
        new = add_messages(state, change) | add_memories(state, change)
        for part in {(part.item, part.number): part for part in change.parts}.values():
            if part.item in new:
                state.parts[state.next()] = part
        numbered = {(part.item, part.number): n for n, part in state.parts.items()}
        for vector in change.vectors:
            if (vector.item, vector.number) in numbered:
                stored = vector_of_bytes([vector_bytes(vector.values)])[0]
                state.vectors[numbered[vector.item, vector.number]] = (vector.model, stored)
        for item, number in change.refused:
            if (item, number) in numbered:
                n = numbered[item, number]
                state.parts[n] = replace(state.parts[n], embed=False)
        record_digestion(state, change)
        check_current(state, change)
        gone, removed = forget(state, change)
        apply_judgements(state, change)
        applied = Applied(frozenset(new), gone)
        if not change.dry_run:
            self._commit(state, change, applied, removed)
            self._changed()
        return applied

    def _commit(self, state: ProfileState, change: Change, applied: Applied, removed: Sequence[RemovedVersion]) -> None:
        given: tuple[Item, ...] = (*self._state.items.values(), *change.messages, *change.memories)
        gone = {*(each.ref for each in removed), *applied.gone.messages}
        lost = list({item.ref: item for item in given if item.ref in gone}.values())
        short = {*applied.gone.shortened}
        before = [item for item in self._state.items.values() if isinstance(item, Message) and item.id in short]
        parts = [part for part in (*self._state.parts.values(), *change.parts) if part.item in gone | short]
        self._state = state
        read = {item.session_id for item in (*lost, *before) if isinstance(item, Message)}
        left = {message.session_id for message in self._messages()}
        documents = self.documents.delete_of(read, change.documents, left)
        self.graph.delete_of(
            removed, removed_ids(removed, remaining_ids(state)), () if change.asked_by is not None else change.people
        )
        self.journal.record(change, applied, state)
        if change.erases:
            self.journal.erase(find_erasure(state, change, documents, lost, removed, parts, before))
            clear_text_caches()

    async def get(self, ids: Sequence[str]) -> list[Item]:
        found = [self._state.find(id) for id in ids]
        return [self._with_state(item) for item in found if item is not None]

    async def scan(
        self,
        where: Where | None,
        *,
        now: datetime | None,
        limit: int,
        cursor: str | None = None,
        superseded: bool = False,
        as_of: datetime | None = None,
        order: Order = "written",
        count: Sequence[Facet] | None = None,
    ) -> Page:
        rising = order.endswith("_asc")
        listed = [
            (self._place(memory, order), memory)
            for memory in self._memories()
            if self._is_listed(memory, superseded, as_of)
            and not is_expired(memory, now)
            and filters.passes(where, memory)
        ]
        found = sorted(listed, key=lambda each: each[0], reverse=not rising)
        if cursor is not None:
            last = cursors.decode_place(cursor, order)
            found = [(place, memory) for place, memory in found if (place > last if rising else place < last)]
        next_cursor = cursors.encode_place(order, *found[limit - 1][0]) if len(found) > limit else None
        page = Page(tuple(memory for _, memory in found[:limit]), next_cursor)
        how: Any = {"now": now, "superseded": superseded, "as_of": as_of}
        return page if count is None else page.counted(await count_by_reading(self, where, by=count, **how))

    async def messages(
        self, session_id: str | None, *, before: int | None = None, limit: int = 1000, cursor: str | None = None
    ) -> MessagePage:
        said = [message for message in self._messages() if session_id in (None, message.session_id)]
        if session_id is not None:
            said.sort(key=lambda message: message.position)
        if before is not None:
            return MessagePage(tuple([message for message in said if message.position < before][-limit:]))
        state, after = self._state, cursors.decode(cursor, start=0)
        placed = [(state.arrivals[each.id] if session_id is None else each.position, each) for each in said]
        found = sorted((each for each in placed if each[0] > after), key=lambda each: each[0])
        next_cursor = cursors.encode(found[limit - 1][0]) if len(found) > limit else None
        return MessagePage(tuple(message for _, message in found[:limit]), next_cursor)

    async def history(self, id: str) -> list[Memory]:
        start = self._state.find(id)
        if not isinstance(start, Memory):
            return []
        while start.superseded_by is not None and not start.retired:
            start = self._state.items[start.superseded_by]
            assert isinstance(start, Memory)
        chain = [start]
        for link in chain:
            chain += [m for m in self._memories() if m.superseded_by == link.ref and m.ref != link.ref]
        return sorted(chain, key=lambda memory: (not memory.current, -self._state.order[memory.ref]))

    async def propose(self, probe: Probe) -> Proposals:
        return propose(self._state, probe)

    async def resting_on(self, messages: Sequence[str]) -> list[Memory]:
        return [memory for memory in self._memories() if set(memory.sources) & set(messages)]

    async def claim(self, *, now: datetime, lease: timedelta, limit: int, max_bytes: int = 2**62) -> list[Message]:
        ready = [
            m for m in self._messages() if self._state.wait_until.get(m.id, datetime.max.replace(tzinfo=UTC)) <= now
        ]
        waiting = [message for message in ready if message.session_id == ready[0].session_id][:limit]
        sizes = accumulate((len(message.content.encode()) for message in waiting), initial=0)
        claimed = [message for message, before in zip(waiting, sizes, strict=False) if before < max_bytes]
        for message in claimed:
            self._state.wait_until[message.id] = now + lease
        return sorted(claimed, key=lambda message: message.position)

    async def unembedded_parts(self, model: str, limit: int) -> list[Part]:
        with_vector = {n for n, (name, _) in self._state.vectors.items() if name == model}
        missing = (part for n, part in self._state.parts.items() if part.embed and n not in with_vector)
        return [Part(part.item, part.number, part.start, part.stop) for part in islice(missing, limit)]

    async def indexed(self, ids: Sequence[str]) -> list[tuple[Part, Vector | None]]:
        found: list[tuple[Part, Vector | None]] = []
        wanted = {item.ref for item in map(self._state.find, ids) if item is not None}
        for n, part in self._state.parts.items():
            if part.item in wanted:
                model, values = self._state.vectors.get(n, ("", None))
                vector = None if values is None else Vector(part.item, part.number, model, values)
                found.append((Part(part.item, part.number, part.start, part.stop, embed=part.embed), vector))
        return found

    async def stats(self, model: str, *, only_waiting: bool = False) -> Stats:
        if only_waiting:
            return waiting_stats(
                pending=len(self._state.wait_until), unembedded=len(await self.unembedded_parts(model, 1))
            )
        current = [memory.kind for memory in self._memories() if memory.current]
        return Stats(
            messages=len(self._messages()),
            memories=len(current),
            kinds={kind: current.count(kind) for kind in sorted(set(current))},
            superseded=len(self._memories()) - len(current),
            sessions=len({m.session_id for m in self._messages() if not is_document_session(m.session_id)}),
            pending=len(self._state.wait_until),
            failing=sum(id in self._state.failures for id in self._state.wait_until),
            set_aside=len(self._state.aside),
            unembedded=len(await self.unembedded_parts(model, 2**31)),
            bytes=0,
            said_on=counts_by_day(each.said_at for each in self._messages()),
            written_on=counts_by_day(each.updated_at for each in self._memories()),
        )

    async def close(self) -> None:
        return None

    def _place(self, memory: Memory, order: Order) -> tuple[int, int]:
        """By what a memory is listed: the value of the order, then the number of its writing."""
        n = self._state.order[memory.ref]
        match order.removesuffix("_asc"):
            case "updated":
                return to_micros(memory.updated_at), n
            case "created":
                return to_micros(memory.created_at), n
            case "occurred":
                return to_micros(filters.memory_time(memory)), n
            case _:
                return n, n

    def _is_listed(self, memory: Memory, superseded: bool, as_of: datetime | None) -> bool:
        if as_of is None:
            return superseded or memory.current
        return memory.updated_at <= as_of if superseded else self._state.was_known(memory, as_of)

    def _with_state(self, item: Item) -> Item:
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
        items = (self._with_state(item) for item in self._state.items.values())
        return [item for item in items if isinstance(item, Message)]

    def _memories(self) -> list[Memory]:
        return [item for item in self._state.items.values() if isinstance(item, Memory)]
