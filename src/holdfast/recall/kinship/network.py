"""Pure: the relatives that statements name, and whom a question means by "my sister's boyfriend" or "Leo's aunt"."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from holdfast.domain.results import Hit
from holdfast.recall.kinship.statements import BABY, USER, Relation, owner_name, relations_in
from holdfast.recall.kinship.words import (
    A_KIN_WORD,
    ENGAGED,
    INVERSE,
    MARRIED,
    KinWord,
    Path,
    Sex,
    Step,
    kin_word,
    plain_text,
    sex_of_name,
    singular,
)

_ASKED = re.compile(
    rf"\b(?P<owner>my|our|the user's|[\w-]+?'s|[\w-]+s') (?:(?:older|younger|big|little|oldest|new) )?"
    rf"(?P<chain>(?:(?:{A_KIN_WORD})s?(?:'s|s'|') )*(?:{A_KIN_WORD})s?)\b",
    re.I,
)
_OF_ONE = re.compile(rf"\bthe (?P<kin>{A_KIN_WORD})s? of (?P<name>(?-i:[A-ZÀ-Þ])[\w-]+|my (?:{A_KIN_WORD})s?)\b", re.I)
_ASKS_OWN = re.compile(
    rf"\W*(?:(?:who|what|which)(?:'s| is| are| were)? (?:all )?(?:my|our) (?P<kin>{A_KIN_WORD})s?"
    r"(?:'s? names?| called| named)?"
    rf"|(?:how many|which) (?P<counted>{A_KIN_WORD})s? (?:do|have) (?:i|we)(?: have| got)?)\W*$",
    re.I,
)
_OWN_OR_NOT = re.compile(
    rf"(?<!\bhis )(?<!\bher )(?<!\btheir )(?<!\byour )(?<!(?<!user)'s )\b(?:(?P<kin>{A_KIN_WORD})s?|"
    r"(?P<young>boy|girl|eldest|oldest|youngest)s?)\b",
    re.I,
)
_SEX_OF_CHILD: dict[str, Sex] = {"boy": "m", "girl": "f", "eldest": "", "oldest": "", "youngest": ""}
_AGREES = {"married": MARRIED, "engaged": ENGAGED, "proposed": ENGAGED}


@dataclass(frozen=True, slots=True)
class AskedKin:
    """The relative that a question is about: whose, by which words, and where in the question that stands."""

    owner: str
    words: tuple[str, ...]
    span: tuple[int, int]
    text: str
    """The question, as the span counts."""


class Meant(NamedTuple):
    """A person whom the question means, and the statements that say so."""

    name: str
    told_in: tuple[Hit, ...]


def asked_kin(question: str, known: Collection[str] = ()) -> AskedKin | None:
    """The first relative in a question; None when there is none."""
    text = plain_text(question)
    if m := _OF_ONE.search(text):
        text = f"{text[: m.start()]}{m['name']}'s {m['kin']}{text[m.end() :]}"
    m = _ASKED.search(text)
    if m is None:
        return None
    owner = USER if m["owner"].lower() in ("my", "our", "the user's") else owner_name(m["owner"], known)
    words = tuple(map(singular, re.findall(rf"\b(?:{A_KIN_WORD})s?\b", m["chain"], re.I)))
    return AskedKin(owner, words, m.span(), text) if owner else None


class _Told(NamedTuple):
    sex: Sex
    word: str
    hit: Hit


@dataclass
class KinNetwork:
    """Who is whose parent, child, sibling or partner. Somebody without a name has the path to them in its place."""

    ties: dict[tuple[str, Step], dict[str, _Told]] = field(default_factory=dict)

    @classmethod
    def of(cls, told: Iterable[tuple[Relation, Hit]]) -> KinNetwork:
        made = cls()
        for relation, hit in sorted(told, key=lambda each: len(each[0].path)):
            made.add(relation, hit)
        return made

    def add(self, told: Relation, hit: Hit) -> None:
        at = told.owner
        for step in told.path[:-1]:
            next = self._one(at, step) or f"{at}/{step}"
            self._tie(at, step, next, _Told("", "", hit))
            at = next
        self._tie(at, told.path[-1], told.name, _Told(told.sex, told.word, hit))

    def _tie(self, one: str, step: Step, other: str, told: _Told) -> None:
        self.ties.setdefault((one, step), {}).setdefault(other, told)
        self.ties.setdefault((other, INVERSE[step]), {}).setdefault(one, _Told("", "", told.hit))

    def _one(self, person: str, step: Step) -> str:
        found = self.ties.get((person, step), {})
        return next(iter(found)) if len(found) == 1 else ""

    def meant(self, asked: AskedKin) -> list[Meant]:
        """The named people whom the words lead to."""
        reached = [Meant(asked.owner, ())]
        for n, word in enumerate(asked.words):
            last = n == len(asked.words) - 1
            reached = [each for one in reached for each in self._relatives(one, word, last)]
        by_name = {each.name: each for each in reached}
        return [each for each in by_name.values() if "/" not in each.name and each.name not in (USER, asked.owner)]

    def _relatives(self, start: Meant, word: str, last: bool) -> list[Meant]:
        meant = kin_word(word)
        for path in meant.paths:
            if found := self._at_end(start, path, word, meant.sex if last else ""):
                return found
        return []

    def _at_end(self, start: Meant, path: Path, word: str, sex: Sex) -> list[Meant]:
        reached: list[tuple[str, tuple[Hit, ...], _Told | None]] = [(start.name, start.told_in, None)]
        for step in path:
            reached = [
                (name, (*hits, told.hit), told)
                for at, hits, _ in reached
                for name, told in self._neighbours(at, step).items()
                if name != start.name
            ]
        return [Meant(name, hits) for name, hits, told in reached if told is not None and _fits(name, told, word, sex)]

    def _neighbours(self, person: str, step: Step) -> dict[str, _Told]:
        """A partner's children are one's own where no others are known."""
        found = self.ties.get((person, step), {})
        if found or step != "child":
            return found
        return {
            n: told
            for other in self.ties.get((person, "partner"), {})
            for n, told in self.ties.get((other, step), {}).items()
        }


def _fits(name: str, told: _Told, word: str, sex: Sex) -> bool:
    """Whether the sex is not another one, a husband is somebody who is married, and a baby one that was told of as
    such."""
    if word == BABY and told.word != BABY:
        return False
    known = told.sex or sex_of_name(name)
    if sex and known and sex != known:
        return False
    if not told.word or word not in MARRIED | ENGAGED:
        return True
    return word in _AGREES.get(told.word, frozenset({told.word})) or (word in MARRIED and told.word in MARRIED)


def tells_of_another(question: str, statement: str) -> bool:
    """Whether the user's own relative is asked about, and the statement names only somebody else's: "Chloe had her
    baby, Otis" does not say what "my baby" is called."""
    asked = asked_kin(question)
    if asked is None or asked.owner != USER or len(asked.words) > 1:
        return False
    told = [each for each in relations_in(statement, ()) if each.path == kin_word(asked.words[0]).paths[0]]
    return bool(told) and all(each.owner != USER for each in told)


def own_relatives(question: str) -> str:
    """The word for the asker's own relatives, where a question only asks who or how many they are; empty for others."""
    m = _ASKS_OWN.match(plain_text(question))
    word = singular(m["kin"] or m["counted"]) if m is not None else ""
    return word if word and len(kin_word(word).paths[0]) == 1 else ""


def may_tell_of_own(word: str, statement: str) -> bool:
    """Whether a statement has a word for such relatives of its author: not "her sister's"."""
    meant = kin_word(word)
    for m in _OWN_OR_NOT.finditer(plain_text(statement)):
        told = KinWord((("child",),), _SEX_OF_CHILD[m["young"].lower()]) if m["young"] else kin_word(m["kin"])
        if told.paths[0] == meant.paths[0] and (told.sex == meant.sex or not (told.sex and meant.sex)):
            return True
    named = [each for each in relations_in(statement, ()) if each.owner == USER and each.path == meant.paths[0]]
    return any(each.sex == meant.sex or not (each.sex and meant.sex) for each in named)


def frontier(network: KinNetwork, asked: AskedKin) -> list[str]:
    """The named people on the way from the owner."""
    return [
        name for (one, _), others in network.ties.items() if one == asked.owner for name in others if "/" not in name
    ]


def path_steps(words: Sequence[str]) -> list[Step]:
    return list(dict.fromkeys(step for word in words for path in kin_word(word).paths for step in path))
