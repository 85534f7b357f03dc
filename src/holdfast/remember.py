"""Write one memory on purpose. The same thing twice is one memory; a taken key is superseded."""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from . import names, passages
from .errors import AlreadyExists, Conflict, InvalidInput, NotFound, Stale, shown
from .ingest import json_text, metadata_of
from .kinds import Kind, Mark, version_of
from .moments import moment
from .once import first
from .ports import Filer, Keys, Store
from .records import Edit, Once
from .trail import about, note
from .types import All, Change, Draft, Json, Memory, Part, Supersede, Test, fingerprint

TRIES = 16
FILING_SECONDS = 10.0
log = logging.getLogger("holdfast")
VALUE_BYTES = 262_144
LONGEST_TTL = timedelta(days=36_525)
REVISED = ("content", "kind", "key", "value", "metadata", "trust", "occurred_at", "expires_at")
TRUSTS = ("user", "agent", "document", "tool")
BY_HAND = "user/1"
NONE: Mapping[str, Kind] = {}


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
    embed: bool = True
    filed: Draft | None = None
    """What a model says of it: summary, keywords, queries."""
    schema: int | None = None
    """The version of its kind's schema that it keeps."""


def checked(content: object, kind: object, now: datetime, **more: Any) -> Wish:
    value = json.loads(json_text(more.get("value"), "value", limit=VALUE_BYTES))
    if content is None and value is not None:
        content = told(value)
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
        embed=more.get("embed") is not False,
    )


async def filed(wish: Wish, filer: Filer, keys: Keys) -> Wish:
    """The wish as a model would file it; as it is when the model cannot."""
    try:
        async with asyncio.timeout(FILING_SECONDS):
            found = await filer.file(wish.content, keys)
    except Exception as failure:
        log.warning("remembering without the model, it failed: %s", failure)
        return wish
    return replace(wish, kind=found.kind, key=found.key, filed=found)


def told(value: Json) -> str:
    """A value as the text that finds it."""
    return value if isinstance(value, str) else json_text(value, "value", limit=names.CONTENT_BYTES)


def tells(content: str, value: Json) -> bool:
    """Whether the content is nothing but the value's text."""
    return content == (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def first_line(content: str) -> str:
    first = content.strip().splitlines()[0]
    return first if len(first) <= 80 else f"{first[:79]}…"


def fitted(wish: Wish, kinds: Mapping[str, Kind]) -> Wish:
    """The wish with the version of its kind's schema that it keeps. A model's choice of a kind is held to none."""
    kind = None if wish.filed is not None else kinds.get(wish.kind)
    return wish if kind is None else replace(wish, schema=kind.version_kept(wish.value, wish.metadata))


async def remember(
    store: Store, wish: Wish, *, now: datetime, once: Once | None = None, kinds: Mapping[str, Kind] = NONE
) -> Memory:
    for attempt in range(TRIES):
        if (done := await first(store, once)) is not None:
            return await answered(store, done)
        wish = fitted(wish, kinds)
        head = await head_of(store, wish)
        try:
            if head is not None and _says_the_same(head, wish):
                return await _unchanged(store, head, once)
            return await _written(store, Written(memory_of(wish, head, now), head, wish, "remember"), once)
        except Conflict:
            if attempt == TRIES - 1:
                raise
            await asyncio.sleep(random.random() * 0.005 * attempt)  # writers of other processes know no turns
    raise AssertionError("unreachable")


async def revise(
    store: Store,
    id: str,
    given: Mapping[str, Any],
    *,
    now: datetime,
    seen: str | None,
    once: Once | None,
    kinds: Mapping[str, Kind] = NONE,
) -> Memory:
    """A new version of a memory with what is given; a metadata field given as None goes."""
    if (done := await first(store, once)) is not None:
        return await answered(store, done)
    found = await store.get([id])
    if not found or not isinstance(found[0], Memory):
        raise NotFound(f"There is no memory {shown(id)} in this profile.", field="id")
    head = found[0]
    if not head.seen_as(seen):
        raise Stale(f"Memory {id} has changed since it was read.", fix="Read it again and decide again.")
    if not head.current:
        raise Stale(f"Memory {id} was superseded by {head.superseded_by}.", fix="Revise that one.")
    next_one = await revised(store, head, given, now, kinds)
    if next_one is None:
        return await _unchanged(store, head, once)
    return await _written(store, next_one, once)


@dataclass(frozen=True, slots=True)
class Written:
    """A memory to be written, what it takes the place of, and what was wished for by which verb."""

    memory: Memory
    head: Memory | None
    wish: Wish
    verb: str

    @property
    def parts(self) -> tuple[Part, ...]:
        parts = passages.parts(self.memory)
        return parts if self.wish.embed else tuple(replace(part, embed=False) for part in parts)


async def revised(
    store: Store, head: Memory, given: Mapping[str, Any], now: datetime, kinds: Mapping[str, Kind] = NONE
) -> Written | None:
    """The next version of a memory with what is given; None when that changes nothing."""
    wish = _revised(head, given, now)
    if all(getattr(head, name) == getattr(wish, name) for name in REVISED):
        return None
    same = (head.kind, head.value, head.metadata) == (wish.kind, wish.value, wish.metadata)
    wish = replace(wish, schema=version_of(head)) if same else fitted(wish, kinds)
    kept: dict[str, Any] = {"sources": head.sources}
    if wish.content == head.content:
        kept |= {"keywords": head.keywords, "queries": head.queries, "summary": head.summary}
        kept |= {"confidence": head.confidence, "marks": head.marks, "reviewed_at": head.reviewed_at}
    if wish.occurred_at == head.occurred_at:
        kept["occurred_until"] = head.occurred_until
    if wish.key not in (None, head.key) and await head_of(store, wish) is not None:
        raise AlreadyExists(f"The key {shown(wish.key)} of kind {wish.kind!r} is taken.", field="key")
    return Written(replace(memory_of(wish, head, now), **kept), head, wish, "revise")


async def answered(store: Store, done: Once) -> Memory:
    """The memory that the first request was answered with."""
    found = await store.get([done.answer or ""])
    if not found or not isinstance(found[0], Memory):
        raise NotFound("What this request wrote has been forgotten since.", field="idempotency_key")
    return found[0]


async def _unchanged(store: Store, head: Memory, once: Once | None) -> Memory:
    if once is not None:
        await store.apply(Change(once=replace(once, answer=head.id)))
    note(unchanged=head.id)
    return head


async def _written(store: Store, new: Written, once: Once | None) -> Memory:
    memory = new.memory
    supersede = () if new.head is None else (Supersede(new.head.id, memory.id),)
    done = None if once is None else replace(once, answer=memory.id)
    edit = Edit(names.memory_id(memory.updated_at), memory.updated_at, new.verb, ((memory.id, len(memory.sources)),))
    await store.apply(Change(memories=(memory,), parts=new.parts, supersede=supersede, once=done, edit=edit))
    if memory.session_id is not None:
        about(memory.session_id)
    note(written=memory.id, superseded=[pair.old for pair in supersede], edit=edit.id)
    return memory


def _revised(head: Memory, given: Mapping[str, Any], now: datetime) -> Wish:
    kept = {
        name: getattr(head, name)
        for name in ("key", "value", "session_id", "agent", "trust", "occurred_at", "expires_at")
    }
    if given.keys() & {"ttl", "expires_at"}:
        del kept["expires_at"]
    named = {name: value for name, value in given.items() if name not in ("content", "kind", "metadata")}
    wanted = kept | named | ({"trust": head.trust} if named.get("trust") is None else {})
    merged = {**head.metadata, **metadata_of(given.get("metadata"), "metadata")}
    wanted["metadata"] = {name: value for name, value in merged.items() if value is not None}
    content = given.get("content")
    if content is None and given.get("value") is not None and tells(head.content, head.value):
        content = told(given["value"])
    return checked(head.content if content is None else content, given.get("kind") or head.kind, now, **wanted)


async def head_of(store: Store, wish: Wish) -> Memory | None:
    """The memory this one would supersede or repeat."""
    if wish.key is not None:
        same = All((Test("kind", "eq", wish.kind), Test("key", "eq", wish.key)))
        page = await store.scan(same, now=None, limit=1)
        return page.items[0] if page.items else None
    mark = fingerprint(wish.kind, wish.content, wish.value, wish.metadata)
    page = await store.scan(Test("fingerprint", "eq", mark), now=None, limit=100)
    return next((memory for memory in page.items if memory.key is None), None)


def _says_the_same(head: Memory, wish: Wish) -> bool:
    if wish.schema is not None and wish.schema != version_of(head):
        return False
    if head.key is None:
        return head.expires_at == wish.expires_at  # the rest is in the fingerprint that found it
    return (head.content, head.value, head.metadata, head.expires_at) == (
        wish.content, wish.value, wish.metadata, wish.expires_at,
    )  # fmt: skip


def memory_of(wish: Wish, head: Memory | None, now: datetime) -> Memory:
    about: dict[str, Any] = {"summary": first_line(wish.content)}
    if wish.filed is not None:
        about = {"summary": wish.filed.summary, "keywords": wish.filed.keywords, "queries": wish.filed.queries}
    return Memory(
        id=names.memory_id(now),
        kind=wish.kind,
        content=wish.content,
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
        extractor=BY_HAND if wish.schema is None else Mark(wish.schema).on(BY_HAND, wish.kind),
        **about,
    )


def _expiry(ttl: object, expires_at: object, now: datetime) -> datetime | None:
    if ttl is not None and expires_at is not None:
        raise InvalidInput("Give ttl or expires_at, not both.", field="ttl")
    if ttl is not None:
        span = ttl if isinstance(ttl, timedelta) else None
        if isinstance(ttl, int | float) and not isinstance(ttl, bool):
            span = timedelta(seconds=ttl) if 0 < ttl <= LONGEST_TTL.total_seconds() else None
        if span is None or not timedelta(0) < span <= LONGEST_TTL:
            raise InvalidInput(
                f"ttl is {shown(ttl)}; give a positive number of seconds or a timedelta, at most 100 years.",
                field="ttl",
            )
        return now + span
    return None if expires_at is None else moment(expires_at, "expires_at")
