"""Write one memory on purpose. The same thing twice is one memory; a taken key is superseded."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from . import names, passages, words
from .errors import Conflict, InvalidInput, shown
from .ingest import json_text, metadata_of
from .moments import moment
from .ports import Store
from .reconcile import plain
from .types import All, Change, Json, Memory, Probe, Supersede, Test

TRIES = 8
VALUE_BYTES = 262_144
TRUSTS = ("user", "agent", "document", "tool")


@dataclass(frozen=True, slots=True)
class Wish:
    """What the caller wants remembered, checked."""

    content: str
    kind: str
    key: str | None
    value: Json
    metadata: dict[str, Json]
    session_id: str | None
    agent: str | None
    trust: str
    occurred_at: datetime | None
    expires_at: datetime | None


def checked(content: object, kind: object, now: datetime, **more: Any) -> Wish:
    value = more.get("value")
    if content is None and value is not None:
        content = value if isinstance(value, str) else json_text(value, "value", limit=names.CONTENT_BYTES)
    json_text(value, "value", limit=VALUE_BYTES)
    trust = more.get("trust") or "user"
    if trust not in TRUSTS:
        raise InvalidInput(f"trust is {shown(trust)}; use one of {', '.join(TRUSTS)}.", field="trust")

    def maybe(name: str, check: Any) -> Any:
        return None if more.get(name) is None else check(more[name])

    return Wish(
        content=names.text(content, "content", limit=names.CONTENT_BYTES),
        kind=names.kind(kind),
        key=maybe("key", names.key),
        value=value,
        metadata=metadata_of(more.get("metadata"), "metadata"),
        session_id=maybe("session_id", names.session),
        agent=maybe("agent", lambda agent: names.text(agent, "agent", limit=names.PROFILE_BYTES)),
        trust=trust,
        occurred_at=maybe("occurred_at", lambda at: moment(at, "occurred_at")),
        expires_at=_expiry(more.get("ttl"), more.get("expires_at"), now),
    )


async def remember(store: Store, wish: Wish, *, now: datetime) -> Memory:
    for attempt in range(TRIES):
        head = await _head(store, wish, now)
        if head is not None and _says_the_same(head, wish):
            return head
        memory = _memory(wish, head, now)
        supersede = () if head is None else (Supersede(head.id, memory.id),)
        try:
            await store.apply(Change(memories=(memory,), parts=passages.parts(memory), supersede=supersede))
            return memory
        except Conflict:
            if attempt == TRIES - 1:
                raise
    raise AssertionError("unreachable")


async def _head(store: Store, wish: Wish, now: datetime) -> Memory | None:
    """The memory this one would supersede or repeat."""
    if wish.key is not None:
        same = All((Test("kind", "eq", wish.kind), Test("key", "eq", wish.key)))
        page = await store.scan(same, now=None, limit=1)
        return page.items[0] if page.items else None
    probe = Probe(now=now, words=words.question_words(wish.content)[:12], where=Test("kind", "eq", wish.kind), limit=5)
    found = await store.propose(probe)
    for item in await store.get([candidate.id for candidate in found.items]):
        if isinstance(item, Memory) and item.key is None and _says_the_same(item, wish):
            return item
    return None


def _says_the_same(head: Memory, wish: Wish) -> bool:
    return (plain(head.content), head.value, head.metadata, head.expires_at) == (
        plain(wish.content), wish.value, wish.metadata, wish.expires_at,
    )  # fmt: skip


def _memory(wish: Wish, head: Memory | None, now: datetime) -> Memory:
    first = wish.content.strip().splitlines()[0]
    return Memory(
        id=names.memory_id(now),
        kind=wish.kind,
        content=wish.content,
        summary=first if len(first) <= 80 else f"{first[:79]}…",
        created_at=now,
        updated_at=now,
        key=wish.key,
        value=wish.value,
        metadata=wish.metadata,
        session_id=wish.session_id,
        agent=wish.agent,
        trust=wish.trust,
        occurred_at=wish.occurred_at,
        expires_at=wish.expires_at,
        version=1 if head is None else head.version + 1,
    )


def _expiry(ttl: object, expires_at: object, now: datetime) -> datetime | None:
    if ttl is not None and expires_at is not None:
        raise InvalidInput("Give ttl or expires_at, not both.", field="ttl")
    if ttl is not None:
        span = ttl if isinstance(ttl, timedelta) else None
        if isinstance(ttl, int | float) and not isinstance(ttl, bool):
            span = timedelta(seconds=ttl)
        if span is None or span <= timedelta(0):
            raise InvalidInput(f"ttl is {shown(ttl)}; give a positive number of seconds or a timedelta.", field="ttl")
        return now + span
    return None if expires_at is None else moment(expires_at, "expires_at")
