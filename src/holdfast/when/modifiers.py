"""What stands before an expression and changes it: early May, the week of 3 May, two days before, since, until.

The invariant: a modifier ends where the expression starts, and the window's words then start with the modifier.
"""

from __future__ import annotations

import re
from datetime import datetime

from .spans import DAY, OPEN_START, OPEN_STOP, Span, Window, midnight, shifted_span, unit_span
from .vocabulary import A_COUNT, count_range

_PART = re.compile(r"\b(early|mid|late|(?:the )?(?:start|beginning|middle|end) of)[\s-]+(?:in\s+)?$", re.I)
_UNIT_OF = re.compile(r"\b(?:the )?(week|weekend|month) (?:of|starting|beginning)\s+(?:the\s+)?$", re.I)
_BESIDE = re.compile(
    rf"\b(?:the )?(?:({A_COUNT}) )?(day|night|week|weekend|month|year)s? (before|after|from)\s+(?:the\s+)?$", re.I
)
_EDGE = re.compile(r"\b(since|until|till|up to|through|before|after|ever since)\s+(?:the\s+)?$", re.I)


def modified(w: Window, text: str, reference: datetime) -> Window:
    """The window with what stands before it: first what moves or narrows it, then what opens it to one side."""
    span, first = _narrowed((w.start, w.stop), text, w.span[0])
    if edge := _EDGE.search(text, max(0, first - 20), first):
        span, first = _reaching(span, edge[1].lower(), reference), edge.start()
    return Window(*span, text[first : w.span[1]], (first, w.span[1]))


def _narrowed(span: Span, text: str, first: int) -> tuple[Span, int]:
    """The part, the unit around or the unit beside that the words before `first` ask for, and where those start."""
    start, stop = span
    if (m := _PART.search(text, max(0, first - 24), first)) and stop - start > 2 * DAY:
        return _third(span, m[1].lower()), m.start()
    if m := _UNIT_OF.search(text, max(0, first - 30), first):
        return unit_span(start, m[1].lower()), m.start()
    if m := _BESIDE.search(text, max(0, first - 40), first):
        return _beside(span, m), m.start()
    return span, first


def _third(span: Span, part: str) -> Span:
    """The early, mid or late third."""
    start, stop = span
    third = (stop - start).days // 3 * DAY
    if "mid" in part:
        return start + third, stop - third
    return (stop - third, stop) if "end" in part or "late" in part else (start, start + third)


def _beside(span: Span, m: re.Match[str]) -> Span:
    """Two days before, the week after; "two weeks before" a day is a day."""
    (low, high), sign = count_range(m[1] or "a"), -1 if m[3].lower() == "before" else 1
    unit = m[2].lower().replace("night", "day")
    if m[1] and unit == "week" and span[1] - span[0] <= DAY:
        unit, low, high = "day", low * 7, high * 7
    return shifted_span(span[0], unit, (low, high), sign)


def _reaching(span: Span, edge: str, reference: datetime) -> Span:
    """Since: up to today. Until: from today. Before and after: to today where it lies that way, else open."""
    (start, stop), today = span, midnight(reference)
    if "since" in edge:
        return start, (today + DAY if start < reference and start <= today else stop)
    if edge == "before":
        return (today if start > today else today.replace(year=OPEN_START, month=1, day=1)), start
    if edge == "after":
        return stop, (today + DAY if stop <= today else today.replace(year=OPEN_STOP, month=1, day=1))
    return (min(start, today) if stop > today else start), stop
