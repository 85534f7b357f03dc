"""Marks the times that a text rules out: instead of the 3rd, not Friday, Thursday doesn't work.

The invariant: a window is only marked, never removed. A day on which something is impossible is marked only when the
same sentence offers another day.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from holdfast.text.dates.context import same_sentence
from holdfast.text.dates.habits import is_recurring
from holdfast.text.dates.spans import OPEN_START, OPEN_STOP, Window
from holdfast.text.lazy_pattern import lazy_pattern
from holdfast.text.lexicon.change import INSTEAD_OF, RESCHEDULING_VERBS

_CANNOT = (
    r"(?:can['’]?t|cannot|can not|couldn['’]?t|could not|won['’]?t|will not|(?:am|are|is|['’]m|['’]re) not able to)"
)
_DO = r"(?:make|do|come|attend|meet|manage|be (?:there|available|around|free))"
_INSTEAD_OF = lazy_pattern(
    rf"\b(?:{INSTEAD_OF}|in place of|(?<!if )(?<!why )not)(?: (?:on|in|at|for|until|by))?(?: the)?\s+$", re.I
)
_MOVED_FROM = lazy_pattern(
    rf"\b(?:{RESCHEDULING_VERBS}|moving|move|push|changed|switched|brought|delayed)\b"
    r"(?: [\w'’-]+){0,6}? from(?: the)?\s+$",
    re.I,
)
_IMPOSSIBLE = lazy_pattern(rf"\b{_CANNOT}(?: [\w'’]+){{0,2}}? {_DO}\b[^,;]*$", re.I)
_NO_GOOD = lazy_pattern(
    r"(?: (?:morning|afternoon|evening|night))?(?:"
    r" (?:doesn['’]?t|does not|won['’]?t|will not|isn['’]?t going to|is not going to|didn['’]?t)"
    r" (?:\w+ )?(?:work|suit|fit)\b"
    r"| (?:is|['’]s|was) (?:out|off|no good|not possible|impossible|full|booked out|taken|bad)\b)",
    re.I,
)


def is_after_instead_of(text: str, start: int) -> bool:
    """Whether the words before this position ("instead of", "not") rule out the time that begins here."""
    return _INSTEAD_OF.search(text, max(0, start - 24), start) is not None


def is_after_moved_from(text: str, start: int) -> bool:
    """Whether something is moved away from the time that begins here."""
    return _MOVED_FROM.search(text, max(0, start - 70), start) is not None


def with_denials(found: Sequence[Window], text: str) -> list[Window]:
    """Marks the windows that the text rules out as denied, and yearly dates and habits as recurring."""
    firm = [replace(w, denied=_is_ruled_out(w, text), recurring=is_recurring(text, *w.span)) for w in found]
    return [
        replace(w, denied=True)
        if not w.denied and _is_impossible(w, text) and any(_is_offered_beside(other, w, text) for other in firm)
        else w
        for w in firm
    ]


def meant_window(found: Sequence[Window], *, bounded: bool = True) -> Window | None:
    """The time of a statement: the first window that is neither denied nor recurring nor, if
    `bounded`, open to one side."""
    for w in found:
        is_open = w.start.year == OPEN_START or w.stop.year == OPEN_STOP
        if not (w.denied or w.recurring or (bounded and is_open)):
            return w
    return None


def _is_ruled_out(w: Window, text: str) -> bool:
    return is_after_instead_of(text, w.span[0]) or is_after_moved_from(text, w.span[0])


def _is_impossible(w: Window, text: str) -> bool:
    before = text[max(0, w.span[0] - 70) : w.span[0]]
    return _IMPOSSIBLE.search(before) is not None or _NO_GOOD.match(text, w.span[1]) is not None


def _is_offered_beside(other: Window, w: Window, text: str) -> bool:
    apart = other.span != w.span and not other.denied and not _is_impossible(other, text)
    return apart and same_sentence(text, min(other.span[1], w.span[1]), max(other.span[0], w.span[0]))
