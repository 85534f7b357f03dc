"""Builders for times with a name: last week, this Friday, in May, the summer of 2022, Christmas, 2019, the 90s.

The invariant: a name that is also an ordinary word ("may", "fall", "sat") needs a preposition, a year, or a capital
letter.
"""

from __future__ import annotations

import re

from holdfast.text.dates.context import ExpressionContext
from holdfast.text.dates.holidays import holiday_key, holiday_of_year
from holdfast.text.dates.occurrences import months_of_year, named_year, weekday_of_weeks
from holdfast.text.dates.spans import Span, unit_span, years_span
from holdfast.text.dates.vocabulary import (
    A_WEEKDAY,
    DECADE_YEAR,
    alternation,
    as_key,
)
from holdfast.text.lazy_pattern import lazy_pattern
from holdfast.text.lexicon import word_list
from holdfast.text.lexicon.calendar import (
    MONTH_INDEX,
    MONTHS_LIKE_WORDS,
    SEASON_MONTH,
    WEEKDAY_INDEX,
    WEEKDAYS_LIKE_WORDS,
)

_FIRM = word_list("in since until till by before after during early mid late around of")
_LOOSE = word_list("from between to and on last next through year over")
_PREPOSITION = lazy_pattern(rf"\b({alternation([*_FIRM, *_LOOSE])})(?:\s+the)?[\s-]*$", re.I)
_RECURRING_OR_NAMED = lazy_pattern(r"\b(?:every|each|other|alternate|second|a|any|black|good)\s+$", re.I)
_HABIT = lazy_pattern(r"\b(?:every|each)\s+$", re.I)
_WORD_BEFORE = lazy_pattern(r"\b[a-z]+,?\s+$")
_DAY_BEFORE = lazy_pattern(rf"\b{A_WEEKDAY}\s*[-–—/]\s*$", re.I)
_DATE_FOLLOWS = lazy_pattern(r",?\s+(?:(?:next|this|last)\s+week|(?:the\s+)?\d)", re.I)
_DEGREES = lazy_pattern(
    r"\b(?:(?:will|ll|might|may|could|to) be|highs?|lows?|temperatures?|degrees)\b[\w\s]{0,20}$", re.I
)
_WEEKLY_HABIT = lazy_pattern(r"\b(?:never|always)\b[\w\s]*$", re.I)
"""What is never or always done on a Friday is not done on one particular Friday."""
_NAMED_AFTER_HOLIDAY = lazy_pattern(
    r"\s+(?:markets?|part(?:y|ies)|trees?|cards?|presents?|gifts?|bonus|concerts?|plays?|shows?|jumpers?|sweaters?|"
    r"shopping|decorations?|lights|cookies|biscuits|cakes?|puddings?|songs?|carols?|menus?|lists?|costumes?|eggs?|sales?|"
    r"orders?|campaigns?|fairs?|budgets?|fund)\b",
    re.I,
)
"""What has its name from a holiday has a day of its own: a Christmas market, an Easter egg."""
_UNITS = word_list("week weekend month quarter year decade")
_UNIT_SHIFT = {"last": -1, "previous": -1, "past": -1, "this": 0, "current": 0}


def _preposition(m: re.Match[str]) -> re.Match[str] | None:
    return _PREPOSITION.search(m.string, max(0, m.start() - 16), m.start())


def relative_span(m: re.Match[str], scene: ExpressionContext) -> Span | None:
    """last, this or next week, May, summer, Friday, Christmas."""
    which, what = m["which"].lower().split()[-1], as_key(m["what"])
    which = "last" if m["which"].lower() == "this past" else which
    if what in MONTH_INDEX:
        a_verb = what in MONTHS_LIKE_WORDS and m["what"].islower() and which == "this"
        return None if a_verb else months_of_year(MONTH_INDEX[what], 1, scene, which)
    if what in SEASON_MONTH:
        a_tumble = what == "fall" and which == "this" and scene.tense < 0
        return None if a_tumble else months_of_year(SEASON_MONTH[what], 3, scene, which)
    if what in WEEKDAY_INDEX:
        a_star = what == "sun" and which == "this"
        return None if a_star else weekday_of_weeks(WEEKDAY_INDEX[what], which, scene)
    if what in _UNITS:
        return _relative_unit(what, which, scene)
    return holiday_of_year(holiday_key(what), scene, which)


def _relative_unit(unit: str, which: str, scene: ExpressionContext) -> Span:
    """The week in "the following week" follows the expression before; "the coming weekend" is this week's."""
    follows = scene.anchor if which == "following" else None
    this_weeks = unit == "weekend" and (which == "coming" or (which == "following" and not follows))
    return unit_span(follows[0] if follows else scene.today, unit, 0 if this_weeks else _UNIT_SHIFT.get(which, 1))


def named_span(m: re.Match[str], scene: ExpressionContext) -> Span | None:
    """A month, season, weekday or holiday by itself: most need a preposition or a year to count."""
    word = as_key(m["what"])
    if word in MONTH_INDEX:
        return _named_month(m, word, scene)
    if word in SEASON_MONTH:
        return _named_season(m, word, scene)
    if word in WEEKDAY_INDEX:
        return _named_weekday(m, word, scene)
    if _HABIT.search(m.string, max(0, m.start() - 8), m.start()) or (word == "good friday" and m["what"][0] == "g"):
        return None
    if _NAMED_AFTER_HOLIDAY.match(m.string, m.end("what")):
        return None
    return holiday_of_year(holiday_key(word), scene, "", named_year(m, scene))


def _named_month(m: re.Match[str], word: str, scene: ExpressionContext) -> Span | None:
    preposition = _preposition(m)
    before = preposition[1].lower() if preposition else ""
    unlike_words = (len(word) > 4 and word not in ("march", "april", "august")) or word == "july"
    capital = m["what"][0].isupper() and (unlike_words or before in ("from", "between", "to", "and"))
    capital = capital or (unlike_words and before in ("from", "between"))
    year = named_year(m, scene)
    return months_of_year(MONTH_INDEX[word], 1, scene, "", year) if year or before in _FIRM or capital else None


def _named_season(m: re.Match[str], word: str, scene: ExpressionContext) -> Span | None:
    preposition = _preposition(m)
    words = preposition[0].lower().split() if preposition else []
    before = preposition[1].lower() if preposition else ""
    year = named_year(m, scene)
    meant = year or "the" in words or before in ("since", "until", "by", "last")
    return months_of_year(SEASON_MONTH[word], 3, scene, "", year) if meant else None


def _named_weekday(m: re.Match[str], word: str, scene: ExpressionContext) -> Span | None:
    preposition = _preposition(m)
    before = preposition[1].lower() if preposition else ""
    capital = m["what"][0].isupper() and (word not in WEEKDAYS_LIKE_WORDS or _names_a_day(m))
    sure = len(word) > 5 or capital
    if _RECURRING_OR_NAMED.search(m.string[max(0, m.start() - 12) : m.start()]):
        return None
    if _WEEKLY_HABIT.search(m.string[max(0, m.start() - 30) : m.start()]):
        return None
    return (
        weekday_of_weeks(WEEKDAY_INDEX[word], "", scene) if sure or before in ("on", "by", "until", "since") else None
    )


def _names_a_day(m: re.Match[str]) -> bool:
    """Whether "Sat" or "Wed" is next to a date, week or day, or in a sentence where a verb would not be capitalised."""
    if _DATE_FOLLOWS.match(m.string, m.end()) or _DAY_BEFORE.search(m.string, max(0, m.start() - 16), m.start()):
        return True
    inside = _WORD_BEFORE.search(m.string, max(0, m.start() - 24), m.start())
    return bool(inside and inside[0].split()[0] not in ("the", "a", "an"))


def year_span(m: re.Match[str], scene: ExpressionContext) -> Span | None:
    """A year such as "2019" only after a preposition; a range such as "2015-2018"."""
    first, last = int(m["y"]), int(m["e"] or m["y"])
    meant = first < last or (first == last and _preposition(m))
    return years_span(scene.today, first, last - first + 1) if meant else None


def decade_span(m: re.Match[str], scene: ExpressionContext) -> Span | None:
    """The 1990s, the 90s, the nineties; "the 10s" are of this century, and "highs in the 80s" are degrees."""
    if m["short"]:
        if _DEGREES.search(m.string, max(0, m.start() - 40), m.start()):
            return None
        year = int(m["short"]) * 10 + (2000 if m["short"] in "01" else 1900)
    else:
        year = int(m["full"] or 0) or DECADE_YEAR[m["name"].lower()]
    return years_span(scene.today, year, 10)


def quarter_span(m: re.Match[str], scene: ExpressionContext) -> Span | None:
    return months_of_year(int(m["q"]) * 3 - 3, 3, scene, "", named_year(m, scene))
