"""One Change, step by step, on a copy of the state."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from ..errors import Conflict
from ..types import Change, Forgotten, Memory, Message, Supersede
from .state import State

_START = datetime.min.replace(tzinfo=UTC)


def add_messages(state: State, change: Change) -> set[str]:
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


def add_memories(state: State, change: Change) -> set[str]:
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


def note(state: State, change: Change) -> None:
    for id, message in change.sources:
        memory = state.items.get(id)
        if isinstance(memory, Memory) and message in state.items and message not in memory.sources:
            state.items[id] = replace(memory, sources=(*memory.sources, message))
    for id in change.settle:
        if not _ours(state, change, id) and id in state.items:
            raise Conflict("The lease on a message ran out, and somebody else digests it.")
        state.wait_until.pop(id, None)
        state.aside.pop(id, None)
    for late in change.defer:
        if late.message in state.wait_until and _ours(state, change, late.message):
            state.wait_until.pop(late.message)
            state.failures[late.message] = state.failures.get(late.message, 0) + 1
            if late.until is None:
                state.aside[late.message] = late.reason
            else:
                state.wait_until[late.message] = late.until

    for id in change.redo:
        if id in state.items:
            state.wait_until[id] = _START
            state.aside.pop(id, None)
            state.failures.pop(id, None)


def judge(state: State, change: Change) -> None:
    for id in change.current:
        held = state.items.get(id)
        if not isinstance(held, Memory) or not held.current:
            raise Conflict(f"Memory {id} is no longer current; somebody superseded or forgot it first.")
    for each in change.judged:
        memory = state.items.get(each.memory)
        if isinstance(memory, Memory):
            state.items[each.memory] = replace(memory, marks=each.marks, reviewed_at=each.reviewed_at)


def _ours(state: State, change: Change, id: str) -> bool:
    return change.lease is None or state.wait_until.get(id) == change.lease


def _in_its_place(state: State, memory: Memory) -> str | None:
    """The current memory that leaves no room for this one to be current: of its key, or of its very words."""
    for other in state.items.values():
        if isinstance(other, Memory) and other.current and other.id != memory.id:
            if (
                (other.kind, other.key) == (memory.kind, memory.key)
                if memory.key
                else (other.key is None and other.fingerprint == memory.fingerprint)
            ):
                return other.id
    return None


def forget(state: State, change: Change) -> Forgotten:
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
        older = [other for other in state.items.values() if isinstance(other, Memory) and other.superseded_by == id]
        for other in sorted(older, key=lambda memory: -state.order[memory.id]):
            state.items[other.id] = replace(other, superseded_by=successor or _in_its_place(state, other))
    gone = {*messages, *memories}
    for kept in (state.wait_until, state.aside, state.failures):
        for id in gone & set(kept):
            kept.pop(id)
    for n in [n for n, part in state.parts.items() if part.item in gone]:
        del state.parts[n]
        state.vectors.pop(n, None)
    return Forgotten(tuple(memories), tuple(messages))
