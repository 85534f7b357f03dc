"""Pure: the journal events of an applied change.

An event holds ids, versions, kinds and names of sessions. Forgetting takes them out; only the events that tell of it
keep ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from holdfast.domain.identifiers import split_reference
from holdfast.domain.types import Applied, Change


def change_events(change: Change, applied: Applied, pending: Callable[[], int]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(type, data) of each event in order; `pending` counts the messages that still wait for digestion."""
    added: dict[str, dict[str, None]] = {}
    for message in change.messages:
        if message.id in applied.new:
            added.setdefault(message.session_id, {})[message.id] = None
    yield from (("message.added", {"session_id": session, "ids": list(ids)}) for session, ids in added.items())
    for memory in change.memories:
        if memory.ref in applied.new:
            about = {"kind": memory.kind, "session_id": memory.session_id}
            yield "memory.added", {"id": memory.id, "version": memory.version, **about}
    for pair in change.supersede:
        if pair.new in applied.new:
            yield "memory.superseded", {**_which(pair.old), "by": pair.new}
    for each in change.judged:
        yield "memory.marked", {**_which(each.memory), "marks": each.marks}
    yield from (("memory.forgotten", {"id": id}) for id in applied.gone.memories)
    nothing_found = change.erases and not change.forget and not applied.gone.memories
    if applied.gone.messages or nothing_found:  # traces that began before are recognised by it
        yield "message.forgotten", {"ids": list(applied.gone.messages)}
    if applied.gone.shortened:
        yield "message.shortened", {"ids": list(applied.gone.shortened)}
    if change.settle or change.defer:
        done, failed = len(change.settle), len(change.defer)
        yield "digestion.progress", {"digested": done, "failed": failed, "pending": pending()}


def _which(reference: str) -> dict[str, Any]:
    id, version = split_reference(reference)
    return {"id": id} if version is None else {"id": id, "version": version}
