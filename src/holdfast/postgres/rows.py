"""Rows ↔ values. The column lists here are the only ones."""

from __future__ import annotations

import json
from typing import Any

from ..moments import at_micros, micros
from ..types import Memory, Message

MESSAGE = "id, session, position, role, speaker, agent, content, said_at, created_at, metadata::text"
STATE = "state, failures"
WRITTEN_MESSAGE = "id, session, position, role, speaker, agent, content, said_at, created_at, metadata"
MEMORY = (
    "id, kind, key, summary, content, value, metadata::text, keywords, queries, session, agent, trust, occurred_at, "
    "occurred_until, created_at, updated_at, expires_at, version, superseded_by, extractor, confidence"
)
WRITTEN_MEMORY = MEMORY.replace("metadata::text", "metadata") + ", fingerprint"
SOURCES = (
    "(SELECT coalesce(array_agg(s.message ORDER BY s.place), '{}') FROM source s "
    "WHERE s.profile = memory.profile AND s.memory = memory.n)"
)


def packed(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def message_row(message: Message, position: int) -> tuple[Any, ...]:
    said = None if message.timestamp is None else micros(message.timestamp)
    return (
        message.id, message.session_id, position, message.role, message.speaker, message.agent, message.content,
        said, micros(message.created_at), packed(message.metadata),
    )  # fmt: skip


def message(row: tuple[Any, ...]) -> Message:
    """From MESSAGE and then STATE."""
    id, session, position, role, speaker, agent, content, said, created, metadata, state, failures = row
    return Message(
        id, session, role, content, at_micros(created), speaker, None if said is None else at_micros(said), agent,
        json.loads(metadata), position, state == "waiting", failures, state == "aside",
    )  # fmt: skip


def memory_row(memory: Memory) -> tuple[Any, ...]:
    def time(at: Any) -> int | None:
        return None if at is None else micros(at)

    return (
        memory.id, memory.kind, memory.key, memory.summary, memory.content, packed(memory.value),
        packed(memory.metadata), packed(memory.keywords), packed(memory.queries), memory.session_id, memory.agent,
        memory.trust, time(memory.occurred_at), time(memory.occurred_until), micros(memory.created_at),
        micros(memory.updated_at), time(memory.expires_at), memory.version, memory.superseded_by, memory.extractor,
        memory.confidence, memory.fingerprint,
    )  # fmt: skip


def memory(row: tuple[Any, ...]) -> Memory:
    """From MEMORY and then SOURCES."""
    (id, kind, key, summary, content, value, metadata, keywords, queries, session, agent, trust, occurred, until,
     created, updated, expires, version, superseded_by, extractor, confidence, sources) = row  # fmt: skip
    return Memory(
        id=id, kind=kind, key=key, summary=summary, content=content, value=json.loads(value),
        metadata=json.loads(metadata), keywords=tuple(json.loads(keywords)), queries=tuple(json.loads(queries)),
        session_id=session, agent=agent, trust=trust, sources=tuple(sources),
        occurred_at=None if occurred is None else at_micros(occurred),
        occurred_until=None if until is None else at_micros(until),
        created_at=at_micros(created), updated_at=at_micros(updated),
        expires_at=None if expires is None else at_micros(expires),
        version=version, superseded_by=superseded_by, extractor=extractor, confidence=confidence,
    )  # fmt: skip
