"""Builds a cited answer from hits without a language model: a quotation, a computed value, or an empty answer.

Nothing is said that a hit does not say. Dates, the time between two happenings, which came first, and counts are
computed from the quoted statements. When the hits do not support an answer (support.py), it is empty. What documents,
tools and assistants say about the user does not answer where the user's own statements do (ranking/trust.py), and what
a document or a tool says is told as theirs (attribution.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.domain.ports.models import AnswerReader
from holdfast.domain.results import Answer, Citation, Hit
from holdfast.recall.answer.agenda import agenda_answer
from holdfast.recall.answer.attribution import attributed
from holdfast.recall.answer.history import Earlier, earlier_statement
from holdfast.recall.answer.listing import listed_answer, wanted_list
from holdfast.recall.answer.other_statement import Quoted, with_other_statement, written_day
from holdfast.recall.answer.reading import read_answer
from holdfast.recall.answer.statements import (
    DatedStatement,
    counted_statements,
    dated_statement,
    duration_between,
    statement_about,
)
from holdfast.recall.answer.support import MAX_JUDGED, support
from holdfast.recall.hits import hit_of, verbatim_hits
from holdfast.recall.question.analysis import Question
from holdfast.recall.question.computation import Computation
from holdfast.recall.ranking.clauses import people_in
from holdfast.recall.ranking.fit import best_fits
from holdfast.recall.ranking.trust import OWN, SECOND_HAND, addresses_agent, is_about_user, own_answers, standing
from holdfast.recall.search import Searcher
from holdfast.text import tokens

MIN_SUPPORT = 0.4
"""The minimum probability that the hits answer the question: the best balance of right answers and rightly empty ones
in `python -m evals.measure.answers`."""
MAX_COUNTED = 8
EARLIER_CONFIDENCE = 0.7
"""Confidence of an answer that states how something was before. Chosen by hand."""
MAX_TOLD, TOLD_CONFIDENCE = 3, 0.5
"""When the question asks for anything an agent said: how many of its hits are quoted, and the confidence of
that answer. Chosen by hand."""
FIT_BELOW_BEST, FIT_DRAWN = 0.4, 0.1
"""How much worse than the best hit these may fit: the hit that is quoted, and a memory quoted in place of its message.
Chosen by hand on half of the everyday questions."""


async def offline_answer(searcher: Searcher, question: Question, limit: int) -> Answer:
    """Answers with what the best hits state, cited; empty when their support is too weak."""
    model = searcher.models.embedder.model
    found = await searcher.search(question, max(limit, MAX_JUDGED))
    hits, seen = tuple(found[:limit]), answering_hits(question, found, model)
    period = question.agenda_period
    if period is not None and (plans := await agenda_answer(searcher.store, period, searcher.where, hits)):
        return plans
    listed = wanted_list(question)
    kept = await listed_answer(searcher.store, listed, searcher.where, hits) if listed is not None else None
    if kept is not None and listed is not None and not listed.topic:
        return kept
    if not hits:
        return Answer("", (), ())
    wanted, past = question.computation, question.past_state
    if wanted is not None and wanted.b and (both := await _comparison(searcher, question, wanted)):
        return Answer(both.text, both.citations, hits, both.confidence)
    reader, read = searcher.models.embedder, None
    if isinstance(reader, AnswerReader) and question.target.readable:
        read = (
            Answer("", (), hits)
            if wanted is not None and wanted.b
            else await read_answer(searcher, reader, question, seen, hits)
        )
        if read.answer:
            return read
    if kept is not None:
        return kept
    if past is not None and (earlier := await earlier_statement(searcher, question, past)):
        return await _earlier_answer(searcher, earlier, hits)
    confidence = support(question, seen, model) if seen else 0.0
    if confidence < MIN_SUPPORT and (told := [hit for hit in hits if hit.assessment.by_agent][:MAX_TOLD]):
        text = " ".join([await attributed(searcher.store, hit, hit.content) for hit in told])
        return Answer(text, tuple(Citation(hit.id, hit.content) for hit in told), hits, TOLD_CONFIDENCE)
    if read is not None or confidence < MIN_SUPPORT:
        return read or Answer("", (), hits, confidence)
    usable = seen[:limit]
    best = _quotable(usable)
    made = await _computed(searcher, question, (best, *usable)) or await _quoted(searcher, question, best)
    text, citations = await with_other_statement(searcher, question, best, usable, made)
    return Answer(text, citations, hits, confidence)


def answering_hits(question: Question, found: Sequence[Hit], model: str) -> list[Hit]:
    """The hits that may answer: no hearsay, and nothing that a document or a tool brought where the question is about
    the user and their own statements support an answer."""
    kept = [hit for hit in found if not hit.assessment.hearsay]
    own = [hit for hit in kept if standing(hit) == OWN]
    known = people_in(own)
    if len(own) == len(kept) or not own or not is_about_user(question, known, own):
        return kept
    answers = own_answers(question, own, known, model).ids and support(question, own, model) >= MIN_SUPPORT
    return [hit for hit in kept if standing(hit) != SECOND_HAND] if answers else kept


async def _earlier_answer(searcher: Searcher, found: Earlier, hits: tuple[Hit, ...]) -> Answer:
    """What held then, with when it was said and when something else was."""
    was, next = found.stated, found.next
    until = f", until {written_day(next.at)}" if next is not None else ""
    cited = tuple(Citation(each.hit.id, each.hit.content) for each in (was, next) if each is not None)
    known = {hit.id for hit in hits}
    more = tuple(each.hit for each in (was, next) if each is not None and each.hit.id not in known)
    told = await attributed(searcher.store, was.hit, was.hit.content)
    return Answer(f"Said on {written_day(was.at)}{until}: {told}", cited, (*more, *hits), EARLIER_CONFIDENCE)


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


@dataclass(frozen=True, slots=True)
class ComparisonAnswer:
    """The time between two things, or which of them came first, as text."""

    text: str
    citations: tuple[Citation, ...]
    confidence: float


async def _comparison(searcher: Searcher, question: Question, wanted: Computation) -> ComparisonAnswer | None:
    """Compares the times of two things; None unless each of them is supported and dated by itself."""
    one, two = question.about(wanted.a), question.about(wanted.b)
    model = searcher.models.embedder.model
    found = [answering_hits(each, await searcher.search(each, MAX_JUDGED), model) for each in (one, two)]
    confidence = min(support(each, hits, model) if hits else 0.0 for each, hits in zip((one, two), found, strict=True))
    if confidence < MIN_SUPPORT:
        return None
    first, second = await _dated(searcher, one, found[0][:2]), await _dated(searcher, two, found[1][:2])
    made = await _compared(searcher, wanted, first, second) if first and second else None
    return ComparisonAnswer(*made, confidence) if made else None


async def _computed(searcher: Searcher, question: Question, hits: Sequence[Hit]) -> Quoted | None:
    """Computes a date, how long ago something was, or a count; None when none is asked for or the
    statements do not allow it."""
    wanted = question.computation
    if wanted is None or wanted.b:
        return None
    if wanted.what == "count":
        return await _count(searcher, wanted, hits)
    one = await _dated(searcher, question, hits[:1])
    if one is None:
        return None
    if wanted.what == "when" and not one.told and not wanted.past:
        return None
    when = one.day[:1].upper() + one.day[1:]
    if wanted.what == "ago":
        when = f"{duration_between(one.window.start, question.asked_at, wanted.unit)} ago ({one.day})"
    return await attributed(searcher.store, one.hit, f"{when}: {one.quote}"), _cited(one)


async def _dated(searcher: Searcher, question: Question, hits: Sequence[Hit]) -> DatedStatement | None:
    """Returns the best hit, or the message it rests on, with its date; one that states its own date is preferred."""
    said = await verbatim_hits(searcher.store, hits, question.text)
    found = [each for hit in (*hits, *said) if (each := dated_statement(question.text, hit))]
    return next((each for each in found if each.told), found[0] if found else None)


async def _compared(searcher: Searcher, wanted: Computation, one: DatedStatement, two: DatedStatement) -> Quoted | None:
    if one.hit.id == two.hit.id and one.window == two.window:
        return None
    quotes = [await attributed(searcher.store, each.hit, each.quote) for each in (one, two)]
    told = f"{quotes[0]} ({one.day}); {quotes[1]} ({two.day})"
    if wanted.what == "between":
        return f"{duration_between(one.window.start, two.window.start, wanted.unit)}: {told}", _cited(one, two)
    early = one.window.start <= two.window.start
    chosen = wanted.a if early != wanted.last else wanted.b
    return f"{chosen[:1].upper()}{chosen[1:]}: {told}", _cited(one, two)


async def _count(searcher: Searcher, wanted: Computation, hits: Sequence[Hit]) -> Quoted | None:
    found = counted_statements(wanted.a, hits)
    if not found or len(found) > MAX_COUNTED:
        return None
    quotes = tuple(Citation(hit.id, quote) for hit, quote in found)
    told = [await attributed(searcher.store, hit, quote) for hit, quote in found]
    return (told[0] if len(told) == 1 else f"At least {len(told)}: " + " | ".join(told)), quotes


def _cited(*found: DatedStatement) -> tuple[Citation, ...]:
    return tuple(Citation(each.hit.id, each.quote) for each in found)
