"""The context of an expression, on which its meaning depends: the reference time, the expression before, the clause.

The invariant: the tense is taken from at most 90 characters before the expression and 60 after, never beyond its
sentence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from holdfast.text.dates.spans import Span, Window, midnight
from holdfast.text.lazy_pattern import lazy_pattern
from holdfast.text.lexicon.change import RESCHEDULING_VERBS
from holdfast.text.lexicon.sentences import ENDS

_FUTURE_CUES = "|".join(
    (
        "(?:getting|gets?|be) (?:[a-z]+ed|paid|brought|kept|held|sent|told|made|sold|taught|built|read|done|seen)",
        f"(?:got|been|was|were) (?:{RESCHEDULING_VERBS}|delayed|extended|changed|brought)",
        rf"(?:{RESCHEDULING_VERBS}|delayed|slipped|deferred|rebooked|put)(?: it| that| them)?(?: back| forward)?"
        r"(?: from(?: [\w'’-]+){1,3})? (?:to|from|for|until)(?: the)?(?=\s*$)",
        rf"(?:{RESCHEDULING_VERBS}|rebooked)(?: [\w'’-]+){{1,6}} (?:to|until)(?: the)?(?=\s*$)",
        r"(?:raised|increased|upped|lowered|reduced|cut|changed)(?: [\w'’.,€$£%-]+){1,8} (?:from|as of)(?=\s*$)",
        "will|ll|won't|going to|gonna|plan|planning|planned|upcoming|due|deadline|remind|needs? to|ha(?:ve|s) to",
        "must|should|booked|booking|scheduled|reserved|registered|signed up|flying|leaving|starts?|coming|tomorrow",
        "let's|want|hope|hoping|expect(?:ing)?|by|until|till|can|meets?|ends?(?! of)|appointment|expires",
        "takes? place|begins|opens|closes|launch(?:es)?|leaves?|arrives?|departs?|returns|retires|renews|resumes",
        "(?<!was )(?<!were )(?<!been )(?:seeing|meeting|visiting|getting)|goes (?:up|down|live)",
        "(?:be|is|are|am|comes?|coming|(?<=['’])(?:s|re|m)) back|comes|looking forward",
        "(?:is|are|am) (?:called|named)|is|are|am|(?<=['’])(?:m|re)",
        "(?<=it['’])s|(?<=now )its",
    )
)
_PAST_CUES = "|".join(
    (
        "was|were|had|did|didn't|went|got|came|saw|met|took|bought|made|been|gave|left|began|ate|flew|drove|ran|won",
        "lost|spent|told|said|thought|found|ago|back (?:in|then|when)|since|born|broke|built|wrote|read|held|sold",
        "became|quit|fell",
        r"(?<!\bis )(?<!\bare )(?<!\bam )(?:sown|grown|written|taken|given|gone|seen|done|chosen|broken|eaten|driven|"
        "flown|fallen)",
        "felt|knew|sent|paid|brought|caught|kept|heard|woke|swam|drank|grew|threw|rode|wore|chose|forgot|taught|spoke",
        r"(?!need\b|indeed\b|speed\b|feed\b|seed\b)[a-z]{2,}ed",
    )
)
_PLANNED_ONCE = (
    "(?:was|were|been) (?:(?:first|originally|once|only|all) )?"
    "(?:meant|supposed|due|going|planned|scheduled|set|listed|booked|to (?:be|have))"
)
"""A plan as it was before: its day may be past or still to come."""
_CUE = lazy_pattern(rf"\b(?:{_PLANNED_ONCE}|(?P<ahead>{_FUTURE_CUES})|(?P<behind>{_PAST_CUES}))\b", re.I)
_PAST_VERB = lazy_pattern(
    r"(?<!\bam )(?<!\bis )(?<!\bare )(?<!\bbe )(?<![’']m )(?<![’']s )(?<![’']re )"
    rf"\b(?!(?:back|ago|told|said|thought|heard|read)\b)(?:{_PAST_CUES})\b",
    re.I,
)
_CLAUSE_BORDER = lazy_pattern(rf"[{ENDS},;:()\n–—]|\b(?:and|but|so|that|because|which|who)\b", re.I)
_NUMERIC = lazy_pattern(r"(?<![\d/.-])(\d{1,2})[-/](\d{1,2})[-/](?:\d{4}|\d\d)(?![\d/-])")
MAX_SENTENCE_GAP_CHARS = 200
"""Two positions that are further apart are never in the same sentence. Chosen by hand; not measured."""
_SENTENCE_END = lazy_pattern(rf"[{ENDS};\n](?!(?<=\d\.)\d)")
"""The point in "1.9" ends no sentence."""


@dataclass(frozen=True, slots=True)
class ExpressionContext:
    """`now` is the time of the message, `anchor` the span of the expression before, `around` the
    match of this one in its text."""

    now: datetime
    anchor: Span | None
    around: re.Match[str]
    forced_tense: int | None = None
    earlier: Window | None = None
    """The expression before, if it is in the same sentence."""
    day_first: bool | None = None
    """Whether the text's numeric dates have the day first; None when the text does not show it."""

    @property
    def today(self) -> datetime:
        return midnight(self.now)

    @property
    def tense(self) -> int:
        """-1 past, 1 future, 0 neither: the tense of the clause, unless one is forced."""
        return (
            _clause_tense(self.around.string, *self.around.span()) if self.forced_tense is None else self.forced_tense
        )


def is_in_past_clause(text: str, start: int, stop: int) -> bool:
    """Whether the clause around these positions has a verb in the past: "we married on 3 May", but not "I got the flat,
    moving in on 3 May"."""
    before = _CLAUSE_BORDER.split(text[max(0, start - 60) : start])[-1]
    after = _CLAUSE_BORDER.split(text[stop : stop + 60])[0]
    return any(_PAST_VERB.search(each) for each in (before, after))


def day_first(text: str) -> bool | None:
    """Whether the day comes first in the text's numeric dates; None unless some can only be read one way
    and none contradict them."""
    pairs = [(int(m[1]), int(m[2])) for m in _NUMERIC.finditer(text)]
    told = {a > 12 for a, b in pairs if (a > 12) != (b > 12)}
    return told.pop() if len(told) == 1 else None


def same_sentence(text: str, start: int, stop: int) -> bool:
    """Whether these two positions are close to each other and no sentence ends between them."""
    return stop - start <= MAX_SENTENCE_GAP_CHARS and _SENTENCE_END.search(text, start, stop) is None


def _clause_tense(text: str, start: int, stop: int) -> int:
    """The tense of the nearest cue before the expression in its sentence, else of the first cue after it."""
    before = _SENTENCE_END.split(text[max(0, start - 90) : start])[-1]
    after = _SENTENCE_END.split(text[stop : stop + 60])[0]
    cues = [*_CUE.finditer(before)][-1:] or [*_CUE.finditer(after)][:1]
    return (1 if cues[0]["ahead"] else -1 if cues[0]["behind"] else 0) if cues else 0
