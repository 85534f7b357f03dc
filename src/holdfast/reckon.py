"""Pure: what a question wants computed rather than quoted, the date of a statement, and time between dates in words.

Dates come from a memory's own time, from words such as "last Friday" in the sentence that speaks of the question, or
else from when it was said; nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from . import words
from .results import Hit
from .when import Window, meant, phrase, windows

Sought = Literal["when", "ago", "between", "first", "count"]
_UNIT = r"(?P<unit>days?|weeks?|months?|years?|long|much time)"
_PATTERNS: tuple[tuple[Sought, re.Pattern[str]], ...] = tuple(
    (sought, re.compile(pattern, re.I))  # type: ignore[misc]
    for sought, pattern in (
        ("between", rf"\bhow (?:many )?{_UNIT}\b.*\bbetween (?P<a>.+?) and (?P<b>.+?)[?.]*$"),
        ("between", rf"\bhow (?:many )?{_UNIT}\b.*\bsince (?P<a>.+?) when (?P<b>.+?)[?.]*$"),
        ("between", rf"\bhow (?:many )?{_UNIT} (?:before|after) (?P<a>.+?),? (?:did|was|were) (?P<b>.+?)[?.]*$"),
        ("between", rf"\bhow (?:many )?{_UNIT} (?:did it take|passed|went by).*?\bfrom (?P<a>.+?) to (?P<b>.+?)[?.]*$"),
        ("first", r"\b(?:which|what|who|did)\b.*\b(?P<end>first|earlier|earliest|last|later|latest|most recently)\b"
                  r"[^,:]*[,:] (?P<a>.+?),? or (?P<b>.+?)[?.]*$"),
        ("ago", rf"\bhow (?:many )?{_UNIT} ago\b"),
        ("ago", rf"\bhow (?:many )?{_UNIT} (?:has it been|have passed|has passed|is it) since\b"),
        ("when", r"\bwhen\b|\b(?:what|which) (?:date|day|month|year)\b"),
        ("count", r"\bhow many (?P<a>[\w'-]+(?: (?!did|do|does|have|has|had|are|were|was|is|in|on|of)[\w'-]+){0,2})"),
    )
)  # fmt: skip
_PAST = re.compile(r"\b(?:did|was|were|had|have|has)\b", re.I)
_YEAR = re.compile(r"(?:19|20)\d\d")
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+|(?<=[。！？])")
LONGEST = 300


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to compute; `a` and `b` are the things it is computed of."""

    sought: Sought
    unit: str = ""
    a: str = ""
    b: str = ""
    last: bool = False
    past: bool = False
    """Whether it asks about something that has happened: then the day it was told is better than none."""


@dataclass(frozen=True, slots=True)
class Dated:
    """A statement and its time; `told` when it names that time itself, else it is when it was said."""

    hit: Hit
    quote: str
    window: Window
    told: bool

    @property
    def day(self) -> str:
        return phrase(self.window) if self.told else f"said on {phrase(self.window)}"


def wanted(question: str) -> Wanted | None:
    for sought, pattern in _PATTERNS:
        if m := pattern.search(question.strip()):
            given = m.groupdict()
            end = (given.get("end") or "").lower()
            unit = (given.get("unit") or "").lower().rstrip("s")
            late = end in ("last", "later", "latest", "most recently")
            past = _PAST.search(question) is not None
            return Wanted(sought, unit, given.get("a") or "", given.get("b") or "", late, past)
    return None


def statement(question: str, hit: Hit) -> str:
    """The hit's content when short, else the sentence that shares most with the question and what follows it."""
    content = hit.content.strip()
    if len(content) <= LONGEST:
        return content
    best = _nearest(question, content)
    if len(best) > LONGEST:
        return f"{best[: LONGEST - 1]}…"
    start = content.find(best)
    room = content[start : start + LONGEST]
    stops = [m.start() for m in _SENTENCE.finditer(room) if m.start() >= len(best)]
    return room[: stops[-1] if stops else len(best)].strip()


def dated(question: str, hit: Hit) -> Dated | None:
    """When what the hit tells of the question happened; None for a hit that has no time at all.

    Of a document only a date with its year is one: who wrote it when is not known, and "31 March" may mean every year.
    """
    quote = statement(question, hit)
    if hit.timestamp is None:
        return None
    day = _day(hit.timestamp)
    if hit.kind != "message":  # its brackets may tell a longer time than the day it began
        told = (w for w in windows(hit.content, hit.timestamp) if w.start == day.start and not w.denied)
        return Dated(hit, quote, next(told, day), True)
    of_paper = hit.role == "document"
    for sentence in dict.fromkeys((_nearest(question, hit.content), quote)):
        found = windows(sentence, hit.timestamp)
        if when := meant([w for w in found if not of_paper or _YEAR.search(w.text)]):
            return Dated(hit, quote, when, True)
    return None if of_paper else Dated(hit, quote, day, False)


def _day(moment: datetime) -> Window:
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    return Window(midnight, midnight + timedelta(1), "", (0, 0))


def between(one: datetime, two: datetime, unit: str) -> str:
    """The time between two days, in the unit that was asked for."""
    days = abs((two.date() - one.date()).days)
    months = abs((two.year - one.year) * 12 + two.month - one.month)
    if unit in ("", "long", "much time"):
        unit = "day" if days < 14 else "week" if days < 60 else "month" if months < 24 else "year"
    count = {"day": days, "week": round(days / 7), "month": months, "year": round(months / 12)}[unit]
    return f"{count} {unit}{'' if count == 1 else 's'}"


def counted(of: str, hits: Sequence[Hit]) -> list[tuple[Hit, str]]:
    """The statements that speak of the counted thing, each said once; a statement that counts itself stands alone."""
    stems = set(words.question_words(of))
    found: dict[str, tuple[Hit, str]] = {}
    for hit in hits:
        for sentence in _SENTENCE.split(hit.content):
            if stems and stems <= set(words.tokens(sentence)) and not sentence.rstrip().endswith("?"):
                said = sentence.strip()[:LONGEST]
                if _counts(said, stems):
                    return [(hit, said)]
                found.setdefault(said.casefold(), (hit, said))
                break
    return list(found.values())


_NUMBER = re.compile(
    r"\b(?:\d[\d,.]*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|a dozen|twenty|thirty)\b", re.I
)


def _counts(sentence: str, stems: set[str]) -> bool:
    """Whether a number stands right before the counted thing: "three bikes", "5 new plants"."""
    after = (" ".join(sentence[m.end() :].split()[:3]) for m in _NUMBER.finditer(sentence))
    return any(stems & set(words.tokens(following)) for following in after)


def _nearest(question: str, content: str) -> str:
    asked = set(words.question_words(question))
    sentences = [sentence.strip() for sentence in _SENTENCE.split(content) if sentence and sentence.strip()]
    return max(sentences, key=lambda sentence: len(asked & set(words.tokens(sentence))), default=content)
