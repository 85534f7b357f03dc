"""Recognises habits: open Tuesday to Saturday, every other Monday, usually on Wednesday.

The invariant: only bare weekdays are habits, never a day that "next", "this" or a date tells apart; and the words of
one sentence decide.
"""

from __future__ import annotations

import re

from holdfast.text.dates.context import same_sentence
from holdfast.text.dates.recurrence import recurs_yearly
from holdfast.text.dates.vocabulary import A_WEEKDAY, UP_TO
from holdfast.text.lazy_pattern import lazy_pattern

_GAP_OR_EACH = lazy_pattern(r"(?:every|each)\b|.*\b(?:of|in)\s+(?:each|every)\s+month$", re.I | re.S)
"""The texts of windows that stand for the next of many: "every other Monday", "the first Friday of every month"."""
_AND = rf"(?:{UP_TO}|\s*[,/&]\s*(?:and\s+)?|\s+(?:and|or)\s+)(?:on\s+)?"
_SEVERAL_DAYS = lazy_pattern(rf"\b(?:from\s+)?{A_WEEKDAY}\b(?:(?:{_AND}|\s+){A_WEEKDAY}\b)+", re.I)
_DAY = lazy_pattern(rf"{A_WEEKDAY}\b", re.I)
_WEEKDAYS = lazy_pattern(rf"(?:from\s+)?{A_WEEKDAY}(?:{_AND}{A_WEEKDAY})*", re.I)
_STANDING = lazy_pattern(
    r"\b(?:open|closed|shut|hours|working days|(?:i|we|you|they) (?:only )?(?:work|teach|train|swim|fast)|"
    r"(?:works|teaches|trains|runs))\b[^.;!?\n]*$",
    re.I,
)
"""What is so on several days of the week is so in every week: opening hours, working days."""
_ONCE = lazy_pattern(r"(?:\b(?:will|was|were|going to|had|did|been|won['’]t)\b|['’]ll\b)[^.;!?\n]*$", re.I)
_CLOCK = r"\d{1,2}(?:[:.]\d\d)?\s*(?:am|pm)?"
_HOURS_AFTER = lazy_pattern(rf",?\s+(?:from\s+)?{_CLOCK}\s*(?:-|–|to|till|until)\s*{_CLOCK}\b", re.I)
_REGULARLY = lazy_pattern(
    r"\b(?:usually|normally|typically|generally|regularly|weekly|fortnightly|biweekly|most weeks|"
    r"(?:every|each) (?:week|fortnight|other week|second week|(?:two|2|three|3|four|4) weeks))\b",
    re.I,
)
_A_WEEK = r",?\s+(?:(?:of|in)\s+)?(?:this|next|last|the\s+(?:coming|following)|coming)\b"
_OF_ONE_WEEK, _ONE_WEEK = lazy_pattern(_A_WEEK, re.I), lazy_pattern(rf"{_A_WEEK}|,?\s+\d", re.I)
_EACH_BEFORE = lazy_pattern(r"\b(?:every|each)\s+$", re.I)
_PARTS_AFTER = lazy_pattern(r"\s+(?:mornings|afternoons|evenings|nights)\b", re.I)
_PART_OF_DAY = r"(?:\s+(?:morning|afternoon|evening|night|lunchtime))"
_ACTIVITY = (
    r"(?:class|course|lesson|group|club|practice|training|rehearsal|choir|session|shift|slot|run|ride|walk|swim|round|"
    r"market|stall|meeting|standup|stand-up|sync|deploy|deployment|release|quiz|league|service|workshop|team|crew|lecture|"
    r"seminar|tutorial)"
)
_OTHER_WORD = (
    r"(?!(?:a|an|the|my|our|his|her|its|their|your|this|that|no|i|we|he|she|it|they|you|is|are|was|were|has|have|had|at|"
    r"for|from|after|before|and|or|but|to|with|as|if|when|then|there|in|on|by)\b)[a-z][\w-]*"
)
_BARE_DAY = lazy_pattern(rf"{A_WEEKDAY}{_PART_OF_DAY}?", re.I)
_NAMES_ACTIVITY = lazy_pattern(
    rf"\b(?:the|my|our|his|her|their|your)\s+(?:new\s+|old\s+|usual\s+)?{A_WEEKDAY}{_PART_OF_DAY}?\s+"
    rf"(?:{_OTHER_WORD}\s+)?{_ACTIVITY}(?:e?s)?\b",
    re.I,
)
"""A weekday that names an activity: "the Tuesday class" is held every Tuesday."""
_MOVED_TO = lazy_pattern(r"\b(?:mov\w+|shift\w*|switch\w*|chang\w+|now|goes|went)\b[^.;!?\n]*?\b(?:to|on)\s+$", re.I)
_ROUND_OF_DAYS = (
    r"(?:deploy|deployment|release|bin|rubbish|trash|garbage|recycling|wash|laundry|market|match|game|rest|leg|cheat|date|"
    r"movie|film|quiz|training|practice|delivery|collection|shopping|cleaning|library|swimming|gym|office|rota|club|pub|"
    r"poker|pizza|taco|chore|duty|late|early) (?:day|night)"
)
_ACTIVITIES_ARE = lazy_pattern(
    rf"\b(?:(?:[\w-]+ )?(?!class\b){_ACTIVITY}e?s\s+(?:are|run)|{_ROUND_OF_DAYS}s?\s+(?:is|are))\s+"
    rf"(?:(?:now|only|always)\s+){{0,2}}(?:on\s+)?"
    rf"(?:{A_WEEKDAY}{_PART_OF_DAY}?(?:{_AND}|\s+))*$",
    re.I,
)
"""What is said of several: "classes are Tuesday evening and Saturday morning", "bin day is Thursday"."""
_MAX_BEFORE = 60
MANY_DAYS = 3
"""So many weekdays in a row are those of every week: "dialysis saturday, monday, wednesday". Chosen by hand."""


def is_recurring(text: str, start: int, stop: int) -> bool:
    """Whether the time written here is one of many: a yearly date or a habit of certain weekdays."""
    if recurs_yearly(text, start, stop) or _GAP_OR_EACH.match(text[start:stop]):
        return True
    if _is_of_activity(text, start, stop):
        return True
    if _WEEKDAYS.fullmatch(text, start, stop) is None:
        return False
    near = _SEVERAL_DAYS.finditer(text, max(0, start - _MAX_BEFORE), stop + _MAX_BEFORE)
    days = next((m.span() for m in near if m.start() <= start and stop <= m.end()), None)
    first, last = days or (start, stop)
    before, after = text[max(0, first - _MAX_BEFORE) : first], text[last : last + _MAX_BEFORE]
    if _EACH_BEFORE.search(before) or _PARTS_AFTER.match(after) or (days is not None and _HOURS_AFTER.match(after)):
        return True
    many = sum(1 for _ in _DAY.finditer(text, first, last)) >= MANY_DAYS
    if (_OF_ONE_WEEK if many else _ONE_WEEK).match(after) or _ONCE.search(before):
        return False
    return many or _is_regular(text, first, last) or (days is not None and _STANDING.search(before) is not None)


def _is_of_activity(text: str, start: int, stop: int) -> bool:
    """Whether the weekday written here names an activity, is what such a one moved to, or when several are."""
    if _BARE_DAY.fullmatch(text, start, stop) is None:
        return False
    before, after = max(0, start - _MAX_BEFORE), stop + _MAX_BEFORE
    named = [m.span() for m in _NAMES_ACTIVITY.finditer(text, before, after)]
    if any(first <= start < last for first, last in named):
        return True
    if _ONE_WEEK.match(text, stop):
        return False
    moved = any(last <= start and same_sentence(text, last, start) for _, last in named)
    said = text[before:start]
    return (moved and _MOVED_TO.search(said) is not None) or _ACTIVITIES_ARE.search(said) is not None


def _is_regular(text: str, first: int, last: int) -> bool:
    """Whether a word of the sentence says that it is so again and again."""
    near = _REGULARLY.finditer(text, max(0, first - _MAX_BEFORE), last + _MAX_BEFORE)
    return any(same_sentence(text, min(m.end(), last), max(m.start(), first)) for m in near)
