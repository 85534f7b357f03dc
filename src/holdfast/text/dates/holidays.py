"""Holidays by name, including those that depend on Easter or on a weekday.

The invariant: keys are in lower case without apostrophes (`holiday_key`); the pattern matches names with or without
them.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from holdfast.text.dates.context import ExpressionContext
from holdfast.text.dates.occurrences import chosen_occurrence, nth_weekday
from holdfast.text.dates.spans import Span, day_span, months_span
from holdfast.text.dates.vocabulary import as_key

_FIXED = {
    "christmas eve": (12, 24), "christmas day": (12, 25), "christmas": (12, 25), "boxing day": (12, 26),
    "new years eve": (12, 31), "new years day": (1, 1), "new years": (1, 1), "halloween": (10, 31),
    "valentines day": (2, 14), "valentines": (2, 14), "st patricks day": (3, 17), "st. patricks day": (3, 17),
    "independence day": (7, 4), "juneteenth": (6, 19), "veterans day": (11, 11), "all saints day": (11, 1),
}  # fmt: skip
_FROM_EASTER = {
    "ash wednesday": -46, "palm sunday": -7, "maundy thursday": -3, "good friday": -2, "easter saturday": -1,
    "easter sunday": 0, "easter": 0, "easter monday": 1, "whit monday": 50,
}  # fmt: skip
_NTH_WEEKDAY = {  # month, weekday (0 is Monday), which; as in the United States
    "martin luther king day": (1, 0, "third"), "mlk day": (1, 0, "third"), "presidents day": (2, 0, "third"),
    "mothers day": (5, 6, "second"), "memorial day": (5, 0, "last"), "fathers day": (6, 6, "third"),
    "labor day": (9, 0, "first"), "columbus day": (10, 0, "second"), "thanksgiving day": (11, 3, "fourth"),
    "thanksgiving": (11, 3, "fourth"),
}  # fmt: skip
HOLIDAYS = [*_FIXED, *_FROM_EASTER, *_NTH_WEEKDAY]


def _pattern(name: str) -> str:
    return r"\s+".join(re.sub(r"s$", "['’]?s['’]?", re.escape(word)) for word in name.split())


A_HOLIDAY = "(?:" + "|".join(map(_pattern, sorted(HOLIDAYS, key=len, reverse=True))) + ")"


def holiday_key(words: str) -> str:
    return re.sub("['’]", "", as_key(words))


def holiday_of_year(name: str, scene: ExpressionContext, which: str = "", year: str | None = None) -> Span:
    """The holiday in the named year, else the last, the next or the one that fits the tense of the clause."""
    this_year = scene.today.year
    years = [int(year)] if year else range(this_year - 3, this_year + 4)
    spans = [day_span(_day(name, scene.today.replace(day=1, month=1, year=y))) for y in years]
    return spans[0] if year else chosen_occurrence(spans, which, scene)


def _day(name: str, january: datetime) -> datetime:
    if name in _FIXED:
        month, day = _FIXED[name]
        return january.replace(month=month, day=day)
    if name in _FROM_EASTER:
        return _easter(january) + timedelta(_FROM_EASTER[name])
    month, weekday, nth = _NTH_WEEKDAY[name]
    return nth_weekday(months_span(january, month - 1), weekday, nth)


def _easter(january: datetime) -> datetime:
    """Easter Sunday by the Gregorian computus, in the form of Meeus, Jones and Butcher."""
    century, rest = divmod(january.year, 100)
    golden = january.year % 19
    epact = (19 * golden + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    weekday = (32 + 2 * (century % 4) + 2 * (rest // 4) - epact - rest % 4) % 7
    correction = (golden + 11 * epact + 22 * weekday) // 451
    month, day = divmod(epact + weekday - 7 * correction + 114, 31)
    return january.replace(month=month, day=day + 1)
