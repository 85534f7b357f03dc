"""Pure: everyday attributes that questions and statements name with other words: "How much do I earn?", "QA lead, 52k".

They say when the words that a reader of answers found are of the kind asked for, though it doubts that anything is
told. They take no part in ranking, for which there are the traits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast.recall.question.traits import TRAIT_BY_NAME
from holdfast.text import tokens
from holdfast.text.lazy_pattern import lazy_pattern
from holdfast.text.lexicon.products import PRODUCTS


@dataclass(frozen=True, slots=True)
class Attribute:
    """`asked` matches a question, `told` a statement that has the attribute, `value` the words that answer."""

    asked: re.Pattern[str]
    told: re.Pattern[str]
    value: re.Pattern[str]
    confirms: bool
    """Whether it is asked for with yes or no: "Can I have pasta?" need not share a word with "im coeliac"."""


def _attribute(asked: str, told: str, value: str = r"\w", *, confirms: bool = False) -> Attribute:
    return Attribute(lazy_pattern(asked, re.I), lazy_pattern(told, re.I), lazy_pattern(value, re.I), confirms)


_NOT_EATEN = (
    r"allerg|intoleran|\bcan(?:'?t|not) (?:eat|have|tolerate|drink)\b|\bc(?:o?e)liac\b|\bepipen\b|\bhives\b|\bvegan\b|"
    r"\bveg(?:gie|etarian)\b|\b(?:no|without) (?:gluten|nuts|dairy|lactose|milk|meat|pork|alcohol|shellfish)\b"
)
_AT_HOME = rf"{TRAIT_BY_NAME['home'].told.pattern}|\baddress is\b|\bflatshare\b|\bkeys to\b|\bunpacked\b"
_NO_MORE = r"\b(?:gave up|given up|gone off|packed in|stopped|quit|only (?:eat|drink)|don'?t (?:eat|drink))\b"
_GENERAL = frozenset(
    tokens.tokens(
        "user use have work now currently still any anything something food much kind live right moment app services"
    )
)
"""Words of a question that a statement need not have."""
ATTRIBUTES: tuple[Attribute, ...] = (
    _attribute(
        r"\b(?:earn|salary|wages?|income)\b|\bdo i make\b|\bi get paid\b",
        r"\b(?:job|offer|raise|salary|pays?|paid|earns?|promot\w+|contract|lead|manager|role|position|band|got it)\b",
        r"\d",
    ),
    _attribute(
        r"\bwhere\b.*\blives?\b|\b(?:current|new|home) address\b",
        _AT_HOME,
    ),
    _attribute(r"\b(?:do|does) .*\bstill live\b", _AT_HOME, confirms=True),
    _attribute(r"\b(?:allergic|allergy|allergies|intolerant|intolerances?)\b", _NOT_EATEN),
    _attribute(
        r"\b(?:(?:can|may|should) .+ (?:eat|have|drink)|(?:do|does) .+ (?:eat|drink))\b",
        f"{_NOT_EATEN}|{_NO_MORE}",
        confirms=True,
    ),
    _attribute(
        r"^\W*(?:am|are|is) .*\b(?:married|engaged|single)\b",
        r"\b(?:engaged|married|wedding|propos\w+|divorc\w+|wife|husband)\b",
    ),
    _attribute(r"\bwho\b.*\b(?:gp|doctor|physician)\b", r"\b(?:dr|doctor|gp)\b", r"\b(?:dr|doctor)\b"),
    *(_attribute(rf"\b(?:{asked})\b", rf"\b(?:{names})(?!\w)", rf"\b(?:{names})(?!\w)") for asked, names in PRODUCTS),
)


def has_attribute(question: str, statement: str, words: str) -> bool:
    """Whether the statement has an attribute that the question asks for, and the words are its value. What else the
    question has must be in the statement: "Which package manager does the mobile app use?"."""
    said = {*tokens.tokens(statement), *_GENERAL}
    for each in ATTRIBUTES:
        asked = each.asked.search(question)
        if asked and each.told.search(statement) and each.value.search(words):
            rest = f"{question[: asked.start()]} {question[asked.end() :]}"
            return each.confirms or said.issuperset(tokens.question_words(rest))
    return False
