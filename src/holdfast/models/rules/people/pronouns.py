"""Finds the people mentioned in a text, and whether "he" or "she" may refer to each.

A pronoun is resolved only when exactly one person fits it. When two people fit, or the pronoun of the one who fits is
unknown, it is left unresolved and the author is quoted instead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast.models.rules.patterns.vocabulary import JOBS, TECHNOLOGY, split_words
from holdfast.text.lexicon.calendar import MONTHS, WEEKDAYS
from holdfast.text.lexicon.geography import COUNTRIES, LANGUAGES, NATIONALITIES
from holdfast.text.lexicon.given_names import MEN, WOMEN
from holdfast.text.lexicon.kinship import FAMILY_IN_LAW, FEMALE_ROLES, FORMS_OF_ADDRESS, MALE_ROLES, PETS, RELATIONS

HE, SHE = "he", "she"
_PRONOUN_BY_RELATION = {
    **dict.fromkeys(FEMALE_ROLES, SHE),
    **dict.fromkeys(
        split_words("granny mother-in-law sister-in-law stepmother stepdaughter daughter-in-law goddaughter landlady"),
        SHE,
    ),
    **dict.fromkeys(MALE_ROLES, HE),
    **dict.fromkeys(split_words("grandpa father-in-law brother-in-law stepfather stepson son-in-law godson"), HE),
}
_PETS = frozenset((*PETS, "pet"))
NOT_NAMES = (
    frozenset(COUNTRIES)
    | frozenset(LANGUAGES)
    | frozenset(NATIONALITIES)
    | frozenset(TECHNOLOGY)
    | frozenset(MONTHS)
    | frozenset(WEEKDAYS)
    | frozenset(
        split_words(
            "i i'm i've i'll i'd ok okay yes no the a an my our your his her their its it this that these those there "
            "here we you he she they christmas easter god what when where who why how which if and but or so also then "
            "now today tomorrow yesterday tonight"
        )
    )
)
RELATION = rf"(?:{'|'.join(FAMILY_IN_LAW)}) in law|" + "|".join(
    sorted(map(re.escape, RELATIONS), key=len, reverse=True)
)
"""A regular expression for every relation, including "father in law" without hyphens."""
GIVEN_NAME = r"[A-ZÀ-Þ][a-zà-ÿ]{1,20}(?:-[A-ZÀ-Þ]?[a-zà-ÿ]{1,20})?"
"""A regular expression for a given name: "Luc", "Luc-André", "Soo-jin"."""
_RELATIVE = re.compile(
    rf"\b(?P<whose>my|our|your|his|her|their|the)\s+(?:(?:older|younger|little|big|best|twin|elder|late|new|old)\s+)?"
    rf"(?P<rel>{RELATION})\b(?!'s)(?:,?\s+(?-i:(?P<name>{GIVEN_NAME})))?",
    re.I,
)
_TITLE = re.compile(
    r"(?<![\w'-])(?P<name>(?:(?P<he>Mr|Herr|Uncle|Grandpa)|(?P<she>Mrs|Ms|Miss|Frau|Aunt|Auntie|Granny|Grandma)|Dr|Prof)"
    r"\.? [A-ZÀ-Þ][a-zà-ÿ]+)"
)
_NAME = re.compile(rf"(?<![\w'-])(?P<name>{GIVEN_NAME})(?!\w)")
_BEFORE_PERSON = re.compile(
    r"\b(?:with|met|meet|called|call|and|told|asked|by|named|than|thanks|saw|see|invited)\s+$", re.I
)
_AFTER_PERSON = re.compile(r"'s (?:\w+ing|an?|been|got|at|in|on|off|back|from|not)\b", re.I)
_BEFORE_PLACE = re.compile(
    r"\b(?:in|near|around|(?:moved|move|moving|went|go|going|flew|fly|flying|travel\w*|drove|back|trip|relocat\w+) to|"
    r"(?:am|is|are|come|comes|came|back) from|at|visit\w*|through|leav\w+|left)\s+$",
    re.I,
)
"""Words that precede a place rather than a person: many places have people's names."""
_UNNAMED_PERSON = re.compile(
    rf"\b(?:the|an?|this|that|our|some|another|one)\s+(?:[\w-]+\s+){{0,2}}?(?P<what>{'|'.join(JOBS)}|guy|man|woman|lady|boy|"
    r"girl|person|sweep|handyman|cleaner|nanny|babysitter|candidate|customer|seller|buyer|tenant|owner|agent|visitor|"
    r"guest|student|patient|adviser|advisor|inspector|roofer|builder|painter)\b",
    re.I,
)
_KIN = re.compile(rf"\b(?P<rel>{'|'.join(FORMS_OF_ADDRESS)})\b(?! (?:here|again)\b)", re.I)


@dataclass(frozen=True, slots=True)
class PersonMention:
    """A person in a text: `who` is the words for them ("Ana", "my sister"), `he_or_she` is "" when unknown."""

    who: str
    he_or_she: str
    name: str | None = None
    relation: str | None = None
    whose: str = ""
    sure: bool = True
    """Whether these words identify one particular person."""

    def same(self, other: PersonMention) -> bool:
        if self.name and other.name:
            return self.name == other.name
        if self.relation and self.relation == other.relation:
            return self.whose == other.whose
        return self.who == other.who


def pronoun_of_name(name: str) -> str:
    """The pronoun of people with this name; "" when it is not known."""
    first = name.split()[0] if name else ""
    return SHE if first in WOMEN else HE if first in MEN else ""


def pronoun_of_relation(relation: str) -> str:
    return _PRONOUN_BY_RELATION.get(hyphenated_relation(relation), "")


def hyphenated_relation(relation: str) -> str:
    """The relation as spelled in RELATIONS: "father in law" with hyphens."""
    return relation.lower().replace(" in law", "-in-law")


def is_given_name(name: str) -> bool:
    """Whether this is a known given name."""
    return bool(pronoun_of_name(name))


def person_mentions(text: str) -> list[PersonMention]:
    """The people a text mentions, in order."""
    spans = [
        *((m.span(), _relative_mention(m)) for m in _RELATIVE.finditer(text)),
        *(
            (m.span(), PersonMention(m["name"], HE if m["he"] else SHE if m["she"] else "", m["name"]))
            for m in _TITLE.finditer(text)
        ),
        *(
            (m.span(), PersonMention(m[0].lower(), _pronoun_of_noun(m["what"]), sure=False))
            for m in _UNNAMED_PERSON.finditer(text)
        ),
    ]
    for pattern, mention_of in ((_KIN, _kin_mention), (_NAME, _named_mention)):
        for m in pattern.finditer(text):
            if not any(a <= m.start() < b for (a, b), _ in spans) and (mention := mention_of(m, text)):
                spans.append((m.span(), mention))
    return [mention for _, mention in sorted(spans, key=lambda each: each[0])]


def _relative_mention(m: re.Match[str]) -> PersonMention:
    relation, name, whose = hyphenated_relation(m["rel"]), m["name"], m["whose"].lower()
    if name and name.lower() in NOT_NAMES:
        name = None
    pronoun = pronoun_of_relation(relation) or (pronoun_of_name(name) if name and relation not in _PETS else "")
    return PersonMention(
        name or f"{whose} {relation}", pronoun, name, relation, whose, bool(name) or whose in ("my", "our", "your")
    )


def _kin_mention(m: re.Match[str], text: str) -> PersonMention:
    relation = m["rel"].lower()
    return PersonMention(f"my {relation}", pronoun_of_relation(relation), None, relation, "my")


def _named_mention(m: re.Match[str], text: str) -> PersonMention | None:
    name, before = m["name"], text[max(0, m.start() - 20) : m.start()]
    if name.lower() in NOT_NAMES or _BEFORE_PLACE.search(before):
        return None
    if is_given_name(name):
        return PersonMention(name, pronoun_of_name(name), name)
    doing = _BEFORE_PERSON.search(before) or _AFTER_PERSON.match(text, m.end())
    return PersonMention(name, "", name, sure=False) if doing else None


def _pronoun_of_noun(noun: str) -> str:
    return (
        SHE
        if noun.lower() in ("woman", "lady", "girl", "waitress", "actress")
        else HE
        if noun.lower() in ("man", "guy", "boy")
        else ""
    )
