"""Finds topics with one value at a time that no table covers: where a thing is, when it takes place, how many."""

from __future__ import annotations

import re

from holdfast.domain.identifiers import topic_key
from holdfast.models.rules.patterns.vocabulary import TECHNOLOGY
from holdfast.models.rules.people.pronouns import is_given_name
from holdfast.text.lexicon.calendar import A_FULL_WEEKDAY
from holdfast.text.lexicon.kinship import SEVERAL_OF_ONE
from holdfast.text.lexicon.sentences import A_TITLE

_AMOUNT = re.compile(
    r"\b(?P<k>[a-z]{3,20}) \d[\d.,]* ?(?:mg|mcg|ml|g)\b|\b(?:increased|raised|put|upped|lowered|reduced|cut|"
    r"changed) (?:my|"
    r"the|his|her) (?P<k2>[a-z]{3,20})\b.{0,30}?\bto \d|\b(?:my|the|our) (?P<k3>[a-z]{3,20}) (?:goes|went|is going|"
    r"rises) "
    r"(?:up|down) to \d|\b\d+ (?P<k4>seats|users|licen[sc]es|employees|nodes|replicas|workers)\b",
    re.I,
)
_VALUE_STATEMENT = re.compile(
    r"(?:(?:the|our|my|all|local|this) )*(?P<k>(?!(?:i|we|it|he|she|they|that|there|you|this|everything|"
    r"all)\b)[\w-]+(?: [\w-]+)?) (?:(?:is|are|runs?|goes?|go|lives?|sits?|stays?|"
    r"ships?|"
    r"works?|move[sd]?)(?: now| still| back| already| currently| stored| kept| hosted| pinned| based| running| out)*) "
    r"(?P<p>into|on|in|at|with|through|via|from|to)? ?(?P<v>.+)",
    re.I,
)
_CLOCK = re.compile(rf"{A_FULL_WEEKDAY}s?\b|\d{{1,2}}(?::\d\d|h\d*| ?[ap]m)\b", re.I)
_THING_NAME = re.compile(r"`|[A-Z]|[\w-]+[./_][\w-]+|\d")
_LEVEL = re.compile(r"v?\d+(?:[.,]\d+){0,2}(?: ?%| percent)?(?![\w.:/-])", re.I)
"""How far something is, not where: "prod is on 17", "the rollout is at 50%". Addresses have more figures."""
_PLACED_THING = re.compile(
    r"(?:caches?|sessions?|tests?|deploys?|state|backups?|queues?|logs?|builds?|ci|prod|staging|database|secrets|"
    r"config|docs|"
    r"frontend|backend|site|app|service|jobs?|mails?|files|data)$",
    re.I,
)

_PERSON_PLACE = re.compile(r"\w+(?: \w+)? (?:works? from|(?:is|stays|sits)(?: back| now| still)* in) [A-ZÀ-Þ]")
"""Where a person is: the only topic about a person that this module finds."""
_NOT_IN_NAME = re.compile(
    r"\b(?:not|never|no|always|now|recently|still|also|just|finally|then|already|currently|really|usually|only|often|and|"
    r"or|but|so|who|which)\b",
    re.I,
)
"""Words that cannot be part of a thing's name."""


def amount_topic(clause: str) -> str | None:
    """The topic of an amount: "metformin 500 mg", "45 seats", "my rent goes up to 1,240"."""
    m = _AMOUNT.search(clause)
    return f"{topic_key(m['k'] or m['k2'] or m['k3'] or m['k4'])}-amount" if m else None


_OWN_VALUE = re.compile(
    r"(?:my|our) (?:new |current )?(?P<k>[a-z-]+(?: [a-z-]+)?) (?:is|are)(?: now| still)? "
    rf"(?-i:(?P<v>(?:(?:{A_TITLE})\.? )?"
    r"[A-ZÀ-Þ][\w'-]+(?: [A-ZÀ-Þ][\w'-]+)*|\d[\w.,:]*))(?=$|[ ,.])",
    re.I,
)
_SEVERAL = re.compile(
    rf"(?:{SEVERAL_OF_ONE})s?$",
    re.I,
)


_PARTICIPATION = re.compile(
    r"\b(?:signed up for|registered for|enrolled in|pulled out of|withdrew from|dropped out of|cancelled|canceled)"
    r" (?!(?:me|us|you|him|her|them|it)\b)"
    r"(?:(?:the|my|our|an?) )?(?P<x>(?:(?:half|full|online|evening|beginners?'?) )?[\w-]+(?: (?-i:[A-Z])[\w-]+)*)",
    re.I,
)


def participation_topic(clause: str) -> str | None:
    """The topic of taking part in something, or no longer: "signed up for Rotterdam", "pulled out of Rotterdam"."""
    m = _PARTICIPATION.search(clause)
    return f"part-in-{topic_key(m['x'])}" if m else None


def topic_and_value(clause: str) -> tuple[str | None, str]:
    """The topic that has one value at a time, and that value."""
    if key := amount_topic(clause):
        return key, ""
    if (own := _OWN_VALUE.match(clause)) and not _SEVERAL.search(own["k"]):
        return topic_key(own["k"]), own["v"]
    m = _VALUE_STATEMENT.match(clause)
    if not m:
        return None, ""
    value, head = m["v"].strip(), topic_key(m["k"].split()[-1]).removesuffix("s")
    if _NOT_IN_NAME.search(m["k"]) or (is_given_name(m["k"].split()[0]) and not _PERSON_PLACE.match(clause)):
        return None, ""
    if _CLOCK.match(value):
        return f"{head}-time", value
    if m["p"] and _LEVEL.match(value):
        return f"{topic_key(m['k'])}-level", value
    thing = (
        _THING_NAME.match(value) or value.split()[0].lower() in TECHNOLOGY or _PLACED_THING.match(m["k"].split()[-1])
    )
    return (f"{topic_key(m['k']).removesuffix('s')}-place", value) if m["p"] and thing else (None, "")
