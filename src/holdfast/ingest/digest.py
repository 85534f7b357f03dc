"""Digests messages into memories: embeds parts that have no vector, extracts drafts, reconciles and writes them.

An undigested message is its own queue entry. `claim` leases it; the Change that carries its memories also settles it.
After a crash the lease runs out, and ids derived from content make the second run write the same rows. No model is
called inside a transaction.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol, runtime_checkable

from holdfast.domain.errors import Conflict, InvalidInput, ModelUnavailable
from holdfast.domain.ports.models import Embedder, Extractor, Judge
from holdfast.domain.ports.storage import Store, TopicKeyLoader
from holdfast.domain.reports import Redigested
from holdfast.domain.tracing import append_note, note_session
from holdfast.domain.types import (
    All,
    Change,
    Deferral,
    Draft,
    Floats,
    Memory,
    Message,
    Part,
    Test,
    Vector,
)
from holdfast.ingest.reconcile.candidates import CandidateFinder, embed_texts
from holdfast.ingest.reconcile.change import KnownMemories, reconcile
from holdfast.ingest.reconcile.follow_ups import FollowUps, find_follow_ups
from holdfast.ingest.reconcile.owner_keys import with_owner_keys
from holdfast.ingest.reconcile.remainder import without_known_remainders
from holdfast.ingest.reconcile.wrong_statements import find_repeated_wrong
from holdfast.text import passages
from holdfast.text.redaction import is_only_redacted
from holdfast.text.shortening import unmarked_text

log = logging.getLogger("holdfast")
# The limits below were chosen by hand; none was measured.
BATCH_SIZE = 64
"""How many messages are digested, or parts embedded, in one step."""
BATCH_BYTES = 32_768
"""About how much content of messages is digested in one step: other work of the profile waits for it."""
LOCAL_LEASE = timedelta(minutes=5)
"""Lease of a batch when the extractor runs in this process."""
REMOTE_LEASE = timedelta(minutes=20)
"""Lease of a batch when the extractor calls a remote model."""
CONTEXT_MESSAGES = 6
"""How many earlier messages the extractor sees."""
MAX_ATTEMPTS = 5
"""A message is set aside after this many failures."""
MIN_RETRY_DELAY, MAX_RETRY_DELAY = timedelta(seconds=10), timedelta(hours=1)
"""The delay before a retry; it grows fourfold with each failure."""
MAX_PIECE_CHARS = 10_000
"""Maximum characters of a conversation that a model reads in one call."""
MAX_CONCURRENT_PIECES = 4
"""How many pieces are read concurrently."""
MAX_OFFERED_MEMORIES = 200
"""How many of the newest memories are offered to the extractor: their keys or, for open tasks, the tasks themselves."""
MAX_CONFLICT_RETRIES = 3
"""How often drafts are reconciled again because another writer committed first."""
REDIGEST_BATCH_MESSAGES = 500


async def embed_missing_parts(store: Store, embedder: Embedder, limit: int = BATCH_SIZE) -> int:
    """Embed parts that have no vector of this model; returns how many were processed.

    When a batch fails, its texts are tried one by one. Texts that fail alone are marked as refused and are found by
    words only. When all fail, the model is considered down and everything waits.
    """
    bare = await store.unembedded_parts(embedder.model, limit)
    items = {item.ref: item for item in await store.get(list({part.item for part in bare}))}
    bare = [part for part in bare if part.item in items]
    texts = [passages.embedded_text(items[part.item], part) for part in bare]
    if not bare:
        return 0
    try:
        found: list[Floats | None] = [*await embed_texts(embedder, texts)]
    except Exception as failure:
        found = [await _embed_one(embedder, text) for text in texts] if len(texts) > 1 else [None]
        refusals = sum(each is None for each in found)
        if refusals == len(found):
            raise
        log.warning("the embedder rejected %d of %d texts: %s", refusals, len(found), failure)
    pairs = list(zip(bare, found, strict=True))
    made = tuple(Vector(p.item, p.number, embedder.model, v) for p, v in pairs if v is not None)
    refused = tuple((part.item, part.number) for part, vector in pairs if vector is None)
    await store.apply(Change(vectors=made, refused=refused))
    return len(bare)


async def _embed_one(embedder: Embedder, text: str) -> Floats | None:
    try:
        return (await embed_texts(embedder, [text]))[0]
    except Exception:  # the caller reports it
        return None


@dataclass(frozen=True, slots=True)
class Digestion:
    """The store and the models that digest messages into memories."""

    store: Store
    extractor: Extractor
    embedder: Embedder
    now: datetime
    spare: Extractor | None = None
    """Fallback: extracts when the extractor fails; the messages stay queued to be digested again. An extractor with a
    fallback is a remote model: slow, sometimes down, and called with pieces of a conversation."""
    judge: Judge | None = None
    ttl: Mapping[str, timedelta] = field(default_factory=dict)
    """Kind → time to live of its memories."""
    deferred: set[str] = field(default_factory=set)
    """Messages that could not be digested: they are retried, or were set aside."""

    @property
    def related(self) -> CandidateFinder:
        return CandidateFinder(self.store, self.embedder, self.now, self.judge)

    @property
    def lease(self) -> timedelta:
        return LOCAL_LEASE if self.spare is None else REMOTE_LEASE


async def digest_batch(work: Digestion) -> int:
    """Digest one batch of waiting messages; returns the number of messages in it."""
    claimed = await work.store.claim(now=work.now, lease=work.lease, limit=BATCH_SIZE, max_bytes=BATCH_BYTES)
    if not claimed:
        return 0
    note_session(claimed[0].session_id)
    before = [*await work.store.messages(claimed[0].session_id, before=claimed[0].position, limit=CONTEXT_MESSAGES)]
    if work.spare is not None:
        await _digest_pieces(work, work.spare, claimed, before)
        return len(claimed)
    alone = len(claimed) == 1
    if not await _try_digest(work, claimed, before, last_try=alone) and not alone:
        for n, message in enumerate(claimed):  # one message may make the batch fail; the others must not wait
            await _try_digest(work, [message], [*before, *claimed[:n]][-CONTEXT_MESSAGES:], last_try=True)
    return len(claimed)


async def _try_digest(work: Digestion, claimed: list[Message], before: list[Message], *, last_try: bool) -> bool:
    try:
        extraction = await _extract(work, _unmarked(claimed), _unmarked(before))
        await _write_memories(work, extraction, claimed, before)
        return True
    except Exception as failure:  # whatever the model does, the message is kept and the reason stored
        if last_try:
            log.warning("digesting message %s failed, it will be retried: %s", claimed[0].id, failure)
            deferrals = _deferrals(work, claimed, failure)
            await work.store.apply(Change(defer=deferrals, lease=work.now + work.lease))
        return False


def _unmarked(messages: Sequence[Message]) -> list[Message]:
    """The messages as extractors read them: what forgetting has left of a shortened one, without its marks."""
    whole = [replace(each, content=unmarked_text(each.content)) if each.shortened else each for each in messages]
    return [each for each in whole if each.content]


@runtime_checkable
class CompletionExtractor(Protocol):
    """An extractor that notices when a task was completed."""

    async def finished(
        self, messages: Sequence[Message], before: Sequence[Message], tasks: Sequence[Memory | Draft]
    ) -> list[Draft]: ...


@dataclass(frozen=True, slots=True)
class Extraction:
    """Drafts, the name of the extractor, the failure that made the fallback extract them, if it did, and the newest
    open tasks, if they were read."""

    drafts: Sequence[Draft]
    by: str
    failure: Exception | None = None
    tasks: Sequence[Memory] | None = None


async def _extract(work: Digestion, said: list[Message], before: list[Message]) -> Extraction:
    """Extract drafts, and statements that an open task was completed, unless the drafts have them already."""
    drafts = await work.extractor.extract(said, before, topic_key_loader(work.store, work.now)) if said else []
    if not isinstance(work.extractor, CompletionExtractor):
        return Extraction(drafts, work.extractor.name)
    page = await work.store.scan(Test("kind", "eq", "task"), now=work.now, limit=MAX_OFFERED_MEMORIES)
    tasks: list[Memory | Draft] = [
        *(task for task in page.items if task.sources),
        *(draft for draft in drafts if draft.kind == "task"),
    ]
    completions = await work.extractor.finished(said, before, tasks) if tasks else []
    stated = {draft.content for draft in drafts if not draft.tentative}
    drafts = [*drafts, *(draft for draft in completions if draft.content not in stated)]
    return Extraction(drafts, work.extractor.name, tasks=page.items)


async def _digest_pieces(work: Digestion, fallback: Extractor, claimed: list[Message], before: list[Message]) -> None:
    """Extract from a few pieces concurrently, each with the messages before it, and write the results in order."""
    pieces = _pieces(claimed)
    for first in range(0, len(pieces), MAX_CONCURRENT_PIECES):
        some = pieces[first : first + MAX_CONCURRENT_PIECES]
        with_context = []
        for piece in some:
            with_context.append((piece, before))
            before = [*before, *piece][-CONTEXT_MESSAGES:]
        extractions = await asyncio.gather(*(_extract_piece(work, fallback, *each) for each in with_context))
        for (piece, context), extraction in zip(with_context, extractions, strict=True):
            await _write_memories(work, extraction, piece, context)


def _pieces(messages: list[Message]) -> list[list[Message]]:
    """Splits the conversation into pieces of about `MAX_PIECE_CHARS` characters, each of whole messages."""
    pieces: list[list[Message]] = []
    size = MAX_PIECE_CHARS
    for message in messages:
        if size + len(message.content) > MAX_PIECE_CHARS:
            pieces.append([])
            size = 0
        pieces[-1].append(message)
        size += len(message.content)
    return pieces


async def _extract_piece(
    work: Digestion, fallback: Extractor, piece: list[Message], before: list[Message]
) -> Extraction:
    piece, before = _unmarked(piece), _unmarked(before)
    if not piece:
        return Extraction((), work.extractor.name)
    try:
        return Extraction(
            await work.extractor.extract(piece, before, topic_key_loader(work.store, work.now)), work.extractor.name
        )
    except Exception as failure:
        log.warning("%s failed, digesting %d messages without it: %s", work.extractor.name, len(piece), failure)
        return Extraction(await fallback.extract(piece, before), fallback.name, failure)


def topic_key_loader(store: Store, now: datetime) -> TopicKeyLoader:
    """Returns a function that loads the topic keys of the newest facts and instructions."""

    async def keys() -> Sequence[str]:
        kinds = Test("kind", "in", ("fact", "instruction"))
        own = Test("trust", "in", ("user", "agent"))  # keys that documents brought are not offered
        page = await store.scan(All((Test("key", "exists", True), kinds, own)), now=now, limit=MAX_OFFERED_MEMORIES)
        return list(dict.fromkeys(memory.key for memory in page.items if memory.key is not None))

    return keys


async def _write_memories(
    work: Digestion, extraction: Extraction, claimed: list[Message], before: list[Message]
) -> None:
    messages = {message.id: message for message in (*before, *claimed)}
    drafts = [draft for draft in extraction.drafts if not is_only_redacted(draft.content)]
    wrong = await find_repeated_wrong(work.store, drafts, messages)
    repeated = tuple((memory.ref, source) for n, memory in wrong.items() for source in drafts[n].sources)
    drafts = [draft for n, draft in enumerate(drafts) if n not in wrong]
    follow_ups = FollowUps(drafts)
    if work.judge is None:
        named = await with_owner_keys(work.store, drafts)
        follow_ups = await find_follow_ups(work.store, named, messages, work.now)
    drafts = follow_ups.drafts
    bare = await _bare_parts(work, claimed) if drafts and work.related.compares_meanings else []
    for attempt in range(MAX_CONFLICT_RETRIES + 1):
        related = replace(work.related, tasks=None if attempt else extraction.tasks)
        known = await related.find_known(drafts, messages, extraction.by, [text for _, text in bare])
        known.gone |= follow_ups.superseded
        known.said_at = follow_ups.said_at | known.said_at
        if attempt == MAX_CONFLICT_RETRIES:  # other writers always won: both memories stay, marked as a conflict
            drafts, known = [replace(draft, key=None, contested=draft.key) for draft in drafts], KnownMemories()
        change = reconcile(drafts, known, messages, now=work.now, extractor=extraction.by)
        change = await without_known_remainders(work.store, change)
        change = replace(change, memories=tuple(_with_expiry(work, each) for each in change.memories))
        change = replace(change, vectors=await _part_vectors(work, change, bare, known.vectors))
        change = replace(change, sources=(*change.sources, *repeated), lease=work.now + work.lease)
        if extraction.failure is None:
            change = replace(change, settle=tuple(each.id for each in claimed))
            change = replace(change, forget=await _find_makeshift_memories(work, claimed, change))
        else:
            change = replace(change, defer=_deferrals(work, claimed, extraction.failure))
        try:
            await work.store.apply(change)
            _record_in_trace(claimed, change)
            return
        except Conflict:
            if attempt == MAX_CONFLICT_RETRIES:
                raise


async def _bare_parts(work: Digestion, claimed: Sequence[Message]) -> list[tuple[Part, str]]:
    """The parts of the messages that have no vector, each with the text to embed."""
    messages = {message.id: message for message in claimed}
    bare = await work.store.unembedded_parts(work.embedder.model, BATCH_SIZE)
    return [(part, passages.embedded_text(messages[part.item], part)) for part in bare if part.item in messages]


async def _part_vectors(
    work: Digestion, change: Change, bare: Sequence[tuple[Part, str]], vectors: Mapping[str, Floats]
) -> tuple[Vector, ...]:
    """The vectors of the memories' parts and of the messages' parts that were embedded with the drafts.

    So they are written with the change. If the embedder fails, `embed_missing_parts` tries again.
    """
    memories = {memory.ref: memory for memory in change.memories}
    texts = [(part, passages.embedded_text(memories[part.item], part)) for part in change.parts if part.embed]
    missing = list(dict.fromkeys(text for _, text in texts if text not in vectors))
    known = dict(vectors)
    try:
        known |= zip(missing, await embed_texts(work.embedder, missing) if missing else [], strict=True)
    except Exception as failure:
        log.warning("the memories will be embedded later, the embedder failed: %s", failure)
    model = work.embedder.model
    return tuple(Vector(part.item, part.number, model, known[text]) for part, text in (*texts, *bare) if text in known)


def _record_in_trace(claimed: list[Message], change: Change) -> None:
    """Record in the trace which messages were digested and which memories they became."""
    for name, ids in (
        ("digested", [message.id for message in claimed]),
        ("drawn", [memory.id for memory in change.memories]),
        ("superseded", [each.old for each in change.supersede]),
    ):
        for id in ids:
            append_note(name, id)


def _with_expiry(work: Digestion, memory: Memory) -> Memory:
    return replace(memory, expires_at=work.now + work.ttl[memory.kind]) if memory.kind in work.ttl else memory


async def _find_makeshift_memories(work: Digestion, claimed: list[Message], change: Change) -> tuple[str, ...]:
    """Find what the fallback extracted from these messages earlier, unless the change supersedes or confirms it."""
    late = {message.id for message in claimed if message.failures}
    if work.spare is None or not late:
        return ()
    kept = {supersede.old for supersede in change.supersede} | {memory for memory, _ in change.sources}
    extracted = await work.store.resting_on(list(late))
    makeshift = (memory for memory in extracted if memory.current and memory.extractor.startswith(work.spare.name))
    return tuple(memory.ref for memory in makeshift if set(memory.sources) <= late and memory.ref not in kept)


def _deferrals(work: Digestion, claimed: list[Message], failure: Exception) -> tuple[Deferral, ...]:
    """When each message is retried: later after each failure; None (set aside) after the last. An unavailable model is
    waited for without limit."""
    reason = f"{type(failure).__name__}: {failure}"[:500]
    invalid, unavailable = isinstance(failure, InvalidInput), isinstance(failure, ModelUnavailable)
    late = []
    for message in claimed:
        last = invalid or (message.failures + 1 >= MAX_ATTEMPTS and not unavailable)
        wait = min(MIN_RETRY_DELAY * 4 ** min(message.failures, MAX_ATTEMPTS), MAX_RETRY_DELAY)
        late.append(Deferral(message.id, None if last else work.now + wait, reason))
        work.deferred.add(message.id)
    return tuple(late)


@dataclass(frozen=True, slots=True)
class MessageSelection:
    """Which messages to digest again: all, those of one session, those since a time, or those set aside."""

    session_id: str | None = None
    since: datetime | None = None
    aside: bool = False

    def covers(self, message: Message) -> bool:
        return (self.since is None or message.said_at >= self.since) and (message.aside or not self.aside)


async def redigest(store: Store, which: MessageSelection, *, dry_run: bool = False) -> Redigested:
    """Digest messages again, with a better model or prompt: remove what was extracted from them before.

    Each batch is one change: its messages are queued again, and the memories that rest on nothing else are removed.
    Memories that somebody wrote, revised by hand or marked wrong stay, with what they superseded. So do those that rest
    on a shortened message, from which they could not all be extracted again.
    """
    selected = [message for message in await store.messages(which.session_id, limit=2**31) if which.covers(message)]
    whole = {message.id for message in selected if not message.shortened}
    messages = memories = 0
    for first in range(0, len(selected), REDIGEST_BATCH_MESSAGES):
        ids = [message.id for message in selected[first : first + REDIGEST_BATCH_MESSAGES]]
        resting = await store.resting_on(ids)
        kept = {memory.ref for memory in resting if memory.written_by_hand or memory.marked_wrong}
        extracted = [
            memory.ref
            for memory in resting
            if not {memory.ref, memory.superseded_by} & kept and set(memory.sources) <= whole
        ]
        done = await store.apply(Change(redo=tuple(ids), forget=tuple(extracted), dry_run=dry_run))
        messages, memories = messages + len(ids), memories + len(done.gone.memories)
    return Redigested(messages, memories)
