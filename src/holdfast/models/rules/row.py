"""One row of the tables of facts, and the pieces their patterns are made of.

A row's pattern meets the predicate ("live in Porto") or, in `about_things`, the whole clause ("my budget is 500").
`{v}` in the topic is the slug of the value. Single-valued topics carry no value, so the next value supersedes this one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

PROPER = r"(?-i:(?P<v>(?:the )?[A-ZÀ-Þ][\w'.&-]*(?: (?:of |de |da |do |del |la |upon )?[A-ZÀ-Þ][\w'.&-]*){0,3}))"
LOOSE = r"(?P<v>[a-zà-ÿ][\w'-]{2,20}(?: [a-zà-ÿ][\w'-]{2,20})?)$"
NUMBER = r"(?:\d{1,4}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|no)"


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    pattern: re.Pattern[str]
    topic: str
    confidence: float
    queries: tuple[str, ...]
    content: str = ""
    lower: bool = False
    """Only in a message written without capitals, where a name cannot be told by its first letter."""


def row(name: str, pattern: str, topic: str, confidence: float, queries: str, **more: object) -> Row:
    """A row; its questions are written with bars between them."""
    content, lower = str(more.get("content", "")), bool(more.get("lower"))
    return Row(name, re.compile(pattern, re.I), topic, confidence, tuple(queries.split("|")), content, lower)
