"""Text read for its time expressions.

The invariant: windows come in the order of their words, each word counts for at most one, and no text raises.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from .denied import marked
from .modifiers import at_hours, modified
from .pairs import joined
from .rules import Builder, rules_for
from .scene import Scene, day_first, same_sentence
from .spans import DAY, Span, Window, midnight

SCANNED = 20_000
FOUND = 200

_WORD = re.compile(r"(?<![\w@#/.$€£])(?:[A-Za-z]+[1-4]?|\d+)")
# Dates the calendar lacks; LookupError also for "next ſunday", which a pattern that ignores case takes for "sunday".
_NO_SUCH_TIME = (ValueError, OverflowError, LookupError, StopIteration)


def windows(text: str, reference: datetime) -> list[Window]:
    """Every time expression, in order, in the reference's time zone.

    Of a recurrence with gaps ("every second Monday"), the first occurrence on or after the reference's day.
    """
    text = text[:SCANNED]
    whole: list[Window] = []
    for w in _expressions(text, reference):
        both = joined(whole[-1], w, text) if whole else None
        whole[-1:] = [both] if both else [*whole[-1:], w]
    made: list[Window] = []
    for w in whole:
        try:
            made.append(modified(w, text, reference, made[-1] if made else None))
        except _NO_SUCH_TIME:
            continue
    return marked(made, text)


def window(text: str, reference: datetime) -> Window | None:
    """The first time expression, or None."""
    return next(iter(windows(text, reference)), None)


def _expressions(text: str, reference: datetime) -> list[Window]:
    """Each expression by itself, before its neighbours have a say."""
    found: list[Window] = []
    order = day_first(text)
    for word in _WORD.finditer(text):
        if len(found) == FOUND:
            break
        if found and word.start() < found[-1].span[1]:
            continue
        if rules := rules_for(word[0]):
            near = found[-1] if found and same_sentence(text, found[-1].span[1], word.start()) else None
            if expression := _opened_by(word, rules, reference, _Before(_anchor(found), near, order)):
                found.append(expression)
    return found


def _anchor(found: list[Window]) -> Span | None:
    """What the next expression may count from: the last one, in whole days."""
    if not found:
        return None
    first = midnight(found[-1].start)
    return first, max(found[-1].stop, first + DAY)


@dataclass(frozen=True, slots=True)
class _Before:
    """What the text has told before an expression."""

    anchor: Span | None
    near: Window | None
    day_first: bool | None


def _opened_by(
    word: re.Match[str], rules: list[tuple[re.Pattern[str], Builder]], reference: datetime, before: _Before
) -> Window | None:
    for pattern, build in rules:
        if not (m := pattern.match(word.string, word.start())):
            continue
        try:
            span = build(m, Scene(reference, before.anchor, m, earlier=before.near, day_first=before.day_first))
        except _NO_SUCH_TIME:
            continue
        if span:
            return at_hours(Window(*span, m[0], m.span()), word.string)
    return None
