"""Ingests messages: validates them, tells resends from repetitions, indexes their words and commits.

Embedding and digestion follow in the background.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from holdfast.domain import identifiers, limits
from holdfast.domain.arguments import validate_metadata
from holdfast.domain.errors import Conflict, InvalidInput, quoted_value
from holdfast.domain.idempotency import first_answer
from holdfast.domain.ports.storage import PAST_LAST_POSITION, Store
from holdfast.domain.records import Job, JobStatus, Once
from holdfast.domain.results import Receipt, Written
from holdfast.domain.timestamps import parse_moment
from holdfast.domain.tracing import note, note_session
from holdfast.domain.types import Change, Message, Part
from holdfast.ingest.alignment import Alignment, align
from holdfast.ingest.chat_formats import normalised_messages
from holdfast.text import passages

MAX_CHARS_ON_EVENT_LOOP = 20_000
"""Longer batches are tokenised in a thread, so that the event loop stays free for other callers. Chosen by hand; not
measured."""
MAX_SPLIT_FACTOR = 4
"""Long messages are split; a batch may become this many times the allowed number of messages. Chosen by hand; not
measured."""
MIN_HISTORY_AGE = timedelta(days=1)
"""A message this much older than its arrival is imported history. Chosen by hand; not measured."""
MAX_IMPORT_PAUSE = timedelta(minutes=10)
"""The batches of one import arrive at most this far apart. Chosen by hand; not measured."""
T = TypeVar("T")
BATCH_OVERLAP = 20
"""How many messages the batches of one long conversation share. Chosen by hand; not measured."""
MAX_ATTEMPTS = 16
"""Writers of the same words in one session may conflict several times. Chosen by hand; not measured."""
REPETITIONS_LOOKED_UP = 4
"""How many repetitions of each message are looked up at once. Chosen by hand; not measured."""


@dataclass(frozen=True, slots=True)
class CheckedMessages:
    """Messages of one session, ready to be written.

    `given` has the index of the caller's message behind each one; `skipped` counts those without text. The session id
    is empty when the caller named no session and no message has text.
    """

    session_id: str
    messages: tuple[Message, ...]
    given: tuple[int, ...] = ()
    skipped: int = 0


async def ingest(store: Store, batch: CheckedMessages, *, once: Once | None = None) -> Receipt:
    """Write a batch as one change with one job. Messages that are stored already change nothing.

    An idempotency key decides: under a key that was not used before, every message without a timestamp is new. The
    first attempt takes key and messages for new, as most are, and leaves it to the write to find out.
    """
    note_session(batch.session_id)
    for attempt in range(MAX_ATTEMPTS):
        if attempt and (done := await first_answer(store, once)) is not None:
            return await _repeated_receipt(store, batch, done)
        aligned = await align_batch(store, batch, resends=once is None, trusting=not attempt)
        try:
            return await _write(store, replace(batch, messages=aligned.messages), aligned, once)
        except Conflict:  # the same words or the same request were written meanwhile
            if attempt == MAX_ATTEMPTS - 1:
                raise
            await asyncio.sleep(random.random() * 0.005 * attempt)
    raise AssertionError("unreachable")


async def _write(store: Store, batch: CheckedMessages, aligned: Alignment, once: Once | None) -> Receipt:
    messages = with_timestamps(batch.messages, aligned.last)
    size = sum(len(message.content) for message in messages)
    parts = (
        _message_parts(messages)
        if size < MAX_CHARS_ON_EVENT_LOOP
        else await asyncio.to_thread(_message_parts, messages)
    )
    at = messages[0].created_at
    job = Job(identifiers.memory_id(at), "ingest", at, tuple(message.id for message in messages))
    done = None if once is None else replace(once, answer=job.id)
    change = Change(
        messages=tuple(messages),
        parts=parts,
        job=job,
        once=done,
        follows=(batch.session_id, aligned.end),
        absent=aligned.absent,
        inserted=aligned.inserted,
    )
    applied = await store.apply(change)
    note(new=sorted(applied.new), job=job.id)
    return receipt(batch, applied.new, job.id)


def overlapping_batches(rows: Sequence[T], size: int = limits.MAX_MESSAGES) -> Iterator[tuple[int, Sequence[T]]]:
    """Cut a conversation into batches; yields how many messages the batch before ended with, and the batch.

    Batches overlap, so that a repetition at the edge of one is not mistaken for a resend.
    """
    start = 0
    while start == 0 or start + BATCH_OVERLAP < len(rows):
        yield (BATCH_OVERLAP if start else 0), rows[start : start + size]
        start += size - BATCH_OVERLAP


async def align_batch(
    store: Store, batch: CheckedMessages, *, resends: bool = True, trusting: bool = False
) -> Alignment:
    """Align the batch with what its session has; reads the whole session only if it may have some of the messages.

    If `trusting`, a batch without the session's last message is taken for new, and the write must find it `absent`.
    """
    messages = batch.messages
    ids = {message.id for message in messages}
    # The end is read first: what another writer adds after that makes the write a conflict, and it is aligned again.
    last = (await store.messages(batch.session_id, before=PAST_LAST_POSITION, limit=1)).items
    end = last[0].timestamp if last else None
    late = end is not None and any(message.timestamp is not None and message.timestamp < end for message in messages)
    if trusting and not late and not (last and identifiers.unrepeated_id(last[0].id) in ids):
        return replace(align(last, messages, resends=False), absent=_repetitions(ids, range(REPETITIONS_LOOKED_UP)))
    known = await _load_repetitions(store, ids)
    if not known and not late:
        return align(last, messages, resends=False)
    if len(messages) == 1 and messages[0].timestamp is None:
        return align(last, messages, resends=resends, used=known)
    session = await store.messages(batch.session_id, limit=2**31)
    return align(session.items, messages, resends=resends)


async def _load_repetitions(store: Store, ids: Set[str]) -> set[str]:
    """The ids among these messages and their repetitions that are stored."""
    known: set[str] = set()
    asked, first, count = ids, 0, REPETITIONS_LOOKED_UP
    while asked:
        numbers = range(first, first + count)
        found = {item.id for item in await store.get(_repetitions(asked, numbers))}
        known |= found
        asked = {id for id in asked if identifiers.repeated_id(id, numbers[-1]) in found}
        first, count = first + count, count * 4
    return known


def _repetitions(ids: Set[str], numbers: range) -> tuple[str, ...]:
    return tuple(sorted(identifiers.repeated_id(id, number) for id in ids for number in numbers))


async def _repeated_receipt(store: Store, batch: CheckedMessages, done: Once) -> Receipt:
    """The receipt of the first request with this idempotency key; its job says under which ids it wrote."""
    job = None if done.answer is None else await store.journal.job(done.answer)
    if job is not None and len(job.messages) == len(batch.messages):
        messages = zip(batch.messages, job.messages, strict=True)
        batch = replace(batch, messages=tuple(replace(message, id=id or message.id) for message, id in messages))
    return receipt(batch, done.new, done.answer)


def with_timestamps(messages: Sequence[Message], last: Message | None) -> Sequence[Message]:
    """Give every message a timestamp: its own, or one that follows from the messages around it; `last` is the last
    one that the session has.

    Within one ingest, a message without a timestamp takes that of the message before it, or the first one in the batch.
    A batch that starts without one continues its session if the session is an import under way: its last message is
    much older than its arrival and arrived just now. Otherwise the time of arrival is the best guess. So a message in
    the middle of old history is never dated today. Message ids and repeated requests do not depend on this.
    """
    if all(message.timestamp for message in messages):
        return messages
    before = None
    if messages[0].timestamp is None and last is not None:
        before = _import_timestamp(last, messages[0].created_at)
    return carried_timestamps(messages, before)


def carried_timestamps(messages: Sequence[Message], before: datetime | None = None) -> list[Message]:
    """Carry timestamps forward; messages before the first timestamp get `before`, or that first one."""
    last = before or next((message.timestamp for message in messages if message.timestamp), None)
    stamped = []
    for message in messages:
        last = message.timestamp or last
        stamped.append(message if message.timestamp == last else replace(message, timestamp=last))
    return stamped


def _import_timestamp(last: Message, now: datetime) -> datetime | None:
    """The timestamp of the session's last message, if the session is old history that is still being imported."""
    old = last.timestamp is not None and last.created_at - last.timestamp >= MIN_HISTORY_AGE
    return last.timestamp if old and now - last.created_at <= MAX_IMPORT_PAUSE else None


def receipt(batch: CheckedMessages, added: frozenset[str] = frozenset(), job: str | None = None) -> Receipt:
    written = [
        Written(message.id, message.id in added, given)
        for message, given in zip(batch.messages, batch.given, strict=True)
    ]
    return Receipt(batch.session_id, tuple(written), pending=len(added), job=job, skipped=batch.skipped)


async def load_job_status(store: Store, job: Job) -> JobStatus:
    """Derive the progress of a job from the state of its messages; forgotten messages count as done."""
    messages = [item for item in await store.get(job.messages) if isinstance(item, Message)]
    waiting = sum(message.pending for message in messages)
    failed = sum(message.aside for message in messages)
    memories = await store.resting_on(job.messages)
    total = len(job.messages)
    return JobStatus(
        job.id, job.kind, job.created_at, "waiting" if waiting else "failed" if failed else "done", total,
        total - waiting - failed, failed, tuple(memory.id for memory in memories if memory.current),
    )  # fmt: skip


def _message_parts(messages: Sequence[Message]) -> tuple[Part, ...]:
    return tuple(part for message in messages for part in passages.index_parts(message))


def validate_messages(
    messages: object,
    *,
    session_id: object = None,
    agent: object = None,
    now: datetime,
    limit: int = limits.MAX_MESSAGES,
    reader: str | None = None,
) -> CheckedMessages:
    """Turn the caller's input into messages. Everything is validated before anything is written.

    `reader` is the agent if it does not see what others wrote: what it says is then told apart from their messages.
    """
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
        raise InvalidInput(f"messages must be a list of messages, not {quoted_value(messages)}.", field="messages")
    given = list(messages)
    if not 1 <= len(given) <= limit:
        raise InvalidInput(
            f"messages has {len(given)} entries; give 1 to {limit}.",
            field="messages",
            fix="Send them in several calls with the same session_id." if given else None,
        )
    normalised = normalised_messages(given, MAX_SPLIT_FACTOR * limit)
    rows = [_message_fields(row, f"messages[{n}]") for n, row in zip(normalised.given, normalised.rows, strict=True)]
    pairs = [(row["role"], row["content"]) for row in rows]
    derived = identifiers.session_id(pairs) if rows else ""
    session = derived if session_id is None else identifiers.validate_session(session_id)
    default_agent = _validate_name(agent, "agent")
    ready = (
        Message(
            id=identifiers.message_id(session, row["role"], row["content"], *([] if reader is None else [reader])),
            session_id=session,
            role=row["role"],
            content=row["content"],
            created_at=now,
            speaker=row["speaker"],
            timestamp=row["timestamp"],
            agent=row["agent"] or default_agent,
            metadata=row["metadata"],
        )
        for row in rows
    )
    return CheckedMessages(session, tuple(ready), normalised.given, normalised.skipped)


def _message_fields(message: Mapping[str, Any], where: str) -> dict[str, Any]:
    timestamp = message.get("timestamp")
    return {
        "role": message["role"],
        "content": message["content"],
        "speaker": _validate_name(message.get("speaker"), f"{where}.speaker"),
        "timestamp": None if timestamp is None else parse_moment(timestamp, f"{where}.timestamp"),
        "agent": _validate_name(message.get("agent"), f"{where}.agent"),
        "metadata": validate_metadata(message.get("metadata"), f"{where}.metadata"),
    }


def _validate_name(value: object, field: str) -> str | None:
    return None if value is None else identifiers.validate_text(value, field, limit=limits.MAX_PROFILE_BYTES)
