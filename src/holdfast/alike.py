"""Pure: whether two statements say the same in other words, or the later one gives a thing its new numbers.

Static vectors tell that every word has a near one in the other statement; numbers, names and negations must be the very
same, for a statement with another one of these is another fact.
"""

from __future__ import annotations

import re
from collections.abc import Set

from . import statics, words
from .types import Draft, Memory

NEAR = 0.6
SHARED = 0.2
_FRAME = words.STOP | {"the", "user", "asked", "answered", "said", "user's"}
"""Words that a rendering adds, or that carry no meaning."""
_FRAME_STEMS = {stem for word in ("user", "asked", "answered", "said") for stem in words.tokens(word)}
_ASIDE = re.compile(r" \([^()]*\)")
_CHANGED = re.compile(
    r"\b(?:now|no longer|any ?more|instead|switched|changed|from now on|these days|pushed|moved|postponed|became|"
    r"replaced|swapped|after all|scratch that|actually|correction|upgraded|went (?:up|down)|raised|dropped to|back to|"
    r"new)\b",
    re.I,
)
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


def updates(draft: Draft, memory: Memory, rare: Set[str]) -> bool:
    """Whether the draft tells that what the memory numbers has changed: "seats are at 60 now" after "25 seats".

    It must speak of a change, share one of the `rare` words and a fair part of all, and have none of the old numbers.
    """
    new, old = _ASIDE.sub("", draft.content), _ASIDE.sub("", memory.content)
    if draft.kind != memory.kind or not _CHANGED.search(new):
        return False
    figures = set(_NUMBER.findall(new)), set(_NUMBER.findall(old))
    mine, theirs = (_stems(text) for text in (new, old))
    shared = mine & theirs
    other_figures = all(figures) and figures[0].isdisjoint(figures[1])
    return other_figures and bool(shared & rare) and len(shared) >= SHARED * min(len(mine), len(theirs))


def _stems(text: str) -> set[str]:
    return {stem for stem in words.question_words(text) if not stem.isdigit()} - _FRAME_STEMS


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
