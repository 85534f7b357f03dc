"""From hits to a cited answer, or to none: without a language model an answer is a quotation, or computed from some.

Nothing is said that a hit does not say. Dates, the time between two happenings, which came first, and counts are
computed from the quoted statements. When the hits do not support an answer (support.py), it is empty.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from . import words
from .ports import Store
from .question import analysed
from .recall import verbatim
from .reckon import Dated, Wanted, between, counted, dated, statement, wanted
from .results import Answer, Citation, Hit
from .support import SEEN, support

SUPPORTED = 0.4
MOST_COUNTED = 8
MOST_TOLD, TOLD = 3, 0.5
"""Of what an agent told, how much is quoted when anything was asked for, and how sure that is."""
FEW, CLEARLY = 3, 0.3
Find = Callable[[str, int], Awaitable[list[Hit]]]
"""Searches for a text: so many hits."""


async def answered(store: Store, find: Find, question: str, limit: int, model: str, asked_at: datetime) -> Answer:
    """What the best hits say, cited; empty when their support is too weak."""
    looking = Looking(store, find, model, asked_at)
    seen = await find(question, max(limit, SEEN))
    hits = tuple(seen[:limit])
    if not hits:
        return Answer("", (), ())
    want = wanted(question)
    if want is not None and want.b and (both := await looking.compared(want)):
        return Answer(both.text, both.citations, hits, both.sure)
    sure = looking.sure(question, seen)
    if sure < SUPPORTED and (told := [hit for hit in hits if hit.features.get("told")][:MOST_TOLD]):
        return Answer(" ".join(hit.content for hit in told), tuple(Citation(h.id, h.content) for h in told), hits, TOLD)
    if sure < SUPPORTED:
        return Answer("", (), hits, sure)
    best = _speaking(hits)
    text, citations = await looking.computed(question, want, (best, *hits)) or await _quoted(store, question, best)
    return Answer(text, citations, hits, sure)


def _speaking(hits: Sequence[Hit]) -> Hit:
    """Of the first few, the hit that itself speaks of the question most: a good neighbour is context, not an answer."""
    spoken = [_spoken(hit) for hit in hits[:FEW]]
    return next(hit for hit, told in zip(hits, spoken, strict=False) if told >= max(spoken) - CLEARLY)


def _spoken(hit: Hit) -> float:
    told = hit.features.get("coverage", 0.0) + hit.features.get("near", 0.0)
    return 0.0 if hit.features.get("superseded") or hit.features.get("outdated") else told


Found = tuple[str, tuple[Citation, ...]]


async def _quoted(store: Store, question: str, hit: Hit) -> Found:
    """The best hit's own statement. When a memory drawn from it speaks of the question as well, that says it better."""
    quote = statement(question, hit)
    asked = set(words.question_words(question)) - set(words.tokens(hit.speaker or ""))
    drawn = await store.resting_on([hit.id]) if hit.message_id is not None else []
    spoken = [(len(asked & set(words.tokens(m.content))), m.content) for m in drawn if m.current]
    best = max(spoken, default=(0, ""))
    text = best[1] if best[0] >= len(asked & set(words.tokens(quote))) and best[0] > 0 else quote
    return text, (Citation(hit.id, quote),)


@dataclass(frozen=True, slots=True)
class Compared:
    text: str
    citations: tuple[Citation, ...]
    sure: float


@dataclass(frozen=True, slots=True)
class Looking:
    """What a computation needs to find its statements."""

    store: Store
    find: Find
    model: str
    asked_at: datetime

    def sure(self, question: str, hits: Sequence[Hit]) -> float:
        return support(analysed(question, self.asked_at), hits, self.model) if hits else 0.0

    async def compared(self, want: Wanted) -> Compared | None:
        """The time between two things, or which came first; None unless each is supported and dated by itself."""
        one, two = [await self.find(text, SEEN) for text in (want.a, want.b)]
        sure = min(self.sure(want.a, one), self.sure(want.b, two))
        if sure < SUPPORTED:
            return None
        first, second = await self._dated(want.a, one[:2]), await self._dated(want.b, two[:2])
        found = _compared(want, first, second) if first and second else None
        return Compared(*found, sure) if found else None

    async def computed(self, question: str, want: Wanted | None, hits: Sequence[Hit]) -> Found | None:
        """A date, how long ago it was, or a count; None when none is wanted or the statements do not allow it."""
        if want is None or want.b:
            return None
        if want.sought == "count":
            return _count(want, hits)
        one = await self._dated(question, hits[:1])
        if one is None:
            return None
        if want.sought == "when" and not one.told and not want.past:
            return None
        when = one.day[:1].upper() + one.day[1:]
        if want.sought == "ago":
            when = f"{between(one.window.start, self.asked_at, want.unit)} ago ({one.day})"
        return f"{when}: {one.quote}", _cited(one)

    async def _dated(self, question: str, hits: Sequence[Hit]) -> Dated | None:
        """The best hit with its date, or the message it rests on; one that tells its own date is preferred."""
        said = await verbatim(self.store, hits, question)
        found = [each for hit in (*hits, *said) if (each := dated(question, hit))]
        return next((each for each in found if each.told), found[0] if found else None)


def _compared(want: Wanted, one: Dated, two: Dated) -> Found | None:
    if one.hit.id == two.hit.id and one.window == two.window:
        return None
    told = f"{one.quote} ({one.day}); {two.quote} ({two.day})"
    if want.sought == "between":
        return f"{between(one.window.start, two.window.start, want.unit)}: {told}", _cited(one, two)
    early = one.window.start <= two.window.start
    chosen = want.a if early != want.last else want.b
    return f"{chosen[:1].upper()}{chosen[1:]}: {told}", _cited(one, two)


def _count(want: Wanted, hits: Sequence[Hit]) -> Found | None:
    found = counted(want.a, hits)
    if not found or len(found) > MOST_COUNTED:
        return None
    quotes = tuple(Citation(hit.id, quote) for hit, quote in found)
    if len(found) == 1:
        return found[0][1], quotes
    return f"At least {len(found)}: " + " | ".join(quote for _, quote in found), quotes


def _cited(*found: Dated) -> tuple[Citation, ...]:
    return tuple(Citation(each.hit.id, each.quote) for each in found)
