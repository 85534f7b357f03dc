"""Calendar arithmetic: from a day to the week, month or year that contains it, or to one some steps away.

The invariant: a span is half-open, and one built from a midnight runs from midnight to midnight in the same time zone.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

OPEN_START, OPEN_STOP = 1900, 2200
DAY = timedelta(1)
WEEK = timedelta(7)

Span = tuple[datetime, datetime]

_MONTHS_IN = {"month": 1, "quarter": 3, "year": 12, "decade": 120}


@dataclass(frozen=True, slots=True)
class Window:
    """The time from `start` up to but not including `stop`, and the words that state it."""

    start: datetime
    stop: datetime
    text: str
    span: tuple[int, int]
    denied: bool = False
    """Whether the text says that it is not then: "instead of the 3rd"."""
    recurring: bool = False
    """Whether it is a yearly date or a habit, so that this window is only the next occurrence."""


def midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def months_span(day: datetime, index: int, months: int = 1) -> Span:
    """`months` calendar months, starting with month `index` (0 is January) of the day's year."""
    january = midnight(day.replace(month=1, day=1))
    edges = [divmod(january.year * 12 + index + n, 12) for n in (0, months)]
    start, stop = (january.replace(year=year, month=month + 1) for year, month in edges)
    return start, stop


def years_span(day: datetime, year: int, years: int = 1) -> Span:
    return months_span(day.replace(day=1, year=year), 0, 12 * years)


def day_span(day: datetime, shift: int = 0) -> Span:
    return day + timedelta(shift), day + timedelta(shift + 1)


def unit_span(day: datetime, unit: str, shift: int = 0) -> Span:
    """The calendar unit that contains this day, shifted by `shift` units."""
    if unit == "day":
        return day_span(day, shift)
    if unit in ("week", "weekend", "fortnight"):
        weeks = shift * (2 if unit == "fortnight" else 1)
        monday = day - timedelta(day.weekday() - 7 * weeks)
        return (monday + timedelta(5) if unit == "weekend" else monday), monday + WEEK
    months = _MONTHS_IN[unit]
    first = -(day.year % 10 * 12) if unit == "decade" else (day.month - 1) // months * months
    return months_span(day, first + shift * months, months)


def shifted_span(day: datetime, unit: str, counts: tuple[int, int], sign: int) -> Span:
    """From the nearer to the farther of two counts of units away: "two to five weeks ago"."""
    near, far = (unit_span(day, unit, sign * count) for count in counts)
    return min(near[0], far[0]), max(near[1], far[1])
