"""Whom "he" and "she" may stand for: who has been mentioned, and whether a he or a she.

A pronoun is believed only when one person fits it. Of two who fit, or of one who may be neither, nobody is told apart,
and the author is quoted instead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...given_names import MEN, WOMEN
from .words import COUNTRIES, JOBS, LANGUAGES, NATIONALITIES, RELATIONS, TECHNOLOGY, listed

HE, SHE = "he", "she"
_BY_RELATION = {
    **dict.fromkeys(
        listed(
            "wife girlfriend fiancée fiancee mother mom mum mama sister daughter aunt niece grandmother grandma granny "
            "mother-in-law sister-in-law stepmother stepdaughter daughter-in-law goddaughter landlady"
        ),
        SHE,
    ),
    **dict.fromkeys(
        listed(
            "husband boyfriend fiancé fiance father dad papa brother son uncle nephew grandfather grandpa "
            "father-in-law brother-in-law stepfather stepson son-in-law godson"
        ),
        HE,
    ),
}
_PET = frozenset(listed("dog cat puppy kitten parrot rabbit horse hamster pet"))
NOBODY = (
    frozenset(COUNTRIES)
    | frozenset(LANGUAGES)
    | frozenset(NATIONALITIES)
    | frozenset(TECHNOLOGY)
    | frozenset(
        listed(
            "i i'm i've i'll i'd ok okay yes no the a an my our your his her their its it this that these those there "
            "here we you he she they monday tuesday wednesday thursday friday saturday sunday january february march "
            "april may june july august september october november december christmas easter god what when where who "
            "why how which if and but or so also then now today tomorrow yesterday tonight"
        )
    )
)
RELATION = r"(?:mother|father|sister|brother|son|daughter) in law|" + "|".join(
    sorted(map(re.escape, RELATIONS), key=len, reverse=True)
)
"""A relation, as in a pattern; its name has hyphens (`related`)."""
_RELATIVE = re.compile(
    rf"\b(?P<whose>my|our|your|his|her|their|the)\s+(?:(?:older|younger|little|big|best|twin|elder|late|new|old)\s+)?"
    rf"(?P<rel>{RELATION})\b(?!'s)(?:,?\s+(?-i:(?P<name>[A-ZÀ-Þ][a-zà-ÿ]{{1,20}})))?",
    re.I,
)
_TITLE = re.compile(
    r"(?<![\w'-])(?P<name>(?:(?P<he>Mr|Herr|Uncle|Grandpa)|(?P<she>Mrs|Ms|Miss|Frau|Aunt|Auntie|Granny|Grandma)|Dr|Prof)"
    r"\.? [A-ZÀ-Þ][a-zà-ÿ]+)"
)
_NAME = re.compile(r"(?<![\w'-])(?P<name>[A-ZÀ-Þ][a-zà-ÿ]{1,20})(?!\w)")
_AMONG_PEOPLE = re.compile(
    r"\b(?:with|met|meet|called|call|and|told|asked|by|named|than|thanks|saw|see|invited)\s+$", re.I
)
_DOING = re.compile(r"'s (?:\w+ing|an?|been|got|at|in|on|off|back|from|not)\b", re.I)
_PLACED = re.compile(
    r"\b(?:in|near|around|(?:moved|move|moving|went|go|going|flew|fly|flying|travel\w*|drove|back|trip|relocat\w+) to|"
    r"(?:am|is|are|come|comes|came|back) from|at|visit\w*|through|leav\w+|left)\s+$",
    re.I,
)
"""What stands before a place rather than a person: many are named like one."""
_SOMEONE = re.compile(
    rf"\b(?:the|an?|this|that|our|some|another|one)\s+(?:[\w-]+\s+){{0,2}}?(?P<what>{'|'.join(JOBS)}|guy|man|woman|lady|boy|"
    r"girl|person|sweep|handyman|cleaner|nanny|babysitter|candidate|customer|seller|buyer|tenant|owner|agent|visitor|"
    r"guest|student|patient|adviser|advisor|inspector|roofer|builder|painter)\b",
    re.I,
)
_KIN = re.compile(r"\b(?P<rel>mom|mum|mama|dad|papa|grandma|grandpa|granny)\b(?! (?:here|again)\b)", re.I)


@dataclass(frozen=True, slots=True)
class Mention:
    """Someone who was mentioned: `who` is what they are called ("Ana", "my sister"), `he_or_she` is "" when unknown."""

    who: str
    he_or_she: str
    name: str | None = None
    relation: str | None = None
    whose: str = ""
    sure: bool = True
    """Whether it is a person, and one who can be told by these words."""

    def same(self, other: Mention) -> bool:
        if self.name and other.name:
            return self.name == other.name
        if self.relation and self.relation == other.relation:
            return self.whose == other.whose
        return self.who == other.who


def of_name(name: str) -> str:
    """Whether people of this name are a he or a she; "" when that is not known."""
    first = name.split()[0] if name else ""
    return SHE if first in WOMEN else HE if first in MEN else ""


def of_relation(relation: str) -> str:
    return _BY_RELATION.get(related(relation), "")


def related(relation: str) -> str:
    """The relation as its table has it: "father in law" with hyphens."""
    return relation.lower().replace(" in law", "-in-law")


def given(name: str) -> bool:
    """Whether it is a name that people bear."""
    return bool(of_name(name))


def mentioned(text: str) -> list[Mention]:
    """Everyone a text speaks of, in its order."""
    taken = [
        *((m.span(), _relative(m)) for m in _RELATIVE.finditer(text)),
        *(
            (m.span(), Mention(m["name"], HE if m["he"] else SHE if m["she"] else "", m["name"]))
            for m in _TITLE.finditer(text)
        ),
        *((m.span(), Mention(m[0].lower(), _of_someone(m["what"]), sure=False)) for m in _SOMEONE.finditer(text)),
    ]
    for pattern, made in ((_KIN, _kin), (_NAME, _named)):
        for m in pattern.finditer(text):
            if not any(a <= m.start() < b for (a, b), _ in taken) and (mention := made(m, text)):
                taken.append((m.span(), mention))
    return [mention for _, mention in sorted(taken, key=lambda each: each[0])]


def _relative(m: re.Match[str]) -> Mention:
    relation, name, whose = related(m["rel"]), m["name"], m["whose"].lower()
    if name and name.lower() in NOBODY:
        name = None
    called = of_relation(relation) or (of_name(name) if name and relation not in _PET else "")
    return Mention(
        name or f"{whose} {relation}", called, name, relation, whose, bool(name) or whose in ("my", "our", "your")
    )


def _kin(m: re.Match[str], text: str) -> Mention:
    relation = m["rel"].lower()
    return Mention(f"my {relation}", of_relation(relation), None, relation, "my")


def _named(m: re.Match[str], text: str) -> Mention | None:
    name, before = m["name"], text[max(0, m.start() - 20) : m.start()]
    if name.lower() in NOBODY or _PLACED.search(before):
        return None
    if given(name):
        return Mention(name, of_name(name), name)
    doing = _AMONG_PEOPLE.search(before) or _DOING.match(text, m.end())
    return Mention(name, "", name, sure=False) if doing else None


def _of_someone(noun: str) -> str:
    return (
        SHE
        if noun.lower() in ("woman", "lady", "girl", "waitress", "actress")
        else HE
        if noun.lower() in ("man", "guy", "boy")
        else ""
    )
