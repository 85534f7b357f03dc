"""Reads the messages behind hits with a reader of answers: what is read, and what it found in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from math import log

from holdfast.domain.ports.models import AnswerReader, AnswerSpan, ReadPassage
from holdfast.domain.ports.storage import Store
from holdfast.domain.results import Hit
from holdfast.recall.answer.computed import FoundSpan
from holdfast.recall.answer.sureness import ReadHits
from holdfast.recall.hits import verbatim_hits, without_wrong_words
from holdfast.recall.question.analysis import Question
from holdfast.recall.ranking.recency import said_at
from holdfast.recall.ranking.trust import OWN, standing
from holdfast.recall.search import Searcher
from holdfast.text import tokens
from holdfast.text.passages import passage_spans
from holdfast.text.redaction import REDACTION_MARK

NOTHING = ReadHits("none", (), 0.0)
RELEVANCE_SHARE = 0.4
"""How much a hit's relevance counts beside the logarithm of its rank for what is read. In lives that nothing learned
from, the answer is among what is read for 89.8 of 100 questions; by rank alone for 88.6."""
PASSAGE_CHARACTERS = 240
"""Longer messages are read in parts; the reader is trained with parts of this length."""
MAX_PARTS = 3
"""Parts of one message that are read: those that share most words with the question."""


class ReaderFailed(Exception):
    """The reader of answers raised an error, or its files are missing or damaged."""


async def read_hits(searcher: Searcher, reader: AnswerReader, question: Question, hits: Sequence[Hit]) -> ReadHits:
    """Reads the messages behind the hits, as many as fit: those that rank high and are likely about the question."""
    return await read_in_order(searcher, reader, question, by_rank_and_relevance(hits))


def by_rank_and_relevance(hits: Sequence[Hit]) -> list[Hit]:
    order = sorted(enumerate(hits, 1), key=lambda each: log(each[0]) - RELEVANCE_SHARE * _log_odds(each[1].relevance))
    return [hit for _, hit in order]


async def read_in_order(searcher: Searcher, reader: AnswerReader, question: Question, hits: Sequence[Hit]) -> ReadHits:
    """Reads the messages behind the hits, as many of the first as fit."""
    told = await verbatim_hits(searcher.store, hits, question.text)
    if not asks_past(question):
        told = await _without_outdated(searcher.store, told)
    times = await said_at(searcher.store, told)
    told, times = _said_until(question, told, times)
    places: dict[ReadPassage, tuple[Hit, datetime, int]] = {}  # two profiles may hold the same message
    for hit, at in zip(told, times, strict=True):
        for start, stop in _parts_to_read(question, hit.content):
            places.setdefault(ReadPassage(hit.content[start:stop], _speaker(hit), at.date()), (hit, at, start))
    passages, found_at = list(places), list(places.values())
    try:
        found = await reader.read_answer(question.text, question.asked_at.date(), passages)
    except Exception as failure:
        raise ReaderFailed(str(failure)) from failure

    def placed(span: AnswerSpan) -> FoundSpan:
        hit, at, start = found_at[span.passage]
        return _near_name(question, FoundSpan(hit, at, start + span.start, start + span.stop, span.chance))

    spans, ranked, possible = (tuple(map(placed, some)) for some in (found.spans, found.ranked, found.possible))
    if any(map(_is_redacted, spans)):
        return NOTHING
    ranked, possible = (tuple(s for s in some if not _is_redacted(s)) for some in (ranked, possible))
    return ReadHits(found.kind, spans, found.chance, ranked, found.kinds, possible)


def _near_name(question: Question, span: FoundSpan) -> FoundSpan:
    """The same words in a sentence that names who is asked about, where only that one of the message does: "York or
    Leeds. my sister Kasia is in York"."""
    names = question.target.names | question.target.kin
    if not names or any(name in span.sentence.casefold() for name in names):
        return span
    places = re.finditer(re.escape(span.text), span.hit.content)
    others = (replace(span, start=place.start(), stop=place.end()) for place in places)
    return next((each for each in others if any(name in each.sentence.casefold() for name in names)), span)


def _log_odds(chance: float) -> float:
    return log(max(chance, 1e-3) / max(1 - chance, 1e-3))


async def _without_outdated(store: Store, told: Sequence[Hit]) -> list[Hit]:
    """Leaves out of messages whose part about the question has ended what they say of it."""
    outdated = [hit.message_id for hit in told if hit.message_id is not None and hit.assessment.outdated]
    if not outdated:
        return list(told)
    drawn = [memory for memory in await store.resting_on(outdated) if memory.kind != "summary"]
    return without_wrong_words(told, drawn, [memory for memory in drawn if not memory.current])


def _said_until(question: Question, hits: list[Hit], times: list[datetime]) -> tuple[list[Hit], list[datetime]]:
    """Without what was said after the period that the question asks about, unless it names that period."""
    past = question.past_state
    if past is None or past.at is None or question.time is None:
        return hits, times
    named, until = question.time.text.casefold(), past.at[1]
    kept = [(hit, at) for hit, at in zip(hits, times, strict=True) if at < until or named in hit.content.casefold()]
    return [hit for hit, _ in kept], [at for _, at in kept]


def _parts_to_read(question: Question, text: str) -> list[tuple[int, int]]:
    parts = list(passage_spans(text, PASSAGE_CHARACTERS))
    if len(parts) <= MAX_PARTS:
        return parts
    asked = set(question.words)
    shared = [len(asked & set(tokens.tokens(text[start:stop]))) for start, stop in parts]
    best = sorted(range(len(parts)), key=lambda n: -shared[n])[:MAX_PARTS]
    return [parts[n] for n in sorted(best)]


def _speaker(hit: Hit) -> str:
    return hit.speaker or hit.role or ("user" if standing(hit) == OWN else hit.trust)


def _is_redacted(span: FoundSpan) -> bool:
    """Whether the found words stand in the place of a secret, which nothing answers."""
    marks = re.finditer(re.escape(REDACTION_MARK), span.hit.content)
    return any(mark.start() < span.stop and span.start < mark.end() for mark in marks)


def asks_past(question: Question) -> bool:
    return question.past_state is not None or question.target.past
