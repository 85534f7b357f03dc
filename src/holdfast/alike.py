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
SHARED = 0.3
_FRAME = words.STOP | {"the", "user", "asked", "answered", "said", "user's"}
"""Words that a rendering adds, or that carry no meaning."""
_NO_ANCHORS = frozenset(
    words.tokens(
        "user asked answered said euros dollars pounds cents bucks percent years old days weeks months hours minutes "
        "times kg grams mg km metres meters litres am pm per costs paid pays price takes runs has have had gets got "
        "uses used needs goes went comes came wants works lives likes moved changed new now makes made does did "
        "monday tuesday wednesday thursday friday saturday sunday week day month year morning evening"
    )
)
"""Stems that two statements may share without being about the same thing."""
_ASIDE = re.compile(r" \([^()]*\)")
_CHANGED = re.compile(
    r"\b(?:now|no longer|any ?more|instead|switched|changed|from now on|these days|pushed|moved|postponed|became|"
    r"replaced|swapped|after all|scratch that|actually|correction|upgraded|went (?:up|down)|raised|dropped to|back to|"
    r"new)\b",
    re.I,
)
_MOVED = re.compile(
    r"\b(?:bumped|cut|down to|up to|increased|reduced|lowered|doubled|halved|extended|shortened|rescheduled|delayed|"
    r"brought forward|instead of|rather than)\b",
    re.I,
)
"""Words that tell of another amount or time."""
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NAME = re.compile(r"\b[A-ZÀ-Þ][\w'’-]*")
_INNER_NAME = re.compile(r"(?<=[\w,;] )[A-ZÀ-Þ][\w'’-]*")
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
    """Whether the draft tells that what the memory numbers or names has changed: "60 seats now" after "25 seats".

    It must speak of a change, share one of the `rare` words and a fair part of all, and have none of the old numbers;
    or, of the same subject, a name where the old statement has another.
    """
    new, old = _ASIDE.sub("", draft.content), _ASIDE.sub("", memory.content)
    changed = _CHANGED.search(new) or (_MOVED.search(new) and _NUMBER.search(new))
    if draft.kind != memory.kind or not changed or set(draft.sources) & set(memory.sources):
        return False
    mine, theirs = (_stems(text) for text in (new, old))
    shared = mine & theirs
    if not shared & rare or len(shared) < max(SHARED * min(len(mine), len(theirs)), 1):
        return False
    figures = set(_NUMBER.findall(new)), set(_NUMBER.findall(old))
    if any(figures):
        return all(figures) and figures[0].isdisjoint(figures[1])
    names = [{name.casefold() for name in _NAME.findall(text)} - _FRAME for text in (new, old)]
    same_subject = new.split()[:2] == old.split()[:2]
    return same_subject and bool(names[0] - names[1]) and bool(names[1] - names[0])


def _stems(text: str) -> set[str]:
    return {stem for stem in words.question_words(text) if not stem.isdigit()} - _NO_ANCHORS


def same(one: str, other: str) -> bool:
    if _marks(one) != _marks(other) or not (_named_in(one, other) and _named_in(other, one)):
        return False
    return min(weakest(one, other), weakest(other, one)) >= NEAR


def adds(one: str, other: str) -> bool:
    """Whether `one` has a number or, within a sentence, a name that `other` has not."""
    names = {name.casefold() for name in _INNER_NAME.findall(one)} - _FRAME
    numbers = set(_NUMBER.findall(one)) - set(_NUMBER.findall(other))
    return bool(numbers) or not names <= set(_WORD.findall(other.casefold()))


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
