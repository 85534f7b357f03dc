"""Which of the times in a text it says are not meant: instead of the 3rd, not Friday, Thursday doesn't work.

The invariant: a window is only marked, never dropped; that something cannot be on a day counts against that day only
where the same sentence has another one to offer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from .recurring import yearly
from .scene import same_sentence
from .spans import OPEN_START, OPEN_STOP, Window

_CANNOT = (
    r"(?:can['’]?t|cannot|can not|couldn['’]?t|could not|won['’]?t|will not|(?:am|are|is|['’]m|['’]re) not able to)"
)
_DO = r"(?:make|do|come|attend|meet|manage|be (?:there|available|around|free))"
_INSTEAD_OF = re.compile(
    r"\b(?:instead of|rather than|in place of|(?<!if )(?<!why )not)(?: (?:on|in|at|for|until|by))?(?: the)?\s+$", re.I
)
_MOVED_FROM = re.compile(
    r"\b(?:moved|moving|move|pushed|push|postponed|rescheduled|shifted|changed|switched|brought|delayed)\b"
    r"(?: [\w'’-]+){0,6}? from(?: the)?\s+$",
    re.I,
)
_IMPOSSIBLE = re.compile(rf"\b{_CANNOT}(?: [\w'’]+){{0,2}}? {_DO}\b[^,;]*$", re.I)
_NO_GOOD = re.compile(
    r"(?: (?:morning|afternoon|evening|night))?(?:"
    r" (?:doesn['’]?t|does not|won['’]?t|will not|isn['’]?t going to|is not going to|didn['’]?t)"
    r" (?:\w+ )?(?:work|suit|fit)\b"
    r"| (?:is|['’]s|was) (?:out|off|no good|not possible|impossible|full|booked out|taken|bad)\b)",
    re.I,
)


def instead_of(text: str, start: int) -> bool:
    """Whether the words before this place rule out what begins here."""
    return _INSTEAD_OF.search(text, max(0, start - 24), start) is not None


def moved_from(text: str, start: int) -> bool:
    """Whether something is moved away from the time that begins here."""
    return _MOVED_FROM.search(text, max(0, start - 70), start) is not None


def marked(found: Sequence[Window], text: str) -> list[Window]:
    """The windows, those that the text rules out marked as denied, and those that come back as yearly."""
    firm = [replace(w, denied=_ruled_out(w, text), yearly=yearly(text, *w.span)) for w in found]
    return [
        replace(w, denied=True)
        if not w.denied and _impossible(w, text) and any(_offered(other, w, text) for other in firm)
        else w
        for w in firm
    ]


def meant(found: Sequence[Window], *, bounded: bool = True) -> Window | None:
    """The time of what is told: the first that is not denied, not yearly and, if `bounded`, open to neither side."""
    for w in found:
        is_open = w.start.year == OPEN_START or w.stop.year == OPEN_STOP
        if not (w.denied or w.yearly or (bounded and is_open)):
            return w
    return None


def _ruled_out(w: Window, text: str) -> bool:
    return instead_of(text, w.span[0]) or moved_from(text, w.span[0])


def _impossible(w: Window, text: str) -> bool:
    before = text[max(0, w.span[0] - 70) : w.span[0]]
    return _IMPOSSIBLE.search(before) is not None or _NO_GOOD.match(text, w.span[1]) is not None


def _offered(other: Window, w: Window, text: str) -> bool:
    apart = other.span != w.span and not other.denied and not _impossible(other, text)
    return apart and same_sentence(text, min(other.span[1], w.span[1]), max(other.span[0], w.span[0]))
