"""From a question to the hits worth reading: every channel at once, one ranker, one list."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from . import told, words
from .addressed import Addressed, addressed, may_address
from .discreet import discreet
from .filters import passes
from .latest import latest_first
from .moments import micros
from .ports import Embedder, Reranker, Store
from .question import Asked, analysed
from .rank import Ranked, ranked, reasons
from .redaction import redacted
from .results import Hit
from .support import relevance
from .trail import append, followed, note, stage
from .types import All, Floats, Item, Memory, Message, Probe, Proposals, Test, Where

log = logging.getLogger("holdfast")
DEPTH = 80
FADE = 1.0
"""What the score of something very old loses when memory fades."""
EVER = (datetime(1900, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC))
PER_MARK = 0.02
"""How much of its score a mark moves a memory by; there are at most five, so a tenth of it in all."""
SUNK = 3.0
"""What a task's score loses once its session has ended."""


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    where: Where | None
    asked_at: datetime
    """The moment "yesterday" is relative to; expiry goes by `now`."""
    now: datetime


@dataclass(frozen=True, slots=True)
class Models:
    """What recall asks of models."""

    embedder: Embedder
    reranker: Reranker | None = None
    decay: float | None = None
    """Days after which something has lost half of what age takes from it; None for no loss."""


async def search(store: Store, models: Models, question: Question, limit: int) -> list[Hit]:
    with stage("analyse"):
        asked = analysed(question.text, question.asked_at)
    probe = await _probe(models.embedder, asked, question, limit)
    with stage("propose"):
        found = await store.propose(probe)
        asked, found, about = await _by_agents(store, probe, asked, found, question)
    with stage("rank"):
        order = _faded(ranked(asked, found, limit + limit // 2 + 10), asked, question, models.decay)
    with stage("read"):
        items = {item.id: item for item in await store.get([each.item.id for each in order])}
        order = _weighed([each for each in order if each.item.id in items], items)
        order = await _with_tasks_sunk(store, order, items)
        distinct, merged = _merged(order, items)
        hits = (await _reread(models.reranker, asked, distinct))[:limit]
        hits = await _brought_up_to_date(store, asked, _explained(hits, order), question)
        hits = await latest_first(store, asked, hits)
        hits = await discreet(store, hits, question.text)
        hits = [replace(hit, relevance=relevance(hit, models.embedder.model)) for hit in hits]
    if about is not None and about.anything:
        hits = [_told_by_agent(hit) for hit in hits]
    if followed():
        append("searches", told.search(asked, found, order, merged, hits, limit))
    return hits


def _told_by_agent(hit: Hit) -> Hit:
    """Marked as what was asked for, if it was said in the question's time and by the agent itself."""
    here = hit.features.get("in_window", 0.0) >= 0 and hit.role != "user"
    return replace(hit, features={**hit.features, "told": 1.0}) if here else hit


def _faded(order: list[Ranked], asked: Asked, question: Question, decay: float | None) -> list[Ranked]:
    """The order with old things a little lower, unless the question names a time of its own."""
    if decay is None or asked.window is not None:
        return order

    def aged(found: Ranked) -> Ranked:
        days = max(0.0, (micros(question.asked_at) - found.item.at) / 86_400e6)
        return replace(found, score=found.score - FADE * (1 - 0.5 ** (days / decay)))

    return sorted(map(aged, order), key=lambda found: -found.score)


def _weighed(order: list[Ranked], items: dict[str, Item]) -> list[Ranked]:
    """The order with what somebody marked right a little higher and what they marked wrong a little lower."""

    def weighed(found: Ranked) -> Ranked:
        marks = getattr(items[found.item.id], "marks", 0)
        if not marks:
            return found
        moved = round(PER_MARK * marks * max(abs(found.score), 1.0), 4)
        return replace(found, score=found.score + moved, features={**found.features, "marks": moved})

    if not any(getattr(items[found.item.id], "marks", 0) for found in order):
        return order
    return sorted(map(weighed, order), key=lambda found: -found.score)


def _explained(hits: list[Hit], order: Sequence[Ranked]) -> list[Hit]:
    """The hits with what decided where they stand."""
    by_id = {found.item.id: found for found in order}
    why = reasons([by_id[hit.id] for hit in hits])
    return [replace(hit, reasons=reason | _marks(hit)) for hit, reason in zip(hits, why, strict=True)]


def _marks(hit: Hit) -> dict[str, float]:
    return {"marks": hit.features["marks"]} if hit.features.get("marks") else {}


async def _reread(reranker: Reranker | None, asked: Asked, hits: list[Hit]) -> list[Hit]:
    """The hits in the reranker's order; in the ranker's own when there is none or it fails."""
    if reranker is None or not hits:
        return hits
    try:
        scores = await reranker.rerank(asked.text, [_sent(hit) for hit in hits])
        pairs = list(zip(scores, hits, strict=True))
    except Exception as failure:
        log.warning("keeping the ranker's order, the reranker failed: %s", failure)
        return hits
    read = [replace(hit, features={**hit.features, "rerank": float(score)}) for score, hit in pairs]
    return sorted(read, key=lambda hit: -hit.features["rerank"])


def _sent(hit: Hit) -> str:
    """A hit's text for a reranker, which may be anybody's."""
    return hit.content if hit.message_id is None else redacted(hit.content)


async def _brought_up_to_date(store: Store, asked: Asked, hits: list[Hit], question: Question) -> list[Hit]:
    """What superseded a statement stands before the message that made it: nobody lives where they used to live.

    A message of which nothing is current any more is marked `superseded` among its features, one of which the part that
    speaks of the question is not, `outdated`.
    """
    drawn = await store.resting_on([hit.message_id for hit in hits if hit.message_id is not None])
    if all(memory.current for memory in drawn):
        return hits
    valid = {source for memory in drawn if memory.current for source in memory.sources}
    stale = {source for memory in drawn if not memory.current for source in memory.sources} - valid
    heads = await _heads(store, asked, drawn, question)
    placed: dict[str, Hit] = {}
    for hit in hits:
        newer = heads.get(hit.message_id or "")
        if newer is not None and newer.id not in placed:
            placed[newer.id] = next((h for h in hits if h.id == newer.id), None) or _successor(newer, hit)
        marks = {"superseded": 1.0} if hit.message_id in stale else {"outdated": 1.0} if newer is not None else {}
        marked = replace(hit, features={**hit.features, **marks}) if marks else hit
        placed.setdefault(hit.id, marked)
    return list(placed.values())[: len(hits)]


async def _heads(store: Store, asked: Asked, drawn: list[Memory], question: Question) -> dict[str, Memory]:
    """Message → the current memory that superseded what it said about the question."""
    heads: dict[str, Memory] = {}
    for memory in drawn:
        spoken = set(asked.words) & set(words.tokens(memory.content))
        if not memory.current and spoken:
            head = (await store.history(memory.id))[0]
            over = head.expires_at is not None and head.expires_at <= question.now
            sure = head.key == memory.key is not None or spoken <= set(words.tokens(head.content))
            if head.current and sure and not over and passes(question.where, head):
                heads |= dict.fromkeys(memory.sources, head)
    return heads


def _successor(memory: Memory, hit: Hit) -> Hit:
    features = {**hit.features, "memory": 1.0, "from_user": 0.0, "supersedes": 1.0}
    why = {"score": hit.score, "channels": {"key": 1}, "features": features}
    return _hit_of(memory, why)


async def _by_agents(
    store: Store, probe: Probe, asked: Asked, found: Proposals, question: Question
) -> tuple[Asked, Proposals, Addressed | None]:
    """When the question is about what an agent wrote: only that, unless there is nothing of it."""
    about = addressed(question.text, found.agents) if found.agents else None
    if about is None:
        return asked, found, None
    less = replace(analysed(about.rest, question.asked_at), text=asked.text)
    theirs = Test("agent", "in", about.agents)
    where = theirs if probe.where is None else All((probe.where, theirs))
    when = EVER if about.anything and less.window is None else less.window  # then the newest are what is asked for
    other = await store.propose(
        replace(probe, words=less.words, keys=less.keys, window=when, where=where, agents=False)
    )
    if not any(other.channels):
        return asked, found, None
    note(agents=list(about.agents))
    return less, other, about


async def proposed(store: Store, embedder: Embedder, asked: Asked, question: Question, limit: int = DEPTH) -> Proposals:
    """What every channel finds, before anything is ranked."""
    return await store.propose(await _probe(embedder, asked, question, limit))


async def _probe(embedder: Embedder, asked: Asked, question: Question, limit: int) -> Probe:
    with stage("embed"):
        vector = await _meaning(embedder, asked.text)
    return Probe(
        now=question.now,
        words=asked.words,
        vector=vector,
        model=embedder.model,
        keys=asked.keys,
        window=asked.window,
        where=question.where,
        limit=max(DEPTH, limit),
        memories=max(DEPTH // 2, limit),
        agents=may_address(question.text),
    )


async def _meaning(embedder: Embedder, text: str) -> Floats | None:
    """The question's vector, or None when the model fails: words and keys still find."""
    append("models", {"model": embedder.model, "task": "embed_query", "characters": len(text)})
    try:
        return await embedder.embed_query(text)
    except Exception as failure:
        log.warning("searching by words alone, the embedder failed: %s", failure)
        return None


async def _with_tasks_sunk(store: Store, order: list[Ranked], items: dict[str, Item]) -> list[Ranked]:
    """A task of a session that has ended (another one spoke since) is old news."""
    if not any(getattr(items[found.item.id], "kind", "") == "task" for found in order):
        return order
    last = await store.said(None, before=2**62, limit=1)
    running = {None, *(message.session_id for message in last)}

    def weight(found: Ranked) -> Ranked:
        item = items[found.item.id]
        over = isinstance(item, Memory) and item.kind == "task" and item.session_id not in running
        return replace(found, score=found.score - SUNK) if over else found

    return sorted(map(weight, order), key=lambda found: -found.score)


async def verbatim(store: Store, hits: Sequence[Hit], asked: str = "") -> list[Hit]:
    """The hits with each distilled memory replaced by the messages it rests on: a prompt wants what was said, but for
    its secrets."""
    sources = [source for hit in hits for source in hit.sources]
    said = {item.id: item for item in await store.get(sources) if isinstance(item, Message)}
    told: dict[str, Hit] = {}
    for hit in hits:
        messages = [said[source] for source in hit.sources if source in said]
        why = {"score": hit.score, "channels": hit.channels, "features": hit.features, "reasons": hit.reasons}
        for each in [_hit_of(message, why) for message in messages] or [hit]:
            told.setdefault(each.id, each)
    return await discreet(store, list(told.values()), asked)


async def rolled_up(store: Store, hits: Sequence[Hit]) -> list[Hit]:
    """The hits with each message that a summary covers replaced by the summary, once."""
    messages = [hit.message_id for hit in hits if hit.message_id is not None]
    made = [memory for memory in await store.resting_on(messages) if memory.kind == "summary" and memory.current]
    over = {source: memory for memory in made for source in memory.sources}
    told: dict[str, Hit] = {}
    for hit in hits:
        memory = over.get(hit.message_id or "")
        why = {"score": hit.score, "channels": hit.channels, "features": hit.features, "reasons": hit.reasons}
        each = hit if memory is None else _hit_of(memory, why)
        told.setdefault(each.id, each)
    return list(told.values())


def _merged(order: Sequence[Ranked], items: dict[str, Item]) -> tuple[list[Hit], dict[str, str]]:
    """A memory and the message it was drawn from are one hit: whichever stands higher, told only once.

    And of those that are not told, by which one they are.
    """
    hits: list[Hit] = []
    told: dict[str, str] = {}
    merged: dict[str, str] = {}
    for found in order:
        item = items[found.item.id]
        quotes = {item.id} if isinstance(item, Message) else set(item.sources)
        if quotes and quotes <= told.keys():
            merged[item.id] = told[min(quotes)]
            continue
        told |= dict.fromkeys(quotes - told.keys(), item.id)
        hits.append(_hit(item, found))
    return hits, merged


def _hit(item: Item, found: Ranked) -> Hit:
    return _hit_of(
        item,
        {
            "score": round(found.score, 4),
            "channels": found.channels,
            "features": found.features,
        },
    )


def as_hit(item: Item) -> Hit:
    """An item that no search found, as a hit."""
    return _hit_of(item, {"score": 0.0, "channels": {}, "features": {}})


def _hit_of(item: Item, why: dict[str, Any]) -> Hit:
    about: dict[str, Any] = {
        "id": item.id,
        "content": item.content,
        "session_id": item.session_id,
        "created_at": item.created_at,
    }
    if isinstance(item, Message):
        return Hit(
            **about,
            **why,
            kind="message",
            summary=item.content[:80],
            message_id=item.id,
            role=item.role,
            speaker=item.speaker,
            timestamp=item.said_at,
            trust={"assistant": "agent", "system": "user"}.get(item.role, item.role),
            pending=item.pending,
            metadata=item.metadata,
        )
    return Hit(
        **about,
        **why,
        kind=item.kind,
        summary=item.summary,
        sources=item.sources,
        key=item.key,
        timestamp=item.occurred_at,
        trust=item.trust,
        metadata=item.metadata,
        value=item.value,
        version=item.version,
    )
