"""Turn what was said into what is known: embed what is bare, extract, reconcile, write.

An undigested message is its own queue entry. `claim` lends it; the Change that carries its memories also settles it.
A crash lets the lease run out, and ids that follow from content make the second run write the same rows. No model is
called inside a transaction.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol, runtime_checkable

from . import passages
from .errors import Conflict, InvalidInput, ModelUnavailable
from .ports import Embedder, Extractor, Judge, Keys, Store
from .reconcile import Known, reconcile
from .related import Related, vectors
from .trail import about, append
from .types import All, Change, Deferral, Draft, Floats, Memory, Message, Test, Vector

log = logging.getLogger("holdfast")
BATCH = 64
LEASE = timedelta(minutes=5)
LONG_LEASE = timedelta(minutes=20)
CONTEXT = 6
TRIES = 5
FIRST_WAIT, LONGEST_WAIT = timedelta(seconds=10), timedelta(hours=1)
PIECE = 10_000
"""Characters of a conversation that a model reads at once."""
AT_ONCE = 4
OFFERED = 200
"""Of how many of the newest memories the keys are offered to the extractor."""
CONTESTS = 3
"""How often a decision is made anew because somebody wrote first."""


async def embed_bare(store: Store, embedder: Embedder, limit: int = BATCH) -> int:
    """Give vectors to parts that have none under this model; how many were dealt with.

    When a batch fails, its texts are tried one by one: those that alone fail are refused, found by words from now on.
    When all fail the model is down, and everything waits.
    """
    bare = await store.bare(embedder.model, limit)
    items = {item.id: item for item in await store.get(list({part.item for part in bare}))}
    bare = [part for part in bare if part.item in items]
    texts = [passages.embedded_text(items[part.item], part) for part in bare]
    if not bare:
        return 0
    try:
        found: list[Floats | None] = [*await vectors(embedder, texts)]
    except Exception as failure:
        found = [await _vector(embedder, text) for text in texts] if len(texts) > 1 else [None]
        refusals = sum(each is None for each in found)
        if refusals == len(found):
            raise
        log.warning("the embedder refuses %d of %d texts: %s", refusals, len(found), failure)
    pairs = list(zip(bare, found, strict=True))
    made = tuple(Vector(p.item, p.number, embedder.model, v) for p, v in pairs if v is not None)
    refused = tuple((part.item, part.number) for part, vector in pairs if vector is None)
    await store.apply(Change(vectors=made, refused=refused))
    return len(bare)


async def _vector(embedder: Embedder, text: str) -> Floats | None:
    try:
        return (await vectors(embedder, [text]))[0]
    except Exception:  # the caller reports it
        return None


@dataclass(frozen=True, slots=True)
class Digesting:
    """Where and with which models messages become memories."""

    store: Store
    extractor: Extractor
    embedder: Embedder
    now: datetime
    spare: Extractor | None = None
    """Does what the extractor could not; then the messages wait to be digested anew. An extractor that has a spare is a
    model somewhere else: slow, down at times, and asked for pieces of a conversation."""
    judge: Judge | None = None
    ttl: Mapping[str, timedelta] = field(default_factory=dict)
    """How long memories of a kind last."""

    @property
    def related(self) -> Related:
        return Related(self.store, self.embedder, self.now, self.judge)

    @property
    def lease(self) -> timedelta:
        return LEASE if self.spare is None else LONG_LEASE


async def digest_some(work: Digesting) -> int:
    """Digest one batch of waiting messages; how many there were."""
    claimed = await work.store.claim(now=work.now, lease=work.lease, limit=BATCH)
    if not claimed:
        return 0
    about(claimed[0].session_id)
    before = await work.store.said(claimed[0].session_id, before=claimed[0].position, limit=CONTEXT)
    if work.spare is not None:
        await _by_pieces(work, work.spare, claimed, before)
        return len(claimed)
    alone = len(claimed) == 1
    if not await _digested(work, claimed, before, last_try=alone) and not alone:
        for n, message in enumerate(claimed):  # one of them is poison: the others must not suffer for it
            await _digested(work, [message], [*before, *claimed[:n]][-CONTEXT:], last_try=True)
    return len(claimed)


async def _digested(work: Digesting, claimed: list[Message], before: list[Message], *, last_try: bool) -> bool:
    try:
        drafts = await work.extractor.extract(claimed, before, keys_of(work.store, work.now))
        drafts = [*drafts, *await _closing(work, drafts, claimed, before)]
        await _write(work, Drawn(drafts, work.extractor.name), claimed, before)
        return True
    except Exception as failure:  # whatever a model does, the message stays, and the reason is seen
        if last_try:
            log.warning("digesting message %s failed, it waits: %s", claimed[0].id, failure)
            late = _put_off(work, claimed, failure)
            await work.store.apply(Change(defer=late, lease=work.now + work.lease))
        return False


@runtime_checkable
class Finisher(Protocol):
    """An extractor that notices when a task was done."""

    async def finished(
        self, messages: Sequence[Message], before: Sequence[Message], tasks: Sequence[Memory | Draft]
    ) -> list[Draft]: ...


async def _closing(
    work: Digesting, drafts: Sequence[Draft], claimed: list[Message], before: list[Message]
) -> list[Draft]:
    """What tells that an open task was done and is not among the drafts."""
    if not isinstance(work.extractor, Finisher):
        return []
    page = await work.store.scan(Test("kind", "eq", "task"), now=work.now, limit=OFFERED)
    tasks: list[Memory | Draft] = [
        *(task for task in page.items if task.sources),
        *(draft for draft in drafts if draft.kind == "task"),
    ]
    found = await work.extractor.finished(claimed, before, tasks) if tasks else []
    told = {draft.content for draft in drafts}
    return [draft for draft in found if draft.content not in told]


@dataclass(frozen=True, slots=True)
class Drawn:
    """Drafts, who drew them, and if somebody else should have, why they did not."""

    drafts: Sequence[Draft]
    by: str
    failure: Exception | None = None


async def _by_pieces(work: Digesting, spare: Extractor, claimed: list[Message], before: list[Message]) -> None:
    """Read a few pieces at a time, each with the messages before it, and write them in their order."""
    pieces = _pieces(claimed)
    for first in range(0, len(pieces), AT_ONCE):
        some = pieces[first : first + AT_ONCE]
        read = []
        for piece in some:
            read.append((piece, before))
            before = [*before, *piece][-CONTEXT:]
        drawn = await asyncio.gather(*(_drawn(work, spare, *each) for each in read))
        for (piece, context), found in zip(read, drawn, strict=True):
            await _write(work, found, piece, context)


def _pieces(messages: list[Message]) -> list[list[Message]]:
    """The conversation in pieces of about so many characters, whole messages each."""
    pieces: list[list[Message]] = []
    size = PIECE
    for message in messages:
        if size + len(message.content) > PIECE:
            pieces.append([])
            size = 0
        pieces[-1].append(message)
        size += len(message.content)
    return pieces


async def _drawn(work: Digesting, spare: Extractor, piece: list[Message], before: list[Message]) -> Drawn:
    try:
        return Drawn(await work.extractor.extract(piece, before, keys_of(work.store, work.now)), work.extractor.name)
    except Exception as failure:
        log.warning("%s failed, digesting %d messages without it: %s", work.extractor.name, len(piece), failure)
        return Drawn(await spare.extract(piece, before), spare.name, failure)


def keys_of(store: Store, now: datetime) -> Keys:
    """The topics that the newest facts and instructions are filed under, when somebody asks."""

    async def keys() -> Sequence[str]:
        kinds = Test("kind", "in", ("fact", "instruction"))
        own = Test("trust", "in", ("user", "agent"))  # what documents call things is not shown to whoever files
        page = await store.scan(All((Test("key", "exists", True), kinds, own)), now=now, limit=OFFERED)
        return list(dict.fromkeys(memory.key for memory in page.items if memory.key is not None))

    return keys


async def _write(work: Digesting, drawn: Drawn, claimed: list[Message], before: list[Message]) -> None:
    messages = {message.id: message for message in (*before, *claimed)}
    drafts = drawn.drafts
    for attempt in range(CONTESTS + 1):
        known = await work.related.known(drafts, messages, drawn.by)
        if attempt == CONTESTS:  # others are always first: both stay, in sight
            drafts, known = [replace(draft, key=None, contested=draft.key) for draft in drafts], Known()
        change = reconcile(drafts, known, messages, now=work.now, extractor=drawn.by)
        change = replace(change, memories=tuple(_lasting(work, each) for each in change.memories))
        change = replace(change, lease=work.now + work.lease)
        if drawn.failure is None:
            change = replace(change, settle=tuple(each.id for each in claimed))
            change = replace(change, forget=await _makeshift(work, claimed, change))
        else:
            change = replace(change, defer=_put_off(work, claimed, drawn.failure))
        try:
            await work.store.apply(change)
            _tell(claimed, change)
            return
        except Conflict:
            if attempt == CONTESTS:
                raise


def _tell(claimed: list[Message], change: Change) -> None:
    """Leave in the trace which messages were read and what came of them."""
    for name, ids in (
        ("digested", [message.id for message in claimed]),
        ("drawn", [memory.id for memory in change.memories]),
        ("superseded", [each.old for each in change.supersede]),
    ):
        for id in ids:
            append(name, id)


def _lasting(work: Digesting, memory: Memory) -> Memory:
    return replace(memory, expires_at=work.now + work.ttl[memory.kind]) if memory.kind in work.ttl else memory


async def _makeshift(work: Digesting, claimed: list[Message], change: Change) -> tuple[str, ...]:
    """What the spare made of these messages while the extractor could not, unless it is part of what is known now."""
    late = {message.id for message in claimed if message.failures}
    if work.spare is None or not late:
        return ()
    kept = {supersede.old for supersede in change.supersede} | {memory for memory, _ in change.sources}
    drawn = await work.store.resting_on(list(late))
    mine = (memory for memory in drawn if memory.current and memory.extractor.startswith(work.spare.name))
    return tuple(memory.id for memory in mine if set(memory.sources) <= late and memory.id not in kept)


def _put_off(work: Digesting, claimed: list[Message], failure: Exception) -> tuple[Deferral, ...]:
    """Wait longer after each failure; after the last, set aside in sight. A model that is away is waited for."""
    reason = f"{type(failure).__name__}: {failure}"[:500]
    hopeless, away = isinstance(failure, InvalidInput), isinstance(failure, ModelUnavailable)
    late = []
    for message in claimed:
        last = hopeless or (message.failures + 1 >= TRIES and not away)
        wait = min(FIRST_WAIT * 4 ** min(message.failures, TRIES), LONGEST_WAIT)
        late.append(Deferral(message.id, None if last else work.now + wait, reason))
    return tuple(late)
