"""Pure: everyday attributes that questions and statements name with other words: "How much do I earn?", "QA lead, 52k".

They say when the words that a reader of answers found are of the kind asked for, though it doubts that anything is
told. They take no part in ranking, for which there are the traits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast.recall.question.traits import CALLING, TRAIT_BY_NAME
from holdfast.text import tokens
from holdfast.text.lazy_pattern import lazy_pattern
from holdfast.text.lexicon.products import PRODUCTS

LIKELY, SURELY = 0.45, 0.9
"""How likely the words that a reader found must be: of an attribute that few things have, and of a price. Chosen by
hand: in the lives that calibrate the reader there are hardly any."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """`asked` matches a question, `told` a statement that has the attribute, `value` the words that answer."""

    asked: re.Pattern[str]
    told: re.Pattern[str]
    value: re.Pattern[str]
    least: float
    """How likely the words must be."""
    confirms: bool
    """Whether it is asked for with yes or no: "Can I have pasta?" need not share a word with "im coeliac"."""


def _attribute(
    asked: str, told: str, value: str = r"\w", *, least: float = LIKELY, confirms: bool = False
) -> Attribute:
    return Attribute(lazy_pattern(asked, re.I), lazy_pattern(told, re.I), lazy_pattern(value, re.I), least, confirms)


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
        r"\b(?:job|offer|raise|salary|pays? me|earns?|promot\w+|lead|manager|role|position|band|got it)\b",
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
    _attribute(
        r"(\bwhat (?:do|does|did)\b).*(\bdo(?: for (?:a living|work))?)\W*$",
        r"\bfor a living\b|\bretired\b|\b(?:works?|working|worked) (?:as|at|for|in)\b|\bjob is\b"
        rf"|\b(?:am|is|'m|'s|was|became) (?:now )?an? (?:[\w-]+ ){{0,2}}?[\w-]*(?:{CALLING})\b",
    ),
    _attribute(
        r"(\bhow much\b).*(\b(?:costs?|pay|paid|spend|spent)\b)|(\bhow much (?:is|was|are|were)\b)"
        r"|(\bwhat (?:do|does|did)\b).*(\bcost\b)",
        r"\bcosts?\b|\bpa(?:y|id|ys)\b|\bprice|\bspent\b|[$€£]|\d ?(?:euros?|pounds?|dollars|bucks|quid|francs)\b"
        r"|\bfor \d|\ba month\b",
        r"\d",
        least=SURELY,
    ),
    *(_attribute(rf"\b(?:{asked})\b", rf"\b(?:{names})(?!\w)", rf"\b(?:{names})(?!\w)") for asked, names in PRODUCTS),
)


def asked_attribute(question: str) -> Attribute | None:
    return next((each for each in ATTRIBUTES if each.asked.search(question)), None)


def has_attribute(question: str, statement: str, words: str) -> bool:
    """Whether the statement has the attribute that the question asks for, and the words are its value. What else the
    question has must be in the statement: "Which package manager does the mobile app use?"."""
    asked = asked_attribute(question)
    if asked is None or not asked.told.search(statement) or not asked.value.search(words):
        return False
    said = {*tokens.tokens(statement), *_GENERAL}
    return asked.confirms or said.issuperset(tokens.question_words(_rest(question, asked)))


def _rest(question: str, attribute: Attribute) -> str:
    """The question without the words by which it asks for the attribute."""
    match = attribute.asked.search(question)
    spans = [] if match is None else [s for s in match.regs[1:] if s != (-1, -1)] or [match.span()]
    for start, stop in sorted(spans, reverse=True):
        question = f"{question[:start]} {question[stop:]}"
    return question
