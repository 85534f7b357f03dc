"""Builders for days by their number: 3 March 2024, 14/3/2024, the 14th, the second Tuesday of May.

The invariant: a date that does not exist in the calendar (31 June, month 13) yields no date, never a nearby one.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta

from holdfast.text.dates.context import ExpressionContext, day_first
from holdfast.text.dates.negation import is_after_instead_of
from holdfast.text.dates.occurrences import (
    chosen_occurrence,
    date_of_year,
    days_of_months,
    months_of_year,
    named_year,
    nth_weekday,
)
from holdfast.text.dates.recurrence import recurs_yearly
from holdfast.text.dates.spans import (
    DAY,
    WEEK,
    Span,
    day_span,
    midnight,
    months_span,
    unit_span,
    years_span,
)
from holdfast.text.dates.vocabulary import A_MONTH, ORDINAL, ordinal_number
from holdfast.text.lexicon.calendar import MONTH_INDEX, MONTHS_LIKE_WORDS, WEEKDAY_INDEX

_CALENDAR = re.compile(rf"\d(?:st|nd|rd|th)\b|\b{A_MONTH}\b|\d[-/.]\d", re.I)
_A_MONTH = timedelta(31)
_VERB_FOLLOWS = re.compile(
    r" (?:be|have|not|also|well|need|want|come|get|go|take|still|never|end|turn|look|cause|"
    r"help|make|differ|change|vary)\b",
    re.I,
)
_DATE_ENDS = re.compile(r"\s*(?:[,.;:!?)–—-]|$)")
_DAY_AHEAD = re.compile(r"\b(?:on|by|till|until|since|from|before|after)\s$", re.I)
_VERSION = re.compile(r"\b(?:version|release|build|firmware|rev)\s+$", re.I)


def calendar_span(m: re.Match[str], scene: ExpressionContext) -> Span | None:
    """3 March 2024, May 7th, 3–5 May."""
    name, day, other = m["m"], m["d"], m["e"]
    year = named_year(m, scene)
    if name in MONTHS_LIKE_WORDS and day.isdigit() and not year and _may_be_a_verb(m):
        return None
    month = MONTH_INDEX[name.lower()]
    if recurs_yearly(m.string, *m.span()):
        scene = replace(scene, forced_tense=1)
    first = date_of_year(month, ordinal_number(day), scene, "", year)
    if not other:
        return first
    last = date_of_year(month, ordinal_number(other), scene, "", str(first[0].year))
    return (first[0], last[1]) if first[0] < last[1] else None


def _may_be_a_verb(m: re.Match[str]) -> bool:
    """Whether "may" or "march" beside a number need not be a month: "the 14 may be late", "you may 2 times"."""
    if m.start("d") < m.start("m"):
        return _VERB_FOLLOWS.match(m.string, m.end()) is not None
    return not (_DATE_ENDS.match(m.string, m.end()) or _DAY_AHEAD.search(m.string, max(0, m.start() - 8), m.start()))


def numeric_span(m: re.Match[str], scene: ExpressionContext) -> Span | None:
    """ISO; day first when written with dots; else the only possible order, or the order that other dates in the text
    show.

    12/05/2027 by itself yields no date: half of its readers would understand a different one.
    """
    if m[2] == "." and _VERSION.search(m.string, max(0, m.start() - 12), m.start()):
        return None
    a, b, c = int(m[1]), int(m[3]), int(m[4])
    if len(m[1]) == 4:
        year, month, day = a, b, c
    else:
        order = True if m[2] == "." or a == b else day_first(m[0])
        order = scene.day_first if order is None else order
        if order is None:
            return None
        month, day = (b, a) if order else (a, b)
        year = c + (2000 if c < 70 else 1900) if c < 100 else c
    return day_span(scene.today.replace(year=year, month=month, day=day))


def numeric_month(m: re.Match[str], scene: ExpressionContext) -> Span | None:
    """2024-07, 07/2024."""
    return months_of_year(int(m["m"]) - 1, 1, scene, "", m["y"])


def day_of_month(m: re.Match[str], scene: ExpressionContext) -> Span | None:
    """The 14th: the first one after an earlier date in the sentence, else of the month that
    fits the tense of the clause."""
    day = ordinal_number(m["d"])
    if (which := m["which"]) and which.lower() != "the":
        month = unit_span(scene.today, "month", {"last": -1, "this": 0, "next": 1}[which.lower()])
        return day_span(month[0], day - 1)
    if (first := _date_before(scene)) is not None:
        beside = is_after_instead_of(m.string, m.start())
        days = days_of_months([months_span(first, first.month - 1 + n) for n in range(3)], day)
        return days[0] if beside else next(each for each in days if each[0] >= first)
    months = [months_span(scene.today, scene.today.month - 1 + n) for n in range(-3, 4)]
    return chosen_occurrence(days_of_months(months, day), "", scene, ahead=scene.tense == 0)


def _date_before(scene: ExpressionContext) -> datetime | None:
    """The date in the same sentence that "the 12th" follows: "on 3 April, and stay until the 12th"."""
    told = scene.earlier
    return midnight(told.start) if told and _CALENDAR.search(told.text) and told.stop - told.start <= _A_MONTH else None


def part_of_unit(m: re.Match[str], scene: ExpressionContext) -> Span | None:
    """The first week, last weekend, second Tuesday or last day of a month or year; the
    third quarter, the first half."""
    if not (whole := _whole(m, scene)):
        return None
    (start, stop), nth, what = whole, m["nth"].lower(), m["what"].lower()
    if what in ("half", "quarter"):
        return _fraction(whole, 2 if what == "half" else 4, nth)
    if what == "day":
        return day_span(stop, -1) if nth == "last" else day_span(start, ORDINAL[nth] - 1)
    if what == "week":
        week = stop - WEEK if nth == "last" else start + (ORDINAL[nth] - 1) * WEEK
        return week, min(week + WEEK, stop)
    if what == "weekend":
        saturday = nth_weekday(whole, 5, nth)
        return saturday, saturday + timedelta(2)
    day = nth_weekday(whole, WEEKDAY_INDEX[what], nth)
    return day, day + DAY


def _whole(m: re.Match[str], scene: ExpressionContext) -> Span | None:
    """The unit that the part belongs to: May 2024, the month, next year, 2025."""
    if m["m"]:
        return months_of_year(MONTH_INDEX[m["m"].lower()], 1, scene, "", named_year(m, scene))
    if m["number"]:
        return years_span(scene.today, int(m["number"]))
    return unit_span(scene.today, m["u"].lower(), {"last": -1, "next": 1}.get(m["which"].lower(), 0))


def _fraction(whole: Span, parts: int, nth: str) -> Span | None:
    """The half or quarter; in whole months for a year, else in whole days."""
    start, stop = whole
    n = parts if nth == "last" else ORDINAL[nth]
    if n > parts:
        return None
    if (stop - start).days > 360:
        return months_span(start, (n - 1) * 12 // parts, 12 // parts)
    length = (stop - start).days // parts * DAY
    return start + (n - 1) * length, (stop if n == parts else start + n * length)
