"""Builders for days by their number: 3 March 2024, 14/3/2024, the 14th, the second Tuesday of May.

The invariant: a date the calendar does not have (31 June, month 13) is no date, never a neighbour of it.
"""

from __future__ import annotations

import re
from datetime import timedelta

from .occurrences import chosen, date_of_year, days_of_months, months_of_year, nth_weekday
from .scene import Scene
from .spans import DAY, WEEK, Span, day_span, months_span, unit_span
from .vocabulary import MONTH_INDEX, MONTHS_LIKE_WORDS, ORDINAL, WEEKDAY_INDEX, ordinal_number


def calendar_span(m: re.Match[str], scene: Scene) -> Span | None:
    """3 March 2024, May 7th, 3–5 May."""
    name, day, other = m["m"], m["d"], m["e"]
    if name in MONTHS_LIKE_WORDS and day.isdigit() and not m["y"]:
        return None
    month = MONTH_INDEX[name.lower()]
    first = date_of_year(month, ordinal_number(day), scene, "", m["y"])
    if not other:
        return first
    last = date_of_year(month, ordinal_number(other), scene, "", str(first[0].year))
    return (first[0], last[1]) if first[0] < last[1] else None


def numeric_span(m: re.Match[str], scene: Scene) -> Span | None:
    """ISO; else month first unless that cannot be, and day first when written with dots."""
    a, b, c = int(m[1]), int(m[3]), int(m[4])
    if len(m[1]) == 4:
        year, month, day = a, b, c
    else:
        month, day = (b, a) if a > 12 or m[2] == "." else (a, b)
        year = c + (2000 if c < 70 else 1900) if c < 100 else c
    return day_span(scene.today.replace(year=year, month=month, day=day))


def day_of_month(m: re.Match[str], scene: Scene) -> Span | None:
    """The 14th: of this month or of the one the clause leans to."""
    day = ordinal_number(m["d"])
    if which := m["which"]:
        month = unit_span(scene.today, "month", {"last": -1, "this": 0, "next": 1}[which.lower()])
        return day_span(month[0], day - 1)
    months = [months_span(scene.today, scene.today.month - 1 + n) for n in range(-3, 4)]
    return chosen(days_of_months(months, day), "", scene, ahead=scene.lean == 0)


def part_of_month(m: re.Match[str], scene: Scene) -> Span | None:
    """The first week, last weekend, second Tuesday of a month."""
    start, stop = months_of_year(MONTH_INDEX[m["m"].lower()], 1, scene, "", m["y"])
    nth, what = m["nth"].lower(), m["what"].lower()
    if what == "week":
        week = stop - WEEK if nth == "last" else start + (ORDINAL[nth] - 1) * WEEK
        return week, min(week + WEEK, stop)
    if what == "weekend":
        saturday = nth_weekday((start, stop), 5, nth)
        return saturday, saturday + timedelta(2)
    day = nth_weekday((start, stop), WEEKDAY_INDEX[what], nth)
    return day, day + DAY
