"""Joins two neighbouring windows into one: "from Monday to Thursday", "Friday, 7 March", "Monday next week".

The invariant: only the words between the two, and "from" or "between" before them, decide whether they join.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

from holdfast.text.dates.negation import is_after_moved_from
from holdfast.text.dates.spans import DAY, WEEK, Window, midnight
from holdfast.text.dates.vocabulary import A_PART_OF_DAY, UP_TO
from holdfast.text.lexicon.calendar import WEEKDAY_INDEX

_SIDE_BY_SIDE = re.compile(r",?\s*(?:(?:on|of|the)\s+)*")
_RANGE = re.compile(UP_TO + r"(?:the\s+|early\s+|late\s+)?")
_RANGE_BY_ITSELF = re.compile("[-–—]|to|through")
_UNTIL = re.compile("until|till")
_HOURS_SAID = re.compile(rf"^(?:the\s+)?{A_PART_OF_DAY}\s+of\s+|(?<=\w),?\s+(?:in\s+the\s+)?{A_PART_OF_DAY}$")
_RANGE_OPENS = re.compile(r"\b(from|between)\s+(?:the\s+)?$", re.I)


def joined_window(a: Window, b: Window, text: str) -> Window | None:
    """The window that both form together, or None."""
    gap = text[a.span[1] : b.span[0]].lower()
    if _SIDE_BY_SIDE.fullmatch(gap):
        return _one_day(a, b, text)
    return _range(a, b, text, gap) if _RANGE.fullmatch(gap) else None


def _one_day(a: Window, b: Window, text: str) -> Window | None:
    """A weekday (or "Monday to Wednesday") and its week, or a weekday and its date."""
    span = a.span[0], b.span[1]
    words = text[span[0] : span[1]]
    kinds = _kind(a), _kind(b)
    if kinds == ("weekday", "date"):
        shift = b.start - midnight(a.start) if a.stop - a.start < b.stop - b.start else None
        same = b if shift is None else replace(a, start=a.start + shift, stop=a.stop + shift)
        return replace(same, text=words, span=span)
    if set(kinds) != {"weekday", "week"}:
        return None
    day, week = (a, b) if kinds[0] == "weekday" else (b, a)
    start = week.start + timedelta(day.start.weekday()) + (day.start - midnight(day.start))
    return Window(start, start + (day.stop - day.start), words, span)


def _range(a: Window, b: Window, text: str, gap: str) -> Window | None:
    """From the start of one to the end of the other; "and" requires a "from" or "between" before, and "until" too
    between other times than dates."""
    reach = max(0, a.span[0] - 14)
    opening = _RANGE_OPENS.search(text[reach : a.span[0]])
    dates = _UNTIL.search(gap) and _kind(a) == _kind(b) == "date"
    if not (opening or dates or _RANGE_BY_ITSELF.search(gap)) or is_after_moved_from(text, a.span[0]):
        return None
    first = opening.start() + reach if opening else a.span[0]
    start, stop = a.start, b.stop
    if stop <= start and _kind(a) == _kind(b) == "weekday":
        stop += WEEK
    return Window(start, stop, text[first : b.span[1]], (first, b.span[1])) if start < stop else None


def _kind(w: Window) -> str:
    """Classifies a window for joining it to a neighbour: weekday, week, date, or empty for any other."""
    said = _HOURS_SAID.sub("", w.text.lower())
    if said.split()[-1].rstrip(".") in WEEKDAY_INDEX and " of " not in said:
        return "weekday"
    length = w.stop - w.start
    return "week" if length == WEEK and "week" in said else "date" if length <= DAY else ""
