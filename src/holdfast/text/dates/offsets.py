"""Builders for times counted from another: two weeks ago, the past three days, the summer before, tomorrow evening.

The invariant: the count starts at today, or at the expression before if the words refer back to it ("later").
"""

from __future__ import annotations

import re
from datetime import timedelta

from holdfast.text.dates.context import ExpressionContext
from holdfast.text.dates.occurrences import weekday_of_weeks
from holdfast.text.dates.spans import (
    DAY,
    WEEK,
    Span,
    day_span,
    months_span,
    shifted_span,
    unit_span,
)
from holdfast.text.dates.vocabulary import HOURS_FROM_TODAY, as_key, count_range
from holdfast.text.lexicon.calendar import SEASON_MONTH, WEEKDAY_INDEX

_DAYS_IN = {"day": 1, "week": 7, "fortnight": 14}
_MONTHS_IN = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
_CLOCK = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1)}
_WEEKEND_AT = re.compile(r"\b(?:over|at|for|on|until|by)\s+$")
_EDGE_OF = re.compile(r"\b(?:(?:end|start|beginning|middle) of|(?:earlier|later) in)\s+$")
_HALF_OF = {
    "decade": ("year", 5),
    "year": ("month", 6),
    "month": ("week", 2),
    "day": ("hour", 12),
    "hour": ("minute", 30),
}


def hours_span(m: re.Match[str], scene: ExpressionContext) -> Span | None:
    """Today, last night, tomorrow evening."""
    start, stop = HOURS_FROM_TODAY[as_key(m[0])]
    return scene.today + timedelta(hours=start), scene.today + timedelta(hours=stop)


def offset_span(m: re.Match[str], scene: ExpressionContext) -> Span | None:
    """N units ago, from now, earlier, later; "in N units". "In a minute" is a figure of speech and yields nothing."""
    unit, way = m["u"].lower(), _way(m)
    if way == "in" and m["n"].lower() == "a" and unit == "minute":
        return None
    if m["exact"] and unit in _MONTHS_IN:
        sign = -1 if way in ("ago", "back") else 1
        month = unit_span(scene.today, "month", sign * _MONTHS_IN[unit] * count_range(m["n"])[0])
        return day_span(month[0], scene.today.day - 1)
    if m["exact"] and unit in _DAYS_IN:
        unit, days = "day", _DAYS_IN[unit]
        return _offset((days * count_range(m["n"])[0],) * 2, unit, way, scene)
    return _offset(count_range(m["n"]), unit, way, scene)


def unit_or_two(m: re.Match[str], scene: ExpressionContext) -> Span | None:
    """A day or two ago, in a week or so."""
    return _offset((1, 2), m["u"].lower(), _way(m), scene)


def half_offset_span(m: re.Match[str], scene: ExpressionContext) -> Span | None:
    """Half a year ago, in an hour and a half, two and a half years ago: counted in the next smaller unit."""
    unit, halves = _HALF_OF[(m["alone"] or m["u"] or m["v"]).lower()]
    whole = 0 if m["alone"] else count_range(m["n"] or m["k"])[0]
    count = (2 * whole + 1) * halves
    return _offset((count, count), unit, _way(m), scene)


def _way(m: re.Match[str]) -> str:
    return (m["way"] or "in").lower().split()[0]


def _offset(counts: tuple[int, int], unit: str, way: str, scene: ExpressionContext) -> Span | None:
    """The given number of units from today, or from the expression before."""
    low, high = counts
    if way == "in" and scene.tense < 0:
        return None
    sign, base = (-1 if way in ("ago", "back", "earlier") else 1), scene.today
    if way in ("earlier", "later"):
        if not scene.anchor:
            return None
        base = scene.anchor[0]
    if step := _CLOCK.get(unit):
        first, last = sorted((scene.now + sign * low * step, scene.now + sign * high * step))
        return first, last + step
    if unit == "decade":
        unit, low, high = "year", low * 10, high * 10
    return shifted_span(base, unit, (low, high), sign)


def weekdays_off(m: re.Match[str], scene: ExpressionContext) -> Span | None:
    """Two Fridays ago, three Mondays from now."""
    (low, high), ahead = count_range(m["n"]), m["way"].lower().startswith("from")
    first, sign = (
        weekday_of_weeks(WEEKDAY_INDEX[m["what"].lower()], "coming" if ahead else "last", scene),
        1 if ahead else -1,
    )
    edges = sorted(first[0] + sign * (n - 1) * WEEK for n in (low, high))
    return edges[0], edges[1] + DAY


def stretch_span(m: re.Match[str], scene: ExpressionContext) -> Span | None:
    """The past three weeks, the next few days, within a month: up to today, or from today on."""
    high, unit, which = count_range(m["n"] or "one")[1], m["u"].lower(), m["which"].lower()
    if (m["n"] is None and which != "past") or (which == "within" and scene.tense < 0):
        return None
    sign = -1 if which in ("last", "past", "previous") else 1
    if step := _CLOCK.get(unit):
        return (scene.now - high * step, scene.now) if sign < 0 else (scene.now, scene.now + high * step)
    edge = scene.today + sign * timedelta(high * _DAYS_IN.get(unit, 0))
    if unit in ("month", "quarter", "year", "decade"):
        there = unit_span(scene.today, unit, sign * high)[0]
        month = there.month if unit == "month" else scene.today.month
        edge = months_span(there, month - 1)[0] + timedelta(min(scene.today.day, 28) - 1)
    return (edge, scene.today + DAY) if sign < 0 else (scene.today, edge + DAY)


def neighbour_span(m: re.Match[str], scene: ExpressionContext) -> Span | None:
    """The week before last, the summer before, the day after: next to the expression before, else next to today."""
    what, sign, last = m["what"].lower(), -1 if m["way"].lower() == "before" else 1, bool(m["last"])
    base = scene.anchor[0] if scene.anchor and not last else scene.today
    if what in WEEKDAY_INDEX:
        return _neighbour_weekday(WEEKDAY_INDEX[what], sign, last, scene)
    if what in SEASON_MONTH:
        spans = [months_span(base, SEASON_MONTH[what] + 12 * n, 3) for n in range(-4, 5)]
        earlier, later = [s for s in spans if s[1] <= base], [s for s in spans if s[0] > base]
        return earlier[-2 if last else -1] if sign < 0 else later[1 if last else 0]
    if what in _CLOCK or (what in ("day", "night") and not scene.anchor):
        return None
    return unit_span(base, "day" if what == "night" else what, sign * (2 if last else 1))


def _neighbour_weekday(index: int, sign: int, last: bool, scene: ExpressionContext) -> Span | None:
    """The Sunday before last, the Monday after next; the Friday after the expression before."""
    if last:
        return day_span(weekday_of_weeks(index, "last" if sign < 0 else "next", scene)[0], 7 * sign)
    if not scene.anchor:
        return None
    edge = scene.anchor[0] if sign < 0 else scene.anchor[1] - DAY
    days = (edge.weekday() - index) % 7 if sign < 0 else (index - edge.weekday()) % 7
    return day_span(edge, sign * (days or 7))


def adjoining_day(m: re.Match[str], scene: ExpressionContext) -> Span | None:
    """The next day, the previous day: next to the expression before."""
    return day_span(scene.anchor[0], -1 if m["what"].lower() == "previous" else 1) if scene.anchor else None


def whole_unit(m: re.Match[str], scene: ExpressionContext) -> Span | None:
    """The week, the month: a time only after "end of", "start of", "over" and the like."""
    unit, before = m["u"].lower(), m.string[max(0, m.start() - 14) : m.start()].lower()
    if unit == "weekend" and _WEEKEND_AT.search(before):
        return unit_span(scene.today, "weekend", -1 if scene.tense < 0 else 0)
    return unit_span(scene.today, unit) if _EDGE_OF.search(before) else None
