"""Pure: values ↔ the rows that SQL backends keep of them. Times are whole microseconds, lists and objects JSON text."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from .credentials import Credential, Grant
from .graphs import EntityChange
from .moments import at_micros, iso, micros
from .reading import read
from .records import Caller, Edit, Event, Job, Once, Trace
from .results import Document
from .types import Memory, Message

Row = tuple[Any, ...]
MESSAGE = "id, session, position, role, speaker, agent, content, said_at, created_at, metadata"
MEMORY = (
    "id, kind, key, summary, content, value, metadata, keywords, queries, session, agent, trust, occurred_at, "
    "occurred_until, created_at, updated_at, expires_at, version, superseded_by, extractor, confidence, fingerprint, "
    "marks, reviewed_at"
)
STATE = "state, failures"
TRACE = "id, at, operation, credential, agent, session, turn, took, details"
SPENT = "month, model, task, calls, input, output, cached"
ONCE = "key, request, answer, new, memories, messages"
JOB = "id, kind, created_at, messages"
EVENT = "n, at, type, data"
EDIT = "id, at, verb, gone, data"
CREDENTIAL = "id, kind, name, rights, namespace, profile, created_at, expires_at, revoked_at, used_at, agent, reads"
GRANT = "credential, namespace, profile, rights"
DOCUMENT = "id, session, state, wait_until, created_at, data"
PIECE = 1024 * 1024
"""How much of an original stands in one row."""
_TEXT = re.compile(r'"([^"\\]+)"')


def packed(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _time(at: datetime | None) -> int | None:
    return None if at is None else micros(at)


def _moment(at: int | None) -> datetime | None:
    return None if at is None else at_micros(at)


def message_row(message: Message, position: int) -> Row:
    return (
        message.id, message.session_id, position, message.role, message.speaker, message.agent, message.content,
        _time(message.timestamp), micros(message.created_at), packed(message.metadata),
    )  # fmt: skip


def message(row: Row) -> Message:
    """From MESSAGE and then STATE."""
    id, session, position, role, speaker, agent, content, said, created, metadata, state, failures = row
    return Message(
        id, session, role, content, at_micros(created), speaker, _moment(said), agent, json.loads(metadata), position,
        state == "waiting", failures, state == "aside",
    )  # fmt: skip


def memory_row(memory: Memory) -> Row:
    return (
        memory.id, memory.kind, memory.key, memory.summary, memory.content, packed(memory.value),
        packed(memory.metadata), packed(memory.keywords), packed(memory.queries), memory.session_id, memory.agent,
        memory.trust, _time(memory.occurred_at), _time(memory.occurred_until), micros(memory.created_at),
        micros(memory.updated_at), _time(memory.expires_at), memory.version, memory.superseded_by, memory.extractor,
        memory.confidence, memory.fingerprint, memory.marks, _time(memory.reviewed_at),
    )  # fmt: skip


def memory(row: Row) -> Memory:
    """From MEMORY and then its sources as a JSON array."""
    (id, kind, key, summary, content, value, metadata, keywords, queries, session, agent, trust, occurred, until,
     created, updated, expires, version, superseded_by, extractor, confidence, _, marks, reviewed,
     sources) = row  # fmt: skip
    return Memory(
        id=id, kind=kind, key=key, summary=summary, content=content, value=json.loads(value),
        metadata=json.loads(metadata), keywords=tuple(json.loads(keywords)), queries=tuple(json.loads(queries)),
        session_id=session, agent=agent, trust=trust, sources=tuple(json.loads(sources)),
        occurred_at=_moment(occurred), occurred_until=_moment(until), created_at=at_micros(created),
        updated_at=at_micros(updated), expires_at=_moment(expires), version=version, superseded_by=superseded_by,
        extractor=extractor, confidence=confidence, marks=marks, reviewed_at=_moment(reviewed),
    )  # fmt: skip


def trace_row(trace: Trace) -> Row:
    who = trace.caller
    return (
        trace.id, micros(trace.at), trace.operation, who.credential, who.agent, who.session_id, who.turn_id,
        round(trace.milliseconds * 1000), squeezed(trace.details),
    )  # fmt: skip


def trace(row: Row) -> Trace:
    """From TRACE."""
    id, at, operation, credential, agent, session, turn, took, details = row
    caller = Caller(credential, agent, session, turn)
    return Trace(id, at_micros(at), operation, caller, took / 1000, json.loads(opened(details)))


def squeezed(details: dict[str, Any]) -> bytes:
    return zlib.compress(packed(details).encode(), 1)


def opened(details: bytes) -> str:
    return zlib.decompress(details).decode()


def texts(held: str) -> list[str]:
    """Every plain string of a JSON text: enough to see whether it names an id."""
    return _TEXT.findall(held)


def event(row: Row) -> Event:
    n, at, type, data = row
    return Event(n, at_micros(at), type, json.loads(data))


def job_row(job: Job) -> Row:
    return job.id, job.kind, micros(job.created_at), packed(job.messages)


def job(row: Row) -> Job:
    id, kind, created, messages = row
    return Job(id, kind, at_micros(created), tuple(json.loads(messages)))


def edit_row(edit: Edit) -> Row:
    judged = [(id, marks, _time(at)) for id, marks, at in edit.judged]
    return edit.id, micros(edit.at), edit.verb, edit.gone, packed([edit.made, judged])


def edit(row: Row) -> Edit:
    """From EDIT."""
    id, at, verb, gone, data = row
    made, judged = json.loads(data)
    before = tuple((each, marks, _moment(then)) for each, marks, then in judged)
    return Edit(id, at_micros(at), verb, tuple((each, count) for each, count in made), before, bool(gone))


def once(row: Row) -> Once:
    key, request, answer, new, memories, messages = row
    gone = tuple(json.loads(memories)), tuple(json.loads(messages))
    return Once(key, request, answer, frozenset(json.loads(new)), *gone)


def once_row(done: Once) -> Row:
    new, memories, messages = packed(sorted(done.new)), packed(done.memories), packed(done.messages)
    return done.key, done.request, done.answer, new, memories, messages


def document_row(document: Document) -> Row:
    held = replace(document, original=False, pending=0)  # both are looked up
    told = {each.name: getattr(held, each.name) for each in fields(Document)}
    data = {name: iso(value) if isinstance(value, datetime) else value for name, value in told.items()}
    wait = _time(document.retry_at) or 0
    return document.id, document.session_id, document.state, wait, micros(document.created_at), packed(data)


def document(data: str, original: bool) -> Document:
    return replace(read(Document, json.loads(data)), original=bool(original))


def entity_change_data(change: EntityChange) -> str:
    told = {each.name: getattr(change, each.name) for each in fields(EntityChange)}
    return packed(told | {"at": iso(change.at)})


def entity_change(data: str) -> EntityChange:
    return read(EntityChange, json.loads(data))


def credential_row(credential: Credential) -> Row:
    return (
        credential.id, credential.kind, credential.name, json.dumps(sorted(credential.rights)), credential.namespace,
        credential.profile, micros(credential.created_at), _time(credential.expires_at), _time(credential.revoked_at),
        _time(credential.used_at), credential.agent, None if credential.reads is None else packed(credential.reads),
    )  # fmt: skip


def credential(row: Row, granted: Iterable[Row] = ()) -> Credential:
    """From CREDENTIAL, and its rows of GRANT."""
    id, kind, name, rights, namespace, profile, created, *others, agent, reads = row
    expires, revoked, used = map(_moment, others)
    grants = sorted((space, each, frozenset(json.loads(held))) for _, space, each, held in granted)
    return Credential(
        id, kind, name, frozenset(json.loads(rights)), at_micros(created), namespace, profile, expires, revoked, used,
        tuple(Grant(*each) for each in grants), agent, None if reads is None else tuple(json.loads(reads)),
    )  # fmt: skip


def grant_row(id: str, grant: Grant) -> Row:
    return id, grant.namespace, grant.profile, packed(sorted(grant.rights))


def credentials(rows: Iterable[Row], granted: Iterable[Row]) -> list[Credential]:
    """Each with its own of the rows of GRANT."""
    held: dict[str, list[Row]] = {}
    for row in granted:
        held.setdefault(row[0], []).append(row)
    return [credential(row, held.get(row[0], ())) for row in rows]
