"""The words that time expressions consist of, and the pattern pieces that match them.

The invariant: tables are keyed in lower case with single spaces (`as_key`), and each piece matches its table's keys,
longest first, with any whitespace between their words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from holdfast.text.lexicon.calendar import MONTH_INDEX, SEASON_MONTH, WEEKDAY_INDEX
from holdfast.text.lexicon.numbers import ONE_TO_NINETEEN, ORDINALS, TENS


def as_key(words: str) -> str:
    """The words in lower case with single spaces, as in the tables."""
    return re.sub(r"\s+", " ", words.lower())


def alternation(words: Iterable[str]) -> str:
    """The pattern that matches any of these words, the longest first."""
    longest_first = sorted(words, key=len, reverse=True)
    return "(?:" + "|".join(re.escape(word).replace("\\ ", r"\s+") for word in longest_first) + ")"


DECADE_YEAR = {"twenties": 2020, "sixties": 1960, "seventies": 1970, "eighties": 1980, "nineties": 1990}
HOURS_FROM_TODAY = {
    "today": (0, 24), "yesterday": (-24, 0), "tomorrow": (24, 48), "tonight": (18, 24), "last night": (-6, 6),
    "this morning": (5, 12), "this afternoon": (12, 18), "this evening": (17, 24), "the other day": (-168, 0),
    "the other night": (-168, 0), "the other week": (-504, 0), "the day before yesterday": (-48, -24),
    "day before yesterday": (-48, -24), "the day after tomorrow": (48, 72), "day after tomorrow": (48, 72),
    "the night before last": (-30, -18), "yesterday morning": (-19, -12), "yesterday evening": (-7, 0),
    "tomorrow morning": (29, 36), "tomorrow evening": (41, 48), "tomorrow night": (42, 48),
    "yesterday afternoon": (-12, -6), "tomorrow afternoon": (36, 42),
}  # fmt: skip

PARTS_OF_DAY = {"morning": (5, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 24)}

COUNT = {"a": 1, "an": 1} | {word: n for n, word in enumerate(ONE_TO_NINETEEN, 1)}
COUNT |= {word: 10 * n for n, word in enumerate(TENS, 2)}
COUNT |= {f"{ten}-{one}": COUNT[ten] + COUNT[one] for ten in TENS for one in ONE_TO_NINETEEN[:9]}
FUZZY_COUNT = {"couple": (2, 3), "few": (2, 5), "several": (3, 7)}
ORDINAL = {word: n for n, word in enumerate(ORDINALS, 1)}

A_MONTH, A_WEEKDAY, A_SEASON = alternation(MONTH_INDEX), alternation(WEEKDAY_INDEX), alternation(SEASON_MONTH)
A_DECADE, SOME_HOURS, A_PART_OF_DAY = alternation(DECADE_YEAR), alternation(HOURS_FROM_TODAY), alternation(PARTS_OF_DAY)
_ONE_COUNT = rf"(?:\d{{1,4}}|(?:an?\s+)?(?:couple(?:\s+of)?|few)|several|{alternation(COUNT)})"
_OR = r"(?:\s*[-–]\s*|\s+(?:or|to)\s+)"
A_COUNT = rf"{_ONE_COUNT}(?:{_OR}{_ONE_COUNT})?"
A_UNIT = r"(?:minute|hour|day|week|weekend|fortnight|month|quarter|year|decade)"
A_YEAR = r"(?:1[89]|20)\d\d"
A_DAY_NUMBER = rf"(?:(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?|{alternation(ORDINAL)})(?![\w:%])"
UP_TO = r"\s*(?:-|–|—|\bto\b|\bthrough\b|\buntil\b|\btill\b|\band\b)\s*"


def count_range(words: str) -> tuple[int, int]:
    """The lowest and the highest count that the words may mean: "a few" and "two or three" are ranges."""
    words = words.lower()
    for word in words.split():
        if word in FUZZY_COUNT:
            return FUZZY_COUNT[word]
    low, *high = [words] if words in COUNT else re.split(_OR, words)
    return _number(low), _number(high[0] if high else low)


def _number(word: str) -> int:
    return int(word) if word.isdigit() else COUNT[word]


def ordinal_number(words: str) -> int:
    """14 for "14th" and "fourteenth"."""
    return ORDINAL.get(words.lower()) or int(re.sub(r"\D", "", words))
