"""Adds to an answer another statement that fits the question as well but says something different."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from holdfast.domain.results import Citation, Hit
from holdfast.recall.answer.attribution import attributed
from holdfast.recall.answer.statements import statement_about
from holdfast.recall.question.analysis import Question
from holdfast.recall.ranking.recency import TELLS, said_at
from holdfast.recall.search import Searcher
from holdfast.text.similarity import same_meaning

FIT_BESIDE = 0.15
"""How much worse than the quoted hit the other one may fit. Chosen by hand on half of the everyday questions."""
Quoted = tuple[str, tuple[Citation, ...]]
"""The text of an answer and its citations."""


async def with_other_statement(
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


def written_day(at: datetime) -> str:
    return f"{at.day} {at:%B %Y}"
