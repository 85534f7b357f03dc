"""Counts memories by facet: kind, key, person, agent, tag and month. The backends read the values, this counts them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from holdfast.domain.ports.storage import Store
from holdfast.domain.results import Facets, MessagePage
from holdfast.domain.timestamps import from_micros, to_micros
from holdfast.domain.types import Facet, Memory, Message, Where

READ_AT_ONCE = 500
"""How many memories are read at once. Chosen by hand; not measured."""
TAGS = "tags"
"""The metadata field whose texts are a memory's tags."""


def count_rows(by: Sequence[Facet], rows: Iterable[Sequence[Any]]) -> Facets:
    """Count rows of one raw value per facet and the number of memories that have these values."""
    counters: list[Counter[str]] = [Counter() for _ in by]
    total = 0
    for *raw, times in rows:
        total += times
        for facet, counter, value in zip(by, counters, raw, strict=True):
            for name in _names(facet, value):
                counter[name] += times
    ranked = [sorted(counter.items(), key=lambda each: (-each[1], each[0])) for counter in counters]
    return Facets(
        total,
        {facet: dict(values) for facet, values in zip(by, ranked, strict=True)},
        {facet: len(values) for facet, values in zip(by, ranked, strict=True)},
    )


def _names(facet: Facet, raw: Any) -> Iterable[str]:
    """What a memory counts under, each once. `raw` is a text, a time in microseconds, or JSON text."""
    if raw is None:
        return ()
    if facet == "month":
        at = from_micros(raw)
        return (f"{at.year:04}-{at.month:02}",)
    if facet not in ("tag", "person"):
        return (raw,)
    found = json.loads(raw)
    return {each for each in (found if isinstance(found, list) else [found]) if isinstance(each, str)}


async def count_by_reading(
    store: Store,
    where: Where | None,
    *,
    by: Sequence[Facet],
    now: datetime | None,
    superseded: bool = False,
    as_of: datetime | None = None,
) -> Facets:
    """Count what a store lists, page by page, with the speakers of the messages that it shows."""
    rows: list[Sequence[Any]] = []
    cursor: str | None = None
    while True:
        page = await store.scan(where, now=now, limit=READ_AT_ONCE, cursor=cursor, superseded=superseded, as_of=as_of)
        needed = "person" in by or "month" in by
        named = sorted({source for memory in page for source in memory.sources}) if needed else []
        said = {item.id: item for item in await store.get(named) if isinstance(item, Message)}
        rows += [(*(_raw(facet, memory, said) for facet in by), 1) for memory in page]
        cursor = page.cursor
        if cursor is None:
            return count_rows(by, rows)


async def read_messages(
    store: Store, session_id: str | None, limit: int, cursor: str | None, seen: Callable[[Message], bool]
) -> MessagePage:
    """List the messages of a store that are seen, by page."""
    found: list[Message] = []
    while True:
        page = await store.messages(session_id, limit=limit - len(found), cursor=cursor)
        found += [message for message in page if seen(message)]
        cursor = page.cursor
        if cursor is None or len(found) >= limit:
            return MessagePage(tuple(found), cursor)


def month_moment(memory: Memory, said: Iterable[Message]) -> datetime:
    """By when a memory is counted: when it happened, else when the first of these messages was said."""
    return memory.occurred_at or min((message.said_at for message in said), default=memory.created_at)


def _raw(facet: Facet, memory: Memory, said: dict[str, Message]) -> Any:
    sources = [said[source] for source in memory.sources if source in said]
    match facet:
        case "month":
            return to_micros(month_moment(memory, sources))
        case "tag":
            return json.dumps(memory.metadata.get(TAGS))
        case "person":
            return json.dumps([message.speaker for message in sources])
        case _:
            return getattr(memory, facet)
