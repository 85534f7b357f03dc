"""Months, weekdays and seasons, and the pattern pieces that match their names."""

from __future__ import annotations

from holdfast.text.lexicon import word_list

MONTHS = word_list("january february march april may june july august september october november december")
WEEKDAYS = word_list("monday tuesday wednesday thursday friday saturday sunday")
SEASONS = word_list("spring summer autumn winter")
"""Without "fall", which is more often a verb."""

MONTH_INDEX = {name[:n]: i for i, name in enumerate(MONTHS) for n in (3, len(name))} | {"sept": 8}
"""Name or abbreviation → the month, where 0 is January."""
WEEKDAY_INDEX = {name[:n]: i for i, name in enumerate(WEEKDAYS) for n in (3, len(name))} | {
    "tues": 1, "weds": 2, "thur": 3, "thurs": 3,
}  # fmt: skip
"""Name or abbreviation → the weekday, where 0 is Monday."""
WEEKDAYS_LIKE_WORDS = ("sat", "sun", "wed", "mon")
MONTHS_LIKE_WORDS = ("may", "march", "mar")
SEASON_MONTH = {"spring": 2, "summer": 5, "autumn": 8, "fall": 8, "winter": 11}
"""Season → its first month, where 0 is January; northern and meteorological."""

A_FULL_MONTH = "|".join(MONTHS)
A_MONTH_BUT_MAY = "|".join(month for month in MONTHS if month != "may")
"""Alternatives for a pattern; "may" is left out where it would mostly be the verb."""
A_FULL_WEEKDAY = "(?:" + "|".join(name.removesuffix("day") for name in WEEKDAYS) + ")day"
A_FULL_SEASON = "|".join(SEASONS)
