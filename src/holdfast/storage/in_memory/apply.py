"""Applies one Change step by step to a copy of the state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import zip_longest

from holdfast.domain.erasure import Erasure, Leftovers, RemovedVersion, removed_ids, removed_references
from holdfast.domain.errors import Conflict
from holdfast.domain.results import Document
from holdfast.domain.types import (
    BUILT_IN_KINDS,
    Change,
    Forgotten,
    Item,
    Json,
    Memory,
    Message,
    Part,
    Shortened,
    Supersede,
)
from holdfast.storage.in_memory.state import ProfileState
from holdfast.storage.rows import MESSAGE_KNOWN, SESSION_MOVED_ON, document_words, in_insertion_order, words_in

_READY_NOW = datetime.min.replace(tzinfo=UTC)
"""The `wait_until` of a message that may be claimed at once."""


def add_messages(state: ProfileState, change: Change) -> set[str]:
    new = set()
    places = dict(change.inserted)
    if change.follows is not None and _end(state, change.follows[0]) != change.follows[1]:
        raise Conflict(SESSION_MOVED_ON)
    if not state.items.keys().isdisjoint(change.absent):
        raise Conflict(MESSAGE_KNOWN)
    for message in in_insertion_order(change):
        if message.id in state.items:
            if state.aside.pop(message.id, None) is not None:  # a message sent again is tried again
                state.wait_until[message.id] = _READY_NOW
                state.failures.pop(message.id, None)
            continue
        others = [m for m in state.items.values() if isinstance(m, Message) and m.session_id == message.session_id]
        place = places.get(message.id, _end(state, message.session_id) + 1)
        for other in others:
            if other.position >= place:
                state.items[other.id] = replace(other, position=other.position + 1)
        state.items[message.id] = replace(message, position=place)
        state.arrivals[message.id] = state.next()
        state.wait_until[message.id] = _READY_NOW
        new.add(message.id)
    return new


def _end(state: ProfileState, session: str) -> int:
    """The position of a session's last message, or 0."""
    messages = (item for item in state.items.values() if isinstance(item, Message) and item.session_id == session)
    return max((message.position for message in messages), default=0)


def add_memories(state: ProfileState, change: Change) -> set[str]:
    new: set[str] = set()
    known = {item.draft_id for item in state.items.values() if isinstance(item, Memory)}
    for memory in change.memories:
        gone = memory.sources and not any(source in state.items for source in memory.sources)
        if memory.draft_id in known or gone:
            continue
        for pair in change.supersede:
            if pair.new == memory.ref:
                _supersede(state, pair)
        _check_unique(state, memory)
        state.items[memory.ref] = memory
        state.order[memory.ref] = state.next()
        known.add(memory.draft_id)
        new.add(memory.ref)
    return new


def _supersede(state: ProfileState, pair: Supersede) -> None:
    old = state.find(pair.old)
    if not isinstance(old, Memory) or not (old.current or old.retired):
        raise Conflict(f"Memory {pair.old} is no longer current; another write superseded or forgot it first.")
    state.items[old.ref] = replace(old, superseded_by=pair.new)


def _check_unique(state: ProfileState, memory: Memory) -> None:
    """One memory per id and version; one current per id, and per kind and key, or without a key per fingerprint."""
    if memory.ref in state.items or (memory.current and _current_rival(state, memory) is not None):
        what = "The same thing" if memory.key is None else f"The key {memory.key!r} of kind {memory.kind!r}"
        raise Conflict(f"{what} was written by another request at the same time.")


def _unique_key(memory: Memory) -> tuple[str, str | None]:
    return ("", memory.fingerprint) if memory.key is None else (memory.kind, memory.key)


def record_digestion(state: ProfileState, change: Change) -> None:
    """Add sources to memories, and settle, defer or requeue messages."""
    for reference, message in change.sources:
        memory = state.find(reference)
        if isinstance(memory, Memory) and message in state.items and message not in memory.sources:
            state.items[memory.ref] = replace(memory, sources=(*memory.sources, message))
    for id in change.leased:
        if not _lease_matches(state, change, id) and id in state.items:
            raise Conflict("The lease on a message expired, and another worker digests it.")
    for id in change.settle:
        state.wait_until.pop(id, None)
        state.aside.pop(id, None)
    for deferral in change.defer:
        if deferral.message in state.wait_until and _lease_matches(state, change, deferral.message):
            state.wait_until.pop(deferral.message)
            state.failures[deferral.message] = state.failures.get(deferral.message, 0) + 1
            if deferral.until is None:
                state.aside[deferral.message] = deferral.reason
            else:
                state.wait_until[deferral.message] = deferral.until

    for id in change.redo:
        if id in state.items:
            state.wait_until[id] = _READY_NOW
            state.aside.pop(id, None)
            state.failures.pop(id, None)


def check_current(state: ProfileState, change: Change) -> None:
    for id in change.current:
        memory = state.find(id)
        if not isinstance(memory, Memory) or not (memory.current or memory.retired):
            raise Conflict(f"Memory {id} is no longer current; another write superseded or forgot it first.")


def apply_judgements(state: ProfileState, change: Change) -> None:
    """Set marks, after the forgetting: what is current again may take the place of what is gone."""
    for each in change.judged:
        judged = state.find(each.memory)
        if isinstance(judged, Memory):
            marked = judged.with_marks(each.marks, each.reviewed_at)
            rival = _current_rival(state, marked) if judged.retired and marked.current else None
            if rival is not None:
                raise Conflict(f"Memory {each.memory} cannot be current again: {rival} has its place.")
            state.items[judged.ref] = marked


def _lease_matches(state: ProfileState, change: Change, id: str) -> bool:
    return change.lease is None or state.wait_until.get(id) == change.lease


def _current_rival(state: ProfileState, memory: Memory) -> str | None:
    """The current version with the same id or key, or without a key the same fingerprint: this one cannot be current
    too."""
    key = _unique_key(memory)
    for other in state.items.values():
        if isinstance(other, Memory) and other.current and other.ref != memory.ref:
            if other.id == memory.id or _unique_key(other) == key:
                return other.ref
    return None


def forget(state: ProfileState, change: Change) -> tuple[Forgotten, list[RemovedVersion]]:
    messages = [id for id in dict.fromkeys(change.forget) if isinstance(state.items.get(id), Message)]
    memories = dict.fromkeys(ref for reference in change.forget for ref in _versions(state, reference))
    for id in messages:
        memories |= dict.fromkeys(_delete_message(state, id))
    due = [each for each in change.shorten if _is_due(state, each)]
    for each in due:
        if each.content is None:
            _delete_message(state, each.message)
            messages.append(each.message)
        else:
            _replace_text(state, each, each.content)
    removed = []
    kept_ended = {pair.old: pair.new for pair in change.kept_ended}
    for ref in memories:
        memory = state.items.pop(ref)
        assert isinstance(memory, Memory)
        removed.append(RemovedVersion(memory.id, memory.version, memory.draft_id))
        for other in [other for other in state.items.values() if isinstance(other, Memory) and other.id == memory.id]:
            last = max(other.last_version, memory.version)
            state.items[other.ref] = replace(other, last_version=last)
        older = [other for other in state.items.values() if isinstance(other, Memory) and other.superseded_by == ref]
        for other in sorted(older, key=lambda memory: -state.order[memory.ref]):
            successor = None if memory.retired else memory.superseded_by
            if successor is None:
                successor = other.ref if other.marks < 0 else _current_rival(state, other)
            successor = successor or kept_ended.get(other.ref)
            state.items[other.ref] = replace(other, superseded_by=successor)
    gone = {*messages, *memories}
    for entries in (state.wait_until, state.aside, state.failures):
        for id in gone & set(entries):
            entries.pop(id)
    for n in [n for n, part in state.parts.items() if part.item in gone]:
        del state.parts[n]
        state.vectors.pop(n, None)
    short = tuple(each.message for each in due if each.content is not None)
    return Forgotten(removed_references(removed, remaining_ids(state)), tuple(messages), short), removed


def remaining_ids(state: ProfileState) -> set[str]:
    return {item.id for item in state.items.values()}


def _versions(state: ProfileState, reference: str) -> list[str]:
    """The version that a reference names, or every version of a memory by its id."""
    found = state.find(reference)
    if not isinstance(found, Memory):
        return []
    every = [item.ref for item in state.items.values() if isinstance(item, Memory) and item.id == found.id]
    return [reference] if reference == found.ref else every


def _delete_message(state: ProfileState, id: str) -> list[str]:
    """Delete a message; references of the memories that rested on nothing else."""
    del state.items[id]
    alone = []
    for other in list(state.items.values()):
        if isinstance(other, Memory) and id in other.sources:
            left = tuple(source for source in other.sources if source != id)
            state.items[other.ref] = replace(other, sources=left)
            if not left:
                alone.append(other.ref)
    return alone


def _is_due(state: ProfileState, each: Shortened) -> bool:
    found = state.items.get(each.message)
    memories = [item for item in state.items.values() if isinstance(item, Memory)]
    resting = frozenset(memory.ref for memory in memories if each.message in memory.sources)
    return each.is_due(None if found is None else found.content, resting)


def _replace_text(state: ProfileState, each: Shortened, content: str) -> None:
    """Write what is left of a message, with new parts in the places of the old ones."""
    message = state.items[each.message]
    assert isinstance(message, Message)
    state.items[each.message] = replace(message, content=content, metadata=each.metadata, shortened=True)
    if each.message in state.wait_until:  # a worker that digests the old text loses its lease
        state.wait_until[each.message] = _READY_NOW
    places = [n for n, part in state.parts.items() if part.item == each.message]
    for n in places:
        state.vectors.pop(n, None)
    new = dict(zip_longest(places, each.parts[: len(places)]))
    state.parts = {n: new.get(n, part) for n, part in state.parts.items() if n not in new or new[n] is not None}
    state.parts |= {state.next(): part for part in each.parts[len(places) :]}


def find_erasure(
    state: ProfileState,
    change: Change,
    documents: Sequence[Document],
    gone: Sequence[Item],
    removed: Sequence[RemovedVersion],
    parts: Sequence[Part],
    before: Sequence[Message],
) -> Erasure:
    """What nothing may mention any more, now that items are gone with their parts, and those in `before` shortened."""
    said = {item.session_id for item in state.items.values() if isinstance(item, Message)}
    for item in list(state.items.values()):
        if isinstance(item, Memory) and item.session_id in set(change.asked_in) - said:
            first = [state.items[id].session_id for id in item.sources[:1]]
            state.items[item.ref] = replace(item, session_id=first[0] if first else None)
    lost, kept = _labels(gone), _labels(state.items.values())
    lost["session"].update(change.asked_in)
    labels = {value for name in ("agent", "key", "kind") for value in lost[name] - kept[name]}
    words = {word for part in parts for word in part.words}
    for item in gone:
        words |= words_in(item.metadata, item.session_id, *_own_texts(item))
    for message in before:
        left = state.items[message.id].metadata
        words |= words_in({name: value for name, value in message.metadata.items() if name not in left})
    for document in documents:
        words |= document_words(document)
    words -= {word for part in state.parts.values() for word in part.words}
    return Erasure(
        ids=removed_ids(removed, remaining_ids(state))
        | {item.id for item in (*gone, *documents) if not isinstance(item, Memory)},
        shortened=frozenset(message.id for message in before),
        sessions=frozenset(lost["session"] - kept["session"]),
        labels=frozenset(labels.difference(BUILT_IN_KINDS)),
        words=frozenset(words),
        people=change.people,
        asked_in=frozenset(change.asked_in),
        asked_by=change.asked_by,
    )


def _own_texts(item: Item) -> tuple[Json, ...]:
    return (item.key, item.value) if isinstance(item, Memory) else (item.speaker,)


def _labels(items: Iterable[Item]) -> dict[str, set[str]]:
    found = Leftovers()
    for item in items:
        found.add(session=item.session_id, agent=item.agent)
        if isinstance(item, Memory):
            found.add(key=item.key, kind=item.kind)
    return found.labels
