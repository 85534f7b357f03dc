"""Pure: what a question asks for: about whom, which of their traits, and the type of value that would answer it.

A known name alone is not an answer: "How tall is Eli?" asks for a height, and for Eli's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from holdfast.recall.question.traits import TRAITS, Trait
from holdfast.text import static_vectors, tokens
from holdfast.text.lexicon.calendar import MONTH_INDEX, WEEKDAY_INDEX
from holdfast.text.lexicon.entity_names import ORDINARY_WORDS
from holdfast.text.lexicon.kinship import ROLES
from holdfast.text.lexicon.patterns import NAME_IN_QUESTION

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
_QUESTION_FORM_WORDS = frozenset(
    """
    name named called kind sort type number much many long often old-time thing things something someone somebody
    city town country place date day days time week weeks month months year years today now currently still usually
    recently lately ago ever yet get gets got go goes going do does doing done have has had having want wants use
    please currently anymore already around first last next new right there here like would remind say said tell
    told mention mentioned person people
    """.split()  # noqa: SIM905
)
"""Words that form a question, or that state its time or type of value, but do not name a trait."""
_POSSESSED = re.compile(r"['’]s?$")
_OWN_WORDS = re.compile(r"\b(?:i|my|me|mine|i'm|i've|i'd|we|our|us|we're|we've)\b", re.I)
_COUNTED = re.compile(r"\bhow many (?:of the |different |more )?(?!days|weeks|months|years|hours)([\w'-]+)", re.I)
_CALLED = re.compile(r"\b(?:name|names|named|called|surname)\b", re.I)
_CONFIRMS = re.compile(
    r"\W*(?:and |so )?(?:is|are|am|do|does|did|have|has|can|will|was|were|isn't|don't|doesn't)\b", re.I
)
_PAST = re.compile(r"\b(?:did|was|were|had|used to|before|ago)\b", re.I)


@dataclass(frozen=True, slots=True)
class Target:
    """What would answer the question."""

    value: str
    """place, time, number, person; empty when any type will do."""
    about: tuple[tuple[str, float], ...]
    """The words of the trait asked for, each with its weight."""
    traits: tuple[tuple[Trait, str], ...]
    """The everyday traits asked for, each with the word that names it in the question (may be empty)."""
    names: frozenset[str]
    kin: frozenset[str]
    own: bool
    """Whether the question is about the user who asks it."""
    counted: str
    """What the question asks the number of, if it does: "windows" in "How many windows …?"."""
    named: bool
    """Whether it asks what somebody or something is called."""
    confirms: bool
    """Whether yes or no would answer it."""
    past: bool
    readable: bool
    """Whether the question is in English, as far as this module can detect."""


@cache
def kin_of(word: str) -> str:
    """Normalises a word for a relationship: synonyms map to one word (mom, mum → mother)."""
    return _KIN_ALIASES.get(word, word)


def target_of(text: str, plain_words: Sequence[tuple[str, str]]) -> Target:
    names = frozenset(names_in(text))
    plain = [word.replace("’", "'") for word, _ in plain_words]
    bare = [_POSSESSED.sub("", word) for word in plain]
    kin = frozenset(kin_of(word) for word in bare if word in KIN)
    traits = tuple((trait, _trait_word(m)) for trait in TRAITS if (m := trait.asked.search(text)))
    value = next((name for name, pattern in _VALUES if re.search(pattern, text, re.I)), "")
    kept = [word for word in bare if _is_content_word(word, names) and word not in KIN]
    kept = kept or [word for word in bare if word in KIN]
    return Target(
        value=value,
        about=tuple((word, max(static_vectors.importance(word), 1.0)) for word in dict.fromkeys(kept)),
        traits=traits,
        names=names,
        kin=kin,
        own=_OWN_WORDS.search(text) is not None,
        counted=m[1].lower() if (m := _COUNTED.search(text)) else "",
        named=_CALLED.search(text) is not None,
        confirms=_CONFIRMS.match(text) is not None,
        past=_PAST.search(text) is not None,
        readable=bool({*re.findall(r"[\w']+", text.lower())} & tokens.STOP_WORDS),
    )


def names_in(text: str) -> list[str]:
    """The names in a text, in lower case and without a possessive s."""
    found = (_POSSESSED.sub("", name).casefold() for name in NAME_IN_QUESTION.findall(text))
    return [
        name for name in found if name not in ORDINARY_WORDS and name not in MONTH_INDEX and name not in WEEKDAY_INDEX
    ]


def _trait_word(match: re.Match[str]) -> str:
    return next((word.lower() for word in match.groupdict().values() if word), "")


def _is_content_word(word: str, names: frozenset[str]) -> bool:
    shaping = word in _QUESTION_FORM_WORDS or word in tokens.STOP_WORDS or word in MONTH_INDEX or word in WEEKDAY_INDEX
    return not shaping and word not in names and not word.isdigit() and bool(tokens.tokens(word))
