"""What comes back: every second Monday, every other weekend, the last Friday of every month, 31 March every year.

The invariant: the window is the first occurrence on or after today, whichever way the clause leans. Which Mondays are
meant is not said, so "every second Monday" is the first Monday; a place in the month ("of the month", "every first",
"every last") is said, and kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta

from .occurrences import nth_weekday
from .scene import Scene
from .spans import Span, unit_span
from .vocabulary import WEEKDAY_INDEX, WEEKDAYS_LIKE_WORDS

_MONTHS_AHEAD = 6  # a fifth weekday is never further than four months away

_EACH = r"(?:(?:every|each) (?:single )?year|yearly|annually|year after year)"
_EVERY = re.compile(rf"\b(?:every|each|{_EACH},?(?: [\w'’]+){{0,3}}? (?:on|by|until|from)(?: the)?)\s+$", re.I)
_EACH_YEAR = re.compile(rf",?\s+(?:of )?{_EACH}\b", re.I)


def yearly(text: str, start: int, stop: int) -> bool:
    """Whether the date written here comes back: "31 March every year", "every 31 March", "each year on 31 March"."""
    return _EACH_YEAR.match(text, stop) is not None or _EVERY.search(text, max(0, start - 40), start) is not None


def recurring_span(m: re.Match[str], scene: Scene) -> Span | None:
    """The first occurrence not over before today."""
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
    """From last month on, whose last weekend may reach into this one."""
    for shift in range(-1, _MONTHS_AHEAD):
        try:
            yield nth_weekday(unit_span(today, "month", shift), weekday, nth)
        except IndexError:
            continue
