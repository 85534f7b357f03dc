"""Splits a statement about several things into parts, and rewrites it without some of them. Pure.

"Shoes for Emre, size 33, velcro" is one memory of three parts. When his size changes, the velcro stays true.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from holdfast.text import tokens
from holdfast.text.lexicon.calendar import A_FULL_MONTH, A_FULL_SEASON, A_FULL_WEEKDAY
from holdfast.text.lexicon.patterns import ASIDE
from holdfast.text.lexicon.sentences import ENDS, NOT_AFTER_ABBREVIATION
from holdfast.text.similarity import UNSPECIFIC_STEMS

Span = tuple[int, int]
MAX_PARTS = 8
"""A text with more parts is a list or prose, and is not split. Chosen by hand; not measured."""
MIN_WORDS_LEFT = 3
"""Minimum number of words that make sense without the part that named their topic. Chosen by hand; not measured."""
MIN_PART_LOG_ODDS, MAX_PART_LOG_ODDS_GAP = 1.0, 3.0
"""Minimum log-odds for a part of a statement to have ended, and how far they may be below those of the most likely
part. Of 1,927 parts that the reader did not learn from, 86 of 100 are judged right; with a gap of 1.2, 84."""
MIN_SHARED_STEMS = 2
"""How many stems of the text that ends a part another part with a day must share, if the likely ones, with days too,
share none, to be the one that ends: "Emma's piano moved to Wednesdays" does not end her chess. Chosen by hand."""
_QUOTED = re.compile(r'[^"]{1,60}\bsaid(?: of [^:"]{1,40})?: "(.+)"(?: \([^()]*\))?\.?')
_SAID = re.compile(r'(?P<who>.{1,80}?) said: "(?P<said>.*)"\.?', re.S)
_ANSWERED = re.compile(r'(?:Asked|Told) ".+", [^"]{1,40} answered: "?(.+?)"?\.?')
_LAST_ASIDE = re.compile(rf"{ASIDE.pattern}\.?$")
_HEADING = re.compile(r"(?:[\w'’.-]+[ ,]+){0,7}[\w'’-]+: ")
_NO_ABBREVIATION = rf"{NOT_AFTER_ABBREVIATION}(?<!\bno\.)(?<!\bnr\.)(?<!\bvs\.)(?<!\bkr\.)(?<!\bca\.)"
_BORDER = re.compile(
    rf"\s+\+\s+(?=\S)|[,;]\s+(?!(?:and )?{A_FULL_WEEKDAY}s?\b)(?:and |but |so |plus )?|\s+[–—-]\s+|"
    rf"(?<=\w\w[{ENDS}]){_NO_ABBREVIATION}\s+(?=\S)|"
    rf"\s+(?:and|but|plus)\s+(?!others\b|\d|{A_FULL_WEEKDAY}s?\b)(?=\S+\s+\S)",
    re.I,
)
_THING = re.compile(r"(?:[\w'’]+ )?(?:it|its|them|these|those)\b", re.I)
_WORD = re.compile(r"\w")
_VALUE = re.compile(r"\d|(?<!^)\b[A-ZÀ-Þ]")
_CALENDAR_WORD = (
    rf"\b{A_FULL_WEEKDAY}s?\b|\b(?:today|tomorrow|tonight|yesterday|week|weekend|month|year|{A_FULL_MONTH}|"
    rf"{A_FULL_SEASON})\b"
)
_DATE_WORD, _WORDED_DATE = re.compile(rf"\d|{_CALENDAR_WORD}", re.I), re.compile(_CALENDAR_WORD, re.I)


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


def ended_spans(statement: str, log_odds: Sequence[float], by: str) -> tuple[Span, ...]:
    """The most likely part and every other likely one, which the text `by` ends; empty when all parts are untrue."""
    spans = part_spans(statement)
    if not spans:
        return ()
    least = min(max(MIN_PART_LOG_ODDS, max(log_odds) - MAX_PART_LOG_ODDS_GAP), max(log_odds))
    gone = tuple(span for span, odds in zip(spans, log_odds, strict=True) if odds >= least)
    if len(gone) == len(spans):
        return ()
    told = frozenset(tokens.question_words(by)) - UNSPECIFIC_STEMS
    shared = {span: len(told.intersection(tokens.question_words(statement[slice(*span)]))) for span in spans}
    if any(shared[span] or not _WORDED_DATE.search(statement, *span) for span in gone):
        return gone
    named = [span for span in spans if shared[span] >= MIN_SHARED_STEMS]
    return tuple(span for span in named if _WORDED_DATE.search(statement, *span)) or gone


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
    end = content[stop:] if keeps_date(content, gone) else ASIDE.sub("", content[stop:]).replace('".', '"')
    kept = f"… {content[slice(*left[0])]}" if headless else content[start : left[0][1]]
    for before, after in pairwise(left):
        together = whole.index(after) == whole.index(before) + 1
        kept += content[before[1] : after[1]] if together else f", {content[slice(*after)]}"
    return content[:start] + (kept.rstrip(".") if end.startswith('"') else kept) + end


def remaining_runs(content: str, gone: Sequence[Span]) -> list[str]:
    """The text of each run of neighbouring parts that are not out of date and may stand alone; the first part comes
    with its heading."""
    runs: list[list[Span]] = []
    before = None
    for n, span in enumerate(part_spans(content)):
        if span in gone:
            continue
        if before is not None and before == n - 1:
            runs[-1].append(span)
        else:
            runs.append([span])
        before = n
    first, found = part_spans(content)[0], []
    for run in runs:
        is_first = run[0] == first
        text = content[framed_span(content)[0] if is_first else run[0][0] : run[-1][1]]
        found += [text] if is_telling(text, headless=not is_first) else []
    return found


def is_telling(part: str, *, headless: bool) -> bool:
    """Whether a part may stand alone: it has two words, of which one is a name or has a figure, or three. Without the
    part before it, "it" in "skip it for now" means nothing."""
    words = part.split()
    if headless and _THING.match(part):
        return False
    return len(words) >= MIN_WORDS_LEFT or (len(words) == 2 and _VALUE.search(part) is not None)


def keeps_date(content: str, gone: Sequence[Span]) -> bool:
    """Whether the date of the statement belongs to a part that is kept."""
    return not any(_DATE_WORD.search(content, *span) for span in gone)


def framed_span(content: str) -> Span:
    """The span of the statement itself, without the words around a quotation and without dates at the end."""
    framed = _QUOTED.fullmatch(content) or _ANSWERED.fullmatch(content)
    return framed.span(1) if framed else (0, len(_LAST_ASIDE.sub("", content).rstrip(" .")))


def reported_statement(content: str) -> str:
    """A quotation as reported speech: what is quoted may not be changed."""
    m = _SAID.fullmatch(content)
    if not m:
        return content
    who = "the" + m["who"][3:] if m["who"].startswith("The user") else m["who"]
    return f"According to {who}: {m['said'].rstrip(' .,;')}."


def _body_span(content: str) -> Span:
    """The span of the statement itself, without its heading either."""
    start, stop = framed_span(content)
    heading = _HEADING.match(content, start, stop)
    return (heading.end() if heading else start), stop
