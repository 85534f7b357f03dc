"""Pure: how well a hit's clauses fit what a question asks for: the trait, the type of value, and whose trait it is."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from operator import mul
from typing import NamedTuple

from holdfast.domain.results import Hit
from holdfast.recall.question.target import KIN, Target, kin_of, names_in
from holdfast.recall.question.traits import NUMBER, TRAIT_BY_NAME, Trait
from holdfast.recall.ranking.clauses import SELF, Clause, People, clauses_of
from holdfast.text import static_vectors, tokens
from holdfast.text.cache import cached_by_text
from holdfast.text.dates import windows
from holdfast.text.lexicon.calendar import A_FULL_MONTH, A_FULL_SEASON, A_FULL_WEEKDAY

TOLD, UNTOLD = 1.0, 0.3
"""Nearness of an everyday trait: at least TOLD when the clause states it, at most UNTOLD when it does not."""
OWNED, TYPED = 0.6, 0.25
"""Penalties for a clause that is about somebody else (OWNED) or lacks the type of value (TYPED)."""
SHORT, ENOUGH, CONFIRMED = 2, 0.5, 0.75
"""A trait asked for in at most SHORT words must reach nearness ENOUGH; in a yes-or-no question it must reach CONFIRMED:
asthma is not an allergy."""
MAX_CLAUSES = 4
"""How many clauses of one hit are compared closely."""
MIN_COUNTED = 0.45
"""The minimum nearness of a clause with a number to the thing counted."""
LENT_SHARE = 0.7
"""The share that a word counts when it occurs in another clause of the same hit."""
_CALENDAR = re.compile(
    r"\b\d{1,2}(?:st|nd|rd|th)\b|\bat \d{1,2}\b(?! ?[%k])|\b\d{1,2}:\d\d\b|\b(?:19|20)\d\d\b|"
    rf"\b(?:\d{{1,2}} )?(?:{A_FULL_MONTH})\b"
    r"(?: \d{1,2}\b)?",
    re.I,
)
_PLACE = re.compile(
    r"\b(?:in|at|to|from|on|behind|under|near|above|inside|outside|beside|next to|by|off|into|around|via)\b "
    r"(?:the |a |my |our )?\w"
    r"|/\w|\bhere\b|\bthere\b|\bhome\b|\b(?:street|road|avenue|lane)\b",
    re.I,
)
_MOVED_TO_DAY = re.compile(
    rf"\b(?:to|on|from|by|until|in|at) (?:the |next )?"
    rf"(?:{A_FULL_WEEKDAY}s?|{A_FULL_MONTH}|\d[\w.:]*|morning|evening)\b",
    re.I,
)
"""A time that has a preposition as a place has: "moved to tuesdays"."""
_TIME = re.compile(
    rf"\b\d{{1,2}}(?::\d\d|\.\d\d)?\b|\b{A_FULL_WEEKDAY}s?\b|\b(?:every|daily|weekly|mornings?|evenings?|"
    rf"nights?|noon|midnight|weekends?|since|until|today|tomorrow|yesterday|tonight|week|month|year|{A_FULL_SEASON})\b",
    re.I,
)
_PLACE_KEY = re.compile("city|home|place|address|location")
_REFERENCE = datetime(2026, 1, 1, tzinfo=UTC)


class Fit(NamedTuple):
    """The best fitting clause of a hit."""

    clause: str
    about: float
    """Nearness to the trait asked for, 0 to 1."""
    told: float
    """1 when the clause states an everyday trait that is asked for, -1 when it does not, 0 when none is asked for."""
    typed: float
    """1 when the clause contains the type of value asked for, -1 when it does not, 0 when any type will do."""
    named: float
    """Share of the question's names that occur in the hit or are its speaker's: 0 to 1."""
    owned: float
    """1 when the clause is about the person asked about, -1 when about somebody else, 0 when it does not say."""

    named_for: bool
    """Whether the question asks for a name and the clause states one."""
    short: bool
    """Whether the question names the trait in one or two words, so that all of them must match."""
    worth: float
    """All of this as one number, by which clauses are compared."""

    @property
    def lacking(self) -> float:
        """For a trait asked for in few words: how far the clause is from being near enough, 0 to 1."""
        return max(0.0, ENOUGH - self.about) if self.short else 0.0


NO_FIT = Fit("", 0.0, 0.0, 0.0, 0.0, 0.0, False, False, 0.0)
"""The fit of a hit without any clause."""


NearnessByText = dict[str, list[float]]
"""Text of a clause → its nearness to each of the words asked about."""


def best_fits(
    sought: Target,
    hits: Sequence[Hit],
    known: People,
    compared: NearnessByText | None = None,
    least: float = -math.inf,
) -> list[Fit]:
    """The best fitting clause of each hit. `compared` keeps the nearness of texts that are read again for the same
    question. Clauses that are surely worth less than `least` are passed over, which may leave a hit with NO_FIT."""
    wanted = Wanted.of(sought)
    stems = frozenset(stem for word, _ in sought.about for stem in tokens.tokens(word))
    keys = [key_words(hit.kind, hit.key) for hit in hits]
    read = [(n, clause) for n, hit in enumerate(hits) for clause in _likely_clauses(stems, clauses_of(hit, known))]
    texts = [f"{clause.text} {keys[n]}" if keys[n] else clause.text for n, clause in read]
    near = words_nearness(sought, texts, {} if compared is None else compared)
    whole: dict[int, list[float]] = {}
    around: dict[int, str] = {}
    owned = [_ownership(sought, clause, known) for _, clause in read]
    for (n, clause), row, own in zip(read, near, owned, strict=True):
        if own >= 0:
            whole[n] = list(map(max, whole[n], row)) if n in whole else row
            around[n] = f"{around.get(n, '')} {clause.text}"
    rated: list[tuple[float, int, list[float]]] = []
    for place, ((n, _), row, own) in enumerate(zip(read, near, owned, strict=True)):
        lent = [max(here, LENT_SHARE * there) for here, there in zip(row, whole.get(n, row), strict=True)]
        highest = wanted.highest_worth(lent, own)
        if highest >= least:
            rated.append((highest, place, lent))
    best: dict[int, tuple[Fit, int]] = {}
    read_hits: dict[int, ReadHit] = {}
    for highest, place, lent in sorted(rated, key=lambda each: -each[0]):  # those that may be worth most come first
        n, clause = read[place]
        if n in best and highest < best[n][0].worth:
            continue
        if n not in read_hits:
            read_hits[n] = ReadHit.of(sought, hits[n], known)
        fit = _clause_fit(wanted, read_hits[n], clause, owned[place], lent, around.get(n, ""))
        if n not in best or (fit.worth, -place) > (best[n][0].worth, -best[n][1]):
            best[n] = fit, place
    return [best[n][0] if n in best else NO_FIT for n in range(len(hits))]


class Wanted(NamedTuple):
    """What a question asks for, as every clause is compared with it."""

    weights: list[float]
    """Of the words asked about, then of those traits that none of these words names."""
    total: float
    traits: list[tuple[Trait, int]]
    """Each with the place of its word."""
    counted: int | None
    """The place of the word for the thing counted; None when nothing is, or when it is not part of the trait."""

    @classmethod
    def of(cls, sought: Target) -> Wanted:
        words = [word for word, _ in sought.about]
        weights = [weight for _, weight in sought.about]
        traits = []
        for trait, word in sought.traits:
            if word not in words:
                weights.append(max([*weights, 1.0]))
            traits.append((trait, words.index(word) if word in words else len(weights) - 1))
        counted = words.index(sought.counted) if sought.counted in words else None
        return cls(weights, sum(weights) or 1.0, traits, counted)

    def highest_worth(self, near: list[float], owned: float) -> float:
        """What a clause of this nearness is worth at most: its words and values are not looked at for this."""
        if self.traits or not self.weights:
            return math.inf
        about: float = sum(map(mul, near, self.weights)) / self.total
        return max(about, 0.0) + OWNED * min(owned, 0.0)


def _likely_clauses(stems: frozenset[str], found: list[Clause]) -> list[Clause]:
    """The few clauses that share most words with the question: comparing all of a long text would take too long."""
    if len(found) <= MAX_CLAUSES:
        return found
    shared = [len(stems.intersection(_stems(clause.text))) for clause in found]
    kept = sorted(range(len(found)), key=lambda n: (-shared[n], n))[:MAX_CLAUSES]
    return [found[n] for n in sorted(kept)]


def key_words(kind: str, key: str | None) -> str:
    """The words of a key that are read with each clause of its memory."""
    return re.sub(r"[-./_]", " ", key.split(".", 1)[-1]) if key and kind != "message" else ""


def words_nearness(sought: Target, texts: Sequence[str], compared: NearnessByText) -> list[list[float]]:
    """For each text, its nearness to each of the words asked about; new ones are added to `compared`."""
    if not sought.about:
        return [[] for _ in texts]
    new = [text for text in dict.fromkeys(texts) if text not in compared]
    if new:
        words = [word for word, _ in sought.about]
        near = static_vectors.nearness(words, [_token_ids(text) for text in new]).tolist()
        stems = [tokens.tokens(word)[0] for word in words]
        for text, row in zip(new, near, strict=True):
            said = _stems(text)
            compared[text] = [1.0 if stem in said else value for stem, value in zip(stems, row, strict=True)]
    return [compared[text] for text in texts]


@cached_by_text
def _stems(text: str) -> tuple[str, ...]:
    """A tuple of texts: other than a set, the garbage collector need not look at it again and again."""
    return tuple(dict.fromkeys(tokens.tokens(text)))


@cached_by_text
def _token_ids(text: str) -> bytes:
    """The ids of the tokens whose vectors are compared."""
    return static_vectors.token_ids(text)[0]


def _clause_fit(wanted: Wanted, read: ReadHit, clause: Clause, owned: float, near: list[float], around: str) -> Fit:
    """Computes how a clause fits; a trait or value that only the clauses around it contain counts
    neither for nor against it."""
    sought, text = read.sought, clause.text
    values = near if len(wanted.weights) == len(near) else [*near, *[0.0] * (len(wanted.weights) - len(near))]
    untold = elsewhere = 0
    if wanted.traits:
        values = values.copy()
        for trait, place in wanted.traits:
            told = read.tells(trait, text)
            untold += not told
            elsewhere += not told and read.tells(trait, around)
            values[place] = max(values[place], TOLD) if told else min(values[place], UNTOLD)
    about = sum(map(mul, values, wanted.weights)) / wanted.total
    typed = read.typed(clause)
    if typed < 0 and read.typed(Clause(around, clause.owners)) > 0:
        typed = 0.0
    if typed >= 0 and wanted.counted is not None and values[wanted.counted] < MIN_COUNTED:
        typed = -1.0
    telling = 0.0 if not sought.traits or untold == elsewhere > 0 else -1.0 if untold else 1.0
    short = len(sought.about) <= SHORT
    if sought.confirms and short and about < CONFIRMED:
        about *= UNTOLD
    about = about if wanted.weights else 1.0
    tells = -1.0 if sought.named and typed < 0 else telling
    named = read.named(clause)
    return Fit(
        clause=text,
        about=about,
        told=tells,
        typed=typed,
        named=named,
        owned=owned,
        named_for=sought.named and typed > 0,
        short=short,
        worth=about * (0.5 + 0.5 * named) + OWNED * min(owned, 0.0) + TYPED * min(typed, 0.0, tells),
    )


class ReadHit(NamedTuple):
    """A hit together with what the question asks for."""

    sought: Target
    hit: Hit
    known: People
    named_here: dict[str, bool]
    """Each name in the question → whether the hit's text or its speaker has it."""

    @classmethod
    def of(cls, sought: Target, hit: Hit, known: People) -> ReadHit:
        if not sought.names:
            return cls(sought, hit, known, {})
        text = f"{hit.speaker or ''} {hit.content}".casefold()
        return cls(sought, hit, known, {name: name in text for name in sought.names})

    def tells(self, trait: Trait, text: str) -> bool:
        return _tells(text, trait.name) or bool(trait.key and self.hit.key and trait.key.search(self.hit.key))

    def named(self, clause: Clause) -> float:
        if not self.named_here:
            return 1.0
        told = [here or bool(self.known.meant({name}) & clause.owners) for name, here in self.named_here.items()]
        return sum(told) / len(told)

    def typed(self, clause: Clause) -> float:
        sought, hit, text = self.sought, self.hit, clause.text
        if not sought.value:
            return 0.0
        if sought.value == "time":
            dated = hit.kind == "event" and hit.timestamp is not None
            if dated or _has_value(text, "time") or _names_time(text, hit.timestamp or _REFERENCE):
                return 1.0
            return 0.0 if sought.past and hit.timestamp is not None else -1.0
        if sought.value == "number":
            return 1.0 if _has_value(text, "number") else -1.0
        if sought.value == "place":
            return 1.0 if _has_value(text, "place") or (hit.key and _PLACE_KEY.search(hit.key)) else -1.0
        return 1.0 if _names_somebody(sought, clause, self.known) else -1.0


@cached_by_text
def _has_value(text: str, value: str) -> bool:
    if value == "number":
        return NUMBER.search(text) is not None and NUMBER.search(_CALENDAR.sub("", text)) is not None
    return _TIME.search(text) is not None if value == "time" else _PLACE.search(_MOVED_TO_DAY.sub("", text)) is not None


@cached_by_text
def _names_time(text: str, said_at: datetime) -> bool:
    return bool(windows(text, said_at))


@cached_by_text
def _tells(text: str, trait: str) -> bool:
    return TRAIT_BY_NAME[trait].told.search(text) is not None


def _names_somebody(sought: Target, clause: Clause, known: People) -> bool:
    """Whether the clause names a person that the question does not name; for "my wife's name",
    whether it names the wife."""
    text = clause.text
    if re.search(r"\b(?:called|named?|call me)\b", text):
        return True
    if sought.named and sought.kin:
        return any(known.also.get(kin, frozenset()) & set(re.findall(r"[\w-]+", text.casefold())) for kin in sought.kin)
    if set(names_in(f"x {text}")) - sought.names or clause.owners - {SELF} - sought.names - sought.kin:
        return True
    kin = {kin_of(word) for word in re.findall(r"[\w-]+", text.lower()) if word in KIN} - sought.kin
    return bool(kin) or (not sought.own and SELF in clause.owners)


def _ownership(sought: Target, clause: Clause, known: People) -> float:
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
