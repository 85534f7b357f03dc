"""Topics of what has one value at a time though no table knows it: where a thing is, when it takes place, how many."""

from __future__ import annotations

import re

from ...names import topic
from .people import given
from .words import TECHNOLOGY

_AMOUNT = re.compile(
    r"\b(?P<k>[a-z]{3,20}) \d[\d.,]* ?(?:mg|mcg|ml|g)\b|\b(?:increased|raised|put|upped|lowered|reduced|cut|"
    r"changed) (?:my|"
    r"the|his|her) (?P<k2>[a-z]{3,20})\b.{0,30}?\bto \d|\b(?:my|the|our) (?P<k3>[a-z]{3,20}) (?:goes|went|is going|"
    r"rises) "
    r"(?:up|down) to \d|\b\d+ (?P<k4>seats|users|licen[sc]es|employees|nodes|replicas|workers)\b",
    re.I,
)
_VALUED = re.compile(
    r"(?:(?:the|our|my|all|local|this) )*(?P<k>(?!(?:i|we|it|he|she|they|that|there|you|this|everything|"
    r"all)\b)[\w-]+(?: [\w-]+)?) (?:(?:is|are|runs?|goes?|go|lives?|sits?|stays?|"
    r"ships?|"
    r"works?|move[sd]?)(?: now| still| back| already| currently| stored| kept| hosted| pinned| based| running| out)*) "
    r"(?P<p>into|on|in|at|with|through|via|from|to)? ?(?P<v>.+)",
    re.I,
)
_CLOCK = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\d{1,2}(?::\d\d|h\d*| ?[ap]m)\b", re.I)
_THINGLY = re.compile(r"`|[A-Z]|[\w-]+[./_][\w-]+|\d")
_PLACED = re.compile(
    r"(?:caches?|sessions?|tests?|deploys?|state|backups?|queues?|logs?|builds?|ci|prod|staging|database|secrets|"
    r"config|docs|"
    r"frontend|backend|site|app|service|jobs?|mails?|files|data)$",
    re.I,
)

_STAYS = re.compile(r"\w+(?: \w+)? (?:works? from|(?:is|stays|sits)(?: back| now| still)* in) [A-ZÀ-Þ]")
"""Where a person is, who otherwise has keys of their own."""
_HOW = re.compile(
    r"\b(?:not|never|no|always|now|recently|still|also|just|finally|then|already|currently|really|usually|only|often|and|"
    r"or|but|so|who|which)\b",
    re.I,
)
"""Words that are no part of a thing's name."""


def amount(clause: str) -> str | None:
    """The topic of an amount: "metformin 500 mg", "45 seats", "my rent goes up to 1,240"."""
    m = _AMOUNT.search(clause)
    return f"{topic(m['k'] or m['k2'] or m['k3'] or m['k4'])}-amount" if m else None


_HELD = re.compile(
    r"(?:my|our) (?:new |current )?(?P<k>[a-z-]+(?: [a-z-]+)?) (?:is|are)(?: now| still)? (?-i:(?P<v>(?:(?:Dr|Mr|"
    r"Mrs|Ms|Prof)\.? )?"
    r"[A-ZÀ-Þ][\w'-]+(?: [A-ZÀ-Þ][\w'-]+)*|\d[\w.,:]*))(?=$|[ ,.])",
    re.I,
)
_MANY = re.compile(
    r"(?:friend|brother|sister|son|daughter|kid|child|cousin|colleague|neighbou?r|uncle|aunt|cat|"
    r"dog)s?$",
    re.I,
)


_PART = re.compile(
    r"\b(?:signed up for|registered for|enrolled in|pulled out of|withdrew from|dropped out of|cancelled|canceled)"
    r" (?:(?:the|my|our|an?) )?(?P<x>(?:(?:half|full|online|evening|beginners?'?) )?[\w-]+(?: (?-i:[A-Z])[\w-]+)*)",
    re.I,
)


def taking_part(clause: str) -> str | None:
    """The topic of being in something or out of it again: "signed up for Rotterdam", "pulled out of Rotterdam"."""
    m = _PART.search(clause)
    return f"part-in-{topic(m['x'])}" if m else None


def valued(clause: str) -> tuple[str | None, str]:
    """A topic for what has one value at a time, and that value."""
    if key := amount(clause):
        return key, ""
    if (held := _HELD.match(clause)) and not _MANY.search(held["k"]):
        return topic(held["k"]), held["v"]
    m = _VALUED.match(clause)
    if not m:
        return None, ""
    value, head = m["v"].strip(), topic(m["k"].split()[-1]).removesuffix("s")
    if _HOW.search(m["k"]) or (given(m["k"].split()[0]) and not _STAYS.match(clause)):
        return None, ""
    if _CLOCK.match(value):
        return f"{head}-time", value
    thing = _THINGLY.match(value) or value.split()[0].lower() in TECHNOLOGY or _PLACED.match(m["k"].split()[-1])
    return (f"{topic(m['k']).removesuffix('s')}-place", value) if m["p"] and thing else (None, "")
