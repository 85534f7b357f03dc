"""One profile's memory, in dictionaries."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from .. import filters
from ..errors import Conflict, InvalidInput
from ..moments import micros
from ..types import (
    Applied,
    Candidate,
    Change,
    Floats,
    Forgotten,
    Item,
    Memory,
    Message,
    Page,
    Part,
    Probe,
    Proposals,
    Stats,
    Supersede,
    Where,
)
from ..vectors import best, packed, unpacked
from ..words import bm25

REACH = 1
_START = datetime.min.replace(tzinfo=UTC)


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

    def next(self) -> int:
        self.counter += 1
        return self.counter


class MemoryStore:
    def __init__(self) -> None:
        self._state = State()

    async def apply(self, change: Change) -> Applied:
        state = State(*(copy.copy(getattr(self._state, name)) for name in State.__dataclass_fields__))
        new = _add_messages(state, change) | _add_memories(state, change)
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
        _note(state, change)
        gone = _forget(state, change)
        self._state = state
        return Applied(frozenset(new), gone)

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
    ) -> Page:
        if cursor is not None and not (isinstance(cursor, str) and cursor.isdecimal()):
            raise InvalidInput(
                f"cursor {cursor!r} is none of ours; pass the cursor of the page before.", field="cursor"
            )
        order = self._state.order
        found = [
            memory
            for memory in sorted(self._memories(), key=lambda memory: -order[memory.id])
            if (superseded or memory.current) and not _expired(memory, now) and filters.passes(where, memory)
            if cursor is None or order[memory.id] < int(cursor)
        ]
        more = str(order[found[limit - 1].id]) if len(found) > limit else None
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
        return _propose(self._state, probe)

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

    async def stats(self, model: str) -> Stats:
        current = [memory.kind for memory in self._memories() if memory.current]
        return Stats(
            messages=len(self._messages()),
            memories=len(current),
            kinds={kind: current.count(kind) for kind in sorted(set(current))},
            superseded=len(self._memories()) - len(current),
            sessions=len({message.session_id for message in self._messages()}),
            pending=len(self._state.wait_until),
            set_aside=len(self._state.aside),
            unembedded=len(await self.bare(model, 2**31)),
            bytes=0,
        )

    async def close(self) -> None:
        return None

    def _seen(self, item: Item) -> Item:
        if isinstance(item, Memory):
            return item
        return replace(item, pending=item.id in self._state.wait_until, failures=self._state.failures.get(item.id, 0))

    def _messages(self) -> list[Message]:
        seen = (self._seen(item) for item in self._state.items.values())
        return [item for item in seen if isinstance(item, Message)]

    def _memories(self) -> list[Memory]:
        return [item for item in self._state.items.values() if isinstance(item, Memory)]


def _expired(memory: Memory, now: datetime | None) -> bool:
    return now is not None and memory.expires_at is not None and memory.expires_at <= now


def _add_messages(state: State, change: Change) -> set[str]:
    new = set()
    for message in change.messages:
        if message.id in state.items:
            if state.aside.pop(message.id, None) is not None:  # saying it again gives it another chance
                state.wait_until[message.id] = _START
                state.failures.pop(message.id, None)
            continue
        taken = [
            m.position for m in state.items.values() if isinstance(m, Message) and m.session_id == message.session_id
        ]
        state.items[message.id] = replace(message, position=max(taken, default=0) + 1)
        state.wait_until[message.id] = _START
        new.add(message.id)
    return new


def _add_memories(state: State, change: Change) -> set[str]:
    new: set[str] = set()
    for memory in change.memories:
        gone = memory.sources and not any(source in state.items for source in memory.sources)
        if memory.id in state.items or gone:
            continue
        for pair in change.supersede:
            if pair.new == memory.id:
                _supersede(state, pair)
        state.items[memory.id] = memory
        state.order[memory.id] = state.next()
        _check_alone(state, memory)
        new.add(memory.id)
    return new


def _supersede(state: State, pair: Supersede) -> None:
    old = state.items.get(pair.old)
    if not isinstance(old, Memory) or not old.current:
        raise Conflict(f"Memory {pair.old} is no longer current; somebody superseded or forgot it first.")
    state.items[pair.old] = replace(old, superseded_by=pair.new)


def _check_alone(state: State, memory: Memory) -> None:
    """One current memory per kind and key; without a key, one per fingerprint."""
    place = _place(memory)
    for other in state.items.values():
        if isinstance(other, Memory) and other.id != memory.id and other.current and _place(other) == place:
            what = "The same thing" if memory.key is None else f"The key {memory.key!r} of kind {memory.kind!r}"
            raise Conflict(f"{what} was written meanwhile.")


def _place(memory: Memory) -> tuple[str, str | None]:
    return ("", memory.fingerprint) if memory.key is None else (memory.kind, memory.key)


def _note(state: State, change: Change) -> None:
    for id, message in change.sources:
        memory = state.items.get(id)
        if isinstance(memory, Memory) and message in state.items and message not in memory.sources:
            state.items[id] = replace(memory, sources=(*memory.sources, message))
    for id in change.settle:
        state.wait_until.pop(id, None)
        state.aside.pop(id, None)
    for late in change.defer:
        if late.message in state.wait_until:
            state.wait_until.pop(late.message)
            state.failures[late.message] = state.failures.get(late.message, 0) + 1
            if late.until is None:
                state.aside[late.message] = late.reason
            else:
                state.wait_until[late.message] = late.until


def _forget(state: State, change: Change) -> Forgotten:
    messages = [id for id in dict.fromkeys(change.forget) if isinstance(state.items.get(id), Message)]
    memories = dict.fromkeys(id for id in change.forget if isinstance(state.items.get(id), Memory))
    for id in messages:
        for other in list(state.items.values()):
            if isinstance(other, Memory) and id in other.sources:
                left = tuple(source for source in other.sources if source != id)
                state.items[other.id] = replace(other, sources=left)
                if not left:
                    memories[other.id] = None
        del state.items[id]
    for id in memories:
        successor = getattr(state.items.pop(id), "superseded_by", None)
        for other in list(state.items.values()):
            if isinstance(other, Memory) and other.superseded_by == id:
                state.items[other.id] = replace(other, superseded_by=successor)
    gone = {*messages, *memories}
    for kept in (state.wait_until, state.aside, state.failures):
        for id in gone & set(kept):
            kept.pop(id)
    for n in [n for n, part in state.parts.items() if part.item in gone]:
        del state.parts[n]
        state.vectors.pop(n, None)
    return Forgotten(tuple(memories), tuple(messages))


def _propose(state: State, probe: Probe) -> Proposals:
    numbers = sorted(state.parts)
    parts = [state.parts[n] for n in numbers]
    lengths = np.array([len(part.words) for part in parts], float)
    counts = np.array([[part.words.count(word) for word in probe.words] for part in parts], float)
    counts = counts.reshape(len(parts), len(probe.words))
    frequency = [int(column) for column in (counts > 0).sum(0)]
    mean = float(lengths.mean()) if len(parts) else 0.0
    cosines = np.zeros(len(parts), np.float32)
    for row, n in enumerate(numbers):
        model, values = state.vectors.get(n, ("", None))
        if values is not None and model == probe.model and probe.vector is not None:
            cosines[row] = values @ probe.vector
    allowed = np.array([_allowed(state.items[part.item], probe) for part in parts], bool)
    channels: dict[int, dict[str, int]] = {}
    weight = bm25(counts, lengths, frequency, len(parts), mean).sum(1)
    for name, scores, found in (("words", weight, counts.any(1)), ("meaning", cosines, cosines != 0)):
        for memory in (False, True):
            mine = [isinstance(state.items[part.item], Memory) == memory for part in parts]
            rows = np.flatnonzero(allowed & found & np.array(mine, bool))
            channel = name if memory else "messages"
            for rank, at in enumerate(best(scores[rows], probe.limit), 1):
                ranks = channels.setdefault(int(rows[at]), {})
                ranks[channel] = min(rank, ranks.get(channel, rank))
    keyed = [
        row
        for row in sorted(range(len(parts)), key=lambda row: -state.order.get(parts[row].item, 0))
        if allowed[row] and getattr(state.items[parts[row].item], "key", None) in probe.keys
    ]
    timely = [row for row in range(len(parts)) if _inside(state.items[parts[row].item], probe)]
    timely.sort(key=lambda row: (-micros(_moment(state.items[parts[row].item])), -numbers[row]))
    timely = [row for row in timely if allowed[row]][: probe.limit]
    for name, found in (("key", keyed[: probe.limit]), ("time", timely)):
        for rank, row in enumerate(found, 1):
            channels.setdefault(row, {})[name] = rank
    leading = [row for row, ranks in channels.items() if min(ranks.values()) <= probe.with_neighbours]
    shown = [row for row in range(len(parts)) if row in channels or _beside(state, parts, row, leading)]
    return _measured(state, parts, shown, counts, cosines, channels, (len(parts), mean, tuple(frequency)))


def _measured(
    state: State,
    parts: list[Part],
    shown: list[int],
    counts: NDArray[np.float64],
    cosines: Floats,
    channels: dict[int, dict[str, int]],
    statistics: tuple[int, float, tuple[int, ...]],
) -> Proposals:
    items: dict[str, Candidate] = {}
    for row in shown:
        part = parts[row]
        made = _candidate(state.items[part.item], part)
        ranks = items.setdefault(part.item, made).channels
        for channel, rank in channels.get(row, {}).items():
            ranks[channel] = min(rank, ranks.get(channel, rank))
    places = {id: place for place, id in enumerate(items)}
    cosine = cosines[shown].astype(float)
    return Proposals(
        items=tuple(items.values()),
        of=np.array([places[parts[row].item] for row in shown], np.int64),
        number=np.array([parts[row].number for row in shown], np.int64),
        length=np.array([len(parts[row].words) for row in shown], float),
        counts=counts[shown],
        cosine=np.where(cosine == 0, np.nan, cosine),
        tokens=tuple(parts[row].tokens for row in shown),
        parts=statistics[0],
        mean_length=statistics[1],
        frequency=statistics[2],
    )


def _allowed(item: Item, probe: Probe) -> bool:
    if isinstance(item, Memory) and (not item.current or _expired(item, probe.now)):
        return False
    return filters.passes(probe.where, item)


def _moment(item: Item) -> datetime:
    return item.said_at if isinstance(item, Message) else filters.memory_time(item)


def _inside(item: Item, probe: Probe) -> bool:
    return probe.window is not None and probe.window[0] <= _moment(item) < probe.window[1]


def _beside(state: State, parts: list[Part], row: int, leading: list[int]) -> bool:
    item = state.items[parts[row].item]
    for other in (state.items[parts[found].item] for found in leading):
        if isinstance(item, Message) and isinstance(other, Message) and item.session_id == other.session_id:
            if abs(item.position - other.position) <= REACH:
                return True
    return False


def _candidate(item: Item, part: Part) -> Candidate:
    if isinstance(item, Memory):
        return Candidate(item.id, True, item.session_id, -1, None, None, part.asks, micros(_moment(item)), {})
    place = (item.session_id, item.position)
    return Candidate(item.id, False, *place, item.role, item.speaker, part.asks, micros(item.said_at), {})
