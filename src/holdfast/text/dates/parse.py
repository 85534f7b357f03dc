"""Finds the time expressions of a text.

The invariant: windows are in the order of their words, each word belongs to at most one, and no text raises an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, tzinfo

from holdfast.text.cache import cached_by_text
from holdfast.text.dates.context import ExpressionContext, day_first, same_sentence
from holdfast.text.dates.modifiers import modified_window, window_at_hours
from holdfast.text.dates.negation import with_denials
from holdfast.text.dates.ranges import joined_window
from holdfast.text.dates.rules import SpanBuilder, rules_for
from holdfast.text.dates.spans import DAY, Span, Window, midnight

MAX_SCANNED_CHARS = 20_000
MAX_WINDOWS = 200
"""Limits on the work for one text. Chosen by hand; not measured."""

_WORD = re.compile(r"(?<![\w@#/.$€£])(?:[A-Za-z]+[1-4]?|\d+)")
# Raised for dates that do not exist; LookupError also for "next ſunday", which matches "sunday" when case is ignored.
_NO_SUCH_TIME = (ValueError, OverflowError, LookupError, StopIteration)


def windows(text: str, reference: datetime) -> list[Window]:
    """Every time expression, in order, in the reference's time zone.

    For a recurrence with gaps ("every second Monday"), the first occurrence on or after the reference's day.
    """
    return list(_windows(text, reference, reference.tzinfo))


@cached_by_text
def _windows(text: str, reference: datetime, _zone: tzinfo | None) -> tuple[Window, ...]:
    """The zone tells references apart that are equal and name the moment differently."""
    text = text[:MAX_SCANNED_CHARS]
    whole: list[Window] = []
    for w in _expressions(text, reference):
        both = joined_window(whole[-1], w, text) if whole else None
        whole[-1:] = [both] if both else [*whole[-1:], w]
    made: list[Window] = []
    for w in whole:
        try:
            made.append(modified_window(w, text, reference, made[-1] if made else None))
        except _NO_SUCH_TIME:
            continue
    return tuple(with_denials(made, text))


def window(text: str, reference: datetime) -> Window | None:
    """The first time expression, or None."""
    return next(iter(windows(text, reference)), None)


def _expressions(text: str, reference: datetime) -> list[Window]:
    """Each expression by itself, before neighbouring expressions are joined to it or modify it."""
    found: list[Window] = []
    order = day_first(text)
    for word in _WORD.finditer(text):
        if len(found) == MAX_WINDOWS:
            break
        if found and word.start() < found[-1].span[1]:
            continue
        if rules := rules_for(word[0]):
            near = found[-1] if found and same_sentence(text, found[-1].span[1], word.start()) else None
            if expression := _expression_at(word, rules, reference, _PrecedingText(_anchor(found), near, order)):
                found.append(expression)
    return found


def _anchor(found: list[Window]) -> Span | None:
    """The span that the next expression may count from: the last expression, in whole days."""
    if not found:
        return None
    first = midnight(found[-1].start)
    return first, max(found[-1].stop, first + DAY)


@dataclass(frozen=True, slots=True)
class _PrecedingText:
    """The expressions of the text before this one."""

    anchor: Span | None
    near: Window | None
    day_first: bool | None


def _expression_at(
    word: re.Match[str], rules: list[tuple[re.Pattern[str], SpanBuilder]], reference: datetime, before: _PrecedingText
) -> Window | None:
    for pattern, build in rules:
        if not (m := pattern.match(word.string, word.start())):
            continue
        try:
            span = build(
                m, ExpressionContext(reference, before.anchor, m, earlier=before.near, day_first=before.day_first)
            )
        except _NO_SUCH_TIME:
            continue
        if span:
            return window_at_hours(Window(*span, m[0], m.span()), word.string)
    return None
