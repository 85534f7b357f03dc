"""The time a question asks about: the plans of a period, or how something was before."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from holdfast.text.dates import Window, window

AGENDA_AHEAD = timedelta(days=30)
"""How far ahead an agenda question looks when it names no period."""
_AGENDA = re.compile(
    r"\bwhat(?:'s| is| am| are| do| have| will)?\b.*\b(?:coming up|planned|scheduled|on (?:my|our|the) "
    r"(?:calendar|agenda|schedule|plate)|(?:my|our) (?:plans?|schedule|agenda)|(?:am|are) (?:i|we) (?:doing|up to)|"
    r"(?:do|will) (?:i|we) (?:have|be doing)(?: (?:on|planned|to do|coming up|going on))?|happening|going on)\b"
    r"|\b(?:do|have) (?:i|we)(?: have| got)? (?:any(?:thing)?|something) (?:plans|planned|scheduled|on|coming up)\b"
    r"|\bwhat(?:'s| is) next\b",
    re.I,
)
_AGENDA_WORDS = re.compile(
    r"\b(?:what|what's|do|i|we|have|am|are|is|my|our|doing|coming|up|planned|plans?|scheduled?|on|the|calendar|agenda|plate|"
    r"in|for|to|at|will|be|any|anything|something|happening|going|next|got|there|else|this)\b|[^\w\s]",
    re.I,
)


_BEFORE = re.compile(
    r"\b(?:did|was|were|had|used to)\b.*?(?P<cut>\s*,?\bbefore (?:that|(?P<what>[^?.!,]+)))[?.!]*$", re.I
)
_FORMER = re.compile(r"(?<!how )\b(?P<cut>previous|former|old)\b (?!is\b|was\b|are\b)", re.I)
_PAST = re.compile(r"\b(?:did|was|were|used to)\b", re.I)
_STATE = re.compile(
    r"\b(?:live|work|study|use|drive|have|own|pay|cost|call|named?|take|eat|drink|job|city|address|boss|manager|rate|price|"
    r"budget|rent|limit|role|title|hours|open|close|run|approve)\b",
    re.I,
)


def agenda_period(question: str, asked_at: datetime, found: Window | None) -> tuple[datetime, datetime] | None:
    """The period whose plans the question asks for; None when it does not ask for plans, or asks
    about one thing in particular."""
    if not _AGENDA.search(question):
        return None
    rest = question if found is None else question[: found.span[0]] + question[found.span[1] :]
    if _AGENDA_WORDS.sub("", rest).split():
        return None
    today = asked_at.replace(hour=0, minute=0, second=0, microsecond=0)
    if found is None:
        return (
            (today, today + AGENDA_AHEAD)
            if re.search(r"coming up|planned|scheduled|calendar|agenda|next", question, re.I)
            else None
        )
    return max(found.start, today) if found.stop > today else found.start, found.stop


@dataclass(frozen=True, slots=True)
class PastState:
    """Which of several statements over time the question asks for."""

    text: str
    """The question without the words that refer to the past."""
    what: str = ""
    """The state before the first statement that mentions this."""
    at: tuple[datetime, datetime] | None = None
    """The state within this period."""


def past_state(question: str, asked_at: datetime, found: Window | None) -> PastState | None:
    """Recognises a question about how something was; None for any other question."""
    if (m := _BEFORE.search(question)) and (m["what"] is None or window(m["what"], asked_at) is None):
        return PastState(question[: m.start("cut")] + "?", (m["what"] or "").strip())
    if (m := _FORMER.search(question)) and not _FORMER.search(question, m.end()):
        return PastState(question[: m.start("cut")] + question[m.end() :])
    if found is not None and found.stop <= asked_at and _PAST.search(question) and _STATE.search(question):
        start, stop = found.span
        text = (
            re.sub(r"\s+(?:back )?(?:in|on|at|during|by)?\s*[?.!]*$", "", question[:start])
            + "?"
            + question[stop:].strip("?.! ")
        )
        return PastState(text, at=(found.start, found.stop))
    return None
