"""Builders for times counted from another: two weeks ago, the past three days, the summer before, tomorrow evening.

The invariant: the count starts at today, or at the expression before where the words point back to it ("later").
"""

from __future__ import annotations

import re
from datetime import timedelta

from .scene import Scene
from .spans import DAY, Span, day_span, months_span, shifted_span, unit_span
from .vocabulary import HOURS_FROM_TODAY, SEASON_MONTH, as_key, count_range

_DAYS_IN = {"day": 1, "week": 7, "fortnight": 14}
_CLOCK = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1)}
_WEEKEND_AT = re.compile(r"\b(?:over|at|for|on|until|by)\s+$")
_EDGE_OF = re.compile(r"\b(?:end|start|beginning|middle) of\s+$")


def hours_span(m: re.Match[str], scene: Scene) -> Span | None:
    """Today, last night, tomorrow evening."""
    start, stop = HOURS_FROM_TODAY[as_key(m[0])]
    return scene.today + timedelta(hours=start), scene.today + timedelta(hours=stop)


def offset_span(m: re.Match[str], scene: Scene) -> Span | None:
    """N units ago, from now, earlier, later; "in N units"."""
    (low, high), unit, way = count_range(m["n"]), m["u"].lower(), (m["way"] or "in").lower().split()[0]
    if way == "in" and scene.lean < 0:
        return None
    sign, base = (-1 if way in ("ago", "back", "earlier") else 1), scene.today
    if way in ("earlier", "later"):
        if not scene.anchor:
            return None
        base = scene.anchor[0]
    if step := _CLOCK.get(unit):
        first, last = sorted((scene.now + sign * low * step, scene.now + sign * high * step))
        return first, last + step
    if m["exact"]:
        month = unit_span(base, "month", sign * low * 12)
        return day_span(month[0], base.day - 1)
    if unit == "decade":
        unit, low, high = "year", low * 10, high * 10
    return shifted_span(base, unit, (low, high), sign)


def stretch_span(m: re.Match[str], scene: Scene) -> Span | None:
    """The past three weeks, the next few days: up to today, or from today on."""
    high, unit, which = count_range(m["n"] or "one")[1], m["u"].lower(), m["which"].lower()
    if unit in _CLOCK or (m["n"] is None and which != "past"):
        return None
    sign = -1 if which in ("last", "past", "previous") else 1
    edge = scene.today + sign * timedelta(high * _DAYS_IN.get(unit, 0))
    if unit in ("month", "quarter", "year", "decade"):
        there = unit_span(scene.today, unit, sign * high)[0]
        month = there.month if unit == "month" else scene.today.month
        edge = months_span(there, month - 1)[0] + timedelta(min(scene.today.day, 28) - 1)
    return (edge, scene.today + DAY) if sign < 0 else (scene.today, edge + DAY)


def neighbour_span(m: re.Match[str], scene: Scene) -> Span | None:
    """The week before last, the summer before, the day after: beside the expression before it, else beside today."""
    what, sign, last = m["what"].lower(), -1 if m["way"].lower() == "before" else 1, bool(m["last"])
    base = scene.anchor[0] if scene.anchor and not last else scene.today
    if what in SEASON_MONTH:
        spans = [months_span(base, SEASON_MONTH[what] + 12 * n, 3) for n in range(-4, 5)]
        earlier, later = [s for s in spans if s[1] <= base], [s for s in spans if s[0] > base]
        return earlier[-2 if last else -1] if sign < 0 else later[1 if last else 0]
    if what in _CLOCK or (what in ("day", "night") and not scene.anchor):
        return None
    return unit_span(base, "day" if what == "night" else what, sign * (2 if last else 1))


def adjoining_day(m: re.Match[str], scene: Scene) -> Span | None:
    """The next day, the previous day: beside the expression before it."""
    return day_span(scene.anchor[0], -1 if m["what"].lower() == "previous" else 1) if scene.anchor else None


def whole_unit(m: re.Match[str], scene: Scene) -> Span | None:
    """The week, the month: a time only at its end, its start, or over it."""
    unit, before = m["u"].lower(), m.string[max(0, m.start() - 14) : m.start()].lower()
    if unit == "weekend" and _WEEKEND_AT.search(before):
        return unit_span(scene.today, "weekend", -1 if scene.lean < 0 else 0)
    return unit_span(scene.today, unit) if _EDGE_OF.search(before) else None
