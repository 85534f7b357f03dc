"""Pure: the statement of a hit that is about the question, its date, and the time between two dates as text.

A date comes from a memory's own time, from words such as "last Friday" in the sentence that is about the question, or
else from the time of the message; nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from holdfast.domain.results import Citation, Hit
from holdfast.text import tokens
from holdfast.text.dates import Window, meant_window, window_phrase, windows
from holdfast.text.lexicon.numbers import A_COMMON_NUMBER
from holdfast.text.lexicon.sentences import ENDS, NOT_AFTER_ABBREVIATION, WIDE_ENDS

_YEAR = re.compile(r"(?:19|20)\d\d")
_SENTENCE = re.compile(rf"(?<=[{ENDS}{WIDE_ENDS}]){NOT_AFTER_ABBREVIATION}\s+|\n+|(?<=[{WIDE_ENDS}])")
MAX_STATEMENT_CHARACTERS = 300
Quoted = tuple[str, tuple[Citation, ...]]
"""The text of an answer and its citations."""


@dataclass(frozen=True, slots=True)
class DatedStatement:
    """A statement and its time. `told` is True when the statement itself names that time; otherwise the
    time is that of the message."""

    hit: Hit
    quote: str
    window: Window
    told: bool

    @property
    def day(self) -> str:
        return window_phrase(self.window) if self.told else f"said on {window_phrase(self.window)}"


def written_day(at: datetime) -> str:
    return f"{at.day} {at:%B %Y}"


def statement_about(question: str, hit: Hit) -> str:
    """The hit's content when short, else the sentence that shares most words with the question, and what follows it."""
    content = hit.content.strip()
    if len(content) <= MAX_STATEMENT_CHARACTERS:
        return content
    best = _nearest_sentence(question, content)
    if len(best) > MAX_STATEMENT_CHARACTERS:
        return f"{best[: MAX_STATEMENT_CHARACTERS - 1]}…"
    start = content.find(best)
    room = content[start : start + MAX_STATEMENT_CHARACTERS]
    stops = [m.start() for m in _SENTENCE.finditer(room) if m.start() >= len(best)]
    return room[: stops[-1] if stops else len(best)].strip()


def sentence_span(text: str, start: int, stop: int) -> tuple[int, int]:
    """The sentence, or the sentences, that the span lies in."""
    breaks = [0, *(m.end() for m in _SENTENCE.finditer(text)), len(text)]
    first = max(each for each in breaks if each <= start)
    last = min(each for each in breaks if each >= stop)
    return first, last


def dated_statement(question: str, hit: Hit) -> DatedStatement | None:
    """When the event that the hit states about the question happened; None for a hit that has no time at all.

    In a document, only a date with a year counts: the time of writing is unknown, and "31 March" may mean every year.
    """
    quote = statement_about(question, hit)
    if hit.timestamp is None:
        return None
    day = _day(hit.timestamp)
    if hit.kind != "message":  # the text may state a longer period than the first day
        told = (w for w in windows(hit.content, hit.timestamp) if w.start == day.start and not w.denied)
        return DatedStatement(hit, quote, next(told, day), True)
    of_paper = hit.role == "document"
    for sentence in dict.fromkeys((_nearest_sentence(question, hit.content), quote)):
        found = windows(sentence, hit.timestamp)
        if when := meant_window([w for w in found if not of_paper or _YEAR.search(w.text)]):
            return DatedStatement(hit, quote, when, True)
    return None if of_paper else DatedStatement(hit, quote, day, False)


def _day(moment: datetime) -> Window:
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    return Window(midnight, midnight + timedelta(1), "", (0, 0))


def duration_between(one: datetime, two: datetime, unit: str) -> str:
    """The time between two days, in the unit asked for."""
    one, two = sorted((one, two))
    days = (two.date() - one.date()).days
    months = (two.year - one.year) * 12 + two.month - one.month - (two.day < one.day)
    if unit in ("", "long", "much time"):
        unit = "day" if days < 14 else "week" if days < 60 else "month" if months < 24 else "year"
        if unit == "year" and months % 12:
            return f"{_counted(months // 12, 'year')} and {_counted(months % 12, 'month')}"
    return _counted({"day": days, "week": round(days / 7), "month": months, "year": months // 12}[unit], unit)


def _counted(count: int, unit: str) -> str:
    return f"{count} {unit}{'' if count == 1 else 's'}"


def counted_statements(of: str, hits: Sequence[Hit]) -> list[tuple[Hit, str]]:
    """The statements about the counted thing, without repetitions; one that contains a count is returned alone."""
    stems = set(tokens.question_words(of))
    found: dict[str, tuple[Hit, str]] = {}
    for hit in hits:
        for sentence in _SENTENCE.split(hit.content):
            if stems and stems <= set(tokens.tokens(sentence)) and not sentence.rstrip().endswith("?"):
                said = sentence.strip()[:MAX_STATEMENT_CHARACTERS]
                if _count_in(said, stems):
                    return [(hit, said)]
                found.setdefault(said.casefold(), (hit, said))
                break
    return list(found.values())


_NUMBER = re.compile(rf"\b(?:\d[\d,.]*|{A_COMMON_NUMBER})\b", re.I)


def _count_in(sentence: str, stems: set[str]) -> bool:
    """Whether a number comes right before the counted thing: "three bikes", "5 new plants"."""
    after = (" ".join(sentence[m.end() :].split()[:3]) for m in _NUMBER.finditer(sentence))
    return any(stems & set(tokens.tokens(following)) for following in after)


def _nearest_sentence(question: str, content: str) -> str:
    asked = set(tokens.question_words(question))
    sentences = [sentence.strip() for sentence in _SENTENCE.split(content) if sentence and sentence.strip()]
    return max(sentences, key=lambda sentence: len(asked & set(tokens.tokens(sentence))), default=content)
