"""What a question wants computed rather than quoted: a date, a duration, an order of events, or a count."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Computed = Literal["when", "ago", "since", "until", "lasting", "between", "first", "count"]
_UNIT = r"(?P<unit>days?|weeks?|months?|years?|long|much time)"
_PATTERNS: tuple[tuple[Computed, re.Pattern[str]], ...] = tuple(
    (what, re.compile(pattern, re.I))  # type: ignore[misc]
    for what, pattern in (
        ("between", rf"\bhow (?:many )?{_UNIT}\b.*\bbetween (?P<a>.+?) and (?P<b>.+?)[?.]*$"),
        ("between", rf"\bhow (?:many )?{_UNIT}\b.*\bsince (?P<a>.+?) when (?P<b>.+?)[?.]*$"),
        ("between", rf"\bhow (?:many )?{_UNIT} (?:before|after) (?P<a>.+?),? (?:did|was|were) (?P<b>.+?)[?.]*$"),
        ("between", rf"\bhow (?:many )?{_UNIT} (?:did it take|passed|went by).*?\bfrom (?P<a>.+?) to (?P<b>.+?)[?.]*$"),
        ("first", r"\b(?:which|what|who|did)\b.*\b(?P<end>first|earlier|earliest|last|later|latest|most recently)\b"
                  r"[^,:]*[,:] (?P<a>.+?),? or (?P<b>.+?)[?.]*$"),
        ("ago", rf"\bhow (?:many )?{_UNIT} ago\b"),
        ("ago", rf"\bhow (?:many )?{_UNIT} (?:has it been|have passed|has passed|is it) since\b"),
        ("until", rf"\bhow (?:many )?{_UNIT}(?: away\b|\b.*\b(?:until|till|to go|left|before)\b)"),
        ("lasting", rf"\bhow (?:many )?{_UNIT} (?:am|are|is|was|were)\b(?!.*\b(?:been|already|since)\b)"),
        ("since", rf"\bhow (?:many )?{_UNIT} (?:have|has|had|am|are|is|was|were)\b"),
        ("when", r"^(?!\W*(?:what|which|who|whom|whose|where|why|how)\b(?!.*\b(?:and|or) when\b)).*\bwhen\b"
                 r"|\b(?:what|which) (?:date|day(?! (?:do|does)\b)|month|year)\b|\bdate of\b"),
        ("count", r"\bhow many (?P<a>[\w'-]+(?: (?!did|do|does|have|has|had|are|were|was|is|in|on|of)[\w'-]+){0,2})"),
    )
)  # fmt: skip
_PAST = re.compile(r"\b(?:did|was|were|had|have|has)\b", re.I)


@dataclass(frozen=True, slots=True)
class Computation:
    """What to compute; `a` and `b` are the operands."""

    what: Computed
    unit: str = ""
    a: str = ""
    b: str = ""
    last: bool = False
    past: bool = False
    """Whether the question is about something that has happened; if so, the day of the
    message is an acceptable date."""


def computation_in(question: str) -> Computation | None:
    for what, pattern in _PATTERNS:
        if m := pattern.search(question.strip()):
            given = m.groupdict()
            end = (given.get("end") or "").lower()
            unit = (given.get("unit") or "").lower().rstrip("s")
            late = end in ("last", "later", "latest", "most recently")
            past = _PAST.search(question) is not None
            return Computation(what, unit, given.get("a") or "", given.get("b") or "", late, past)
    return None
