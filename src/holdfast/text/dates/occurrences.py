"""Selects one occurrence of a repeating time: which May, which Friday, which 29 February.

The invariant: candidates are in order and on both sides of today, so that "last", "next" and a tense always find one.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta

from holdfast.text.dates.context import ExpressionContext, is_in_past_clause
from holdfast.text.dates.spans import (
    DAY,
    Span,
    day_span,
    midnight,
    months_span,
    unit_span,
)
from holdfast.text.dates.vocabulary import A_PART_OF_DAY, PARTS_OF_DAY, ordinal_number

MAX_LAST_YEAR = timedelta(92)
"""How long ago a date of last year without its year and a tense may be: "14 December", said in January, not in June.
Chosen by hand; not measured."""
MAX_PAST = timedelta(240)
"""How long ago a date without its year may be if no verb of its own clause is in the past. Chosen by hand, on a few
messages; not measured."""
_PART_OF_DAY = re.compile(rf"\s+(?:in the )?({A_PART_OF_DAY})\b", re.I)
_UNTIL = re.compile(r"\b(?:until|till|through)\s+$", re.I)


def chosen_occurrence(spans: list[Span], which: str, scene: ExpressionContext, ahead: bool = False) -> Span:
    """The "last", "this" or "next" of these spans, or the one that fits the tense; `ahead`: without a
    tense, prefer the future."""
    today = scene.today
    past, future = [s for s in spans if s[1] <= today], [s for s in spans if s[0] > today]
    current = [s for s in spans if s[0] <= today < s[1]]
    if which in ("last", "previous", "past"):
        return past[-1]
    if which in ("next", "coming", "upcoming", "following"):
        return future[0]
    if scene.tense < 0:
        if current and not ahead:
            return current[0]
        too_long_ago = scene.forced_tense is None and today - past[-1][1] > MAX_PAST
        soon = too_long_ago and not is_in_past_clause(scene.around.string, *scene.around.span())
        return future[0] if soon else past[-1]
    if current or ahead or scene.tense > 0:
        return (current + future)[0]
    if which == "this":
        return next(s for s in spans if s[0].year == today.year)
    if past[-1][0].year < today.year == future[0][0].year and today - past[-1][1] > MAX_LAST_YEAR:
        return future[0]
    return past[-1] if today - past[-1][1] <= future[0][0] - today else future[0]


def named_year(m: re.Match[str], scene: ExpressionContext) -> str | None:
    """The year an expression ends with: "2019", "'19", "last year"."""
    if whose := m["whose"]:
        return str(scene.today.year + {"last": -1, "this": 0, "next": 1}[whose.lower()])
    year = m["y"]
    if not year or year.isdigit():
        return year or None
    return str(int(year[1:]) + (2000 if int(year[1:]) < 70 else 1900))


def months_of_year(index: int, months: int, scene: ExpressionContext, which: str = "", year: str | None = None) -> Span:
    """A month, season or quarter: of the named year, else of the chosen one."""
    if year:
        return months_span(scene.today.replace(day=1, year=int(year)), index, months)
    return chosen_occurrence([months_span(scene.today, index + 12 * n, months) for n in range(-3, 4)], which, scene)


def date_of_year(month: int, day: int, scene: ExpressionContext, which: str = "", year: str | None = None) -> Span:
    """A day of a month (0 is January); for 29 February, only leap years are candidates."""
    first = scene.today.replace(day=1)
    years = [int(year)] if year else [first.year + n for n in range(-5, 6)]
    spans = days_of_months([months_span(first.replace(year=y), month) for y in years], day)
    return spans[0] if year else chosen_occurrence(spans, which, scene)


def weekday_of_weeks(index: int, which: str, scene: ExpressionContext) -> Span:
    """Last, this, next Friday, or the Friday that fits the tense of the clause."""
    if which == "next":
        return day_span(unit_span(scene.today, "week", 1)[0], index)
    if not which and (first := _start_of_until(scene)) is not None:
        return day_span(first, (index - first.weekday()) % 7 or 7)
    monday = unit_span(scene.today, "week")[0]
    tense = 0 if which == "this" and scene.tense >= 0 else scene.tense
    spans = [day_span(monday, index + 7 * n) for n in range(-2, 3)]
    if not which and not _hours_to_come(scene):  # a speaker who means the same day says "today"
        spans = [span for span in spans if span[0] != scene.today]
    return chosen_occurrence(spans, which, replace(scene, forced_tense=tense), ahead=True)


def _hours_to_come(scene: ExpressionContext) -> bool:
    """Whether a part of the day is named that is not yet over: "Friday night" on a Friday."""
    part = _PART_OF_DAY.match(scene.around.string, scene.around.end())
    return part is not None and scene.now.hour < PARTS_OF_DAY[part[1].lower()][1]


def _start_of_until(scene: ExpressionContext) -> datetime | None:
    """The future day in the same sentence that "until Friday" follows: "we land on Monday and stay until Friday"."""
    told, m = scene.earlier, scene.around
    if told is None or told.start <= scene.today or not _UNTIL.search(m.string, max(0, m.start() - 10), m.start()):
        return None
    return midnight(told.start)


def days_of_months(months: list[Span], day: int) -> list[Span]:
    """This day of each month that is long enough to have it."""
    return [day_span(start, day - 1) for start, stop in months if day <= (stop - start).days]


def nth_weekday(month: Span, weekday: int, nth: str) -> datetime:
    """The second or "last" Tuesday of a month; raises IndexError when the month has no such weekday."""
    start, stop = month
    days = [start + n * DAY for n in range((stop - start).days)]
    hits = [day for day in days if day.weekday() == weekday]
    return hits[-1 if nth == "last" else ordinal_number(nth) - 1]
