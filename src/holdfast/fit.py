"""Pure: how well a hit's clauses fit what a question asks for: the trait, the type of value, and whose it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from . import statics, words
from .clauses import SELF, Clause, People, clauses
from .results import Hit
from .sought import KIN, Sought, kin_of, names_in
from .traits import NUMBER, Trait
from .when import windows

TOLD, UNTOLD = 1.0, 0.3
"""How near an everyday trait is at least when its words tell it, and at most when they do not."""
OWNED, TYPED = 0.6, 0.25
"""What speaking of somebody else, and lacking the type of value, costs a clause against the others."""
SHORT, ENOUGH, CONFIRMED = 2, 0.5, 0.75
"""A trait in so few words must come so near; what is to be confirmed, nearer: asthma is no allergy."""
CLAUSES = 4
"""Of one hit, how many clauses are looked at closely."""
COUNTED = 0.45
"""How near a clause with a number must come to what is counted."""
LENT = 0.7
"""What a word counts that stands in another clause of the same hit."""
_CALENDAR = re.compile(
    r"\b\d{1,2}(?:st|nd|rd|th)\b|\bat \d{1,2}\b(?! ?[%k])|\b\d{1,2}:\d\d\b|\b(?:19|20)\d\d\b|"
    r"\b(?:\d{1,2} )?(?:january|february|march|april|may|june|july|august|september|october|november|december)\b"
    r"(?: \d{1,2}\b)?",
    re.I,
)
_PLACE = re.compile(
    r"\b(?:in|at|to|from|on|behind|under|near|above|inside|outside|beside|next to|by|off|into|around|via)\b "
    r"(?:the |a |my |our )?\w"
    r"|/\w|\bhere\b|\bthere\b|\bhome\b|\b(?:street|road|avenue|lane)\b",
    re.I,
)
_TIME = re.compile(
    r"\b\d{1,2}(?::\d\d|\.\d\d)?\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:every|daily|weekly|mornings?|evenings?|"
    r"nights?|noon|midnight|weekends?|since|until|today|tomorrow|yesterday|tonight|week|month|year|spring|summer|autumn|winter)\b",
    re.I,
)
_PLACE_KEY = re.compile("city|home|place|address|location")
_REFERENCE = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Fit:
    """The clause of a hit that fits best."""

    clause: str
    about: float
    """How near it comes to the trait that is asked for: 0 to 1."""
    told: float
    """1 when it tells an everyday trait that is asked for, -1 when not, 0 when none is."""
    typed: float
    """1 when it holds the type of value asked for, -1 when not, 0 when any would do."""
    named: float
    """How many of the names in the question stand in the hit, or said it: 0 to 1."""
    owned: float
    """1 when it speaks of the one asked about, -1 when of somebody else, 0 when it does not tell."""

    named_for: bool
    """Whether it tells a name, and that is asked for."""
    short: bool
    """Whether the question asks for it in a word or two, so that all of them must be there."""

    @property
    def lacking(self) -> float:
        """How far a trait that is asked for in few words is from what the clause tells: 0 to 1."""
        return max(0.0, ENOUGH - self.about) if self.short else 0.0

    @property
    def worth(self) -> float:
        return (
            self.about * (0.5 + 0.5 * self.named)
            + OWNED * min(self.owned, 0.0)
            + TYPED * min(self.typed, 0.0, self.told)
        )


def fits(sought: Sought, hits: Sequence[Hit], known: People) -> list[Fit]:
    """For each hit, its best clause."""
    stems = frozenset(stem for word, _ in sought.about for stem in words.tokens(word))
    read = [(n, clause) for n, hit in enumerate(hits) for clause in _likely(stems, clauses(hit, known))]
    near = _near(sought, [f"{clause.text} {_key(hits[n])}" for n, clause in read])
    whole: dict[int, list[float]] = {}
    around: dict[int, str] = {}
    for (n, clause), row in zip(read, near, strict=True):
        if _owned(sought, clause, known) >= 0:
            whole[n] = [max(pair) for pair in zip(whole.get(n, row), row, strict=True)]
            around[n] = f"{around.get(n, '')} {clause.text}"
    best: dict[int, Fit] = {}
    for (n, clause), row in zip(read, near, strict=True):
        lent = [max(own, LENT * other) for own, other in zip(row, whole.get(n, row), strict=True)]
        fit = _fit(Reading(sought, hits[n], known), clause, lent, around.get(n, ""))
        if n not in best or fit.worth > best[n].worth:
            best[n] = fit
    return [best.get(n, Fit("", 0.0, 0.0, 0.0, 0.0, 0.0, False, False)) for n in range(len(hits))]


def _likely(stems: frozenset[str], found: list[Clause]) -> list[Clause]:
    """The few clauses that share most words with the question: looking at all of a long text would take too long."""
    if len(found) <= CLAUSES:
        return found
    shared = [len(stems.intersection(words.tokens(clause.text))) for clause in found]
    kept = sorted(range(len(found)), key=lambda n: (-shared[n], n))[:CLAUSES]
    return [found[n] for n in sorted(kept)]


def _key(hit: Hit) -> str:
    return re.sub(r"[-./_]", " ", hit.key.split(".", 1)[-1]) if hit.key and hit.kind != "message" else ""


def _near(sought: Sought, texts: Sequence[str]) -> list[list[float]]:
    """For each text, how near it comes to each of the words asked about."""
    if not sought.about:
        return [[] for _ in texts]
    near = statics.nearness([word for word, _ in sought.about], [statics.token_ids(text)[0] for text in texts])
    stems = [words.tokens(word)[0] for word, _ in sought.about]
    for n, text in enumerate(texts):
        said = set(words.tokens(text))
        for column, stem in enumerate(stems):
            if stem in said:
                near[n, column] = 1.0
    return [list(row) for row in near.tolist()]


def _fit(read: Reading, clause: Clause, near: list[float], around: str) -> Fit:
    """How a clause fits; what only the clauses around it hold makes it no better, and no worse."""
    sought = read.sought
    weights, values = [weight for _, weight in sought.about], list(near)
    untold = elsewhere = 0
    for trait, word in sought.traits:
        told = read.tells(trait, clause.text)
        untold += not told
        elsewhere += not told and read.tells(trait, around)
        place = next((n for n, (each, _) in enumerate(sought.about) if each == word), None)
        if place is None:
            values, weights = [*values, TOLD if told else 0.0], [*weights, max([*weights, 1.0])]
        else:
            values[place] = max(values[place], TOLD) if told else min(values[place], UNTOLD)
    about = sum(value * weight for value, weight in zip(values, weights, strict=True)) / (sum(weights) or 1.0)
    typed = read.typed(clause)
    if typed < 0 and read.typed(Clause(around, clause.owners)) > 0:
        typed = 0.0
    if sought.counted and typed >= 0 and not _counts(sought, values):
        typed = -1.0
    telling = 0.0 if not sought.traits or untold == elsewhere > 0 else -1.0 if untold else 1.0
    short = len(sought.about) <= SHORT
    if sought.confirms and short and about < CONFIRMED:
        about *= UNTOLD
    return Fit(
        clause=clause.text,
        about=about if weights else 1.0,
        told=-1.0 if sought.named and typed < 0 else telling,
        typed=typed,
        named=read.named(clause),
        owned=_owned(sought, clause, read.known),
        named_for=sought.named and typed > 0,
        short=short,
    )


@dataclass(frozen=True, slots=True)
class Reading:
    """A hit that is read for what is sought."""

    sought: Sought
    hit: Hit
    known: People

    def tells(self, trait: Trait, text: str) -> bool:
        return bool(trait.told.search(text) or (trait.key and self.hit.key and trait.key.search(self.hit.key)))

    def named(self, clause: Clause) -> float:
        if not self.sought.names:
            return 1.0
        text = f"{self.hit.speaker or ''} {self.hit.content}".casefold()
        told = [name in text or bool(self.known.meant({name}) & clause.owners) for name in self.sought.names]
        return sum(told) / len(told)

    def typed(self, clause: Clause) -> float:
        sought, hit, text = self.sought, self.hit, clause.text
        if not sought.value:
            return 0.0
        if sought.value == "time":
            dated = hit.kind == "event" and hit.timestamp is not None
            if dated or _TIME.search(text) or windows(text, hit.timestamp or _REFERENCE):
                return 1.0
            return 0.0 if sought.past and hit.timestamp is not None else -1.0
        if sought.value == "number":
            return 1.0 if NUMBER.search(_CALENDAR.sub("", text)) else -1.0
        if sought.value == "place":
            return 1.0 if _PLACE.search(text) or (hit.key and _PLACE_KEY.search(hit.key)) else -1.0
        return 1.0 if _somebody(sought, clause, self.known) else -1.0


def _counts(sought: Sought, values: list[float]) -> bool:
    """Whether the clause speaks of what is counted; "people" and the like are no trait, and anything may count them."""
    place = next((n for n, (word, _) in enumerate(sought.about) if word == sought.counted), None)
    return place is None or values[place] >= COUNTED


def _somebody(sought: Sought, clause: Clause, known: People) -> bool:
    """Whether it names somebody whom the question does not name; for "my wife's name", my wife."""
    text = clause.text
    if re.search(r"\b(?:called|named?|call me)\b", text):
        return True
    if sought.named and sought.kin:
        return any(known.also.get(kin, frozenset()) & set(re.findall(r"[\w-]+", text.casefold())) for kin in sought.kin)
    if set(names_in(f"x {text}")) - sought.names or clause.owners - {SELF} - sought.names - sought.kin:
        return True
    kin = {kin_of(word) for word in re.findall(r"[\w-]+", text.lower()) if word in KIN} - sought.kin
    return bool(kin) or (not sought.own and SELF in clause.owners)


def _owned(sought: Sought, clause: Clause, known: People) -> float:
    owners = clause.owners
    if not owners:
        return 0.0
    people = {name for name in sought.names if name in known.names} | sought.kin
    meant = known.meant(people)
    if SELF in owners:
        if sought.own and not people:
            return 1.0
        spoken = clause.text.casefold()
        told = any(each in spoken for each in meant) or bool(owners & meant)
        return 1.0 if told else 0.0 if sought.own or not people else -1.0
    if owners & meant or any(name in clause.text.casefold() for name in people & sought.names):
        return 1.0
    return -1.0 if sought.own or people else 0.0
