"""Pure: everyday traits, with patterns for how each is asked for and how it is stated, where vectors do not connect the
two.

"Where do I live?" is answered by "we moved to Lisbon", and not by any other statement about the same person.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast.text.lazy_pattern import lazy_pattern
from holdfast.text.lexicon.numbers import A_COMMON_NUMBER

_AMOUNT = rf"(?:\d|\b(?:{A_COMMON_NUMBER}|hundred)\b)"
NUMBER = lazy_pattern(_AMOUNT, re.I)
_COLOURS = (
    "red|blue|green|yellow|black|white|grey|gray|brown|pink|purple|orange|beige|teal|navy|silver|golden|turquoise|olive|"
    "cream|ivory|tan|maroon"
)
CALLING = "er|or|ist|ian|ant|ent|tech|man|nurse|chef|surgeon|vet|pilot|judge|clerk|smith"


@dataclass(frozen=True, slots=True)
class Trait:
    """Patterns of one trait. `asked` matches a question, with the word that names the trait in a group; `told` matches
    a statement, `key` a memory's key."""

    name: str
    asked: re.Pattern[str]
    told: re.Pattern[str]
    key: re.Pattern[str] | None = None


OWN_KEYS = {"home": ("home-city", "address"), "job": ("job-title", "employer")}
"""Trait → keys under which the user's own value is kept."""


def _trait(name: str, asked: str, told: str, key: str = "") -> Trait:
    return Trait(name, lazy_pattern(asked, re.I), lazy_pattern(told, re.I), lazy_pattern(key) if key else None)


TRAITS = (
    _trait(
        "home",
        r"\bwhere\b.*\b(?P<a>lives?|living|reside|home)\b|\bwhich (?:city|town|country)\b.*\b(?P<b>lives?)\b",
        r"\b(?:lives?|living|lived|relocat\w+|settled|reside\w*|home is|based in|grew up)\b"
        r"|\bmov(?:ed?|ing) (?:(?:back|over|away|house|out|on|here) )?(?:to|into|from|in)\b",
        r"home|address|city|residence",
    ),
    _trait(
        "seat",
        r"\b(?P<a>headquarters|headquartered|based)\b",
        r"\b(?:headquarter\w*|based|offices? (?:is|are|in)|located|seat)\b",
    ),
    _trait(
        "origin",
        r"\bwhere (?:am|is|are|do|does)\b.*\bfrom\b",
        r"\b(?:from|born in|grew up|originally|native)\b",
        "origin",
    ),
    _trait(
        "job",
        r"\bwhat (?:do|does|did) .{1,40} (?P<a>do)(?: for (?:a living|work))?\W*$"
        r"|\b(?P<b>job|occupation|profession|living)\b|\bwhere (?:do|does|did) .*\b(?P<c>works?)\b",
        r"\bwork(?:s|ed|ing)?\b|\bjob\b|\bemploy|\bhired\b|\bshifts?\b|\bfreelanc|\bat the (?:hospital|office)\b"
        rf"|\b(?:am|is|'m|'s|was|became|become|as) (?:now )?an? (?:[\w-]+ ){{0,3}}?[\w-]*(?:{CALLING})\b"
        r"|\b(?:surgeon|nurse|chef|teacher|engineer)\b",
        r"job|occupation|employer|profession|role|title|work",
    ),
    _trait(
        "age",
        r"\bhow (?P<a>old)\b|\b(?P<b>age)\b",
        rf"\b(?:is|am|are|'s|'m|turn(?:s|ed|ing)?|aged|age|was) (?:about |almost |now |only )?{_AMOUNT}"
        rf"|{_AMOUNT}[- ]years?[- ]old|\bborn\b|\bbuilt\b|\bbirthday\b|\b1[789]\d\d\b",
        "age|birth",
    ),
    _trait(
        "birthday",
        r"\b(?P<a>birthday|born|birth)\b",
        r"\bborn\b|\bbirth|\bturn(?:s|ed|ing)? (?:\d|\w+ (?:on|in|next|this))",
        "birth",
    ),
    _trait(
        "height",
        r"\bhow (?P<a>tall|high(?= (?:is|are|was)\b))\b|\b(?P<b>height)\b",
        r"\btall\b|\bheight\b|\bhigh\b|\d ?(?:cm|m|metres|meters|feet|ft)\b",
    ),
    _trait(
        "weight",
        r"\b(?P<a>weigh|weighs|weight|heavy)\b",
        r"\bweigh|\bheavy\b|\d ?(?:kg|kilos?|pounds|lbs|stone)\b",
        "weight",
    ),
    _trait(
        "size",
        r"\bhow (?P<a>big|large|wide)\b",
        r"\bbig\b|\blarge\b|\bsize\b"
        r"|\d ?(?:m2|m²|sq|square|acres?|hectares?|cm|metres|meters|feet|gb|mb|people|seats)\b",
    ),
    _trait(
        "phone",
        r"\b(?P<a>phone|telephone|mobile)\b",
        r"\bphone\b|\bmobile number\b|\+?\d[\d ()-]{6,}\d",
        "phone",
    ),
    _trait("email", r"\b(?P<a>e-?mail)\b", r"@|\be-?mail", "mail"),
    _trait(
        "allergy",
        r"\b(?P<a>allergic|allergy|allergies|intolerant)\b",
        r"allerg|intoleran|\bcan(?:'t|not) (?:eat|have|tolerate|stand)\b",
        "allerg",
    ),
    _trait(
        "pay",
        r"\b(?P<a>salary|earns?|income|wage)\b",
        r"\bsalary\b|\bearn|\bincome\b|\bwage|\bpaid\b|\bmakes? \d",
        "salary|income",
    ),
    _trait(
        "price",
        r"\b(?P<a>costs?|price|pay|paid|spend|spent)\b|\bhow much (?:is|was|are|were)\b",
        r"\bcosts?\b|\bpa(?:y|id|ys)\b|\bprice|\bspen[dt]\b|\bcame to\b|\bcharge|\basked\b|\bquote|[$€£]"
        r"|\b(?:euros?|pounds|dollars|bucks|francs|kronor)\b|\d(?:\.\d+)?k\b|\bfor \d|\b(?:is|are|to) \d",
    ),
    _trait("colour", r"\b(?P<a>colou?r)\b", rf"\bcolou?r|\bpaint|\b(?:{_COLOURS})\b"),
    _trait(
        "studies",
        r"\bwhere\b.*\b(?P<a>study|studying)\b|\b(?P<b>school|university|college)\b",
        r"\bstud(?:y|ies|ying)\b|\bph\.?d\b|\bdegree\b|\bcourse\b|\bmaster's\b"
        r"|\b(?:school|university|college|institute)\b",
    ),
    _trait("start", r"\b(?P<a>starts?|begin|begins)\b", r"\bstart|\bbegin|\bbegan\b|\bfrom\b|\bopens?\b"),
)


TRAIT_BY_NAME = {trait.name: trait for trait in TRAITS}


def own_trait_keys(question: str) -> list[str]:
    """Keys of the user's own traits that a question in the first person asks for."""
    return [key for trait in TRAITS if trait.name in OWN_KEYS and trait.asked.search(question)
            for key in OWN_KEYS[trait.name]]  # fmt: skip
