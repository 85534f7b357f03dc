"""Answers "How much dearer is X than Y?" and "How many days late was it?" with two amounts or days that were told.

One amount alone does not answer such a question. The messages are read once for the likeliest of the two, and once more
without its message for the other. Where no other is sure enough, there is no answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal

from holdfast.domain.ports.models import AnswerReader
from holdfast.domain.results import Hit
from holdfast.recall.answer.amounts.changes import as_current
from holdfast.recall.answer.computed import FoundSpan, time_of
from holdfast.recall.answer.hit_reading import NOTHING, read_hits
from holdfast.recall.answer.quotations import quoted_together
from holdfast.recall.answer.statements import duration_between
from holdfast.recall.answer.sureness import ReadHits
from holdfast.recall.question.analysis import Question
from holdfast.recall.ranking.trust import SECOND_HAND, standing
from holdfast.recall.search import Searcher
from holdfast.text.amounts.numbers import amount_of, amounts_in, sign_of, written_amount

SEVERAL = 2
"""The place of several answers among the kinds."""
MIN_TWO = 0.8
"""How likely several answers must be told for both amounts to be looked for; else one statement may tell how much."""
MIN_OTHER, MIN_MARGIN = 0.9, 0.2
"""What the chances of the second amount in both readings must come to, and by how much it must be likelier than a
third. Of 80 such questions of lives and of readable personas 63 are then answered rightly and 17 wrongly; of 22 that
no network learned from 19 and 3."""
SAME_MESSAGE, MIN_SAME = 0.9, 0.3
"""What a second amount in the message of the first has more, if it is that likely: "it was 925, now 960"."""
MAX_RATIO = 3.0
"""How many times as large one of two amounts may be that are compared."""
CHANCE = 0.8
_MORE = r"more|less|fewer|cheaper|dearer|higher|lower|older|younger|longer|taller|bigger|smaller|shorter|heavier"
_ASKS = re.compile(
    rf"\bby how (?:much|many)\b|\bhow (?:much|many)\b.*\b(?:{_MORE})\b.*\bthan\b|\bdifference between\b"
    r"|\bhow much (?:cheaper|dearer|more expensive)\b"
    r"|\bhow (?:much|many)(?: \w+)? (?:more|less|fewer)\b(?! (?:days?|weeks?|months?|hours?|times)\b)"
    r"(?!.*\b(?:still|left|ow(?:e|ed|es)|needs?|missing|to go|to pay)\b)"
    r"|\bhow (?:much|far) (?:over|under|apart|above|below)\b"
    r"|\bhow much\b.*\b(?:save[ds]?|saving|rise|rose|risen|grow|grew|grown|shrink|shrank|shrunk)\b"
    r"|\bhow much\b.*\b(?:beat|knock|haggle)\w*\b.*\b(?:down|off)\b",
    re.I,
)
_DAYS = re.compile(
    r"\bhow (?:many (?P<unit>days?|weeks?|months?)|long|much)\b.*\b(?:late|later|earlier|postponed|delayed|"
    r"pushed back|moved back|put (?:off|back)|behind schedule)\b",
    re.I,
)
_BESIDE = re.compile(r"\b(?:was|were|had|offer\w*|said|wants?|wanted|asks?|asked|instead of|down|up)\b", re.I)
_SUM = re.compile(r"\b(?:altogether|in total|in all|combined|times)\b", re.I)


@dataclass(frozen=True, slots=True)
class _Candidate:
    span: FoundSpan
    first: float = 0.0
    """How likely these are the words, of all messages, in the first reading."""
    possible: float = 0.0
    """How likely they are one of several answers there."""
    other: float = 0.0
    """The likelier of both in the second reading."""


def asks_difference(question: Question) -> bool:
    """Whether it asks by how much two amounts or days differ."""
    asked = _ASKS.search(question.text) or _DAYS.search(question.text)
    return asked is not None and not _SUM.search(question.text)


async def difference_answer(
    searcher: Searcher, reader: AnswerReader, question: Question, seen: Sequence[Hit]
) -> tuple[str, ReadHits, Literal["together"]] | None:
    """The difference with what it is computed from; no words where the two are not surely told. None where one
    statement may tell it."""
    own = [as_current(hit) for hit in seen if standing(hit) != SECOND_HAND]
    first = await read_hits(searcher, reader, question, own) if own else None
    if first is None or not first.ranked or first.kinds[SEVERAL : SEVERAL + 1] < (MIN_TWO,):
        return None
    known = {first.ranked[0].hit.id, *first.ranked[0].hit.sources}
    left = [hit for hit in own if known.isdisjoint((hit.id, *hit.sources))]
    second = await read_hits(searcher, reader, question, left) if left else None
    two = two_values(question, first, second)
    if two is None:
        return "", NOTHING, "together"
    text = f"{_difference(question, *two)}: {quoted_together([each.span for each in two])}"
    return text, ReadHits("list", (two[0].span, two[1].span), CHANCE), "together"


def two_values(question: Question, first: ReadHits, second: ReadHits | None) -> tuple[_Candidate, _Candidate] | None:
    """The two amounts, or days, that the readings surely find."""
    found = _candidates(question, first, second)
    if not found:
        return None
    best = max(found, key=lambda value: found[value].first + found[value].possible / 20)
    worth = {v: _worth(each, found[best]) for v, each in found.items() if v != best and _comparable(question, v, best)}
    other, *rest = sorted(worth, key=lambda value: -worth[value]) or [best]
    if worth.get(other, 0.0) < max([MIN_OTHER, *(worth[value] + MIN_MARGIN for value in rest[:1])]):
        beside = _amount_beside(question, best, found[best].span)
        return None if beside is None else (found[best], beside)
    return found[best], found[other]


def _amount_beside(question: Question, value: float, span: FoundSpan) -> _Candidate | None:
    """The only other amount in the sentence of the words, told beside the first: "7,900 gross, i had 6,650"."""
    others = [figure for figure in amounts_in(span.sentence) if amount_of(figure) != value]
    if _DAYS.search(question.text) or len(others) != 1 or not _comparable(question, value, amount_of(others[0])):
        return None
    start = span.hit.content.index(others[0], span.hit.content.index(span.sentence))
    other = replace(span, start=start, stop=start + len(others[0]))
    between = span.hit.content[min(span.stop, other.stop) : max(span.start, other.start)]
    return _Candidate(other) if _BESIDE.search(between) else None


def _worth(each: _Candidate, best: _Candidate) -> float:
    together = each.span.hit.id == best.span.hit.id and each.possible >= MIN_SAME
    return each.possible + each.other + (SAME_MESSAGE if together else 0.0)


def _comparable(question: Question, one: float, two: float) -> bool:
    if _DAYS.search(question.text):
        return True
    return min(one, two) > 0 and max(one, two) / min(one, two) <= MAX_RATIO


def _candidates(question: Question, first: ReadHits, second: ReadHits | None) -> dict[float, _Candidate]:
    """By value, the words that have it and how likely they are."""
    found: dict[float, _Candidate] = {}
    readings = [(first.ranked, "first"), (first.possible, "possible")]
    readings += [(second.ranked, "other"), (second.possible, "other")] if second is not None else []
    for spans, where in readings:
        for span in spans:
            if (value := _value(question, span)) is None:
                continue
            known = found.get(value, _Candidate(span))
            chances = {name: getattr(known, name) for name in ("first", "possible", "other")}
            chances[where] = max(chances[where], span.chance)
            found[value] = _Candidate(known.span, **chances)
    return found


def _value(question: Question, span: FoundSpan) -> float | None:
    """The one amount of the words, or the day that they state."""
    if _DAYS.search(question.text):
        when = time_of(span)
        if when is None or when.stop - when.start > timedelta(1) or when.start.year < 2:
            return None
        return float(when.start.toordinal())
    figures = amounts_in(span.text)
    return amount_of(figures[0]) if len(figures) == 1 else None


def _difference(question: Question, one: _Candidate, two: _Candidate) -> str:
    if asked := _DAYS.search(question.text):
        days = [when.start for each in (one, two) if (when := time_of(each.span)) is not None]
        return duration_between(days[0], days[-1], (asked["unit"] or "").lower().rstrip("s"))
    figures = [amounts_in(each.span.text)[0] for each in (one, two)]
    sign = next(filter(None, map(sign_of, figures)), "")
    return f"{sign}{written_amount(abs(amount_of(figures[0]) - amount_of(figures[1])))}"
