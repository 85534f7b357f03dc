"""Pure: whether two statements say the same in other words.

Static vectors tell that every word has a near one in the other statement; numbers, names and negations must be the very
same, for a statement with another one of these is another fact.
"""

from __future__ import annotations

import re

from . import statics, words
from .types import Draft, Memory

NEAR = 0.6
_FRAME = words.STOP | {"the", "user", "asked", "answered", "said", "user's"}
"""Words that a rendering adds, or that carry no meaning."""
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NAME = re.compile(r"\b[A-ZÀ-Þ][\w'’-]*")
_WORD = re.compile(r"[\w'’-]+")
_NEGATED = re.compile(
    r"\b(?:no|not|never|without|none|nobody|nothing|neither|nor|cannot|stopped|quit|former|formerly|hates?|dislikes?)\b|"
    r"n['’]t\b",
    re.I,
)


def restates(draft: Draft, memory: Memory) -> bool:
    """Whether the draft says again what the memory says, of the same time."""
    if draft.kind != memory.kind or draft.occurred_at != memory.occurred_at:
        return False
    return same(draft.content, memory.content)


def same(one: str, other: str) -> bool:
    if _marks(one) != _marks(other) or not (_named_in(one, other) and _named_in(other, one)):
        return False
    return min(weakest(one, other), weakest(other, one)) >= NEAR


def _named_in(one: str, other: str) -> bool:
    """Whether every name of `one` is a word of `other`."""
    names = {name.casefold() for name in _NAME.findall(one)} - _FRAME
    return names <= set(_WORD.findall(other.casefold()))


def weakest(one: str, other: str) -> float:
    """How near the word of `one` that is farthest from all words of `other` comes to them: 0 to 1."""
    tokens = [statics.token_ids(other)[0]]
    spoken = [word for word in dict.fromkeys(_WORD.findall(one.lower())) if word not in _FRAME]
    return min((float(statics.maxsim([(word, 1.0)], tokens)[0]) for word in spoken), default=1.0)


def _marks(text: str) -> tuple[frozenset[str], bool]:
    """Its numbers, and whether it denies."""
    return frozenset(_NUMBER.findall(text)), _NEGATED.search(text) is not None
