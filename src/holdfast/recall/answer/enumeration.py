"""Reads on where several things are told, and chooses the messages that tell them: "Who works for me?".

The reader has room for a few messages. Where it is sure that they tell several answers, those that it had no room for
are read, too. The messages that most likely have one of the answers are quoted together.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from holdfast.domain.ports.models import AnswerReader
from holdfast.domain.results import Hit
from holdfast.recall.answer.computed import FoundSpan
from holdfast.recall.answer.hit_reading import by_rank_and_relevance, read_hits
from holdfast.recall.answer.sureness import ReadHits
from holdfast.recall.question.analysis import Question
from holdfast.recall.ranking.relevance import probability
from holdfast.recall.search import Searcher

SEVERAL = 2
"""The place of several answers among the kinds."""
MIN_SEVERAL, MIN_MORE = 0.5, 0.3
"""How likely several answers must be told in what is read first, and in what is read after it. In 36 lives that no
network learned from, of 251 questions about what was never told none reaches the first."""
MIN_WORDS_AFTER = 0.7
"""How likely words of what is read after must be one of the answers; in the rest all that may be one count. Of 165
such questions the quoted messages have every answer for 120; without reading on, for 115."""
MAX_MESSAGES = 4
"""How many messages are quoted: more are no longer read at a glance."""
WEIGHTS = (-0.1, -0.21, 0.27, 0.82, 0.09, 1.45, -0.12, -0.61, -0.48)
"""Of `enumeration_features`: a logistic fit by `python -m evals.train.second_chance`."""


def tells_several(question: Question, found: ReadHits) -> bool:
    """Whether several things are asked for and told. How something was before is told by the history."""
    asked = question.computation is None and question.past_state is None and not question.target.confirms
    return asked and bool(found.possible) and any(chance > MIN_SEVERAL for chance in found.kinds[SEVERAL : SEVERAL + 1])


async def read_on(
    searcher: Searcher, reader: AnswerReader, question: Question, seen: Sequence[Hit], first: ReadHits
) -> tuple[FoundSpan, ...]:
    """The words that may be one of the answers, from what was read first and from what there was no room for."""
    known = {id for span in (*first.ranked, *first.possible) for id in (span.hit.id, *span.hit.sources)}
    left = [hit for hit in by_rank_and_relevance(seen) if known.isdisjoint((hit.id, hit.message_id, *hit.sources))]
    if not left:
        return first.possible
    more = await read_hits(searcher, reader, question, left)
    if not any(chance > MIN_MORE for chance in more.kinds[SEVERAL : SEVERAL + 1]):
        return first.possible
    return (*first.possible, *(span for span in more.possible if span.chance >= MIN_WORDS_AFTER))


def of_likeliest_messages(spans: Sequence[FoundSpan]) -> tuple[FoundSpan, ...]:
    """The words of the messages that most likely have one of the answers."""
    best = _best(spans)
    kept = sorted(best, key=lambda id: -best[id])[:MAX_MESSAGES]
    return tuple(span for span in spans if span.hit.id in kept)


def enumeration_chance(features: Sequence[float]) -> float:
    """The chance that the quoted messages tell all that is asked for."""
    return round(probability(WEIGHTS, features), 3)


def enumeration_features(question: Question, first: ReadHits, spans: Sequence[FoundSpan]) -> tuple[float, ...]:
    chances = list(_best(spans).values())
    odds = [log(max(each, 1e-3) / max(1 - each, 1e-3)) for each in (first.kinds[SEVERAL], first.kinds[0], first.chance)]
    return (
        *odds,
        sum(chances) / len(chances),
        min(chances),
        max(chances),
        float(len(chances)),
        log(1 + len(question.text.split())),
    )


def _best(spans: Sequence[FoundSpan]) -> dict[str, float]:
    """The chance of the likeliest words of each message."""
    best: dict[str, float] = {}
    for span in spans:
        best[span.hit.id] = max(span.chance, best.get(span.hit.id, 0.0))
    return best
