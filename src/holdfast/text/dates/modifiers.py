"""Modifiers before an expression that change its window: early May, the week of 3 May, two days before, since, until.

The invariant: a modifier ends where the expression starts, and the window's text then starts with the modifier.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from holdfast.text.dates.spans import (
    DAY,
    OPEN_START,
    OPEN_STOP,
    WEEK,
    Span,
    Window,
    midnight,
    shifted_span,
    unit_span,
    years_span,
)
from holdfast.text.dates.vocabulary import A_COUNT, A_PART_OF_DAY, PARTS_OF_DAY, count_range
from holdfast.text.lazy_pattern import lazy_pattern

_PART = lazy_pattern(r"\b(early|mid|late|(?:the )?(?:start|beginning|middle|end) of)[\s-]+(?:in\s+)?$", re.I)
_AROUND_TODAY = lazy_pattern(r"\b(earlier|later)\s+(?:in\s+)?$", re.I)
_PART_OF_DAY_BEFORE = lazy_pattern(rf"\b(?:the )?({A_PART_OF_DAY}) of\s+(?:the\s+)?$", re.I)
_PART_OF_DAY_AFTER = lazy_pattern(
    rf"(?:\s+(?:in the )?|,\s+(?={A_PART_OF_DAY}\s*(?:[.,;!?\n]|$)))({A_PART_OF_DAY})\b", re.I
)
_UNIT_OF = lazy_pattern(r"\b(?:the )?(week|weekend|month) (?:of|starting|beginning)\s+(?:the\s+)?$", re.I)
_BESIDE = lazy_pattern(
    rf"\b(?:the )?(?:({A_COUNT}) )?(day|night|week|weekend|month|year)s? (before|after|from)\s+(?:the\s+)?$", re.I
)
_EDGE = lazy_pattern(r"\b(since|until|till|up to|through|before|after|ever since)\s+(?:the\s+)?$", re.I)

_UNTIL = ("until", "till", "through", "up to")
_STAY = lazy_pattern(r",?\s+(?:(?:and|then|,)\s+(?:[\w'’]+\s+){0,5}|(?:staying|lasting|running|there|away)\s+)?", re.I)


def window_at_hours(w: Window, text: str) -> Window:
    """Narrows a day to the hours that "Friday evening" or "the morning of 3 May" mean; returns
    any other window unchanged."""
    if w.stop - w.start != DAY or w.start != midnight(w.start):
        return w
    first, last = w.span
    if after := _PART_OF_DAY_AFTER.match(text, last):
        part, last = after[1], after.end()
    elif before := _PART_OF_DAY_BEFORE.search(text, max(0, first - 24), first):
        part, first = before[1], before.start()
    else:
        return w
    start, stop = (w.start + timedelta(hours=hour) for hour in PARTS_OF_DAY[part.lower()])
    return Window(start, stop, text[first:last], (first, last))


def modified_window(w: Window, text: str, reference: datetime, earlier: Window | None = None) -> Window:
    """Applies the modifiers before a window: first those that move or narrow it, then those that open it to one side.

    `earlier` is the window before it, at which the window of "and stay until" starts.
    """
    span, first = _narrowed_span(w, text, midnight(reference))
    if edge := _EDGE.search(text, max(0, first - 20), first):
        word = edge[1].lower()
        begun = earlier is not None and word in _UNTIL and _STAY.fullmatch(text, earlier.span[1], edge.start())
        if begun and earlier is not None and earlier.start < span[1] and earlier.stop - earlier.start <= DAY:
            span, first = (midnight(earlier.start), span[1]), edge.start()
        else:
            span, first = _open_span(span, word, reference), edge.start()
    return Window(*span, text[first : w.span[1]], (first, w.span[1]))


def _narrowed_span(w: Window, text: str, today: datetime) -> tuple[Span, int]:
    """The part, the enclosing unit or the adjacent unit that the words before the window ask for, and where those words
    start."""
    span, first = (w.start, w.stop), w.span[0]
    start, stop = span
    if (m := _PART.search(text, max(0, first - 24), first)) and stop - start > 2 * DAY:
        return _third(span, m[1].lower()), m.start()
    if (m := _AROUND_TODAY.search(text, max(0, first - 16), first)) and start <= today < stop - DAY:
        ahead = m[1].lower() == "later"
        return ((today + DAY, stop) if ahead else (start, today) if start < today else span), m.start()
    if (m := _UNIT_OF.search(text, max(0, first - 30), first)) and stop - start <= WEEK:
        return (_weekend_of(w) if m[1].lower() == "weekend" else unit_span(start, m[1].lower())), m.start()
    if m := _BESIDE.search(text, max(0, first - 40), first):
        return _neighbouring_span(span, m), m.start()
    return span, first


_BARE_DAY = lazy_pattern(r"(?:the )?\d{1,2}(?:st|nd|rd|th)", re.I)


def _weekend_of(w: Window) -> Span:
    """The weekend that contains the day; Friday and Monday may be part of it. "The 21st" that is none of these days
    is meant in the next month where it is."""
    day = w.start
    if _BARE_DAY.fullmatch(w.text):
        months = (day + n * DAY for n in range(100))
        day = next((each for each in months if each.day == day.day and each.weekday() in (4, 5, 6, 0)), day)
    if day.weekday() in (4, 0):
        first = day if day.weekday() == 4 else day - 2 * DAY
        return first, first + 3 * DAY
    saturday, stop = unit_span(day, "weekend")
    return min(day, saturday), stop


def _third(span: Span, part: str) -> Span:
    """The early, mid or late third; for a decade, its years 0 to 3, 4 to 6 or 7 to 9."""
    start, stop = span
    if (stop - start).days > 3650:
        years = (4, 7) if "mid" in part else (7, 10) if "end" in part or "late" in part else (0, 4)
        return years_span(start, start.year + years[0], years[1] - years[0])
    third = (stop - start).days // 3 * DAY
    if "mid" in part:
        return start + third, stop - third
    if "end" in part and (stop - start).days <= 31:
        return max(start, stop - WEEK), stop
    return (stop - third, stop) if "end" in part or "late" in part else (start, start + third)


def _neighbouring_span(span: Span, m: re.Match[str]) -> Span:
    """Two days before, the week after; "two weeks before" a day is one day."""
    (low, high), sign = count_range(m[1] or "a"), -1 if m[3].lower() == "before" else 1
    unit = m[2].lower().replace("night", "day")
    if m[1] and unit == "week" and span[1] - span[0] <= DAY:
        unit, low, high = "day", low * 7, high * 7
    return shifted_span(span[0], unit, (low, high), sign)


def _open_span(span: Span, edge: str, reference: datetime) -> Span:
    """Since: up to today. Until: from today. Before and after: to today if today is on that side, else open.

    Until a date in the past has an open start; "through 2019" and "up to 31 May" stay unchanged.
    """
    (start, stop), today = span, midnight(reference)
    if "since" in edge:
        return start, (today + DAY if start < reference and start <= today else stop)
    if edge == "before":
        return (today if start > today else today.replace(year=OPEN_START, month=1, day=1)), start
    if edge == "after":
        return stop, (today + DAY if stop <= today else today.replace(year=OPEN_STOP, month=1, day=1))
    if stop <= today:
        return (start if edge in ("through", "up to") else today.replace(year=OPEN_START, month=1, day=1)), stop
    return min(start, today), stop
