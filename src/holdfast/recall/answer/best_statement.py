"""Answers with the statement that fits the question best: the way without a reader of answers."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.domain.results import Answer, Citation, Hit
from holdfast.recall.answer.attribution import attributed
from holdfast.recall.answer.comparison import cited_statements, dated_hit
from holdfast.recall.answer.statements import (
    Quoted,
    counted_statements,
    duration_between,
    statement_about,
    written_day,
)
from holdfast.recall.hits import hit_of
from holdfast.recall.question.analysis import Question
from holdfast.recall.question.computation import Computation
from holdfast.recall.ranking.clauses import people_in
from holdfast.recall.ranking.fit import best_fits
from holdfast.recall.ranking.recency import TELLS, said_at
from holdfast.recall.ranking.trust import addresses_agent, standing
from holdfast.recall.search import Searcher
from holdfast.text import tokens
from holdfast.text.similarity import same_meaning

MAX_COUNTED = 8
FIT_BELOW_BEST, FIT_DRAWN = 0.2, 0.1
"""How much worse than the best hit these may fit: the hit that is quoted, and a memory quoted in place of its message.
Chosen by hand on half of the everyday questions."""
FIT_BESIDE = 0.15
"""How much worse than the quoted hit another one may fit that says something different. Chosen by hand on half of the
everyday questions."""


async def best_statement_answer(
    searcher: Searcher, question: Question, seen: Sequence[Hit], hits: tuple[Hit, ...], confidence: float
) -> Answer:
    """Quotes the first of the hits that may answer, or computes from it."""
    best = _quotable(seen)
    made = await _computed(searcher, question, (best, *seen)) or await _quoted(searcher, question, best)
    text, citations = await _with_other_statement(searcher, question, best, seen, made)
    return Answer(text, citations, hits, confidence)


def _quotable(hits: Sequence[Hit]) -> Hit:
    """Returns the first hit that fits nearly as well as the best one and is not known to be out of date."""
    read = [hit for hit in hits if hit.assessment.fit is not None] or list(hits[:1])
    best = max(hit.assessment.fit or 0.0 for hit in read)
    sound = [hit for hit in read if hit.assessment.sound]
    plain = [hit for hit in sound if hit.assessment.plain]
    near = [hit for hit in sound if (hit.assessment.fit or 0.0) >= best - FIT_BELOW_BEST]
    return next(iter(plain or near or sound or read))


async def _quoted(searcher: Searcher, question: Question, hit: Hit) -> Quoted:
    """Quotes the best hit. When a memory drawn from it answers the question as well, the memory's wording is used."""
    quote = statement_about(question.text, hit)
    drawn = await searcher.store.resting_on([hit.id]) if hit.message_id is not None else []
    current = [made for memory in drawn if memory.current and standing(made := hit_of(memory)) <= standing(hit)]
    text = await attributed(searcher.store, hit, _better(question, hit, current) or quote)
    unasked = question.asks_about_user and not addresses_agent(question)
    if unasked and hit.role == "assistant" and hit.speaker is None:
        text = f"According to the assistant: {text}"
    return text, (Citation(hit.id, quote),)


def _better(question: Question, hit: Hit, drawn: list[Hit]) -> str:
    asked = set(question.words) - set(tokens.tokens(hit.speaker or ""))
    shared = [len(asked & set(tokens.tokens(memory.content))) for memory in drawn]
    fit = hit.assessment.fit
    if fit is not None and drawn:
        read = best_fits(question.target, drawn, people_in([hit, *drawn]))
        ranked = sorted(zip(read, shared, drawn, strict=True), key=lambda each: (-each[0].worth, -each[1]))
        best = ranked[0]
        return best[2].content if best[0].worth >= fit - FIT_DRAWN and best[0].typed >= 0 else ""
    most = max(zip(shared, (memory.content for memory in drawn), strict=True), default=(0, ""))
    return most[1] if most[0] >= len(asked & set(tokens.tokens(hit.content))) and most[0] > 0 else ""


async def _computed(searcher: Searcher, question: Question, hits: Sequence[Hit]) -> Quoted | None:
    """Computes a date, how long ago something was, or a count; None when none is asked for or the
    statements do not allow it."""
    wanted = question.computation
    if wanted is None or wanted.b:
        return None
    if wanted.what == "count":
        return await _count(searcher, wanted, hits)
    one = await dated_hit(searcher, question, hits[:1])
    if one is None:
        return None
    if wanted.what == "when" and not one.told and not wanted.past:
        return None
    when = one.day[:1].upper() + one.day[1:]
    if wanted.what == "ago":
        when = f"{duration_between(one.window.start, question.asked_at, wanted.unit)} ago ({one.day})"
    return await attributed(searcher.store, one.hit, f"{when}: {one.quote}"), cited_statements(one)


async def _count(searcher: Searcher, wanted: Computation, hits: Sequence[Hit]) -> Quoted | None:
    found = counted_statements(wanted.a, hits)
    if not found or len(found) > MAX_COUNTED:
        return None
    quotes = tuple(Citation(hit.id, quote) for hit, quote in found)
    told = [await attributed(searcher.store, hit, quote) for hit, quote in found]
    return (told[0] if len(told) == 1 else f"At least {len(told)}: " + " | ".join(told)), quotes


async def _with_other_statement(
    searcher: Searcher, question: Question, best: Hit, hits: Sequence[Hit], made: Quoted
) -> Quoted:
    """Adds another statement that fits as well but says something different; both are dated, the newer one first."""
    target = question.target
    if target.past or target.confirms or not target.value:
        return made
    least = max((best.assessment.fit or 0.0) - FIT_BESIDE, TELLS)
    near = [
        hit for hit in hits if hit.assessment.fit is not None and hit.assessment.sound and hit.assessment.fit >= least
    ]
    others = [hit for hit in near if hit.id != best.id and not same_meaning(hit.content, best.content)]
    if not others or _same_source(best, others[0]):
        return made
    mine, theirs = await said_at(searcher.store, [best, others[0]])
    text, citations = made
    quote = statement_about(question.text, others[0])
    if mine.date() == theirs.date():
        return made
    told = [(mine, text), (theirs, await attributed(searcher.store, others[0], quote))]
    lines = [f"{written_day(at)}: {line}" for at, line in sorted(told, key=lambda each: each[0], reverse=True)]
    return " | ".join(lines), (*citations, Citation(others[0].id, quote))


def _same_source(hit: Hit, other: Hit) -> bool:
    """Whether one hit was drawn from the other, or both from the same message."""
    mine, theirs = {hit.id, *hit.sources}, {other.id, *other.sources}
    return bool(mine & theirs)
