"""Writes and revises one memory on request. A repeated write changes nothing.

A write to a taken key and a revision are the next version of the memory, under its id.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from holdfast.domain import identifiers, limits
from holdfast.domain.arguments import json_text, validate_metadata, validate_value
from holdfast.domain.errors import (
    AlreadyExists,
    Conflict,
    InvalidInput,
    NotFound,
    Stale,
    quoted_value,
)
from holdfast.domain.filters import keyless
from holdfast.domain.idempotency import first_answer
from holdfast.domain.ports.models import Filer
from holdfast.domain.ports.storage import Store, TopicKeyLoader
from holdfast.domain.records import Edit, Once
from holdfast.domain.timestamps import parse_moment
from holdfast.domain.tracing import note, note_session
from holdfast.domain.types import (
    SECOND_HAND_TRUST,
    All,
    Change,
    Draft,
    Json,
    Memory,
    Part,
    Supersede,
    Test,
    fingerprint,
)
from holdfast.domain.visibility import is_expired
from holdfast.ingest.kinds.versions import RegisteredKind, VersionMark, schema_version
from holdfast.text import passages

log = logging.getLogger("holdfast")
MAX_ATTEMPTS = 16
"""Writers in other processes are not queued, so a write may conflict several times. Chosen by hand; not measured."""
FILING_TIMEOUT_SECONDS = 10.0
"""A model that does not answer in time is ignored. Chosen by hand; not measured."""
MAX_TTL = timedelta(days=36_525)
"""100 years."""
REVISABLE_FIELDS = ("content", "kind", "key", "value", "metadata", "trust", "occurred_at", "expires_at")
TRUST_LEVELS = ("user", "agent", "document", "tool")
MANUAL_EXTRACTOR = "user/1"
"""The `extractor` of memories that a caller wrote, as opposed to extracted ones."""
NO_KINDS: Mapping[str, RegisteredKind] = {}


@dataclass(frozen=True, slots=True)
class MemoryRequest:
    """A memory that a caller asks to write, validated."""

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
    """The filing by a model: kind, key, summary, keywords, queries."""
    schema: int | None = None
    """The version of its kind's schema under which it is valid."""


def memory_request(content: object, kind: object, now: datetime, **more: Any) -> MemoryRequest:
    """Validate what the caller passed. A value without content becomes its own content."""
    value = validate_value(more.get("value"))
    if content is None and value is not None:
        content = value_text(value)
    trust = more.get("trust") or "user"
    if trust not in TRUST_LEVELS:
        raise InvalidInput(f"trust is {quoted_value(trust)}; use one of {', '.join(TRUST_LEVELS)}.", field="trust")

    def maybe(name: str, check: Any) -> Any:
        return None if more.get(name) is None else check(more[name])

    return MemoryRequest(
        content=identifiers.validate_text(content, "content", limit=limits.MAX_CONTENT_BYTES),
        kind=identifiers.validate_kind(kind),
        key=maybe("key", identifiers.validate_key),
        value=value,
        metadata=validate_metadata(more.get("metadata"), "metadata"),
        session_id=maybe("session_id", identifiers.validate_session),
        agent=maybe("agent", lambda agent: identifiers.validate_text(agent, "agent", limit=limits.MAX_PROFILE_BYTES)),
        trust=trust,
        occurred_at=maybe("occurred_at", lambda at: parse_moment(at, "occurred_at")),
        expires_at=_expiry(more.get("ttl"), more.get("expires_at"), now),
        embed=more.get("embed") is not False,
    )


async def file_with_model(request: MemoryRequest, filer: Filer, keys: TopicKeyLoader) -> MemoryRequest:
    """Let a model choose kind, key, summary, keywords and queries; return the request
    unchanged when the model fails."""
    try:
        async with asyncio.timeout(FILING_TIMEOUT_SECONDS):
            draft = await filer.file(request.content, keys)
    except Exception as failure:
        log.warning("remembering without the model, it failed: %s", failure)
        return request
    return replace(request, kind=draft.kind, key=draft.key, filed=draft)


def value_text(value: Json) -> str:
    """A value as searchable text."""
    return value if isinstance(value, str) else json_text(value, "value", limit=limits.MAX_CONTENT_BYTES)


def is_value_text(content: str, value: Json) -> bool:
    """Whether the content is exactly the text of the value."""
    return content == (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def first_line(content: str) -> str:
    first = content.strip().splitlines()[0]
    return first if len(first) <= 80 else f"{first[:79]}…"


def with_schema_version(request: MemoryRequest, kinds: Mapping[str, RegisteredKind]) -> MemoryRequest:
    """Add the schema version under which the request is valid. A kind that a model chose is not validated."""
    kind = None if request.filed is not None else kinds.get(request.kind)
    return request if kind is None else replace(request, schema=kind.valid_version(request.value, request.metadata))


async def remember(
    store: Store,
    request: MemoryRequest,
    *,
    now: datetime,
    once: Once | None = None,
    kinds: Mapping[str, RegisteredKind] = NO_KINDS,
) -> Memory:
    """Write a memory, superseding the current one with the same kind and key; a repetition returns the existing one."""
    for attempt in range(MAX_ATTEMPTS):
        if (done := await first_answer(store, once)) is not None:
            return await load_answered_memory(store, done)
        request = with_schema_version(request, kinds)
        head = await find_current_memory(store, request)
        try:
            if head is not None and _is_repetition(head, request):
                return await _record_unchanged(store, head, once)
            _refuse_second_hand(head, request)
            return await _write(
                store, MemoryWrite(memory_from_request(request, head, now), head, request, "remember"), once
            )
        except Conflict:
            if attempt == MAX_ATTEMPTS - 1:
                raise
            await asyncio.sleep(random.random() * 0.005 * attempt)  # writers in other processes are not queued
    raise AssertionError("unreachable")


async def revise(
    store: Store,
    id: str,
    given: Mapping[str, Any],
    *,
    now: datetime,
    seen: str | None,
    once: Once | None,
    kinds: Mapping[str, RegisteredKind] = NO_KINDS,
) -> Memory:
    """Write a new version of a memory with the given fields; a metadata field given as None is removed."""
    if (done := await first_answer(store, once)) is not None:
        return await load_answered_memory(store, done)
    found = await store.get([id])
    if not found or not isinstance(found[0], Memory) or is_expired(found[0], now):
        raise NotFound(f"There is no memory {quoted_value(id)} in this profile.", field="id")
    head = found[0]
    if not head.seen_as(seen):
        raise Stale(f"Memory {id} has changed since it was read.", fix="Read it again and decide again.")
    if not (head.current or head.retired):
        raise Stale(f"Memory {id} was superseded by {head.superseded_by}.", fix="Revise that one.")
    revision = await prepare_revision(store, head, given, now, kinds)
    if revision is None:
        return await _record_unchanged(store, head, once)
    return await _write(store, revision, once)


@dataclass(frozen=True, slots=True)
class MemoryWrite:
    """A memory to be written, the memory that it supersedes, the request for it, and the verb for the log."""

    memory: Memory
    head: Memory | None
    request: MemoryRequest
    verb: str

    @property
    def parts(self) -> tuple[Part, ...]:
        parts = passages.index_parts(self.memory)
        return parts if self.request.embed else tuple(replace(part, embed=False) for part in parts)


async def prepare_revision(
    store: Store, head: Memory, given: Mapping[str, Any], now: datetime, kinds: Mapping[str, RegisteredKind] = NO_KINDS
) -> MemoryWrite | None:
    """Build the next version of a memory with the given fields; None when nothing changes."""
    request = _revision_request(head, given, now)
    if all(getattr(head, name) == getattr(request, name) for name in REVISABLE_FIELDS):
        return None
    if head.retired and (head.content, head.value) == (request.content, request.value):
        refuse_retired(head)
    same = (head.kind, head.value, head.metadata) == (request.kind, request.value, request.metadata)
    request = replace(request, schema=schema_version(head)) if same else with_schema_version(request, kinds)
    kept: dict[str, Any] = {"sources": head.sources}
    if request.content == head.content:
        kept |= {"keywords": head.keywords, "queries": head.queries, "summary": head.summary}
        kept |= {"confidence": head.confidence, "marks": max(0, head.marks), "reviewed_at": head.reviewed_at}
    if request.occurred_at == head.occurred_at:
        kept["occurred_until"] = head.occurred_until
    moved = request.key not in (None, head.key)
    if (moved or head.retired) and (other := await find_current_memory(store, request)) is not None:
        what = (
            "The same text" if request.key is None else f"The key {quoted_value(request.key)} of kind {request.kind!r}"
        )
        raise AlreadyExists(f"{what} is taken by {other.id}.", field="key")
    return MemoryWrite(replace(memory_from_request(request, head, now), **kept), head, request, "revise")


def refuse_retired(memory: Memory) -> None:
    """Nothing but a right mark, an undo or a new text makes a memory current that was marked wrong."""
    raise Stale(
        f"Memory {memory.id} was marked wrong.",
        field="id",
        fix="Mark it right first, or undo the mark; or give it a new content.",
    )


async def load_answered_memory(store: Store, done: Once) -> Memory:
    """Load the version that the first request with this idempotency key returned.

    Records of 0.1.0 name it by the id that it was drafted with.
    """
    answer = done.answer or ""
    found = [item for item in await store.get([answer]) if isinstance(item, Memory)]
    if found and found[0].ref != answer:
        found = [version for version in await store.history(answer) if version.draft_id == answer]
    if not found:
        raise NotFound("The memory that this request wrote was forgotten later.", field="idempotency_key")
    return found[0]


async def _record_unchanged(store: Store, head: Memory, once: Once | None) -> Memory:
    if once is not None:
        await store.apply(Change(once=replace(once, answer=head.ref)))
    note(unchanged=head.id)
    return head


async def _write(store: Store, new: MemoryWrite, once: Once | None) -> Memory:
    memory = new.memory
    supersede = () if new.head is None else (Supersede(new.head.ref, memory.ref),)
    done = None if once is None else replace(once, answer=memory.ref)
    edit = Edit(
        identifiers.memory_id(memory.updated_at), memory.updated_at, new.verb, ((memory.ref, len(memory.sources)),)
    )
    await store.apply(Change(memories=(memory,), parts=new.parts, supersede=supersede, once=done, edit=edit))
    if memory.session_id is not None:
        note_session(memory.session_id)
    note(written=memory.id, superseded=[pair.old for pair in supersede], edit=edit.id)
    return memory


def _revision_request(head: Memory, given: Mapping[str, Any], now: datetime) -> MemoryRequest:
    kept = {
        name: getattr(head, name)
        for name in ("key", "value", "session_id", "agent", "trust", "occurred_at", "expires_at")
    }
    if given.keys() & {"ttl", "expires_at"}:
        del kept["expires_at"]
    named = {name: value for name, value in given.items() if name not in ("content", "kind", "metadata")}
    wanted = kept | named | ({"trust": head.trust} if named.get("trust") is None else {})
    merged = {**head.metadata, **validate_metadata(given.get("metadata"), "metadata")}
    wanted["metadata"] = {name: value for name, value in merged.items() if value is not None}
    content = given.get("content")
    if content is None and given.get("value") is not None and is_value_text(head.content, head.value):
        content = value_text(given["value"])
    return memory_request(head.content if content is None else content, given.get("kind") or head.kind, now, **wanted)


async def find_current_memory(store: Store, request: MemoryRequest) -> Memory | None:
    """Find the current memory that this request would supersede or repeat."""
    if request.key is not None:
        same = All((Test("kind", "eq", request.kind), Test("key", "eq", request.key)))
        page = await store.scan(same, now=None, limit=1)
        return page.items[0] if page.items else None
    mark = fingerprint(request.kind, request.content, request.value, request.metadata)
    page = await store.scan(keyless(Test("fingerprint", "eq", mark)), now=None, limit=1)
    return page.items[0] if page.items else None


def _refuse_second_hand(head: Memory | None, request: MemoryRequest) -> None:
    """What a document or a tool brought supersedes nothing that somebody said."""
    if head is not None and request.trust in SECOND_HAND_TRUST and head.trust not in SECOND_HAND_TRUST:
        raise AlreadyExists(
            f"The key {quoted_value(request.key)} of kind {request.kind!r} has what a person or an agent said, which "
            f"trust {request.trust!r} cannot supersede.",
            field="key",
            fix="Write it without a key or with another key; if the memory is wrong, revise it.",
        )


def _is_repetition(head: Memory, request: MemoryRequest) -> bool:
    brought, known_first_hand = request.trust in SECOND_HAND_TRUST, head.trust not in SECOND_HAND_TRUST
    if not brought and not known_first_hand:
        return False  # the same in somebody's own words: from now on it is theirs
    if brought and known_first_hand and head.key is None:
        return True
    if request.schema is not None and request.schema != schema_version(head):
        return False
    if head.key is None:
        return head.expires_at == request.expires_at  # the rest is part of the fingerprint that `head` was found by
    return (head.content, head.value, head.metadata, head.expires_at) == (
        request.content, request.value, request.metadata, request.expires_at,
    )  # fmt: skip


def memory_from_request(request: MemoryRequest, head: Memory | None, now: datetime) -> Memory:
    """The memory that a request writes: the next version of `head`, or a new one."""
    search: dict[str, Any] = {"summary": first_line(request.content)}
    if request.filed is not None:
        search = {
            "summary": request.filed.summary,
            "keywords": request.filed.keywords,
            "queries": request.filed.queries,
        }
    memory = Memory(
        id=identifiers.memory_id(now),
        kind=request.kind,
        content=request.content,
        created_at=now,
        updated_at=now,
        key=request.key,
        value=request.value,
        metadata=request.metadata,
        session_id=request.session_id,
        agent=request.agent,
        trust=request.trust,
        occurred_at=request.occurred_at,
        expires_at=request.expires_at,
        extractor=MANUAL_EXTRACTOR
        if request.schema is None
        else VersionMark(request.schema).on(MANUAL_EXTRACTOR, request.kind),
        **search,
    )
    return memory if head is None else memory.next_of(head)


def _expiry(ttl: object, expires_at: object, now: datetime) -> datetime | None:
    if ttl is not None and expires_at is not None:
        raise InvalidInput("Give ttl or expires_at, not both.", field="ttl")
    if ttl is not None:
        span = ttl if isinstance(ttl, timedelta) else None
        if isinstance(ttl, int | float) and not isinstance(ttl, bool):
            span = timedelta(seconds=ttl) if 0 < ttl <= MAX_TTL.total_seconds() else None
        if span is None or not timedelta(0) < span <= MAX_TTL:
            raise InvalidInput(
                f"ttl is {quoted_value(ttl)}; give a positive number of seconds, at most 100 years.",
                field="ttl",
            )
        return now + span
    return None if expires_at is None else parse_moment(expires_at, "expires_at")
