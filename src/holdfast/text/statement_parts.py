"""Splits a statement about several things into parts, and rewrites it without some of them. Pure.

"Shoes for Emre, size 33, velcro" is one memory of three parts. When his size changes, the velcro stays true.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from holdfast.text.lexicon.calendar import A_FULL_MONTH, A_FULL_SEASON, A_FULL_WEEKDAY
from holdfast.text.lexicon.patterns import ASIDE
from holdfast.text.lexicon.sentences import ENDS

Span = tuple[int, int]
MAX_PARTS = 8
"""A text with more parts is a list or prose, and is not split. Chosen by hand; not measured."""
MIN_WORDS_LEFT = 3
"""Minimum number of words that make sense without the part that named their topic. Chosen by hand; not measured."""
_QUOTED = re.compile(r'[^"]{1,60}\bsaid(?: of [^:"]{1,40})?: "(.+)"(?: \([^()]*\))?\.?')
_ANSWERED = re.compile(r'(?:Asked|Told) ".+", [^"]{1,40} answered: "?(.+?)"?\.?')
_LAST_ASIDE = re.compile(rf"{ASIDE.pattern}\.?$")
_HEADING = re.compile(r"(?:[\w'’.-]+[ ,]+){0,7}[\w'’-]+: ")
_BORDER = re.compile(
    rf"[,;]\s+(?:and |but |so |plus )?|\s+[–—-]\s+|(?<=\w\w\w[{ENDS}])\s+(?=\S)|"
    r"\s+(?:and|but|plus)\s+(?!others\b)(?=\S+\s+\S)",
    re.I,
)
_WORD = re.compile(r"\w")
_DATE_WORD = re.compile(
    rf"\d|\b{A_FULL_WEEKDAY}s?\b|\b(?:today|tomorrow|tonight|yesterday|week|weekend|month|year|{A_FULL_MONTH}|"
    rf"{A_FULL_SEASON})\b",
    re.I,
)


def part_spans(content: str) -> list[Span]:
    """The span of each part; none for a statement that has only one part."""
    start, stop = _body_span(content)
    found, at = [], start
    for border in _BORDER.finditer(content, start, stop):
        if content.count("(", start, border.start()) > content.count(")", start, border.start()):
            continue
        if _WORD.search(content, at, border.start()):
            found.append((at, border.start()))
            at = border.end()
    if _WORD.search(content, at, stop):
        found.append((at, stop))
    return found if 2 <= len(found) <= MAX_PARTS else []


def with_part_marked(content: str, span: Span) -> str:
    """The statement with one part in square brackets, for a model that judges that part among the others."""
    return f"{content[: span[0]]}[{content[span[0] : span[1]]}]{content[span[1] :]}"


def without_parts(content: str, gone: Sequence[Span]) -> str | None:
    """The statement without the parts that are out of date; None when nothing useful is left."""
    whole = part_spans(content)
    left = [span for span in whole if span not in gone]
    headless = bool(left) and left[0] != whole[0]
    words = sum(len(content[slice(*span)].split()) for span in left)
    if not left or len(left) == len(whole) or (headless and words < MIN_WORDS_LEFT):
        return None
    start, stop = whole[0][0], whole[-1][1]
    end = content[stop:] if keeps_date(content, gone) else ASIDE.sub("", content[stop:])
    kept = f"… {content[slice(*left[0])]}" if headless else content[start : left[0][1]]
    for before, after in pairwise(left):
        together = whole.index(after) == whole.index(before) + 1
        kept += content[before[1] : after[1]] if together else f", {content[slice(*after)]}"
    return content[:start] + kept + end


def keeps_date(content: str, gone: Sequence[Span]) -> bool:
    """Whether the date of the statement belongs to a part that is kept."""
    return not any(_DATE_WORD.search(content, *span) for span in gone)


def _body_span(content: str) -> Span:
    """The span of the statement itself, without its speaker, a heading, and dates at the end."""
    framed = _QUOTED.fullmatch(content) or _ANSWERED.fullmatch(content)
    start, stop = framed.span(1) if framed else (0, len(_LAST_ASIDE.sub("", content).rstrip(" .")))
    heading = _HEADING.match(content, start, stop)
    return (heading.end() if heading else start), stop
