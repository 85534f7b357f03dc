"""What is coming up: "What am I doing this week?" is answered with the dated memories of that time, in their order."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from . import words
from .latest import CHANGED, said
from .moments import now
from .ports import Store
from .recall import as_hit
from .results import Answer, Citation, Hit
from .types import All, Memory, Test, Where
from .when import Window, phrase, window

MOST, READ = 8, 50
SURE = 0.8
AHEAD = timedelta(days=30)
"""How far ahead is meant when the question does not say."""
_ASKED = re.compile(
    r"\bwhat(?:'s| is| am| are| do| have| will)?\b.*\b(?:coming up|planned|scheduled|on (?:my|our|the) "
    r"(?:calendar|agenda|schedule|plate)|(?:my|our) (?:plans?|schedule|agenda)|(?:am|are) (?:i|we) (?:doing|up to)|"
    r"(?:do|will) (?:i|we) (?:have|be doing)(?: (?:on|planned|to do|coming up|going on))?|happening|going on)\b"
    r"|\b(?:do|have) (?:i|we)(?: have| got)? (?:any(?:thing)?|something) (?:plans|planned|scheduled|on|coming up)\b"
    r"|\bwhat(?:'s| is) next\b",
    re.I,
)
_BARE = re.compile(
    r"\b(?:what|what's|do|i|we|have|am|are|is|my|our|doing|coming|up|planned|plans?|scheduled?|on|the|calendar|agenda|plate|"
    r"in|for|to|at|will|be|any|anything|something|happening|going|next|got|there|else|this)\b|[^\w\s]",
    re.I,
)


def span(question: str, asked_at: datetime) -> tuple[datetime, datetime] | None:
    """The time whose plans are asked for; None when none are, or something in particular is."""
    if not _ASKED.search(question):
        return None
    found = window(question, asked_at)
    rest = question if found is None else question[: found.span[0]] + question[found.span[1] :]
    if _BARE.sub("", rest).split():
        return None
    today = asked_at.replace(hour=0, minute=0, second=0, microsecond=0)
    if found is None:
        return (
            (today, today + AHEAD)
            if re.search(r"coming up|planned|scheduled|calendar|agenda|next", question, re.I)
            else None
        )
    return max(found.start, today) if found.stop > today else found.start, found.stop


async def agenda(
    store: Store, when: tuple[datetime, datetime], where: Where | None, hits: tuple[Hit, ...]
) -> Answer | None:
    """What is dated in that time; None when nothing is."""
    dated = (Test("occurred_at", "gte", when[0]), Test("occurred_at", "lt", when[1]))
    within = All(dated if where is None else (*dated, where))
    found = list((await store.scan(within, now=now(), limit=READ)).items)
    kept = await _standing(store, found)
    listed = sorted(kept, key=lambda memory: memory.occurred_at or memory.created_at)[:MOST]
    if not listed:
        return None
    told = " ".join(f"{_day(memory)}: {memory.content}" for memory in listed)
    cited = tuple(Citation(memory.id, memory.content) for memory in listed)
    mine = [next((hit for hit in hits if hit.id == memory.id), as_hit(memory)) for memory in listed]
    ids = {memory.id for memory in listed}
    return Answer(told, cited, (*mine, *(hit for hit in hits if hit.id not in ids)), SURE)


async def _standing(store: Store, found: list[Memory]) -> list[Memory]:
    """Those that no later one puts off: two dates of the same thing are one plan, the newer."""
    hits = [as_hit(memory) for memory in found]
    at = dict(zip((memory.id for memory in found), await said(store, hits), strict=True))
    stems = {memory.id: set(words.question_words(memory.content)) for memory in found}

    def put_off(memory: Memory) -> bool:
        return any(
            at[other.id] > at[memory.id]
            and CHANGED.search(other.content)
            and len(stems[other.id] & stems[memory.id]) >= 2
            for other in found
        )

    return [memory for memory in found if not put_off(memory)]


def _day(memory: Memory) -> str:
    start = memory.occurred_at or memory.created_at
    return phrase(Window(start, memory.occurred_until or start + timedelta(1), "", (0, 0)))
