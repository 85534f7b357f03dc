"""From hits to a cited answer, or to none: without a language model an answer is a quotation, or computed from some.

Nothing is said that a hit does not say. Dates, the time between two happenings, which came first, and counts are
computed from the quoted statements. When the hits do not support an answer (support.py), it is empty.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from . import words
from .agenda import agenda, span
from .alike import same
from .clauses import people
from .earlier import Earlier, earlier, then
from .fit import fits
from .latest import TELLS, said
from .ports import Store
from .question import analysed
from .recall import as_hit, verbatim
from .reckon import Dated, Wanted, between, counted, dated, statement, wanted
from .results import Answer, Citation, Hit
from .sought import sought
from .support import SEEN, support
from .types import Where

SUPPORTED = 0.4
MOST_COUNTED = 8
BEFORE = 0.7
"""How sure an answer is that tells how something was before."""
MOST_TOLD, TOLD = 3, 0.5
"""Of what an agent told, how much is quoted when anything was asked for, and how sure that is."""
CLEARLY, CLOSE, DRAWN = 0.4, 0.15, 0.1
UNSOUND = ("superseded", "outdated", "older", "of_other", "untyped", "untold")
"""Features of a hit that is quoted only when there is no other."""
Find = Callable[[str, int], Awaitable[list[Hit]]]
"""Searches for a text: so many hits."""


async def answered(
    store: Store,
    find: Find,
    question: str,
    limit: int,
    model: str,
    asked_at: datetime,
    *,
    where: Where | None = None,
) -> Answer:
    """What the best hits say, cited; empty when their support is too weak. `where` is what `find` searches."""
    looking = Looking(store, find, model, asked_at)
    seen = await find(question, max(limit, SEEN))
    hits = tuple(seen[:limit])
    if (when := span(question, asked_at)) and (plans := await agenda(store, when, where, hits)):
        return plans
    if not hits:
        return Answer("", (), ())
    want = wanted(question)
    if want is not None and want.b and (both := await looking.compared(want)):
        return Answer(both.text, both.citations, hits, both.sure)
    if (was := then(question, asked_at)) and (found := await earlier(store, find, replace(was, where=where), asked_at)):
        return _before(found, hits)
    sure = looking.sure(question, seen)
    if sure < SUPPORTED and (told := [hit for hit in hits if hit.features.get("told")][:MOST_TOLD]):
        return Answer(" ".join(hit.content for hit in told), tuple(Citation(h.id, h.content) for h in told), hits, TOLD)
    if sure < SUPPORTED:
        return Answer("", (), hits, sure)
    best = _speaking(hits)
    made = await looking.computed(question, want, (best, *hits)) or await _quoted(store, question, best, asked_at)
    text, citations = await looking.with_other(question, best, hits, made)
    return Answer(text, citations, hits, sure)


def _before(found: Earlier, hits: tuple[Hit, ...]) -> Answer:
    """What held then, with when it was said and when something else was."""
    was, next = found.stated, found.next
    until = f", until {_day(next.at)}" if next is not None else ""
    cited = tuple(Citation(each.hit.id, each.hit.content) for each in (was, next) if each is not None)
    known = {hit.id for hit in hits}
    more = tuple(each.hit for each in (was, next) if each is not None and each.hit.id not in known)
    return Answer(f"Said on {_day(was.at)}{until}: {was.hit.content}", cited, (*more, *hits), BEFORE)


def _day(at: datetime) -> str:
    return f"{at.day} {at:%B %Y}"


def _speaking(hits: Sequence[Hit]) -> Hit:
    """The first hit that fits the question nearly as well as any, and is not known to be out of date."""
    read = [hit for hit in hits if "fits" in hit.features] or list(hits[:1])
    best = max(hit.features.get("fits", 0.0) for hit in read)
    sound = [hit for hit in read if not any(hit.features.get(name) for name in UNSOUND)]
    plain = [hit for hit in sound if hit.features.get("tells")]
    near = [hit for hit in sound if hit.features.get("fits", 0.0) >= best - CLEARLY]
    return next(iter(plain or near or sound or read))


Found = tuple[str, tuple[Citation, ...]]


def _one(hit: Hit, other: Hit) -> bool:
    """Whether one of them was drawn from the other, or both from the same message."""
    mine, theirs = {hit.id, *hit.sources}, {other.id, *other.sources}
    return bool(mine & theirs)


async def _quoted(store: Store, question: str, hit: Hit, asked_at: datetime) -> Found:
    """The best hit's own statement. When a memory drawn from it tells what is asked as well, that says it better."""
    quote = statement(question, hit)
    drawn = await store.resting_on([hit.id]) if hit.message_id is not None else []
    current = [as_hit(memory) for memory in drawn if memory.current]
    return _better(question, hit, current, asked_at) or quote, (Citation(hit.id, quote),)


def _better(question: str, hit: Hit, drawn: list[Hit], asked_at: datetime) -> str:
    asked = set(words.question_words(question)) - set(words.tokens(hit.speaker or ""))
    shared = [len(asked & set(words.tokens(memory.content))) for memory in drawn]
    if "fits" in hit.features and drawn:
        read = fits(sought(analysed(question, asked_at)), drawn, people([hit, *drawn]))
        ranked = sorted(zip(read, shared, drawn, strict=True), key=lambda each: (-each[0].worth, -each[1]))
        best = ranked[0]
        return best[2].content if best[0].worth >= hit.features["fits"] - DRAWN and best[0].typed >= 0 else ""
    most = max(zip(shared, (memory.content for memory in drawn), strict=True), default=(0, ""))
    return most[1] if most[0] >= len(asked & set(words.tokens(hit.content))) and most[0] > 0 else ""


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

    async def with_other(self, question: str, best: Hit, hits: Sequence[Hit], made: Found) -> Found:
        """With another statement that fits as well but says something else, both with their dates, the newer first."""
        want = sought(analysed(question, self.asked_at))
        if want.past or want.confirms or not want.value:
            return made
        sound = [hit for hit in hits if "fits" in hit.features and not any(hit.features.get(name) for name in UNSOUND)]
        near = [hit for hit in sound if hit.features["fits"] >= max(best.features.get("fits", 0.0) - CLOSE, TELLS)]
        others = [hit for hit in near if hit.id != best.id and not same(hit.content, best.content)]
        if not others or _one(best, others[0]):
            return made
        mine, theirs = await said(self.store, [best, others[0]])
        text, citations = made
        quote = statement(question, others[0])
        if mine.date() == theirs.date():
            return made
        told = [(mine, text), (theirs, quote)]
        lines = [f"{_day(at)}: {line}" for at, line in sorted(told, key=lambda each: each[0], reverse=True)]
        return " | ".join(lines), (*citations, Citation(others[0].id, quote))

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
