"""Turn what was said into what is known: embed what is bare, extract, reconcile, write.

An undigested message is its own queue entry. `claim` lends it; the Change that carries its memories also settles it.
A crash lets the lease run out, and ids that follow from content make the second run write the same rows. No model is
called inside a transaction.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np

from . import outdated, passages, words
from .alike import restates, updates
from .errors import Conflict, InvalidInput, ModelError
from .ports import Embedder, Extractor, Store
from .reconcile import Known, reconcile
from .types import Change, Deferral, Draft, Floats, Memory, Message, Probe, Proposals, Test, Vector, fingerprint

log = logging.getLogger("holdfast")
BATCH = 64
RELATED = 8
"""How many memories with the same words are looked at for one that says the same, or is out of date."""
RARE = 6
"""A word in this many texts, or in one of fifty, may identify a thing."""
LEASE = timedelta(minutes=5)
CONTEXT = 6
TRIES = 5
FIRST_WAIT = timedelta(seconds=10)


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
        found: list[Floats | None] = [*await _vectors(embedder, texts)]
    except Exception as failure:
        found = [await _vector(embedder, text) for text in texts] if len(texts) > 1 else [None]
        refusals = sum(each is None for each in found)
        if refusals == len(found):
            raise
        log.warning("the embedder refuses %d of %d texts: %s", refusals, len(found), failure)
    pairs = list(zip(bare, found, strict=True))
    vectors = tuple(Vector(p.item, p.number, embedder.model, v) for p, v in pairs if v is not None)
    refused = tuple((part.item, part.number) for part, vector in pairs if vector is None)
    await store.apply(Change(vectors=vectors, refused=refused))
    return len(bare)


async def _vectors(embedder: Embedder, texts: list[str]) -> list[Floats]:
    """The embedder's vectors, checked: a wrong one would spoil every later search."""
    found = await embedder.embed(texts)
    dimensions = int(embedder.model.rsplit("/", 1)[1])
    for vector in found:
        if vector.shape != (dimensions,) or not abs(float(np.linalg.norm(vector)) - 1) < 0.01:
            raise ModelError(f"{embedder.model} gave a vector of shape {vector.shape} that is not of length 1.")
    if len(found) != len(texts):
        raise ModelError(f"{embedder.model} gave {len(found)} vectors for {len(texts)} texts.")
    return found


async def _vector(embedder: Embedder, text: str) -> Floats | None:
    try:
        return (await _vectors(embedder, [text]))[0]
    except Exception:  # the caller reports it
        return None


@dataclass(frozen=True, slots=True)
class Digesting:
    """Where and with which models messages become memories."""

    store: Store
    extractor: Extractor
    embedder: Embedder
    now: datetime


async def digest_some(work: Digesting) -> int:
    """Digest one batch of waiting messages; how many there were."""
    claimed = await work.store.claim(now=work.now, lease=LEASE, limit=BATCH)
    alone = len(claimed) == 1
    if claimed and not await _digested(work, claimed, last_try=alone) and not alone:
        for message in claimed:  # one of them is poison: the others must not suffer for it
            await _digested(work, [message], last_try=True)
    return len(claimed)


async def _digested(work: Digesting, claimed: list[Message], *, last_try: bool) -> bool:
    try:
        before = await work.store.said(claimed[0].session_id, before=claimed[0].position, limit=CONTEXT)
        drafts = await work.extractor.extract(claimed, before)
        await _write(work, drafts, claimed, before)
        return True
    except Exception as failure:  # whatever a model does, the message stays, and the reason is seen
        if last_try:
            log.warning("digesting message %s failed, it waits: %s", claimed[0].id, failure)
            await _set_back(work, claimed, failure)
        return False


async def _write(work: Digesting, drafts: Sequence[Draft], claimed: list[Message], before: list[Message]) -> None:
    messages = {message.id: message for message in (*before, *claimed)}
    for attempt in range(3):
        known = await _known(work, drafts, messages)
        change = reconcile(drafts, known, messages, now=work.now, extractor=work.extractor.name)
        try:
            settled = tuple(message.id for message in claimed)
            await work.store.apply(replace(change, settle=settled, lease=work.now + LEASE))
            return
        except Conflict:
            if attempt == 2:
                raise


async def _known(work: Digesting, drafts: Sequence[Draft], messages: dict[str, Message]) -> Known:
    store = work.store
    known = Known(said={id: message.said_at for id, message in messages.items()})
    keys = tuple({draft.key for draft in drafts if draft.key is not None})
    if keys:
        page = await store.scan(Test("key", "in", keys), now=None, limit=10_000)
        known.heads = {(memory.kind, memory.key): memory for memory in page.items if memory.key is not None}
    prints = tuple({fingerprint(draft.kind, draft.content) for draft in drafts if draft.key is None})
    if prints:
        page = await store.scan(Test("fingerprint", "in", prints), now=None, limit=10_000)
        known.alike = {memory.fingerprint: memory for memory in page.items if memory.key is None}
    held = {memory.key for memory in known.heads.values()}
    loose = [
        draft for draft in drafts if draft.key not in held and fingerprint(draft.kind, draft.content) not in known.alike
    ]
    for draft, vector in zip(loose, await _meanings(work.embedder, loose), strict=True):
        await _relate(work, draft, vector, messages[draft.sources[-1]], known)
    rests_on = [source for memory in (*known.heads.values(), *known.outdated.values()) for source in memory.sources]
    known.said |= {item.id: item.said_at for item in await store.get(rests_on) if isinstance(item, Message)}
    return known


async def _meanings(embedder: Embedder, drafts: list[Draft]) -> list[Floats | None]:
    """The drafts' vectors, when the network that compares statements knows the model; else none."""
    if not drafts or embedder.model != outdated.model():
        return [None] * len(drafts)
    try:
        return [*await _vectors(embedder, [draft.content for draft in drafts])]
    except Exception as failure:
        log.warning("relating by words alone, the embedder failed: %s", failure)
        return [None] * len(drafts)


async def _relate(work: Digesting, draft: Draft, vector: Floats | None, said: Message, known: Known) -> None:
    """Find the current memory that says in other words what the draft says, or that it makes out of date."""
    wanted = words.question_words(draft.content)
    probe = Probe(work.now, wanted, vector, work.embedder.model, limit=0, memories=RELATED, with_neighbours=0)
    found = await work.store.propose(probe)
    most = max(RARE, found.parts // 50)
    rare = {word for word, count in zip(wanted, found.frequency, strict=True) if count <= most}
    mark = fingerprint(draft.kind, draft.content)
    near = _cosines(found)
    held = await work.store.get([item.id for item in found.items if item.memory])
    memories = [memory for memory in held if isinstance(memory, Memory) and memory.sources]  # not what was set by hand
    same = [memory for memory in memories if restates(draft, memory)]
    if same:
        known.alike[mark] = same[0]
        return
    rare -= set(words.tokens(said.speaker or ""))
    close = [memory for memory in memories if not near.get(memory.id, np.nan) < outdated.NEAR]
    replaced = [memory for memory in close if updates(draft, memory, rare)]
    if replaced:
        about = set(wanted)
        known.outdated[mark] = max(replaced, key=lambda memory: len(about & set(words.tokens(memory.content))))
    elif vector is not None:
        new = outdated.Statement(draft.kind, draft.content, said.session_id, draft.sources, draft.key)
        old = [outdated.Statement(m.kind, m.content, m.session_id, m.sources, m.key) for m in memories]
        cosines = [near.get(memory.id, np.nan) for memory in memories]
        best = outdated.replaced(new, said.content, old, cosines, rare)
        if best is not None:
            known.outdated[mark] = memories[best]


def _cosines(found: Proposals) -> dict[str, float]:
    """Of each item that has a vector, its nearest part's cosine."""
    near: dict[str, float] = {}
    for of, cosine in zip(found.of.tolist(), found.cosine.tolist(), strict=True):
        if cosine == cosine:
            id = found.items[of].id
            near[id] = max(near.get(id, -1.0), cosine)
    return near


async def _set_back(work: Digesting, claimed: list[Message], failure: Exception) -> None:
    """Wait longer after each failure; after the last, set aside in sight."""
    reason = f"{type(failure).__name__}: {failure}"[:500]
    hopeless = isinstance(failure, InvalidInput)
    late = []
    for message in claimed:
        last = hopeless or message.failures + 1 >= TRIES
        late.append(Deferral(message.id, None if last else work.now + FIRST_WAIT * 4**message.failures, reason))
    await work.store.apply(Change(defer=tuple(late), lease=work.now + LEASE))
