"""What an expression's meaning depends on besides its own words: the moment, the expression before, the clause.

The invariant: the lean reads at most 90 characters before the expression and 60 after, never past its sentence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from .spans import Span, Window, midnight

_AHEAD = "|".join(
    (
        "(?:getting|gets?|be) (?:[a-z]+ed|paid|brought|kept|held|sent|told|made|sold|taught|built|read|done|seen)",
        "(?:got|been|was|were) (?:moved|pushed|postponed|rescheduled|delayed|extended|shifted|changed|brought)",
        r"(?:moved|pushed|postponed|rescheduled|delayed|shifted)(?: it| that| them)?(?: back| forward)?"
        r"(?: from(?: [\w'’-]+){1,3})? (?:to|from)(?: the)?(?=\s*$)",
        "will|ll|won't|going to|gonna|plan|planning|planned|upcoming|due|deadline|remind|needs? to|ha(?:ve|s) to",
        "must|should|booked|booking|scheduled|reserved|registered|signed up|flying|leaving|starts?|coming|tomorrow",
        "let's|want|hope|hoping|expect(?:ing)?|by|until|till|can|meets?|ends?(?! of)|appointment|expires",
        "takes? place|begins|opens|closes|launch(?:es)?|leaves?|arrives?|departs?|returns|retires|renews|resumes",
        "comes|(?:be|come|coming) back|looking forward|is|are|am|(?<=['’])(?:m|re)",
    )
)
_BEHIND = "|".join(
    (
        "was|were|had|did|didn't|went|got|came|saw|met|took|bought|made|been|gave|left|began|ate|flew|drove|ran|won",
        "lost|spent|told|said|thought|found|ago|back|since|born|broke|built|wrote|read|held|sold|became|quit|fell",
        "felt|knew|sent|paid|brought|caught|kept|heard|woke|swam|drank|grew|threw|rode|wore|chose|forgot|taught|spoke",
        r"(?!need\b|indeed\b|speed\b|feed\b|seed\b)[a-z]{2,}ed",
    )
)
_CUE = re.compile(rf"\b(?:(?P<ahead>{_AHEAD})|(?P<behind>{_BEHIND}))\b", re.I)
_NUMERIC = re.compile(r"(?<![\d/.-])(\d{1,2})[-/](\d{1,2})[-/](?:\d{4}|\d\d)(?![\d/-])")
NEAR = 200
_SENTENCE_END = re.compile(r"[.!?;\n]")


@dataclass(frozen=True, slots=True)
class Scene:
    """`now` is the moment of speech, `anchor` the expression before, `around` this one in its text."""

    now: datetime
    anchor: Span | None
    around: re.Match[str]
    forced: int | None = None
    earlier: Window | None = None
    """The expression before, where it stands in the same sentence."""
    day_first: bool | None = None
    """The order of the text's numeric dates, as far as it tells."""

    @property
    def today(self) -> datetime:
        return midnight(self.now)

    @property
    def lean(self) -> int:
        """-1 past, 1 future, 0 neither: what the clause says, unless a lean is forced."""
        return _lean(self.around.string, *self.around.span()) if self.forced is None else self.forced


def day_first(text: str) -> bool | None:
    """The order that the text's numeric dates keep, where any can be read in one order only and none disagree."""
    pairs = [(int(m[1]), int(m[2])) for m in _NUMERIC.finditer(text)]
    told = {a > 12 for a, b in pairs if (a > 12) != (b > 12)}
    return told.pop() if len(told) == 1 else None


def same_sentence(text: str, start: int, stop: int) -> bool:
    """Whether these two places are near each other and no sentence ends between them."""
    return stop - start <= NEAR and _SENTENCE_END.search(text, start, stop) is None


def _lean(text: str, start: int, stop: int) -> int:
    """The nearest cue before the expression in its sentence, else the first after it."""
    before = _SENTENCE_END.split(text[max(0, start - 90) : start])[-1]
    after = _SENTENCE_END.split(text[stop : stop + 60])[0]
    cues = [*_CUE.finditer(before)][-1:] or [*_CUE.finditer(after)][:1]
    return (1 if cues[0]["ahead"] else -1) if cues else 0
