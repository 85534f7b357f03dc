"""Pure: who is whose relative, as statements say it: "my sister Kasia", "Joannes husband is Piotr", "Kofi and I got
engaged", "Ama had her baby! a girl called Esi".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from holdfast.recall.kinship.words import A_KIN_WORD, Path, Sex, kin_word, plain_text, singular
from holdfast.text.lexicon.calendar import MONTH_INDEX, WEEKDAY_INDEX
from holdfast.text.lexicon.entity_names import ORDINARY_WORDS
from holdfast.text.lexicon.numbers import A_COMMON_NUMBER

USER, BABY = "\0user", "baby"
_NAME = r"(?-i:[A-ZÀ-Þ])[\w-]*[^\W\d_]"
_YEARS = rf"(?:\d+|{A_COMMON_NUMBER})"
_AGE = rf"(?:(?:,? (?:who's|whos|who is|is|aged)|'s) {_YEARS}\b|,? \(?\d+\)?)?"
_VERB = r"(?:'s|is|was|has|had|will|lives?|works?|goes|studies|moved|got|starts?|started|wants|said|says|[a-z]{3,}ed)\b"
_NAMES = rf"{_NAME}{_AGE}(?:(?:,| and|, and| &) (?:the (?:[a-z]+ ){{0,2}})?{_NAME}(?!\w){_AGE}(?! ?{_VERB}))*"
"""A name with a verb of its own begins another statement: "their baby Finn, Marek is in Krakow"."""
_OWNER = r"(?:my|our|his|her|their|the user's|[\w-]+?'s|[\w-]+s')"
_OLD = r"(?:ex|late|former|old)\b"
_CHAIN = rf"(?P<owner>{_OWNER}|[\w-]{{3,}}s) (?!{_OLD})(?:(?!and\b)[\w-]+ )??(?P<kin>{A_KIN_WORD})s?"
_MORE = rf"(?P<more>(?:(?:'s|s'|s|') (?:{A_KIN_WORD})s?)*)"
_IS = r"(?:,? \(?|,? (?:is|are|was|were)(?: called| named)? |,? (?:called|named) |: ?)"
_TOLD = re.compile(rf"\b{_CHAIN}{_MORE}{_IS}(?P<names>{_NAMES})(?!'s? (?:{A_KIN_WORD}))", re.I)
_AGED = r"(?:(?:grown|grown-up|adult|little|small|young|teenage|older|younger) )?"
_BARE = re.compile(
    rf"(?:^|[.!?;,] )(?:and |so |(?P<the>the )|(?:i |we |i've |we've )?(?:got |have ))?(?:(?:{A_COMMON_NUMBER}|\d+) )?"
    rf"{_AGED}(?P<kin>{A_KIN_WORD})"
    rf"(?:s?(?: (?:is|are)(?: called| named)?|:| [-–]|,(?= {_NAME}{_AGE}(?:,| and)))|(?!s)) (?P<names>{_NAMES})",
    re.I,
)
"""Without an owner: "wife is Marlize", "two kids: Ruan 16, Anke 14", "granddaughter Noor"."""
_LISTED = re.compile(
    rf"(?:^|[.!?,;] |\b(?:my|our) |\bthe (?=grand))(?:(?:i |we |i've |we've )?(?:got |have ))?(?:{_YEARS} )?"
    r"(?P<kin>(?:grand)?(?:kids|children)|(?:grand)?sons|(?:grand)?daughters|brothers|sisters|nieces|nephews|cousins)\b"
    rf"(?-i:[^.!?;:A-ZÀ-Þ]){{0,60}}?[,:.] (?:{_YEARS} (?:teenagers|boys|girls), )?"
    rf"(?P<names>{_NAME}{_AGE}(?:(?:,| and|, and| &) {_NAME}{_AGE})+)",
    re.I,
)
"""Named after some words more: "I mind the grandkids after school, Kasia is 9 and Olly is 6"."""
_OFFSPRING = re.compile(
    rf"\b(?P<owner>my|our|his|her|their|(?-i:[A-ZÀ-Þ])[\w-]+'s) (?:(?:{_YEARS}) (?=boys|lads|girls))?"
    rf"(?P<what>(?<!\bmy )(?<!\bour )(?:two|three)|boys?|lads?|girls|(?<!\bmy )girl),? (?P<names>{_NAMES})",
    re.I,
)
"""Children without a word for them: "Clare lives there with Neil and their two, Imogen and Rufus"."""
_OWN_CHILDREN = re.compile(
    rf"(?:^|[.!?;] )(?:(?:i|we)(?:'ve)? (?:got |have ))?{_YEARS} (?P<what>boys|lads|girls)[,:] (?P<names>{_NAMES})"
    r"(?=\W*(?:[.!?;]|$))",
    re.I,
)
"""One's own, without a word for whose: "two girls, Zosia (8) and Hania (5)"; nothing is told of them after it."""
_NAMED_AFTER = re.compile(
    rf"(?:^|[.!?;,] |\b(?:my|our) )(?P<kin>{A_KIN_WORD})\b(?P<rest>[^.!?]{{0,80}}[.!?,;] ?)(?:and )?"
    rf"(?:(?P<whose>her|his) name(?: is|'s|s)|(?P<who>she|he)(?: is|'s|s) called) (?P<names>{_NAME})",
    re.I,
)
"""With the name in the next sentence: "mum's coming for 6 weeks. her name's Bee Lian"."""
_CHILD_BY_AGE = re.compile(
    rf"\b(?:my|our) (?:eldest|oldest|youngest|middle one|middle child|firstborn)(?: is|'s)?,? (?P<names>{_NAME})", re.I
)
_EACH_CHILD = re.compile(rf"\b{_AGED}(?P<kin>{A_KIN_WORD})s?: (?P<rest>{_NAME} {_VERB}[^.!?\n]*)", re.I)
"""With a statement about each: "two kids: Kasia lives in Dublin, Marek is in Krakow"."""
_WITH_VERB = re.compile(rf"(?:^|[,;] (?:and )?| and )(?P<name>{_NAME}) {_VERB}")
_REVERSED = re.compile(rf"\b(?P<names>{_NAME})(?: is|'s|,| \(|, who is|, who's) {_CHAIN}\b(?!'s|')", re.I)
_BORN = re.compile(
    rf"\b(?:(?P<who>{_NAME})|my (?P<kin>{A_KIN_WORD}))(?: and (?:[\w-]+ ){{1,4}}?)?(?: just| finally)? "
    r"(?:had|gave birth to|has had) "
    r"(?:her|their|his|a|the) (?:[\w-]+ ){0,2}?(?P<what>baby|boy|girl|son|daughter|twins)\b(?P<rest>[^?]{0,70})"
    rf"|\b(?P<who2>{_NAME}) had (?P<what2>twins)\b(?P<rest2>[^?]{{0,70}})",
    re.I,
)
_CHILD_NAME = re.compile(rf"(?:called|named|name is|[,!:]) (?:it's |its )?(?P<names>{_NAMES})", re.I)
_COUPLE = r"(?P<how>engaged|married|together|dating|a couple|a thing|an item|seeing each other)"
_WITH_ME = re.compile(
    rf"\b(?P<name>{_NAME}) and (?:i|me|the user)\b[^.!?]{{0,30}}?\b{_COUPLE}\b"
    rf"|\b(?:i|me|we|the user) (?:and )?(?:[\w']+ ){{0,3}}?(?P<how2>engaged|married|dating)(?: to| with)? "
    rf"(?P<name2>{_NAME})"
    rf"|\b(?P<name3>{_NAME}) (?P<how3>proposed|asked me to marry)\b"
    rf"|\b(?:i|we|the user) (?P<how4>proposed) to (?P<name4>{_NAME})",
    re.I,
)
_WITH_OTHER = re.compile(
    rf"\b(?P<one>{_NAME}) (?:is |was |are |just |'s )*(?:getting |got |gets )?(?P<how>engaged|married)\W+"
    rf"(?:to|with) (?P<two>{_NAME})",
    re.I,
)
_AT_PLACE = re.compile(rf"\b(?:in|at|from|near) {_NAME}(?: {_NAME})*")
_SEXES: dict[str, Sex] = {"boy": "m", "son": "m", "girl": "f", "daughter": "f", "lad": "m"}


class Relation(NamedTuple):
    """That a person is the relative of another, at the end of a path."""

    owner: str
    """In lower case; USER for the user."""
    path: Path
    name: str
    sex: Sex
    word: str
    """The word for the relative, or how two are together: "married"."""


def relations_in(text: str, known: Collection[str]) -> list[Relation]:
    """What a text says; `known` are names in lower case, which people also write without capitals and apostrophes."""
    text = plain_text(text)
    found = [*_told(text, known), *_born(text), *_partners(text)]
    return [each for each in found if each.owner and each.owner != each.name]


def _told(text: str, known: Collection[str]) -> Iterator[Relation]:
    for pattern in (_TOLD, _REVERSED):
        for m in pattern.finditer(text):
            words = [m["kin"], *re.findall(A_KIN_WORD, m["more"] or "", re.I)] if pattern is _TOLD else [m["kin"]]
            for owner in _owners(m["owner"], text[: m.start()], known):
                yield from _relations(owner, words, m["names"])
    for m in _BARE.finditer(text):
        if m["the"] and names_in_list(text[: m.start()]):
            continue  # "Ana came with her baby! the baby is Zoe"
        yield from _relations(USER, [m["kin"]], m["names"])
    for m in _NAMED_AFTER.finditer(text):
        pronoun: Sex = "f" if (m["whose"] or m["who"]).lower() in ("her", "she") else "m"
        if kin_word(m["kin"]).sex == pronoun and not re.search(rf"\b(?:{A_KIN_WORD})s?\b", m["rest"], re.I):
            yield from _relations(USER, [m["kin"]], m["names"])
    for m in _EACH_CHILD.finditer(text):
        for each in _WITH_VERB.finditer(m["rest"]):
            yield from _relations(USER, [m["kin"]], each["name"])
    for m in _LISTED.finditer(text):
        yield from _relations(USER, [singular(m["kin"])], m["names"])
    for m in _OFFSPRING.finditer(text):
        sex = _SEXES.get(m["what"].lower().removesuffix("s"), "")
        for owner in _owners(m["owner"], text[: m.start()], known):
            yield from (relation._replace(sex=sex) for relation in _relations(owner, ["child"], m["names"]))
    for m in _OWN_CHILDREN.finditer(text):
        sex = _SEXES[m["what"].lower().removesuffix("s")]
        yield from (relation._replace(sex=sex) for relation in _relations(USER, ["child"], m["names"]))
    for m in _CHILD_BY_AGE.finditer(text):
        yield from _relations(USER, ["child"], m["names"])


def _relations(owner: str, words: list[str], names: str) -> Iterator[Relation]:
    meant = [kin_word(word) for word in words]
    path = tuple(step for each in meant for step in each.paths[0])
    for name in names_in_list(names):
        yield Relation(owner, path, name, meant[-1].sex, singular(words[-1]))


def _owners(word: str, before: str, known: Collection[str]) -> list[str]:
    """Whom "my", "Ama's", "noors" or "his" means; a pronoun means those who were named last."""
    if word.lower() in ("my", "our", "the user's"):
        return [USER]
    if word.lower() in ("his", "her", "their"):
        named = [m for m in re.finditer(_NAMES, _AT_PLACE.sub(" ", before)) if names_in_list(m[0])]
        return names_in_list(named[-1][0]) if named else []
    name = owner_name(word, known)
    return [name] if name else []


def owner_name(word: str, known: Collection[str]) -> str:
    """Who "Ama's" or "noors" is, in lower case; empty when it is nobody known."""
    bare = re.sub(r"'s$|'$", "", word)
    if bare != word and (named := names_in_list(bare)):
        return named[0]
    return next((each for each in (bare.lower(), bare.lower().removesuffix("s")) if each in known), "")


def _born(text: str) -> Iterator[Relation]:
    for m in _BORN.finditer(text):
        rest, what = m["rest"] or m["rest2"] or "", (m["what"] or m["what2"]).lower()
        said = re.search(r"\b(boy|girl|son|daughter)\b", rest)
        if named := _CHILD_NAME.search(rest):
            path = (*kin_word(m["kin"]).paths[0], "child") if m["kin"] else ("child",)
            owner = USER if m["kin"] else (m["who"] or m["who2"]).casefold()
            sex = _SEXES.get(said[1] if said else what, "")
            yield from (Relation(owner, path, name, sex, BABY) for name in names_in_list(named["names"]))


def _partners(text: str) -> Iterator[Relation]:
    for m in _WITH_ME.finditer(text):
        name = (m["name"] or m["name2"] or m["name3"] or m["name4"]).casefold()
        how = (m["how"] or m["how2"] or m["how3"] or m["how4"]).lower()
        if names_in_list(name.capitalize()):
            yield Relation(USER, ("partner",), name, "", how)
    for m in _WITH_OTHER.finditer(text):
        if names_in_list(m["one"]) and names_in_list(m["two"]):
            yield Relation(m["one"].casefold(), ("partner",), m["two"].casefold(), "", m["how"].lower())


def names_in_list(text: str) -> list[str]:
    """The names in a list of them, in lower case."""
    found = (name.casefold() for name in re.findall(r"[A-ZÀ-Þ][\w-]*[^\W\d_]", text))
    return [n for n in found if n not in ORDINARY_WORDS and n not in MONTH_INDEX and n not in WEEKDAY_INDEX]
