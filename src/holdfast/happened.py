"""Pure: what a change did, as the events that listeners hear. Ids and kinds only: an event outlives what it tells."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .types import Applied, Change


def happened(change: Change, applied: Applied, pending: Callable[[], int]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(type, data) in the order in which they came about; `pending` counts the messages that still wait."""
    said: dict[str, dict[str, None]] = {}
    for message in change.messages:
        if message.id in applied.new:
            said.setdefault(message.session_id, {})[message.id] = None
    yield from (("message.added", {"session_id": session, "ids": list(ids)}) for session, ids in said.items())
    for memory in change.memories:
        if memory.id in applied.new:
            yield "memory.added", {"id": memory.id, "kind": memory.kind, "session_id": memory.session_id}
    for pair in change.supersede:
        if pair.new in applied.new:
            yield "memory.superseded", {"id": pair.old, "by": pair.new}
    yield from (("memory.marked", {"id": each.memory, "marks": each.marks}) for each in change.judged)
    yield from (("memory.forgotten", {"id": id}) for id in applied.gone.memories)
    if applied.gone.messages:
        yield "message.forgotten", {"ids": list(applied.gone.messages)}
    if change.settle or change.defer:
        done, failed = len(change.settle), len(change.defer)
        yield "digestion.progress", {"digested": done, "failed": failed, "pending": pending()}
