"""Text read for its time expressions.

The invariant: windows come in the order of their words, each word counts for at most one, and no text raises.
"""

from __future__ import annotations

import re
from datetime import datetime

from .modifiers import at_hours, modified
from .pairs import joined
from .rules import rules_for
from .scene import Scene
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
    made = []
    for w in whole:
        try:
            made.append(modified(w, text, reference))
        except _NO_SUCH_TIME:
            continue
    return made


def window(text: str, reference: datetime) -> Window | None:
    """The first time expression, or None."""
    return next(iter(windows(text, reference)), None)


def _expressions(text: str, reference: datetime) -> list[Window]:
    """Each expression by itself, before its neighbours have a say."""
    found: list[Window] = []
    for word in _WORD.finditer(text):
        if len(found) == FOUND:
            break
        if found and word.start() < found[-1].span[1]:
            continue
        if expression := _opened_by(word, reference, _anchor(found)):
            found.append(expression)
    return found


def _anchor(found: list[Window]) -> Span | None:
    """What the next expression may count from: the last one, in whole days."""
    if not found:
        return None
    first = midnight(found[-1].start)
    return first, max(found[-1].stop, first + DAY)


def _opened_by(word: re.Match[str], reference: datetime, anchor: Span | None) -> Window | None:
    for pattern, build in rules_for(word[0]):
        if not (m := pattern.match(word.string, word.start())):
            continue
        try:
            span = build(m, Scene(reference, anchor, m))
        except _NO_SUCH_TIME:
            continue
        if span:
            return at_hours(Window(*span, m[0], m.span()), word.string)
    return None
