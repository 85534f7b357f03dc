"""Adds to an amount what it changed by later: "the berth is 168 a month", then "it goes up by 14 a month"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from holdfast.domain.ports.models import AnswerReader
from holdfast.domain.results import Hit
from holdfast.recall.answer.computed import FoundSpan
from holdfast.recall.answer.hit_reading import read_hits
from holdfast.recall.answer.statements import sentence_span, written_day
from holdfast.recall.answer.sureness import ReadHits
from holdfast.recall.hits import verbatim_hits
from holdfast.recall.question.analysis import Question
from holdfast.recall.ranking.recency import said_at
from holdfast.recall.search import Searcher
from holdfast.text import tokens
from holdfast.text.amounts.changes import AMOUNT, amount_change
from holdfast.text.amounts.numbers import amount_of, sign_of, written_amount
from holdfast.text.dates import windows
from holdfast.text.similarity import UNSPECIFIC_STEMS

MAX_CHANGES = 4
MIN_BASE_CHANCE, MIN_SURE_BASE_CHANCE = 0.3, 0.8
"""How sure the reader must be of the amount before: where it found a change, and where it found nothing. Chosen by
hand."""
_ASKS_COUNT = re.compile(
    r"\bhow many (?!(?:days?|nights?|weeks?|months?|years?|hours?|minutes?|times)\b)"
    r"[\w' -]+? (?:do|does|are|is|have|has)\b"
    r"(?!.*\b(?:bought|sold|lost|added|bring|get)\b)",
    re.I,
)
_ASKS_CHANGE = re.compile(
    r"\b(?:by how much|how much (?:more|less|extra|cheaper|dearer|higher|lower)|go(?:es|ne)? up|went up|go down|"
    r"went down|increase\w*|rise|rose|raise[ds]?|differ\w*|discount|surcharge|extra|tip)\b",
    re.I,
)
_ASKS_AMOUNT = re.compile(
    r"\b(?:how much|cost|costs|pay|paid|pays|price|rent|budget|fee|rate|bill|salary|charge|charges|total|wage)\b", re.I
)
_PAYING = re.compile(
    r"\b(?:how much|costs?|pa(?:y|id|ys)|price|bill|charges?|total|altogether|now|in the end|at last|currently)\b", re.I
)


@dataclass(frozen=True, slots=True)
class AmountChange:
    """What a statement adds to an amount that it does not name."""

    hit: Hit
    at: datetime
    sentence: str
    by: float


async def with_later_changes(
    searcher: Searcher, reader: AnswerReader, question: Question, seen: Sequence[Hit], found: ReadHits
) -> tuple[str, ReadHits] | None:
    """The amount that was told before, with what it changed by since; None where the found words tell no mere change,
    or the amount before is not told. Where nothing was found, a change may be why."""
    if not _asks_amount(question):
        return None
    span = next((each for each in found.spans if _is_change(question, each)), None)
    if found.spans and span is None:
        return None
    changes = await _changes(searcher, question, seen, span)
    if not changes:
        return None
    changing = {id for each in changes for id in (each.hit.id, *each.hit.sources)}
    left = [as_current(hit) for hit in seen if changing.isdisjoint((hit.id, *hit.sources))]
    topic = _topic(question)
    shared = [len(topic & set(tokens.question_words(hit.content))) for hit in left]
    others = [hit for hit, count in zip(left, shared, strict=True) if count and count == max(shared)]
    base = await read_hits(searcher, reader, question, others) if others else None
    first = base.ranked[0] if base is not None and base.ranked else None
    told = (AMOUNT.search(first.text) or AMOUNT.search(first.sentence)) if first is not None else None
    if base is None or first is None or told is None:
        return None
    if base.chance < (MIN_BASE_CHANCE if span is not None else MIN_SURE_BASE_CHANCE):
        return None
    later = [each for each in changes if each.at >= first.at]
    if not later or len(later) > MAX_CHANGES:
        return None
    total = amount_of(told[0]) + sum(each.by for each in later if not _is_to_come(question, each))
    quotes = [(first.at, first.sentence), *((each.at, each.sentence) for each in later)]
    quoted = "; ".join(f'"{said}" ({written_day(at)})' for at, said in quotes)
    spans = (first, *(FoundSpan(each.hit, each.at, 0, len(each.hit.content)) for each in later))
    return f"{sign_of(told[0])}{written_amount(total)}: {quoted}", ReadHits(
        "span", spans, max(base.chance, found.chance)
    )


def _is_to_come(question: Question, change: AmountChange) -> bool:
    """Whether it takes place after the time that is asked about, which is that of the question if it names none: "from
    1 January the rent goes up by 50", asked in May."""
    until = max(question.asked_at, question.window[1]) if question.window is not None else question.asked_at
    return any(each.start > until and not each.denied for each in windows(change.sentence, change.at))


def is_mere_change(question: Question, found: ReadHits) -> bool:
    """Whether an amount is asked for, and the found words tell only what it changed by."""
    return _asks_amount(question) and bool(found.spans) and all(_is_change(question, span) for span in found.spans)


def _is_change(question: Question, span: FoundSpan) -> bool:
    return amount_change(span.sentence, counted=_asks_count(question)) is not None


def _asks_amount(question: Question) -> bool:
    asked = _ASKS_AMOUNT.search(question.text) or _asks_count(question)
    return bool(asked) and question.past_state is None and not _ASKS_CHANGE.search(question.text)


def _asks_count(question: Question) -> bool:
    return _ASKS_COUNT.search(question.text) is not None


def _topic(question: Question) -> set[str]:
    """The stems of what has the amount: "berth" in "What do I pay for the berth now?"."""
    return set(tokens.question_words(_PAYING.sub(" ", question.text))) - UNSPECIFIC_STEMS


async def _changes(
    searcher: Searcher, question: Question, seen: Sequence[Hit], span: FoundSpan | None
) -> list[AmountChange]:
    """The changes that messages tell of the amount asked for, the earliest first."""
    asked = _topic(question)
    hits = seen if span is None else [span.hit, *seen]
    messages = await verbatim_hits(searcher.store, hits, question.text)
    found: dict[str, AmountChange] = {}
    for hit, at in zip(messages, await said_at(searcher.store, messages), strict=True):
        for sentence in _sentences(hit.content):
            by = amount_change(sentence, counted=_asks_count(question))
            is_asked = (span is not None and sentence in span.sentence) or bool(
                asked & set(tokens.question_words(sentence))
            )
            if by is not None and is_asked:
                found.setdefault(sentence, AmountChange(hit, at, sentence, by))
    return sorted(found.values(), key=lambda each: each.at)


def _sentences(text: str) -> list[str]:
    found, at = [], 0
    while at < len(text):
        _, stop = sentence_span(text, at, at + 1)
        found.append(text[at:stop].strip())
        at = max(stop, at + 1)
    return found


def as_current(hit: Hit) -> Hit:
    """The hit as if nothing newer were known: the amount before a change is what is looked for."""
    return replace(hit, assessment=replace(hit.assessment, superseded=False, outdated=False, older=False))
