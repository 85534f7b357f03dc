"""Puts the newer of two statements about the same thing first.

A change that digestion recognised is stored as superseded, and recall uses that. This module handles the rest when hits
are read: two hits both answer the question about the same person, and either the newer one mentions a change or the
values asked for differ. No hit is removed; the older one is marked `older`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from holdfast.domain.ports.storage import Store
from holdfast.domain.results import Hit
from holdfast.domain.types import Item, Message
from holdfast.recall.question.target import Target, names_in
from holdfast.recall.ranking.clauses import people_in
from holdfast.recall.ranking.fit import Fit, NearnessByText, best_fits
from holdfast.recall.ranking.trust import may_outdate
from holdfast.text import tokens
from holdfast.text.lexicon import change
from holdfast.text.lexicon.calendar import A_FULL_MONTH, A_FULL_WEEKDAY, A_MONTH_BUT_MAY
from holdfast.text.lexicon.patterns import FIGURE

MAX_FITTED = 5
"""How many hits are compared with what the question asks for."""
TELLS, BARELY = 0.6, 0.4
"""Minimum fit of a statement that answers the question, and of one that mentions a change to the answer."""
MIN_PLAIN_FIT = 0.9
MAX_FIT_GAP = 0.3
CHANGED = re.compile(
    rf"\b(?:{change.CHANGE_WORDS}|{change.AMOUNT_CHANGE_WORDS}|{change.END_WORDS}|change|downgraded|oops|dropped|"
    rf"given up|cancel+ed|renamed|migrated|earlier than|later than|starting|grew|"
    rf"from (?:today|tomorrow|{A_FULL_MONTH}))\b",
    re.I,
)
_SETTLED = re.compile(r"\b(?:in the end|finally|ended up|turned out|after all)\b", re.I)
_DENIED = re.compile(rf"\b(?:not|{change.INSTEAD_OF})\b", re.I)
_FIGURE = re.compile(
    rf"{FIGURE.pattern}|\b{A_FULL_WEEKDAY}|\b(?:{A_MONTH_BUT_MAY}|morning|evening|night|noon)",
    re.I,
)


@dataclass(frozen=True, slots=True)
class TimedStatement:
    """A hit, its fit, and when it was said."""

    hit: Hit
    fit: Fit
    at: datetime


async def newest_first(
    store: Store,
    target: Target,
    hits: list[Hit],
    items: Mapping[str, Item] = MappingProxyType({}),
    compared: NearnessByText | None = None,
) -> list[Hit]:
    """Assesses how the first hits fit, and puts each newer statement before those it makes out of date. `items` are
    those that were read already."""
    if not target.readable or not hits:
        return hits
    read = hits[:MAX_FITTED]
    fit = best_fits(target, read, people_in(read), compared)
    found = [_assessed_hit(hit, its) for hit, its in zip(read, fit, strict=True)]
    stated = [
        TimedStatement(hit, its, at) for hit, its, at in zip(found, fit, await said_at(store, read, items), strict=True)
    ]
    return [*_newest_first(target, stated), *hits[MAX_FITTED:]]


def _assessed_hit(hit: Hit, fit: Fit) -> Hit:
    """Adds the fit to a hit's assessment. Only a question with few words can make a hit
    lack a value type or a trait."""
    return hit.assessed(
        fit=round(fit.worth, 4),
        lacking=round(fit.lacking, 4),
        lacks_trait=fit.short and fit.told < 0,
        lacks_value=fit.short and fit.typed < 0,
        about_other=fit.owned < 0,
        plain=fit.worth >= MIN_PLAIN_FIT and fit.owned > 0 and (fit.told > 0 or fit.named_for),
    )


async def said_at(
    store: Store, hits: Sequence[Hit], items: Mapping[str, Item] = MappingProxyType({})
) -> list[datetime]:
    """When each hit was said; for a memory, the time of the latest message it rests on, else when it was written.
    `items` are those that were read already."""
    wanted = [name for hit in hits if hit.message_id is None for name in hit.sources or (hit.id,)]
    missing = [name for name in wanted if name not in items]
    found = [*(items[name] for name in wanted if name in items), *(await store.get(missing) if missing else ())]
    sources = {item.id: item.said_at if isinstance(item, Message) else item.updated_at for item in found}

    def at(hit: Hit) -> datetime:
        if hit.message_id is not None:
            return hit.timestamp or hit.created_at
        times = [sources[name] for name in hit.sources or (hit.id,) if name in sources]
        return max(times, default=hit.created_at)

    return [at(hit) for hit in hits]


def _newest_first(want: Target, stated: list[TimedStatement]) -> list[Hit]:
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
    return [each.hit.assessed(older=True) if each.hit.id in older else each.hit for each in order]


def overtakes(want: Target, newer: TimedStatement, older: TimedStatement) -> bool:
    """Whether the newer statement makes the older one out of date for this question."""
    one, two = newer.fit, older.fit
    if newer.at <= older.at or min(one.owned, two.owned) < 0 or two.worth < TELLS or one.worth < BARELY:
        return False
    if not may_outdate(newer.hit, older.hit):
        return False
    corrects = older.hit.id in newer.hit.sources and _other_figures(one, two)  # "the 14th" and "no wait, the 15th"
    related = set(newer.hit.sources) & {older.hit.id, *older.hit.sources} or newer.hit.id in older.hit.sources
    if (related and not corrects) or not _tell_other_values(one, two):
        return False
    figures = want.value in ("number", "time") and one.typed > 0 and two.typed > 0
    near = one.worth >= two.worth - MAX_FIT_GAP and one.worth >= TELLS
    if want.past:
        return near and _SETTLED.search(newer.hit.content) is not None
    if near:
        kept = bool(want.value) and newer.hit.key is not None  # one key has one value, and this is the current one
        return figures or kept or _tells_change(one, newer)
    return _tells_change(one, newer) and (figures or _shares_subject(want, newer, older))


def _tell_other_values(one: Fit, two: Fit) -> bool:
    """Whether they state different values: figures if both contain any, else words."""
    mine, theirs = _figures(one), _figures(two)
    if mine and theirs:
        return bool(mine - theirs) and (bool(theirs - mine) or _DENIED.search(one.clause) is not None)
    return set(tokens.tokens(one.clause)) != set(tokens.tokens(two.clause))


def _other_figures(one: Fit, two: Fit) -> bool:
    return bool(_figures(one) - _figures(two) and _figures(two) - _figures(one))


def _figures(fit: Fit) -> set[str]:
    return {each.lower() for each in _FIGURE.findall(fit.clause)}


def _tells_change(fit: Fit, stated: TimedStatement) -> bool:
    return CHANGED.search(fit.clause) is not None or CHANGED.search(stated.hit.content[:300]) is not None


def _shares_subject(want: Target, newer: TimedStatement, older: TimedStatement) -> bool:
    """Whether the newer statement mentions a name from the older one, or a word that the
    question and the older one share."""
    names = set(names_in(older.fit.clause)) - want.names
    if names & set(names_in(f"x {newer.hit.content[:300]}")):
        return True
    about = {stem for word, _ in want.about for stem in tokens.tokens(word)}
    return bool(about & set(tokens.tokens(older.fit.clause)) & set(tokens.tokens(newer.fit.clause)))
