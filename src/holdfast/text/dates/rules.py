"""The rules of time expressions: the words that open one, its pattern, and the builder that turns a match into a span.

The invariant: for one opening word, the rules are tried in the order of `_RULES`; the first that builds a span wins. In
these patterns a space stands for any whitespace, and "#" among the openers for a word of digits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache

from holdfast.text.dates.calendar import calendar_span, day_of_month, numeric_month, numeric_span, part_of_unit
from holdfast.text.dates.context import ExpressionContext
from holdfast.text.dates.holidays import A_HOLIDAY, HOLIDAYS
from holdfast.text.dates.named_periods import decade_span, named_span, quarter_span, relative_span, year_span
from holdfast.text.dates.offsets import (
    adjoining_day,
    half_offset_span,
    hours_span,
    neighbour_span,
    offset_span,
    stretch_span,
    unit_or_two,
    weekdays_off,
    whole_unit,
)
from holdfast.text.dates.recurrence import recurring_span
from holdfast.text.dates.spans import Span
from holdfast.text.dates.vocabulary import (
    A_COUNT,
    A_DAY_NUMBER,
    A_DECADE,
    A_MONTH,
    A_SEASON,
    A_UNIT,
    A_WEEKDAY,
    A_YEAR,
    COUNT,
    DECADE_YEAR,
    FUZZY_COUNT,
    HOURS_FROM_TODAY,
    ORDINAL,
    SOME_HOURS,
    UP_TO,
    alternation,
)
from holdfast.text.lexicon import word_list
from holdfast.text.lexicon.calendar import MONTH_INDEX, SEASON_MONTH, WEEKDAY_INDEX
from holdfast.text.lexicon.numbers import ORDINALS


def _holiday_openers() -> list[str]:
    """First words of the names, including "valentine" and "mother" without their 's."""
    firsts = [name.split()[0].rstrip(".") for name in HOLIDAYS]
    return [*firsts, *(word[:-1] for word in firsts if word.endswith("s"))]


SpanBuilder = Callable[[re.Match[str], ExpressionContext], Span | None]

_DIGITS = "#"
_COUNTS = [*COUNT, *FUZZY_COUNT, _DIGITS]
_RELATIVE = word_list("last past previous this current next coming upcoming following")
_NAMES = [*SEASON_MONTH, *MONTH_INDEX, *WEEKDAY_INDEX, *_holiday_openers()]

_WHICH = rf"(?P<which>this past|this coming|{'|'.join(_RELATIVE)})"
_NTH = "first|second|third|fourth|fifth|last"
_GAP = rf"{_NTH}|other|alternate|[1-5](?:st|nd|rd|th)"
_WHOSE_YEAR = r"\s+(?:of\s+|in\s+)?(?P<whose>last|this|next)\s+year\b"
_COMMA_YEAR = rf"(?:,?\s+(?P<y>{A_YEAR}|['’]\d\d)\b|{_WHOSE_YEAR})?"
_OF_YEAR = rf"(?:,?\s+(?:of\s+)?(?P<y>{A_YEAR}|['’]\d\d)\b|{_WHOSE_YEAR})?"
_OF_A_UNIT = (
    rf"(?:of|in) (?:(?P<m>{A_MONTH})\b{_OF_YEAR}|(?P<number>{A_YEAR})\b"
    r"|(?P<which>the|this|next|last) (?P<u>month|quarter|year)\b)"
)
_AND_A_HALF = (
    rf"(?:half an? (?P<alone>{A_UNIT})|(?P<n>{A_COUNT}) (?P<u>{A_UNIT})s? and a half"
    rf"|(?P<k>{A_COUNT}) and a half (?P<v>{A_UNIT})s)"
)
_WAY = r"(?P<way>ago|back|from now|from today|earlier|later)\b"
_AND_DAY = rf"(?:{UP_TO}(?P<e>{A_DAY_NUMBER}))?"
_AND_THE_DAY = rf"(?:{UP_TO}(?:the )?(?P<e>{A_DAY_NUMBER}))?"
_ABBREVIATED = r"(?:\.(?=\s+\d))?"
_NOT_A_HABIT = r"(?!\w|\s+(?:morning|afternoon|evening|night|lunch|dinner)s\b)"
_NOT_OF = rf"(?! of \w| in (?:{A_MONTH}|{A_YEAR}|the (?:month|quarter|year))\b)"
_NOT_OF_A_MONTH = rf"(?! (?:of|in) {A_MONTH}\b)"
_MONTHLY = r"(?P<monthly> (?:of|in) (?:the|a|each|every) month\b)?"
_CLAUSE_ENDS = r"(?=\s*(?:[,.;:!?)]|$|(?:we|i|he|she|they|it)\b))"
_DAY_ENDS = (
    r"(?=\s*(?:[^\w\s%/'’-]|$|(?:at|and|or|but|not|for|we|i|to|with|instead|rather|until|till|after all|because|so|as|"
    r"actually|please|pls|now|then|if|when|by)\b))"
)
_OF_WHICH_MONTH = r" of (?P<which>last|this|next|the) month\b"
_AFTER_A_PREPOSITION = r"(?:(?<=\bon\s)|(?<=\bby\s)|(?<=\bsince\s)|(?<=\buntil\s)|(?<=\btill\s)|(?<=\bfrom\s))"
_LATE_ORDINAL = alternation(ORDINALS[12:])  # "the second" and "the tenth" may count anything
_DECADE_FIGURES = r"(?P<full>(?:1[89]|20)\d0)s|(?:(?<=\s)|(?<=\bmid-)|(?<=\bearly-)|(?<=\blate-))['’]?(?P<short>\d)0s"

_RULES: tuple[tuple[Iterable[str], str, SpanBuilder], ...] = (
    ((name.split()[0] for name in HOURS_FROM_TODAY), rf"{SOME_HOURS}\b", hours_span),
    (
        ["the", *ORDINALS, "last"],
        rf"(?:the )?(?P<nth>{_NTH}) (?P<what>day|week|weekend|half|quarter|{A_WEEKDAY}) {_OF_A_UNIT}",
        part_of_unit,
    ),
    (
        ["every", "each"],
        rf"(?:every|each) (?P<nth>{_GAP}) (?P<what>weekend|{A_WEEKDAY})\b{_MONTHLY}{_NOT_OF_A_MONTH}",
        recurring_span,
    ),
    (
        ["the", *ORDINALS, "last", _DIGITS],
        rf"(?:the )?(?P<nth>{_GAP}) (?P<what>weekend|{A_WEEKDAY})(?P<monthly> (?:of|in) (?:each|every) month)\b",
        recurring_span,
    ),
    (
        ["the", *(word.split("-")[0] for word in ORDINAL), _DIGITS],
        rf"(?:the )?(?P<d>{A_DAY_NUMBER}){_AND_THE_DAY} (?:of )?(?P<m>{A_MONTH})\b{_ABBREVIATED}{_OF_YEAR}",
        calendar_span,
    ),
    (
        MONTH_INDEX,
        rf"(?P<m>{A_MONTH})\.? (?:the )?(?P<d>{A_DAY_NUMBER}){_AND_DAY}{_COMMA_YEAR}",
        calendar_span,
    ),
    ([_DIGITS], r"(\d{4})([-/])(\d{1,2})\2(\d{1,2})(?=\b|T)(?:T\S{1,30})?(?![-/.]?\d)", numeric_span),
    ([_DIGITS], rf"(?<!-)(?P<y>{A_YEAR})-(?P<m>0[1-9]|1[0-2])(?![-/.]?\w)", numeric_month),
    ([_DIGITS], rf"(?P<m>0?[1-9]|1[0-2])/(?P<y>{A_YEAR})(?![-/.]?\w)", numeric_month),
    ([_DIGITS], r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d\d)(?![-/.]?\w)", numeric_span),
    (
        ["the", "last", "past", "next", "coming", "previous"],
        rf"(?:the )?(?P<which>last|past|previous|next|coming) (?:(?P<n>{A_COUNT}) )?(?P<u>{A_UNIT})s?\b",
        stretch_span,
    ),
    (["within"], rf"(?P<which>within) (?P<n>{A_COUNT}) (?P<u>{A_UNIT})s?\b(?! of\b)", stretch_span),
    (
        ["the"],
        rf"the (?P<what>{A_UNIT}|night|{A_SEASON}|{A_WEEKDAY}) (?P<way>before|after)(?P<last> (?:last|next))?\b"
        + _CLAUSE_ENDS,
        neighbour_span,
    ),
    (
        ["the", *_RELATIVE],
        rf"(?:the )?{_WHICH} (?P<what>week|weekend|month|quarter|year|decade"
        rf"|{A_WEEKDAY}|{A_MONTH}|{A_SEASON}|{A_HOLIDAY})\b{_NOT_OF}",
        relative_span,
    ),
    (
        ["last", "this", "next"],
        r"(?P<whose>last|this|next) year,? (?:in|at|around) (?:the )?"
        rf"(?P<what>{A_MONTH}|{A_SEASON}|{A_HOLIDAY})\b(?P<y>)",
        named_span,
    ),
    (["the"], r"the (?P<what>next|following|previous) day\b", adjoining_day),
    (_COUNTS, rf"(?P<n>{A_COUNT}) (?P<what>{A_WEEKDAY})s (?P<way>ago|back|from now)\b", weekdays_off),
    ([*_COUNTS, "half"], rf"{_AND_A_HALF} {_WAY}", half_offset_span),
    (["in"], rf"(?P<way>)in(?: about| around)? {_AND_A_HALF}\b(?! of\b)", half_offset_span),
    (["a", "an"], rf"an? (?P<u>{A_UNIT}) or (?:two|so) {_WAY}", unit_or_two),
    (["in"], rf"(?P<way>)in an? (?P<u>{A_UNIT}) or (?:two|so)\b", unit_or_two),
    (_COUNTS, rf"(?P<n>{A_COUNT}) (?P<u>{A_UNIT})s? {_WAY}(?P<exact> today)?", offset_span),
    (
        ["in"],
        rf"(?P<way>)in(?: about| around)? (?P<n>{A_COUNT}) (?P<u>{A_UNIT})s?\b"
        r"(?:['’] time| time)?(?P<exact>)(?! of\b)",
        offset_span,
    ),
    (
        _NAMES,
        rf"(?P<what>{A_MONTH}|{A_SEASON}|{A_WEEKDAY}|{A_HOLIDAY}){_NOT_A_HABIT}{_ABBREVIATED}{_OF_YEAR}",
        named_span,
    ),
    ([_DIGITS], rf"(?P<y>{A_YEAR})(?:[-–](?P<e>{A_YEAR}))?(?![\w%-]|[.,:/]\d)", year_span),
    (["the", _DIGITS, *DECADE_YEAR], rf"(?:the )?(?:{_DECADE_FIGURES}|(?P<name>{A_DECADE}))\b", decade_span),
    (["q1", "q2", "q3", "q4"], rf"q(?P<q>[1-4])\b{_OF_YEAR}", quarter_span),
    (["the"], rf"the (?P<d>{A_DAY_NUMBER}){_OF_WHICH_MONTH}", day_of_month),
    (["the"], rf"the (?P<d>(?:3[01]|[12]?\d)(?:st|nd|rd|th))\b(?P<which>){_DAY_ENDS}", day_of_month),
    (["the"], rf"{_AFTER_A_PREPOSITION}the (?P<d>{_LATE_ORDINAL})\b(?P<which>){_DAY_ENDS}", day_of_month),
    (
        [_DIGITS],
        rf"{_AFTER_A_PREPOSITION}(?P<d>(?:3[01]|[12]?\d)(?:st|nd|rd|th))\b(?P<which>){_DAY_ENDS}",
        day_of_month,
    ),
    (["the"], r"the (?P<u>week|weekend|month|quarter|year)\b(?! (?:of|starting|beginning) (?:the )?\d)", whole_unit),
)


@cache
def _by_opener() -> dict[str, list[tuple[str, SpanBuilder]]]:
    by_opener: dict[str, list[tuple[str, SpanBuilder]]] = {}
    for openers, pattern, build in _RULES:
        for word in dict.fromkeys(openers):
            by_opener.setdefault(word, []).append((pattern, build))
    return by_opener


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace(" ", r"\s+"), re.I)


@cache
def _opened_rules(word: str) -> list[tuple[re.Pattern[str], SpanBuilder]]:
    """The rules of an opener. Those of others are not compiled: it takes longer than most commands."""
    return [(_compiled(pattern), build) for pattern, build in _by_opener()[word]]


def rules_for(word: str) -> list[tuple[re.Pattern[str], SpanBuilder]]:
    """The rules that this word may open, in the order to try them."""
    opener = _DIGITS if word[0].isdigit() else word.lower()
    return _opened_rules(opener) if opener in _by_opener() else []
