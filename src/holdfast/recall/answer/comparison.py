"""Compares the times of two things: how long lies between them, and which came first."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.domain.results import Answer, Citation, Hit
from holdfast.recall.answer.attribution import attributed
from holdfast.recall.answer.statements import DatedStatement, Quoted, dated_statement, duration_between
from holdfast.recall.answer.support import MAX_JUDGED, MIN_SUPPORT, answering_hits, support
from holdfast.recall.hits import verbatim_hits
from holdfast.recall.question.analysis import Question
from holdfast.recall.question.computation import Computation
from holdfast.recall.search import Searcher


async def compared_answer(
    searcher: Searcher, question: Question, wanted: Computation, hits: tuple[Hit, ...]
) -> Answer | None:
    """The comparison; None unless each of the two things is supported and dated by itself."""
    one, two = question.about(wanted.a), question.about(wanted.b)
    model = searcher.models.embedder.model
    found = [answering_hits(each, await searcher.search(each, MAX_JUDGED), model) for each in (one, two)]
    confidence = min(support(each, some, model) if some else 0.0 for each, some in zip((one, two), found, strict=True))
    if confidence < MIN_SUPPORT:
        return None
    first, second = await dated_hit(searcher, one, found[0][:2]), await dated_hit(searcher, two, found[1][:2])
    made = await _compared(searcher, wanted, first, second) if first and second else None
    return Answer(*made, hits, confidence) if made else None


async def dated_hit(searcher: Searcher, question: Question, hits: Sequence[Hit]) -> DatedStatement | None:
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
        length = duration_between(one.window.start, two.window.start, wanted.unit)
        return f"{length}: {told}", cited_statements(one, two)
    early = one.window.start <= two.window.start
    chosen = wanted.a if early != wanted.last else wanted.b
    return f"{chosen[:1].upper()}{chosen[1:]}: {told}", cited_statements(one, two)


def cited_statements(*found: DatedStatement) -> tuple[Citation, ...]:
    return tuple(Citation(each.hit.id, each.quote) for each in found)
