"""Write down what was said: check, address by content, index the words, commit. Meaning follows in the background."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from . import names, passages, undated
from .errors import Conflict, InvalidInput, shown
from .moments import moment
from .once import first
from .ports import Store
from .records import Job, JobStatus, Once
from .results import Receipt, Written
from .spoken import spoken
from .trail import about, note
from .types import Change, Json, Message, Part

LOOP_CHARS = 20_000
"""More text than this is analysed in a thread, so that others need not wait for it."""
PIECES = 4
"""How many times as many messages the given ones may become, where some are too long for one."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What is to be written down: messages of one session, which of the given ones each is, and how many say nothing.

    Of a session without a name of which nothing is kept, the id is empty.
    """

    session_id: str
    messages: tuple[Message, ...]
    given: tuple[int, ...] = ()
    skipped: int = 0


async def ingest(store: Store, said: Checked, *, once: Once | None = None) -> Receipt:
    """One ingest, one change, one job. Messages that are known already change nothing."""
    about(said.session_id)
    if (done := await first(store, once)) is not None:
        return receipt(said, done.new, done.answer)
    messages = await undated.dated(store, said.messages)
    size = sum(len(message.content) for message in messages)
    parts = _parts(messages) if size < LOOP_CHARS else await asyncio.to_thread(_parts, messages)
    at = messages[0].created_at
    job = Job(names.memory_id(at), "ingest", at, tuple(dict.fromkeys(message.id for message in messages)))
    done = None if once is None else replace(once, answer=job.id)
    try:
        applied = await store.apply(Change(messages=tuple(messages), parts=parts, job=job, once=done))
    except Conflict:
        if (done := await first(store, once)) is None:
            raise
        return receipt(said, done.new, done.answer)
    note(new=sorted(applied.new), job=job.id)
    return receipt(said, applied.new, job.id)


def receipt(said: Checked, added: frozenset[str] = frozenset(), job: str | None = None) -> Receipt:
    new, written = set(added), []
    for message, given in zip(said.messages, said.given, strict=True):
        written.append(Written(message.id, message.id in new, given))
        new.discard(message.id)  # the same message twice in one list is new once
    return Receipt(said.session_id, tuple(written), pending=len(added), job=job, skipped=said.skipped)


async def progress(store: Store, job: Job) -> JobStatus:
    """How far a job is, read off its messages; forgotten ones count as done."""
    messages = [item for item in await store.get(job.messages) if isinstance(item, Message)]
    waiting = sum(message.pending for message in messages)
    failed = sum(message.aside for message in messages)
    memories = await store.resting_on(job.messages)
    total = len(job.messages)
    return JobStatus(
        job.id, job.kind, job.created_at, "waiting" if waiting else "failed" if failed else "done", total,
        total - waiting - failed, failed, tuple(memory.id for memory in memories if memory.current),
    )  # fmt: skip


def _parts(messages: Sequence[Message]) -> tuple[Part, ...]:
    return tuple(part for message in messages for part in passages.parts(message))


def checked(
    messages: object, *, session_id: object = None, agent: object = None, now: datetime, limit: int = names.MESSAGES
) -> Checked:
    """What the caller gave, as messages; everything is checked before anything is written."""
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
        raise InvalidInput(f"messages must be a list of messages, not {shown(messages)}.", field="messages")
    given = list(messages)
    if not 1 <= len(given) <= limit:
        raise InvalidInput(
            f"messages has {len(given)} entries; give 1 to {limit}.",
            field="messages",
            fix="Send them in several calls with the same session_id." if given else None,
        )
    said = spoken(given, PIECES * limit)
    rows = [_fields(row, f"messages[{n}]") for n, row in zip(said.given, said.rows, strict=True)]
    pairs = [(row["role"], row["content"]) for row in rows]
    named = names.session_id(pairs) if rows else ""
    session = named if session_id is None else names.session(session_id)
    by = _name(agent, "agent")
    kept = (
        Message(
            id=names.message_id(session, row["role"], row["content"]),
            session_id=session,
            role=row["role"],
            content=row["content"],
            created_at=now,
            speaker=row["speaker"],
            timestamp=row["timestamp"],
            agent=row["agent"] or by,
            metadata=row["metadata"],
        )
        for row in rows
    )
    return Checked(session, tuple(kept), said.given, said.skipped)


def metadata_of(value: object, field: str) -> dict[str, Json]:
    """A JSON object of bounded size."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise InvalidInput(f"{field} must be an object with text names, not {shown(value)}.", field=field)
    copied: dict[str, Json] = json.loads(json_text(dict(value), field, limit=names.METADATA_BYTES))
    return copied


def json_text(value: object, field: str, *, limit: int) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except (TypeError, ValueError) as bad:
        raise InvalidInput(f"{field} is not JSON: {bad}.", field=field) from None
    except RecursionError:
        raise InvalidInput(f"{field} is nested too deeply.", field=field) from None
    if size > limit:
        raise InvalidInput(f"{field} is {size:,} bytes of JSON; the limit is {limit:,}.", field=field)
    if re.search(r"(?<!\\)(?:\\\\)*\\u0000", text):
        raise InvalidInput(f"{field} has a NUL character; remove it.", field=field)
    return text


def _fields(message: Mapping[str, Any], where: str) -> dict[str, Any]:
    said = message.get("timestamp")
    return {
        "role": message["role"],
        "content": message["content"],
        "speaker": _name(message.get("speaker"), f"{where}.speaker"),
        "timestamp": None if said is None else moment(said, f"{where}.timestamp"),
        "agent": _name(message.get("agent"), f"{where}.agent"),
        "metadata": metadata_of(message.get("metadata"), f"{where}.metadata"),
    }


def _name(value: object, field: str) -> str | None:
    return None if value is None else names.text(value, field, limit=names.PROFILE_BYTES)
