"""Answers "What am I doing this week?" with the dated memories of that period, in order."""

from __future__ import annotations

from datetime import datetime, timedelta

from holdfast.domain.ports.storage import Store
from holdfast.domain.results import Answer, Citation, Hit
from holdfast.domain.timestamps import now
from holdfast.domain.types import SECOND_HAND_TRUST, All, Memory, Not, Test, Where
from holdfast.recall.answer.attribution import attributed
from holdfast.recall.hits import hit_of
from holdfast.recall.ranking.recency import CHANGED, said_at
from holdfast.recall.ranking.trust import SECOND_HAND, standing
from holdfast.text import tokens
from holdfast.text.dates import Window, window_phrase

MAX_LISTED, MAX_READ = 8, 50
BROUGHT = Test("trust", "in", SECOND_HAND_TRUST)
CONFIDENCE = 0.8
"""Confidence of an answer that lists dated memories. Chosen by hand."""


async def agenda_answer(
    store: Store, when: tuple[datetime, datetime], where: Where | None, hits: tuple[Hit, ...]
) -> Answer | None:
    """Returns an answer that lists the memories dated within the period; None when there are none."""
    dated = (Test("occurred_at", "gte", when[0]), Test("occurred_at", "lt", when[1]))
    within = All(dated if where is None else (*dated, where))
    own = (await store.scan(All((within, Not(BROUGHT))), now=now(), limit=MAX_READ)).items
    brought = (await store.scan(All((within, BROUGHT)), now=now(), limit=MAX_READ)).items
    kept = await _without_postponed(store, [*own, *brought])
    first = sorted(kept, key=lambda memory: (memory.trust in SECOND_HAND_TRUST, _start(memory)))[:MAX_LISTED]
    listed = sorted(first, key=_start)
    if not listed:
        return None
    lines = [await attributed(store, hit_of(memory), f"{_day(memory)}: {memory.content}") for memory in listed]
    told = " ".join(lines)
    cited = tuple(Citation(memory.id, memory.content) for memory in listed)
    mine = [next((hit for hit in hits if hit.id == memory.id), hit_of(memory)) for memory in listed]
    ids = {memory.id for memory in listed}
    return Answer(told, cited, (*mine, *(hit for hit in hits if hit.id not in ids)), CONFIDENCE)


async def _without_postponed(store: Store, found: list[Memory]) -> list[Memory]:
    """Those that no later one puts off: two dates of the same thing are one plan, the newer. What a document or a tool
    says of a plan that the user told themselves is left out."""
    hits = [hit_of(memory) for memory in found]
    at = dict(zip((memory.id for memory in found), await said_at(store, hits), strict=True))
    stems = {memory.id: set(tokens.question_words(memory.content)) for memory in found}
    by = {hit.id: standing(hit) for hit in hits}
    frame = set(tokens.tokens("user"))

    def puts_off(other: Memory, memory: Memory) -> bool:
        shared = stems[other.id] & stems[memory.id]
        if by[other.id] < by[memory.id] == SECOND_HAND:
            return len(shared - frame) >= 2
        later = at[other.id] > at[memory.id] and CHANGED.search(other.content) is not None
        return later and by[other.id] <= by[memory.id] and len(shared) >= 2

    def put_off(memory: Memory) -> bool:
        return any(puts_off(other, memory) for other in found)

    return [memory for memory in found if not put_off(memory)]


def _start(memory: Memory) -> datetime:
    return memory.occurred_at or memory.updated_at


def _day(memory: Memory) -> str:
    start = _start(memory)
    return window_phrase(Window(start, memory.occurred_until or start + timedelta(1), "", (0, 0)))
