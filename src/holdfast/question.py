"""Pure: a question → what to look for: its words, its time window, the keys it may name, what it asks for.

No model, no guess: a window is computed from the words and the moment of asking, or there is none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from . import words
from .when import window

_PUNCTUATION = "?!.,;:\"'()[]“”‘’…"
_INTENTS = (
    ("count", r"\bhow (?:many|often|much)\b|\bnumber of\b|\btotal\b"),
    ("time", r"\bwhen\b|\bhow (?:long|old|recent)|\b(?:what|which) (?:date|day|month|year|time|week)\b|\bsince when\b"),
    ("preference", r"\b(?:suggest|recommend|advice|ideas?|tips?|should i|would (?:i|\w+) (?:like|enjoy))\b"),
    ("comparison", r"\b(?:compare|difference|versus|vs|rather|better|first|earlier|later|more than|less than)\b"),
    ("list", r"\b(?:list|which|what (?:are|were|all|kinds?|types?)|everything|all (?:the|of))\b"),
    ("how", r"\bhow (?:do|did|does|to|can|should)\b"),
)
_FIRST_PERSON = re.compile(r"\b(?:i|my|me|mine|i'm|i've|i'd|we|our|us)\b", re.I)
_MOST_KEYS = 50


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question asks, as far as its words tell."""

    text: str
    words: tuple[str, ...]
    """The stems to look for."""
    plain: tuple[tuple[str, str], ...]
    """(word as written in lower case, its stem), for words that carry meaning."""
    keys: tuple[str, ...]
    window: tuple[datetime, datetime] | None
    intent: str
    first_person: bool


def analysed(text: str, asked_at: datetime) -> Asked:
    plain = tuple((word, stems[0]) for word in _content_words(text) if len(stems := words.tokens(word)) == 1)
    found = window(text, asked_at)
    return Asked(
        text=text,
        words=words.question_words(text),
        plain=plain,
        keys=_keys(text, [word for word, _ in plain]),
        window=None if found is None else (found.start, found.stop),
        intent=next((name for name, pattern in _INTENTS if re.search(pattern, text.lower())), "fact"),
        first_person=_FIRST_PERSON.search(text) is not None,
    )


def _content_words(text: str) -> list[str]:
    stripped = (word.strip(_PUNCTUATION).removesuffix("'s").removesuffix("’s") for word in text.lower().split())
    kept = [word for word in stripped if word]
    return list(dict.fromkeys(word for word in kept if word not in words.STOP)) or kept


def _keys(text: str, plain: list[str]) -> tuple[str, ...]:
    """Keys a question may name outright: itself, its words, and neighbouring words joined."""
    pairs = [f"{first}-{second}" for first, second in pairwise(plain)]
    return tuple(dict.fromkeys([text.strip(), *plain, *pairs, "-".join(plain)]))[:_MOST_KEYS]
