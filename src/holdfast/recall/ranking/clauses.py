"""Pure: splits a text into clauses and determines who each is about: its author or somebody else.

"My brother is allergic to shellfish, I'm fine with it" has two clauses, and only the second is about the user. A
capital letter at the beginning of a sentence does not make a name. Names are words capitalised inside a sentence
anywhere, the speakers' names, and those after "my sister".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from holdfast.domain.results import Hit
from holdfast.domain.types import SECOND_HAND_TRUST
from holdfast.recall.question.target import KIN, kin_of, names_in
from holdfast.text.cache import cached_by_text
from holdfast.text.lexicon.entity_names import ORDINARY_WORDS
from holdfast.text.lexicon.given_names import MEN, WOMEN
from holdfast.text.lexicon.sentences import A_TITLE, ENDS, NOT_AFTER_ABBREVIATION, WIDE_ENDS

SELF = "\0self"
MAX_CHARACTERS = 800
MAX_CLAUSES = 16
"""Maximum number of clauses read from one text."""
_SENTENCE = re.compile(rf"(?<=[{ENDS}{WIDE_ENDS}]){NOT_AFTER_ABBREVIATION}\s+|\n+")
_SUBJECT = (
    r"(?:i|i'm|i've|i'd|i'll|we|we're|we've|we'll|he|she|they|he's|she's|they're|my|our|his|her|their|it's|the user)\b"
)
_CLAUSE = re.compile(
    rf"[,;–— ](?:(?:(?<! ) )?(?:(?:and|so|but|because|while|though) )?(?<= )(?={_SUBJECT} )"
    r"|(?<=[,;]) (?:(?:and|so|but|while) )?(?=(?-i:[A-ZÀ-Þ])\w+ (?:is|was|has|will|\w+s)\b))",
    re.I,
)
"""It begins with a set of characters: `re` skips all others at once."""
_NEEDS_JOINT = re.compile(r"(?:[,;–—]|\b(?:and|so|but|because|while|though)) *$", re.I)
_KIN = "|".join(sorted(KIN, key=len, reverse=True))
_RELATED = re.compile(
    rf"(?:my|our|his|her|their|the user's|(?-i:[A-ZÀ-Þ])[\w-]+'s) (?:(?!and\b)[\w-]+ ){{0,2}}?(?P<kin>{_KIN})\b"
    r"(?:,? (?P<name>(?-i:[A-ZÀ-Þ])[\w-]+))?",
    re.I,
)
_AFTER_SPACE = re.compile(r"(?<= )\w+")
_KIN_STARTS = frozenset(kin.split("-")[0] for kin in KIN)
"""What a word for a relationship begins with; such a word stands after a space in the patterns around this."""
_THE = re.compile(rf"\bthe (?P<kin>{_KIN}),? (?P<name>(?-i:[A-ZÀ-Þ])[\w-]+)", re.I)
_LEAD = re.compile(
    r"(?:(?:and|but|so|also|btw|ok|okay|oh|well|yes|no|actually|anyway|fine|great|sorry|oops|yesterday|today|now|then|"
    r"finally|fyi|asked \"[^\"]*\", [^:]{1,40} answered:|by the way|the user said: \")[\s,!.:]+)+",
    re.I,
)
_MINE = re.compile(r"(?:i|i'm|i've|i'd|i'll|we|we're|we've|we'd|we'll|my|our|mine|the user(?:'s)?|ours)\b", re.I)
_OTHERS = re.compile(r"(?:he|she|they|his|her|their|he's|she's|they're)\b", re.I)
_ALSO_MINE = re.compile(r"(?<=\w )(?:me|us|my|our|mine)\b", re.I)
_ASKED = re.compile(r'Asked "[^"]*", [^:]{1,40} answered: ')
_NAMED = re.compile(rf"(?:(?:{A_TITLE})\. )?(?P<name>[A-ZÀ-Þ][\w-]+)")


class Clause(NamedTuple):
    text: str
    owners: frozenset[str]
    """Who it is about: SELF, a name, or a relationship to the user; empty when it does not say."""


@dataclass(frozen=True, slots=True)
class People:
    """The people mentioned in some hits, and their relationship to the user: wife ↔ Sanna."""

    names: frozenset[str] = frozenset()
    also: dict[str, frozenset[str]] = field(default_factory=dict)
    alone: str | None = None
    """The name of the only speaker, if there is exactly one: that speaker is the user."""

    def meant(self, given: Iterable[str]) -> frozenset[str]:
        found = set(given)
        for each in tuple(found):
            found |= self.also.get(each, frozenset())
        return frozenset(found)


def people_in(hits: Sequence[Hit]) -> People:
    names: set[str] = set()
    also: dict[str, set[str]] = {}
    speakers = {hit.speaker.casefold() for hit in hits if hit.speaker and hit.role == "user"}
    told: set[str] = set()
    """Of whom people say themselves what they are to each other: no document or tool can say otherwise."""
    for hit in sorted(hits, key=_is_second_hand):
        mentioned = _people_mentioned(text_read(hit.content))
        names |= mentioned.names
        for kin, name in mentioned.relations:
            if not _is_second_hand(hit):
                told |= {kin, name}
            elif told & {kin, name}:
                continue
            also.setdefault(kin, set()).add(name)
            also.setdefault(name, set()).add(kin)
    for speaker in speakers:
        names |= {speaker, *speaker.split()}
    held = {each: frozenset(others) for each, others in also.items()}
    return People(frozenset(names), held, next(iter(speakers)) if len(speakers) == 1 else None)


class PeopleMentioned(NamedTuple):
    names: frozenset[str]
    relations: tuple[tuple[str, str], ...]
    """What somebody is to somebody, and their name: ("wife", "sanna")."""


NOBODY_MENTIONED = PeopleMentioned(frozenset(), ())


@cached_by_text
def _people_mentioned(text: str) -> PeopleMentioned:
    names = frozenset(names_in(text))
    if _KIN_STARTS.isdisjoint(_AFTER_SPACE.findall(text.casefold())):
        return PeopleMentioned(names, ()) if names else NOBODY_MENTIONED
    related = ((kin_of(m["kin"].lower()), (m["name"] or "").casefold()) for m in _related_people(text))
    relations = tuple((kin, name) for kin, name in related if name and name not in ORDINARY_WORDS)
    return PeopleMentioned(names | {name for _, name in relations}, relations)


def _related_people(text: str) -> Iterator[re.Match[str]]:
    yield from _RELATED.finditer(text)
    yield from _THE.finditer(text)


def is_person(name: str, known: People) -> bool:
    """Whether somebody is surely a person: a relationship, one whose relationship is told, or a given name."""
    return name != SELF and (name in KIN or name in known.also or name.capitalize() in WOMEN | MEN)


def is_related(name: str, text: str) -> bool:
    """Whether the text says what somebody of this name is to somebody: "my sister Priya"."""
    if name not in KIN and name not in text.casefold():
        return False
    return any(name in relation for relation in _people_mentioned(text_read(text)).relations)


def text_read(text: str) -> str:
    """The beginning of a text, which is split into clauses."""
    return text[:MAX_CHARACTERS].replace("’", "'")


def _is_second_hand(hit: Hit) -> bool:
    return hit.trust in SECOND_HAND_TRUST


def clauses_of(hit: Hit, known: People) -> list[Clause]:
    """Splits a hit's text into clauses; a pronoun refers to the person in the clause before."""
    mine = _speaker(hit, known)
    last: frozenset[str] = frozenset()
    found = []
    for text, subject in _clauses_read(text_read(hit.content)):
        owners = _owners(subject, known, last, mine)
        last = owners - mine - {SELF} or last
        found.append(Clause(text, owners))
    if hit.key is not None and "." in hit.key and hit.kind != "message":
        of = frozenset(map(kin_of, hit.key.split(".")[0].split("-")))
        of |= {SELF} if known.alone in of else frozenset()
        found = [
            Clause(each.text, each.owners | of if each.owners and SELF not in each.owners else of) for each in found
        ]
    return found


def _speaker(hit: Hit, known: People) -> frozenset[str]:
    """Who "I" is in a hit: nobody in what an assistant, a tool or a document says."""
    if _is_second_hand(hit):
        return frozenset()
    if hit.message_id is None:
        return frozenset({SELF})
    if hit.role != "user":
        return frozenset()
    if hit.speaker is None:
        return frozenset({SELF})
    name = hit.speaker.casefold()
    return frozenset({name, *name.split(), *({SELF} if known.alone == name else ())})


class ClauseSubject(NamedTuple):
    """Who a clause speaks of, by its own words."""

    of_speaker: bool = False
    pronoun: bool = False
    """Whether it is somebody in a clause before."""
    related: frozenset[str] = frozenset()
    """A relationship, and the name if there is one."""
    name: str = ""
    """A capitalised first word; whether it is a name is not known here."""
    also_speaker: bool = False


NOBODY, SPEAKER = ClauseSubject(), ClauseSubject(of_speaker=True)
"""The subjects of most clauses. They are shared: thousands of clauses are kept."""


def _subject(text: str) -> ClauseSubject:
    lead = _LEAD.match(text)
    said = text[lead.end() :] if lead else text
    also = _ALSO_MINE.search(said) is not None
    if m := _RELATED.match(said):
        named = [m["name"].casefold()] if m["name"] else []
        return ClauseSubject(related=frozenset([kin_of(m["kin"].lower()), *named]), also_speaker=also)
    if _MINE.match(said):
        return SPEAKER
    if _OTHERS.match(said):
        return ClauseSubject(pronoun=True, also_speaker=also)
    name = m["name"].casefold() if (m := _NAMED.match(said)) else ""
    if not also and (not name or name in ORDINARY_WORDS):
        return NOBODY
    return ClauseSubject(name="" if name in ORDINARY_WORDS else name, also_speaker=also)


def _owners(subject: ClauseSubject, known: People, last: frozenset[str], mine: frozenset[str]) -> frozenset[str]:
    also = mine if subject.also_speaker else frozenset()
    if subject.related:
        return known.meant(subject.related) | also
    if subject.of_speaker:
        return mine
    if subject.pronoun:
        return last | also
    if subject.name in known.names:
        return known.meant({subject.name}) | also | (frozenset({SELF}) if subject.name == known.alone else frozenset())
    return also


@cached_by_text
def _clauses_read(text: str) -> tuple[tuple[str, ClauseSubject], ...]:
    """The clauses of a text, each with whom it speaks of."""
    return tuple((clause, _subject(clause)) for clause in _split(text)[:MAX_CLAUSES])


def _split(text: str) -> list[str]:
    """Splits a text into clauses. When a reply is recorded with its question, the question
    stays with the first clause."""
    if (m := _ASKED.match(text)) and m.end() < len(text):
        first, *others = _split(text[m.end() :])
        return [f"{m[0]}{first}", *others]
    found = []
    for sentence in _SENTENCE.split(text):
        cuts = [0, *(m.end() for m in _CLAUSE.finditer(sentence) if _joint(sentence, m)), len(sentence)]
        found += [clause for a, b in pairwise(cuts) if (clause := sentence[a:b].strip())]
    return found


def _joint(sentence: str, match: re.Match[str]) -> bool:
    """Whether a new clause begins there: after a comma or a conjunction, but not within "when I" or "said my"."""
    return match.start() > 0 and _NEEDS_JOINT.search(sentence[: match.end()]) is not None
