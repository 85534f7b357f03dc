"""Of two statements about the same thing the newer one stands first: nobody flies on the day the flight was moved from.

What digestion saw to be a change is superseded, and recall knows it. This is for the rest, at the time of reading: two
hits that both tell what is asked for, of the same one, and either the newer tells of a change, or the values that are
asked for differ. Nothing is hidden; the older one is marked `older`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from . import words
from .clauses import people
from .fit import Fit, fits
from .ports import Store
from .question import Asked
from .results import Hit
from .sought import Sought, names_in, sought
from .types import Message

FITTED = 5
"""How many hits are read for what is asked."""
TELLS, BARELY = 0.6, 0.4
"""How well a statement fits that tells what is asked; and one that tells of its change."""
SURELY = 0.9
ALIKE = 0.3
CHANGED = re.compile(
    r"\b(?:now|no longer|any ?more|instead|switched|changed?|from now on|these days|pushed|moved|postponed|became|new|"
    r"replaced|swapped|after all|actually|correction|upgraded|downgraded|went (?:up|down)|raised|bumped|lowered|oops|"
    r"reduced|increased|cut|dropped|down to|up to|back to|left|quit|sold|gave up|given up|since|cancel+ed|renamed|"
    r"migrated|rescheduled|earlier than|later than|starting|grew|as of|from (?:today|tomorrow|january|february|march|"
    r"april|may|june|july|august|september|october|november|december))\b",
    re.I,
)
_SETTLED = re.compile(r"\b(?:in the end|finally|ended up|turned out|after all)\b", re.I)
_DENIED = re.compile(r"\b(?:not|instead of|rather than)\b", re.I)
_FIGURE = re.compile(
    r"\d+(?:[.,:]\d+)*|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day|\b(?:january|february|march|april|june|july|august|"
    r"september|october|november|december|morning|evening|night|noon)",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Stated:
    """A hit, how it fits, and when it was said."""

    hit: Hit
    fit: Fit
    at: datetime


async def latest_first(store: Store, asked: Asked, hits: list[Hit]) -> list[Hit]:
    """The hits, those that are read with how they fit, and what is newer before what it puts out of date."""
    want = sought(asked)
    if not want.readable or not hits:
        return hits
    read = hits[:FITTED]
    fit = fits(want, read, people(read))
    found = [replace(hit, features={**hit.features, **_told(its)}) for hit, its in zip(read, fit, strict=True)]
    stated = [Stated(hit, its, at) for hit, its, at in zip(found, fit, await said(store, read), strict=True)]
    return [*_ordered(want, stated), *hits[FITTED:]]


def _told(fit: Fit) -> dict[str, float]:
    """How a hit fits, among its features; what it does not lack is left out.

    When much is asked for and some of it is there, a type or trait that is not seen counts for nothing.
    """
    lacks = {
        "lacking": round(fit.lacking, 4), "untold": float(fit.short and fit.told < 0),
        "untyped": float(fit.short and fit.typed < 0), "of_other": float(fit.owned < 0),
    }  # fmt: skip
    if fit.worth >= SURELY and fit.owned > 0 and (fit.told > 0 or fit.named_for):
        lacks["tells"] = 1.0
    return {"fits": round(fit.worth, 4)} | {name: value for name, value in lacks.items() if value}


async def said(store: Store, hits: Sequence[Hit]) -> list[datetime]:
    """When each was said; a memory when the last message was that it rests on."""
    wanted = [source for hit in hits if hit.message_id is None for source in hit.sources]
    sources = {item.id: item.said_at for item in await store.get(wanted) if isinstance(item, Message)} if wanted else {}

    def at(hit: Hit) -> datetime:
        if hit.message_id is not None:
            return hit.timestamp or hit.created_at
        return max((sources[source] for source in hit.sources if source in sources), default=hit.created_at)

    return [at(hit) for hit in hits]


def _ordered(want: Sought, stated: list[Stated]) -> list[Hit]:
    order = list(stated)
    older: set[str] = set()
    for newer in sorted(stated, key=lambda each: each.at):
        behind = [n for n, each in enumerate(order) if overtakes(want, newer, each)]
        if not behind:
            continue
        older |= {order[n].hit.id for n in behind}
        place = order.index(newer)
        if behind[0] < place:
            order.insert(behind[0], order.pop(place))
    return [_marked(each.hit) if each.hit.id in older else each.hit for each in order]


def _marked(hit: Hit) -> Hit:
    return replace(hit, features={**hit.features, "older": 1.0})


def overtakes(want: Sought, newer: Stated, older: Stated) -> bool:
    """Whether the newer statement puts the older one out of date, as far as the question goes."""
    one, two = newer.fit, older.fit
    if newer.at <= older.at or min(one.owned, two.owned) < 0 or two.worth < TELLS or one.worth < BARELY:
        return False
    corrects = older.hit.id in newer.hit.sources and _other_figures(one, two)  # "the 14th" and "no wait, the 15th"
    related = set(newer.hit.sources) & {older.hit.id, *older.hit.sources} or newer.hit.id in older.hit.sources
    if (related and not corrects) or not _differ(one, two):
        return False
    figures = want.value in ("number", "time") and one.typed > 0 and two.typed > 0
    near = one.worth >= two.worth - ALIKE and one.worth >= TELLS
    if want.past:
        return near and _SETTLED.search(newer.hit.content) is not None
    if near:
        kept = bool(want.value) and newer.hit.key is not None  # one key has one value, and this is the current one
        return figures or kept or _changes(one, newer)
    return _changes(one, newer) and (figures or _shares(want, newer, older))


def _differ(one: Fit, two: Fit) -> bool:
    """Whether they tell different values: figures where there are any, else words."""
    mine, theirs = _figures(one), _figures(two)
    if mine and theirs:
        return _other_figures(one, two) or bool(mine - theirs and _DENIED.search(one.clause))
    return set(words.tokens(one.clause)) != set(words.tokens(two.clause))


def _other_figures(one: Fit, two: Fit) -> bool:
    return bool(_figures(one) - _figures(two) and _figures(two) - _figures(one))


def _figures(fit: Fit) -> set[str]:
    return {each.lower() for each in _FIGURE.findall(fit.clause)}


def _changes(fit: Fit, stated: Stated) -> bool:
    return CHANGED.search(fit.clause) is not None or CHANGED.search(stated.hit.content[:300]) is not None


def _shares(want: Sought, newer: Stated, older: Stated) -> bool:
    """Whether it speaks of what the older one names, or of what the question and the older one speak of."""
    names = set(names_in(older.fit.clause)) - want.names
    if names & set(names_in(f"x {newer.hit.content[:300]}")):
        return True
    about = {stem for word, _ in want.about for stem in words.tokens(word)}
    return bool(about & set(words.tokens(older.fit.clause)) & set(words.tokens(newer.fit.clause)))
