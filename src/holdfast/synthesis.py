"""From a question to a written answer: a model reads what the offline channels found, and everything has its budget.

The offline answer is made in any case. It is the answer whenever the model is down, late or talks nonsense, and when
there is none at all.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from .answer import Find, answered
from .errors import InvalidInput, shown
from .ports import Store
from .quoted import quoted
from .reckon import statement, wanted
from .results import Answer, Citation, Hit
from .thinking import Thinking
from .trail import append, note, stage
from .types import Brief, Message, Reading, Where, Wording

log = logging.getLogger("holdfast")
LENGTHS = ("short", "medium", "long")
FUSED = 60
"""Of reciprocal-rank fusion: a would-be answer's hits have no numbers that could be compared with the question's."""
LONGEST = 1_500
"""Characters of one piece of evidence."""


@dataclass(frozen=True, slots=True)
class Level:
    """How hard to think."""

    hits: int
    passes: int
    analysis: float
    """Seconds that the answer waits for the analysis of the question."""
    seconds: float
    """And for the model to write it."""


LEVELS = {"low": Level(10, 1, 1.0, 20.0), "medium": Level(20, 1, 2.0, 40.0), "high": Level(40, 2, 4.0, 90.0)}


@dataclass(frozen=True, slots=True)
class Asking:
    """A question, and how it is to be answered."""

    query: str
    limit: int | None
    level: str
    length: str
    embedder: str
    asked_at: datetime
    where: Where | None = None
    """What the answer may rest on."""

    def __post_init__(self) -> None:
        for name, value, known in (("thinking_level", self.level, LEVELS), ("response_length", self.length, LENGTHS)):
            if value not in known:
                raise InvalidInput(f"{name} is {shown(value)}; use one of {', '.join(known)}.", field=name)

    @property
    def hits(self) -> int:
        return LEVELS[self.level].hits if self.limit is None else self.limit


async def recalled(store: Store, find: Find, thinking: Thinking | None, asking: Asking) -> AsyncIterator[str | Answer]:
    """The answer's words as they come, and the whole Answer last, which is the one that holds."""
    level = LEVELS[asking.level]
    if thinking is None:
        offline = await _offline(store, find, asking)
        if offline.answer:
            yield offline.answer
        yield offline
        return
    reading = asyncio.create_task(thinking.analyst.analyse(asking.query))
    try:
        offline = await _offline(store, find, asking)
        hits = await _widened(reading, find, offline.hits, level.analysis)
    finally:
        reading.cancel()
    if not hits:
        yield offline
        return
    wording: Wording | None = None
    with stage("synthesise"):
        try:
            async for piece in thinking.synthesiser.answer(await _brief(store, asking, offline, hits)):
                if isinstance(piece, Wording):
                    wording = piece
                else:
                    yield piece
        except Exception as failure:
            log.warning("answering without the model, it failed: %s", failure)
            note(synthesis=f"failed: {type(failure).__name__}")
    yield replace(offline, hits=hits) if wording is None else _cited(asking, offline, hits, wording)


async def _offline(store: Store, find: Find, asking: Asking) -> Answer:
    return await answered(store, find, asking.query, asking.hits, asking.embedder, asking.asked_at, where=asking.where)


async def _widened(reading: asyncio.Task[Reading], find: Find, hits: Sequence[Hit], budget: float) -> tuple[Hit, ...]:
    """The hits, and those that are like a would-be answer; the former alone when the analysis is late or fails."""
    with stage("question"):
        try:
            read = await asyncio.wait_for(asyncio.shield(reading), budget)
            text = " ".join(filter(None, (read.answer, *read.terms, *read.keys)))
            like = await find(text, max(len(hits), 1)) if text else []
        except Exception as failure:
            note(analysis=f"left out: {type(failure).__name__}")
            return tuple(hits)
    append("analysis", {"keys": list(read.keys), "terms": list(read.terms)})
    scores: dict[str, float] = {}
    for found in (hits, like):
        for rank, hit in enumerate(found, 1):
            scores[hit.id] = scores.get(hit.id, 0.0) + 1 / (FUSED + rank)
    marked = {hit.id: replace(hit, channels={"question": rank}) for rank, hit in enumerate(like, 1)}
    known = {hit.id: hit for hit in hits}
    for id, hit in marked.items():
        known[id] = replace(known[id], channels={**known[id].channels, **hit.channels}) if id in known else hit
    best = sorted(known.values(), key=lambda hit: -scores[hit.id])
    return tuple(best[: max(len(hits), 1)])


async def _brief(store: Store, asking: Asking, offline: Answer, hits: Sequence[Hit]) -> Brief:
    level = LEVELS[asking.level]
    facts = [f"Today is {asking.asked_at:%A, %Y-%m-%d}."]
    if offline.answer and wanted(asking.query) is not None:
        facts.append(f"Computed from the memories: {quoted(offline.answer)}")
    sources = await store.get([source for hit in hits for source in hit.sources])
    said = {item.id: item.said_at for item in sources if isinstance(item, Message)}
    evidence = tuple(_evidence(hit, said, asking.asked_at) for hit in hits)
    return Brief(asking.query, evidence, tuple(facts), asking.length, level.passes, level.seconds)


def _evidence(hit: Hit, said: Mapping[str, datetime], asked_at: datetime) -> str:
    at = hit.timestamp or max((said[source] for source in hit.sources if source in said), default=hit.created_at)
    days = (asked_at.date() - at.date()).days
    age = f"{days} days ago" if days > 0 else "today" if days == 0 else f"in {-days} days"
    who = (
        quoted(hit.speaker)
        if hit.speaker
        else {"user": "the user", "agent": "an assistant"}.get(hit.trust, f"a {hit.trust}")
    )
    old = ", superseded since" if hit.features.get("superseded") or hit.features.get("outdated") else ""
    return f"{at:%Y-%m-%d} ({age}{old}), {who}: {quoted(hit.content[:LONGEST])}"


def _cited(asking: Asking, offline: Answer, hits: tuple[Hit, ...], wording: Wording) -> Answer:
    if not wording.text:
        return Answer("", (), hits, offline.confidence)
    cited = [hits[n] for n in wording.cited]
    quotes = tuple(Citation(hit.id, statement(asking.query, hit)) for hit in cited)
    return Answer(wording.text, quotes, hits, max(offline.confidence, 0.5))
