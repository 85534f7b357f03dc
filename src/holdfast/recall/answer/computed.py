"""Pure: what is computed from the words that answer a question: a count, a day, how long something lasts or is away."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from holdfast.domain.ports.models import AnswerKind
from holdfast.domain.results import Hit
from holdfast.domain.types import Memory
from holdfast.recall.answer.statements import duration_between, sentence_span
from holdfast.recall.question.analysis import Question
from holdfast.text.dates import (
    OPEN_START,
    OPEN_STOP,
    Window,
    is_in_past_clause,
    is_yearly_day,
    meant_window,
    window_phrase,
    windows,
    written_date,
)
from holdfast.text.lexicon.calendar import A_FULL_WEEKDAY
from holdfast.text.lexicon.numbers import A_COMMON_NUMBER, ONE_TO_NINETEEN, ORDINALS, TENS
from holdfast.text.lexicon.patterns import OMISSION

_NUMBER = re.compile(rf"\b(?:\d[\d,.]*|{A_COMMON_NUMBER})\b", re.I)
_ASKS_HOW_MANY = re.compile(r"\W*(?:and |so )?how many\b", re.I)
_QUANTITY = re.compile(
    rf"\d|\b(?:{'|'.join((*ONE_TO_NINETEEN, *TENS, *ORDINALS))}|an?|dozens?|hundreds?|thousands?|couple|pair|both|"
    r"twins|triplets|halves|half|none|no|not|never|nobody|single|only|alone|all|several|few|many|and|another|more|last|"
    r"once|twice|thrice)\b",
    re.I,
)
_BARE_DAY = re.compile(r"(?:the )?\d{1,2}(?:st|nd|rd|th)", re.I)
_HABIT = re.compile(rf"\b(?:{A_FULL_WEEKDAY}s|every|each)\b", re.I)
_BEGAN = re.compile(r"\b(?:started|began|joined|took up|signed up|adopted|got engaged|got married)\b", re.I)
_HAS_HAPPENED = re.compile(
    r"\W*(?:(?:has|have|did)\b.*?\b|(?:is|are)\b.*\b)(?:done|finished|complete|over|live|out|ready|released|gone|come|"
    r"came|arrived?|happen(?:ed)?|start(?:ed)?|ended|begun|opened|launched|shipped|deployed|merged|fixed|delivered)\b"
    r"(?: (?:yet|already|now))?\W*$",
    re.I,
)
_CLOCK = re.compile(r"\b\d{1,2}(?::\d\d| ?[ap]\.?m\b)", re.I)


@dataclass(frozen=True, slots=True)
class FoundSpan:
    """Words of a hit that answer, when they were said, and their place in its text."""

    hit: Hit
    at: datetime
    start: int
    stop: int
    chance: float = 0.0
    """How likely these words are the answer rather than others, if one is told."""

    @property
    def text(self) -> str:
        return self.hit.content[self.start : self.stop]

    @property
    def sentence(self) -> str:
        start, stop = sentence_span(self.hit.content, self.start, self.stop)
        return self.hit.content[start:stop].strip()


_MEMBER_BORDER = re.compile(r",? (?:and|&|\+) |[,;] ")
_ARTICLE = re.compile(r"\b(?:the|an?|my|our|his|her|their|your)\b ?", re.I)
_NO_MEMBER = re.compile(r"\b(?:i|me|i['’]m|we|you|is|are|was|were|has|have|had|and|but)\b", re.I)
"""What a name of a member does not have: "is me", "I'm lead"."""


def computed_text(question: Question, kind: AnswerKind, spans: Sequence[FoundSpan]) -> str:
    """The computed answer with what it rests on; empty when nothing is to be computed or the words do not allow it."""
    wanted = question.computation
    if wanted is None or kind in ("yes", "no"):
        return ""
    if wanted.what == "count":
        return _count(spans)
    span = spans[0]
    when = _first_plan(question, span) or _in_tense(question, span, time_of(span))
    if wanted.what == "when":
        return _dated(question, span, when)
    if when is None:
        return _time_since_told(question, span) if wanted.what in ("ago", "since", "lasting") else ""
    rest = f": {span.sentence} ({window_phrase(when)})"
    if wanted.what == "lasting":
        if length := _length(span, when, wanted.unit):
            return f"{length}: {span.sentence}"
        if when.start > span.at:  # a plan whose end is not told
            return ""
    if wanted.what in ("ago", "since", "lasting"):
        start = when.start if when.start.year != OPEN_START else when.stop
        if start > question.asked_at:
            return ""
        ago = " ago" if wanted.what == "ago" else ""
        return f"{duration_between(start, question.asked_at, wanted.unit)}{ago}{rest}"
    if wanted.what == "until" and when.start > question.asked_at:
        return f"{duration_between(question.asked_at, when.start, wanted.unit)}{rest}"
    return ""


_RANGE = re.compile(r"\w\s*(?:-|–|—|\b(?:to|till|until|through|and)\b)\s*(?:the )?\w", re.I)


def _length(span: FoundSpan, when: Window, unit: str) -> str:
    """How long something lasts of which both ends are told: "27 March till 2 April", "out on the 10th, back on the
    26th"."""
    if when.stop - when.start > timedelta(1) and _RANGE.search(when.text) and when.start.year > OPEN_START:
        return duration_between(when.start, when.stop, unit) if when.stop.year < OPEN_STOP else ""
    days = [
        each for each in windows(span.sentence, span.at) if each.stop - each.start <= timedelta(1) and not each.denied
    ]
    return (
        duration_between(days[0].start, days[1].start, unit) if len(days) == 2 and days[0].start < days[1].start else ""
    )


def is_still_to_come(question: Question, span: FoundSpan) -> bool:
    """Whether it is asked if something has happened, and the statement says that it will: "goes out on the 24th"."""
    if not _HAS_HAPPENED.match(question.text):
        return False
    when = time_of(span)
    return when is not None and when.start > question.asked_at


def _time_since_told(question: Question, span: FoundSpan) -> str:
    """How long ago something was told that began then, with the day; empty for what may have begun before."""
    wanted = question.computation
    if wanted is None or span.hit.role == "document" or not _BEGAN.search(span.sentence) or span.at > question.asked_at:
        return ""
    ago = " ago" if wanted.what == "ago" else ""
    told = f"{span.at.day} {span.at:%B %Y}"
    return f"{duration_between(span.at, question.asked_at, wanted.unit)}{ago}: {span.sentence} (said on {told})"


def _count(spans: Sequence[FoundSpan]) -> str:
    """How many members the words name, and these; empty where they are not names of members alone."""
    parts = [part for span in spans for part in _MEMBER_BORDER.split(span.text)]
    members = list(dict.fromkeys(each for part in parts if (each := _ARTICLE.sub("", part).strip())))
    if len(members) < 2 or any(_NUMBER.search(each) or _NO_MEMBER.search(each) for each in members):
        return ""
    return f"{len(members)}: {', '.join(members)}"


def counts_nothing(question: Question, spans: Sequence[FoundSpan]) -> bool:
    """Whether a count is asked for, and the words are one thing without a number: "her keyworker is Shannon" does not
    say how many there have been."""
    wanted = question.computation
    if wanted is None or wanted.what != "count" or len(spans) != 1 or not _ASKS_HOW_MANY.match(question.text):
        return False
    return _QUANTITY.search(spans[0].text) is None


def time_of(span: FoundSpan) -> Window | None:
    """The time that the words state, in the tense of their sentence; else the one that the rest of it states. A habit
    ("on Wednesdays") has none."""
    first, _ = sentence_span(span.hit.content, span.start, span.stop)
    start, stop = span.start - first, span.stop - first
    found = windows(span.hit.content[first : first + len(span.sentence) + 1], span.at)
    inside = [each for each in found if each.span[0] < stop and each.span[1] > start]
    stated = meant_window(inside, bounded=False)
    return stated if stated or _HABIT.search(span.text) else meant_window(found, bounded=False)


def known_day(span: FoundSpan, drawn: Sequence[Memory]) -> str:
    """The day of a memory drawn from the message where its words only have the number ("no wait, the 15th") or lack
    what was corrected, with the memory; empty otherwise."""
    corrected = [memory for memory in drawn if OMISSION in span.sentence and memory.occurred_at is not None]
    if len(corrected) == 1 and corrected[0].occurred_at is not None:
        return f"{written_date(corrected[0].occurred_at)}: {corrected[0].content}"
    when = time_of(span)
    if when is None or not _BARE_DAY.fullmatch(when.text):
        return ""
    for memory in drawn:
        at = memory.occurred_at
        if at is not None and at.day == when.start.day and at.date() != when.start.date():
            return f"{written_date(at)}: {memory.content}"
    return ""


_ASKS_FIRST_PLAN = re.compile(
    r"\boriginal(?:ly)?\b|\binitial(?:ly)?\b|\b(?:first|once) (?:meant|planned|supposed|scheduled|due|set)\b", re.I
)


def _first_plan(question: Question, span: FoundSpan) -> Window | None:
    """The day that something was moved from, where the question asks for that: "moved from 14 April to 21 April"."""
    if not _ASKS_FIRST_PLAN.search(question.text):
        return None
    return next((each for each in windows(span.sentence, span.at) if each.denied), None)


def _in_tense(question: Question, span: FoundSpan, when: Window | None) -> Window | None:
    """A time that is over, read again as one to come where the question asks for that: "fixed: 26 December", asked
    "When is it?"."""
    wanted = question.computation
    if when is None or wanted is None or wanted.past or when.stop > span.at or wanted.what not in ("when", "until"):
        return when
    start = span.sentence.find(when.text)
    if start >= 0 and is_in_past_clause(span.sentence, start, start + len(when.text)):
        return when
    again = meant_window(windows(f"It will be {when.text}", span.at))
    return again if again is not None and again.stop > span.at else when


def _dated(question: Question, span: FoundSpan, when: Window | None) -> str:
    said = span.hit.role != "document"
    if when is None:
        wanted = question.computation
        if wanted is None or not wanted.past or not said or _CLOCK.search(span.text):
            return ""
        return f"Said on {span.at.day} {span.at:%B %Y}: {span.sentence}"
    if when.stop.year == OPEN_STOP and when.start.year == OPEN_START:
        return ""
    if is_yearly_day(span.sentence, when):
        return ""
    if when.text.casefold().startswith("since "):
        when = replace(when, stop=when.start + timedelta(1))
    phrase = window_phrase(when)
    return f"{phrase[:1].upper()}{phrase[1:]}: {span.sentence}"
