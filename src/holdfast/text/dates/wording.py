"""Writes windows in words for people.

The invariant: the words are absolute, so they mean the same at any time of reading.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta

from holdfast.text.dates.spans import DAY, OPEN_START, OPEN_STOP, Window, unit_span
from holdfast.text.lexicon.calendar import MONTHS, SEASON_MONTH

_SEASON_NAME = {month: name for name, month in SEASON_MONTH.items() if name != "fall"}
_PARTS_OF_DAY = ((18, "night"), (17, "evening"), (12, "afternoon"), (0, "morning"))


def window_phrase(w: Window) -> str:
    """For people: "7 May 2023", "the week of 3 March 2025", "summer 2022"."""
    start, stop = w.start, w.stop
    if start.year == OPEN_START:
        return f"before {written_date(stop)}"
    if stop.year == OPEN_STOP:
        return f"from {written_date(start)} on"
    days = (stop - start).total_seconds() / 86400
    if days < 1:
        return f"the {next(part for hour, part in _PARTS_OF_DAY if start.hour >= hour)} of {written_date(start)}"
    if days == 1:
        return written_date(start)
    if days == 7 and start.weekday() == 0:
        return f"the week of {written_date(start)}"
    if days == 2 and start.weekday() == 5:
        return f"the weekend of {written_date(start)}"
    months = (stop.year - start.year) * 12 + stop.month - start.month
    whole = _whole_months(start, months) if start.day == stop.day == 1 else None
    return whole or _third(start, stop) or _from_to(start, stop)


def written_date(day: date) -> str:
    """7 May 2023."""
    return f"{_day_and_month(day)} {day.year}"


def _day_and_month(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1].title()}"


def _whole_months(start: datetime, months: int) -> str | None:
    """May 2023, summer 2022, Q2 2023, 2019, the 1990s."""
    if months == 1:
        return f"{MONTHS[start.month - 1].title()} {start.year}"
    if months == 3:
        season = _SEASON_NAME.get(start.month - 1)
        return f"{season} {start.year}" if season else f"Q{(start.month + 2) // 3} {start.year}"
    if start.month == 1 and months == 12:
        return str(start.year)
    return f"the {start.year}s" if start.month == 1 and months == 120 and start.year % 10 == 0 else None


def _third(start: datetime, stop: datetime) -> str | None:
    """early May 2023, late 2024: a third of a month or of a year."""
    for unit, months in (("month", 1), ("year", 12)):
        first, last = unit_span(start, unit)
        third = (last - first).days // 3 * DAY
        thirds = {
            "early": (first, first + third),
            "mid": (first + third, last - third),
            "late": (last - third, last),
        }
        for part, span in thirds.items():
            if span == (start, stop):
                return f"{part} {_whole_months(first, months)}"
    return None


def _from_to(start: datetime, stop: datetime) -> str:
    """3 – 5 May 2024, 28 February – 3 March 2025: what both sides share is written once."""
    last = stop - timedelta(seconds=1)
    if start.year != last.year:
        return f"{written_date(start)} – {written_date(last)}"
    return f"{_day_and_month(start) if start.month != last.month else start.day} – {written_date(last)}"
