"""The row type of the tables of facts, and shared parts of their patterns.

A row's pattern matches the predicate ("live in Porto") or, in possessions.py, the whole clause ("my budget is 500").
`{v}` in the topic is the slug of the value. The topic of a fact that has one value at a time does not contain the
value, so that the next value supersedes this one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast.text.lexicon.numbers import A_NUMBER_TO_TWELVE

PROPER_NAME = r"(?-i:(?P<v>(?:the )?[A-ZÀ-Þ][\w'.&-]*(?: (?:of |de |da |do |del |la |upon )?[A-ZÀ-Þ][\w'.&-]*){0,3}))"
LOWERCASE_NAME = r"(?P<v>[a-zà-ÿ][\w'-]{2,20}(?: [a-zà-ÿ][\w'-]{2,20})?)$"
NUMBER = rf"(?:\d{{1,4}}|an?|{A_NUMBER_TO_TWELVE}|no)"


@dataclass(frozen=True, slots=True)
class FactRow:
    name: str
    pattern: re.Pattern[str]
    topic: str
    confidence: float
    queries: tuple[str, ...]
    content: str = ""
    lower: bool = False
    """Used only for messages without capitals, where a name cannot be recognised by its first letter."""


def fact_row(name: str, pattern: str, topic: str, confidence: float, queries: str, **more: object) -> FactRow:
    """Creates a row; `queries` are separated by bars."""
    content, lower = str(more.get("content", "")), bool(more.get("lower"))
    return FactRow(name, re.compile(pattern, re.I), topic, confidence, tuple(queries.split("|")), content, lower)
