"""Builders for recurring times: every second Monday, the last Friday of every month, 31 March every year.

The invariant: the window is the first occurrence on or after today, whatever the tense of the clause. The text does not
say which Mondays are meant, so "every second Monday" is the first Monday; a position in the month ("of the month",
"every first", "every last") is stated and is respected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta

from holdfast.text.dates.context import ExpressionContext
from holdfast.text.dates.occurrences import nth_weekday
from holdfast.text.dates.spans import Span, Window, unit_span
from holdfast.text.lexicon.calendar import WEEKDAY_INDEX, WEEKDAYS_LIKE_WORDS

_MONTHS_AHEAD = 6  # a month with a fifth weekday is at most four months away

_EACH = r"(?:(?:every|each) (?:single )?year|yearly|annually|year after year)"
_EVERY = re.compile(rf"\b(?:every|each|{_EACH},?(?: [\w'’]+){{0,3}}? (?:on|by|until|from)(?: the)?)\s+$", re.I)
_EACH_YEAR = re.compile(rf",?\s+(?:of )?{_EACH}\b", re.I)


def recurs_yearly(text: str, start: int, stop: int) -> bool:
    """Whether the date written here recurs: "31 March every year", "every 31 March", "each year on 31 March"."""
    return _EACH_YEAR.match(text, stop) is not None or _EVERY.search(text, max(0, start - 40), start) is not None


_YEARLY_DAY = re.compile(r"\b(?:birthday|anniversary|name day) is\b", re.I)
_YEAR = re.compile(r"\d{4}")


def is_yearly_day(text: str, day: Window) -> bool:
    """Whether the text gives a birthday or the like by its day and month: no year is meant."""
    written = any(map(str.isdigit, day.text)) and not _YEAR.search(day.text)
    return written and _YEARLY_DAY.search(text) is not None


def recurring_span(m: re.Match[str], scene: ExpressionContext) -> Span | None:
    """The first occurrence that does not end before today."""
    nth, what = m["nth"].lower(), m["what"].lower()
    if m["what"] in WEEKDAYS_LIKE_WORDS:
        return None
    weekday, length = (5, timedelta(2)) if what == "weekend" else (WEEKDAY_INDEX[what], timedelta(1))
    in_month = nth in ("first", "1st", "last") or (m["monthly"] and nth not in ("other", "alternate"))
    starts = _monthly(scene.today, weekday, nth) if in_month else _weekly(scene.today, weekday)
    return next((start, start + length) for start in starts if start + length > scene.today)


def _weekly(today: datetime, weekday: int) -> Iterator[datetime]:
    for week in (0, 1):
        yield unit_span(today, "week", week)[0] + timedelta(weekday)


def _monthly(today: datetime, weekday: int, nth: str) -> Iterator[datetime]:
    """Starts with last month, whose last weekend may extend into this month."""
    for shift in range(-1, _MONTHS_AHEAD):
        try:
            yield nth_weekday(unit_span(today, "month", shift), weekday, nth)
        except IndexError:
            continue
