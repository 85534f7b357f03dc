"""Pure: what a question asks for: of whom, which of their traits, and the type of value that would answer it.

A known name alone answers nothing: "How tall is Eli?" wants a height, of Eli.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from . import statics, words
from .entity_words import ORDINARY, ROLES
from .question import Asked
from .traits import TRAITS, Trait
from .when.vocabulary import MONTH_INDEX, WEEKDAY_INDEX

_KIN_ALIASES = {
    "mom": "mother", "mum": "mother", "mama": "mother", "dad": "father", "papa": "father", "kid": "child",
    "baby": "child", "spouse": "partner", "buddy": "friend", "neighbor": "neighbour", "coworker": "colleague",
    "co-worker": "colleague", "flatmate": "roommate", "housemate": "roommate", "puppy": "dog", "kitten": "cat",
}  # fmt: skip
KIN = frozenset(role for role in ROLES if role.isascii())
_VALUES = (
    ("time", r"\bwhen\b|\b(?:what|which) (?:date|day|days|time|month|year)\b|\bago\b|\bhow long (?:has|is|since)\b"),
    ("place", r"\bwhere\b|\b(?:what|which) (?:city|town|country|place|street|address)\b"),
    ("number", r"\bhow (?:many|much|old|tall|far|big|large|heavy|high|long|wide)\b"),
    ("person", r"\bwho\b|\bwhose\b|\bwhom\b|\bname\b|\bcalled\b|\bnamed\b"),
)
_FORM = frozenset(
    """
    name named called kind sort type number much many long often old-time thing things something someone somebody
    city town country place date day days time week weeks month months year years today now currently still usually
    recently lately ago ever yet get gets got go goes going do does doing done have has had having want wants use
    please currently anymore already around first last next new right there here like would remind say said tell
    told mention mentioned person people
    """.split()  # noqa: SIM905
)
"""Words that shape a question, or tell its time or the type of its value, but no trait."""
_NAME = re.compile(r"(?<=[\w,'’] )[A-ZÀ-Þ][\w'’-]+")
_POSSESSED = re.compile(r"['’]s?$")
_OWN = re.compile(r"\b(?:i|my|me|mine|i'm|i've|i'd|we|our|us|we're|we've)\b", re.I)
_COUNTED = re.compile(r"\bhow many (?:of the |different |more )?(?!days|weeks|months|years|hours)([\w'-]+)", re.I)
_CALLED = re.compile(r"\b(?:name|names|named|called|surname)\b", re.I)
_CONFIRMS = re.compile(
    r"\W*(?:and |so )?(?:is|are|am|do|does|did|have|has|can|will|was|were|isn't|don't|doesn't)\b", re.I
)
_PAST = re.compile(r"\b(?:did|was|were|had|used to|before|ago)\b", re.I)


@dataclass(frozen=True, slots=True)
class Sought:
    """What would answer the question."""

    value: str
    """place, time, number, person, or empty for anything."""
    about: tuple[tuple[str, float], ...]
    """The words of the trait that is asked for, each with what it weighs."""
    traits: tuple[tuple[Trait, str], ...]
    """Everyday traits it asks for, and the word by which; that may be empty."""
    names: frozenset[str]
    kin: frozenset[str]
    own: bool
    """Whether it asks about whoever asks."""
    counted: str
    """What it asks the number of, if it does: "windows" in "How many windows …?"."""
    named: bool
    """Whether it asks what somebody or something is called."""
    confirms: bool
    """Whether yes or no would answer it."""
    past: bool
    readable: bool
    """Whether it is English, as far as this file can tell."""


@cache
def kin_of(word: str) -> str:
    """The word for what somebody is to somebody, one for those that mean the same."""
    return _KIN_ALIASES.get(word, word)


def sought(asked: Asked) -> Sought:
    text = asked.text
    names = frozenset(names_in(text))
    plain = [word.replace("’", "'") for word, _ in asked.plain]
    bare = [_POSSESSED.sub("", word) for word in plain]
    kin = frozenset(kin_of(word) for word in bare if word in KIN)
    traits = tuple((trait, _by(m)) for trait in TRAITS if (m := trait.asked.search(text)))
    value = next((name for name, pattern in _VALUES if re.search(pattern, text, re.I)), "")
    kept = [word for word in bare if _tells(word, names) and word not in KIN]
    kept = kept or [word for word in bare if word in KIN]
    return Sought(
        value=value,
        about=tuple((word, max(statics.importance(word), 1.0)) for word in dict.fromkeys(kept)),
        traits=traits,
        names=names,
        kin=kin,
        own=_OWN.search(text) is not None,
        counted=m[1].lower() if (m := _COUNTED.search(text)) else "",
        named=_CALLED.search(text) is not None,
        confirms=_CONFIRMS.match(text) is not None,
        past=_PAST.search(text) is not None,
        readable=bool({*re.findall(r"[\w']+", text.lower())} & words.STOP),
    )


def names_in(text: str) -> list[str]:
    """The names within a text, in lower case and without an owner's s."""
    found = (_POSSESSED.sub("", name).casefold() for name in _NAME.findall(text))
    return [name for name in found if name not in ORDINARY and name not in MONTH_INDEX and name not in WEEKDAY_INDEX]


def _by(match: re.Match[str]) -> str:
    return next((word.lower() for word in match.groupdict().values() if word), "")


def _tells(word: str, names: frozenset[str]) -> bool:
    shaping = word in _FORM or word in words.STOP or word in MONTH_INDEX or word in WEEKDAY_INDEX
    return not shaping and word not in names and not word.isdigit() and bool(words.tokens(word))
