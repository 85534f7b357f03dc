"""Pure: the parts of a statement that tells several things, and what is left of it without some.

"Shoes for Emre, size 33, velcro" is one memory of three parts. When his size changes, the velcro stays true.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

Span = tuple[int, int]
MOST = 8
FEWEST = 3
"""Words that make sense without the part that named what they are about."""
_QUOTED = re.compile(r'[^"]{1,60}\bsaid(?: of [^:"]{1,40})?: "(.+)"(?: \([^()]*\))?\.?')
_ANSWERED = re.compile(r'(?:Asked|Told) ".+", [^"]{1,40} answered: "?(.+?)"?\.?')
_ASIDE = re.compile(r" \([^()]*\)\.?$")
_DATES = re.compile(r" \([^()]*\)")
_HEADING = re.compile(r"(?:[\w'’.-]+[ ,]+){0,7}[\w'’-]+: ")
_BORDER = re.compile(
    r"[,;]\s+(?:and |but |so |plus )?|\s+[–—-]\s+|(?<=\w\w\w[.!?])\s+(?=\S)|\s+(?:and|but|plus)\s+(?=\S+\s+\S)", re.I
)
_WORD = re.compile(r"\w")
_DATED = re.compile(
    r"\d|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:today|tomorrow|tonight|yesterday|week|weekend|month|year|"
    r"january|february|march|april|may|june|july|august|september|october|november|december|spring|summer|autumn|"
    r"winter)\b",
    re.I,
)


def spans(content: str) -> list[Span]:
    """Where each part is; none for a statement that has but one."""
    start, stop = _body(content)
    found, at = [], start
    for border in _BORDER.finditer(content, start, stop):
        if content.count("(", start, border.start()) > content.count(")", start, border.start()):
            continue
        if _WORD.search(content, at, border.start()):
            found.append((at, border.start()))
            at = border.end()
    if _WORD.search(content, at, stop):
        found.append((at, stop))
    return found if 2 <= len(found) <= MOST else []


def marked(content: str, span: Span) -> str:
    """The statement with one part in square brackets, for a model that is to read that part among the others."""
    return f"{content[: span[0]]}[{content[span[0] : span[1]]}]{content[span[1] :]}"


def without(content: str, gone: Sequence[Span]) -> str | None:
    """What is left when some parts are out of date, or nothing."""
    whole = spans(content)
    left = [span for span in whole if span not in gone]
    headless = bool(left) and left[0] != whole[0]
    words = sum(len(content[slice(*span)].split()) for span in left)
    if not left or len(left) == len(whole) or (headless and words < FEWEST):
        return None
    start, stop = whole[0][0], whole[-1][1]
    end = content[stop:] if keeps_date(content, gone) else _DATES.sub("", content[stop:])
    kept = f"… {content[slice(*left[0])]}" if headless else content[start : left[0][1]]
    for before, after in pairwise(left):
        together = whole.index(after) == whole.index(before) + 1
        kept += content[before[1] : after[1]] if together else f", {content[slice(*after)]}"
    return content[:start] + kept + end


def keeps_date(content: str, gone: Sequence[Span]) -> bool:
    """Whether the date of the statement is that of a part that is left."""
    return not any(_DATED.search(content, *span) for span in gone)


def _body(content: str) -> Span:
    """Where the statement itself is: without who said it, a heading, and dates at the end."""
    framed = _QUOTED.fullmatch(content) or _ANSWERED.fullmatch(content)
    start, stop = framed.span(1) if framed else (0, len(_ASIDE.sub("", content).rstrip(" .")))
    heading = _HEADING.match(content, start, stop)
    return (heading.end() if heading else start), stop
