"""Answers how something was before, from superseded versions and from messages.

"Where did I live before Lisbon?" asks for the statement before the first one that names Lisbon, "… in March 2025?" for
the last statement made up to then, "What was my previous job?" for the statement before the last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from holdfast.domain.filters import passes
from holdfast.domain.results import Hit
from holdfast.domain.timestamps import now
from holdfast.domain.types import Memory, Where
from holdfast.recall.hits import hit_of
from holdfast.recall.question.analysis import Question
from holdfast.recall.question.period import PastState
from holdfast.recall.ranking.clauses import people_in
from holdfast.recall.ranking.fit import best_fits
from holdfast.recall.ranking.recency import BARELY, TELLS, TimedStatement, said_at
from holdfast.recall.ranking.trust import OWN, is_about_user, standing
from holdfast.recall.search import Searcher

MAX_READ = 8


@dataclass(frozen=True, slots=True)
class Earlier:
    """A statement and the one that replaced it, if any."""

    stated: TimedStatement
    next: TimedStatement | None


async def earlier_statement(searcher: Searcher, question: Question, asked: PastState) -> Earlier | None:
    """Finds the statement that was valid then; None when none is known."""
    found = await _statements(searcher, question.about(asked.text))
    told = [each for each in found if each.fit.worth >= TELLS or (asked.what and _mentions(each, asked.what))]
    own = [each for each in told if standing(each.hit) == OWN]
    user = [each.hit for each in own]
    if own and is_about_user(question, people_in(user), user):
        told = own
    if asked.at is not None:
        held = [each for each in told if each.at < asked.at[1]]
    elif asked.what:
        first = next((each.at for each in told if _mentions(each, asked.what)), None)
        held = [each for each in told if first is not None and each.at < first and not _mentions(each, asked.what)]
    else:
        held = told[:-1]
    if not held:
        return None
    last = held[-1]
    later = next((each for each in told if each.at > last.at and each.fit.clause != last.fit.clause), None)
    return Earlier(last, later) if later is not None or asked.at is not None else None


async def _statements(searcher: Searcher, question: Question) -> list[TimedStatement]:
    """Finds every statement ever made that answers the question, in the order of their time: messages, and all versions
    of the memories drawn from them. Of those with the same time, only the best fitting one is returned."""
    store = searcher.store
    hits = await searcher.search(question, MAX_READ)
    made = await store.resting_on([hit.message_id for hit in hits if hit.message_id is not None])
    ids = dict.fromkeys([*(memory.id for memory in made), *(hit.id for hit in hits if hit.message_id is None)])
    versions: dict[str, Memory] = {}
    for id in ids:
        if all(version.id != id for version in versions.values()):
            versions |= {memory.ref: memory for memory in await store.history(id)}
    seen = [memory for memory in versions.values() if _is_visible(memory, searcher.where)]
    pool = [*map(_version_hit, seen), *(hit for hit in hits if hit.message_id is not None)]
    found = zip(pool, best_fits(question.target, pool, people_in(pool)), await said_at(store, pool), strict=True)
    fit = [
        TimedStatement(hit, its, at)
        for hit, its, at in found
        if its.worth >= BARELY and its.owned >= 0 and its.told >= 0
    ]
    first: dict[datetime, TimedStatement] = {}
    for each in sorted(fit, key=lambda each: (each.at, -each.fit.worth)):
        first.setdefault(each.at, each)
    return list(first.values())


def _version_hit(memory: Memory) -> Hit:
    """The hit of a version; an earlier one is cited by its reference."""
    return hit_of(memory) if memory.current else replace(hit_of(memory), id=memory.ref)


def _is_visible(memory: Memory, where: Where | None) -> bool:
    if memory.marked_wrong:
        return False
    return passes(where, memory) and (memory.expires_at is None or memory.expires_at > now())


def _mentions(stated: TimedStatement, what: str) -> bool:
    return what.casefold() in stated.hit.content.casefold()
