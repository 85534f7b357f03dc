"""Extracts mentions of entities and relations between them from a memory. Pure.

Names are found first (entities.py) and replaced by numbers, so that a pattern matches two names and the words between
them and nothing else. Two names that are mentioned together without a known relation are tied by `with`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import combinations

from holdfast.domain.graph import (
    BARE,
    LONG_AGO,
    SAME_AS,
    USER,
    WITH,
    MemoryReading,
    Mention,
    Tie,
    folded_name,
)
from holdfast.domain.types import Memory
from holdfast.graph.entities import MAX_STATEMENT_CHARS, NameSpan, name_spans
from holdfast.text.lexicon.kinship import ROLES
from holdfast.text.lexicon.sentences import TITLES

RULES_VERSION = 2
"""Increase it when the rules change: every memory is then read again."""
EXCLUSIVE_RELATIONS = ("sibling-of", "married-to", "partner-of", "child-of", "parent-of", "reports-to", "has-pet")
"""Relations to so few people that a role identifies its holder, unless two people have the role."""
MAX_CO_MENTIONS = 10
"""Maximum number of pairs of one memory that are tied by `with`. Chosen by hand; not measured."""
_E = "\x02(\\d+)\x03"
_AND = "(?:,? and |, | & )"
_O = rf"(\x02\d+\x03(?:{_AND}\x02\d+\x03)*)"
_S = rf"{_O}(?:,? who)? (?:(?:now|still|also|currently|recently|just|already|and others|and family) )*"
_SOME = r"(?:[\w'-]+ ){0,5}?"
_ENDED = r"(?:used to |formerly |previously |no longer |once )"
_NOT = r"(?:does not|doesn['\u2019]t|do not|don['\u2019]t|did not|didn['\u2019]t|is not|isn['\u2019]t|am not|are not) "
_WHO = r"(?P<who>[Tt]he user|[A-ZÀ-Þ][\w-]+(?: [A-ZÀ-Þ][\w-]+)?)"
_QUOTED = re.compile(rf'{_WHO} said: "(?P<said>.*)"(?: \([^()]*\))*\.?', re.S)
_ANSWERED = re.compile(rf'(?:Asked|Told) ".*?", {_WHO} answered: (?P<said>.*)', re.S)
_PEOPLE, _ORG, _PLACE, _THING = "person", "organisation", "place", "thing"

RelationPattern = tuple[str, re.Pattern[str], str, str, bool]


def _row(relation: str, words: str, subject: str = "", object: str = "", *, ended: bool = False) -> RelationPattern:
    return relation, re.compile(f"{_S}(?:{words}){_O}"), subject, object, ended


_PATTERNS: tuple[RelationPattern, ...] = (
    _row("works-at", rf"(?:works|work|is working|has been working|has worked|is employed) {_SOME}(?:at|for|with) ",
         _PEOPLE, _ORG),
    _row("works-at", r"(?:is|was hired as|started as|works as) (?:an?|the) (?:[\w-]+ ){1,4}(?:at|for) ", _PEOPLE, _ORG),
    _row("works-at", rf"(?:joined|started(?: working)? at|got {_SOME}(?:job|offer) (?:at|with|from)) ", _PEOPLE, ""),
    _row("works-at", rf"(?:worked|{_ENDED}works?|was working|left|quit) {_SOME}(?:at|for|with) ", _PEOPLE, _ORG,
         ended=True),
    _row("works-at", r"(?:has |have )?(?:quit|resigned from|retired from|(?:was|got) (?:fired|laid off) (?:from|by)) ",
         _PEOPLE, "", ended=True),
    _row("lives-in", r"(?:lives|live|is living|resides|is based|has lived|has been living|settled) "
         rf"{_SOME}(?:in|near) ", "", _PLACE),
    _row("lives-in", r"(?:has |have )?(?:moved|relocated|moves|is moving)(?: back)?(?: from \x02\d+\x03)? to ", _PEOPLE,
         _PLACE),
    _row("lives-in", r"(?:has |have )?(?:moved|relocated)(?: away| back)? from ", _PEOPLE, _PLACE, ended=True),
    _row("lives-in", rf"(?:lived|{_ENDED}lives?|was living) {_SOME}in ", _PEOPLE, _PLACE, ended=True),
    _row("comes-from", r"(?:is|are|comes|come|came) (?:originally )?from ", _PEOPLE, _PLACE),
    _row("born-in", r"(?:was|were) born (?:and raised )?in ", _PEOPLE, _PLACE),
    _row("grew-up-in", r"grew up in ", _PEOPLE, _PLACE),
    _row("located-in", r"(?:is|are) (?:located|situated|headquartered) in ", "", _PLACE),
    _row("visited", r"(?:has |have )?(?:visited|went to|been to) ", _PEOPLE, ""),
    _row("visited", r"(?:has |have )?(?:travelled to|traveled to|flew to|flown to|drove to) ", _PEOPLE, _PLACE),
    _row("married-to", r"(?:is|got|was) married to |married ", _PEOPLE, _PEOPLE),
    _row("engaged-to", r"(?:is|got) engaged to ", _PEOPLE, _PEOPLE),
    _row("partner-of", r"(?:is|started) dating |dates ", _PEOPLE, _PEOPLE),
    _row("friend-of", r"(?:is|are|became) (?:good |best |close )?friends with ", _PEOPLE, _PEOPLE),
    _row("met", r"met (?:up )?(?:with )?", _PEOPLE, ""),
    _row("works-with", rf"(?:works|is working|collaborates) {_SOME}(?:alongside|together with) ", _PEOPLE, _PEOPLE),
    _row("manages", r"(?:manages|supervises|leads|heads|is leading|is in charge of|runs) ", _PEOPLE, ""),
    _row("reports-to", r"reports to ", _PEOPLE, _PEOPLE),
    _row("founded", r"(?:founded|co-founded|cofounded|started) ", _PEOPLE, ""),
    _row("owns", r"(?:owns|own|bought|has bought|maintains) ", "", ""),
    _row("made", r"(?:built|created|wrote|developed|designed|painted) ", _PEOPLE, ""),
    _row("works-on", r"(?:works|work|is working|has been working) on ", _PEOPLE, ""),
    _row("uses", r"(?:uses|use|is using|switched to|migrated to|moved over to|runs on|is built (?:with|on|in)|"
         r"is written in|is deployed (?:on|to)|is hosted on) ", "", _THING),
    _row("depends-on", r"(?:depends|relies|depend|rely) on ", "", ""),
    _row("depends-on", r"(?:calls|talks to|reads from|writes to|requires) ", _THING, ""),
    _row("part-of", r"(?:is|are) (?:a )?(?:part|member) of |belongs to ", "", ""),
    _row("studies-at", rf"(?:studies|study|is studying|attends|goes to school) {_SOME}(?:at )?", _PEOPLE, _ORG),
    _row("studies-at", rf"graduated {_SOME}(?:at |from )", _PEOPLE, _ORG, ended=True),
    _row("studied-at", rf"(?:studied|graduated|attended) {_SOME}(?:at |from )?", _PEOPLE, _ORG),
    _row("plays-for", r"(?:plays|play) (?:[\w-]+ )?for ", _PEOPLE, _ORG),
    _row(SAME_AS, r"(?:is|are) (?:also )?(?:called|known as|nicknamed|named|aka) "),
    _row(SAME_AS, r"(?:goes by|calls (?:him|her|them)self) (?:the name )?"),
)  # fmt: skip
_PASSIVE_PATTERNS: tuple[RelationPattern, ...] = (
    _row("owns", r"(?:is|are|was) (?:owned|maintained|run) by ", "", ""),
    _row("manages", r"(?:is|are|was) (?:led|managed|headed) by ", "", _PEOPLE),
    _row("made", r"(?:is|was|were) (?:built|created|written|developed|designed|painted) by ", "", ""),
    _row("founded", r"(?:is|was) (?:co-?founded|founded|started) by ", "", ""),
)
_DENIAL_PATTERNS: tuple[RelationPattern, ...] = (
    _row("works-at", rf"{_NOT}(?:currently )?(?:work|working|employed) {_SOME}(?:at|for|with|by) ", _PEOPLE, _ORG),
    _row("lives-in", rf"{_NOT}(?:currently )?(?:live|living) {_SOME}in ", _PEOPLE, _PLACE),
)
_RELATIVE_CLAUSES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (relation, re.compile(rf"{_O},? (?:which|that|whom?) {_O} (?:now |still |also |originally )?(?:{verbs})\b"))
    for relation, verbs in (
        ("owns", "owns?|bought|maintains?"),
        ("manages", "manages?|leads?|runs?|heads?|supervises?"),
        ("made", "built|wrote|created|made|designed|painted|developed"),
        ("founded", "founded|co-?founded|started"),
        ("uses", "uses?"),
    )
)
"""Relative clauses: "the service, which Tom owns"."""
_SHARED_SUBJECT = re.compile(
    r"(\x02\d+\x03)((?: [a-z'-]+){1,6} \x02\d+\x03),? (?:and|but) "
    r"(?=(?:is )?(?:now|then|currently|joined|moved|works|lives|started) )"
)
"""A second clause without its own subject, which takes that of the first: "Ana quit Acme and now works at Initech"."""
_NAME_IS = re.compile(rf"{_E}['\u2019]s (?:real |full |first |nick)?name is {_E}")
_IS = re.compile(rf"{_E} (?:is|was) {_E}(?!['\u2019])")
_CALLED = re.compile(rf"(?:calls?|called) {_E} {_E}")
_PAIR = re.compile("\x02(\\d+)\x03")
_SINCE = re.compile(r"\b(?:since|from) (?:\w+ )?((?:19|20)\d\d)\b")
_UNTIL = re.compile(r"\b(?:until|till|to) (?:\w+ )?((?:19|20)\d\d)\b")
_VERBAL = re.compile("\x03[^\x02]{0,60}?[a-z]")
NumberedTie = tuple[int, str, int, bool, str]
"""Subject, relation, object, whether it has ended, and the words after it, which may contain
a year. Names are indexes."""


def mentions_and_ties(memory: Memory) -> MemoryReading:
    """The mentions and ties of a memory. "I" is resolved in what users and speakers say, not in documents."""
    text = memory.content[:MAX_STATEMENT_CHARS].replace("\x02", " ").replace("\x03", " ")
    me = USER if memory.trust == "user" else None
    quoted = _QUOTED.fullmatch(text.strip()) or _ANSWERED.fullmatch(text.strip())
    if quoted:
        me = USER if quoted["who"].casefold() == "the user" else quoted["who"]
        text = quoted["said"]
    found = name_spans(text, me)
    if quoted and me != USER and me is not None and all(folded_name(span.shown) != folded_name(me) for span in found):
        found = [*found, NameSpan(len(text), len(text), me, "person")]
    if not found:
        return MemoryReading(memory.ref)
    ties = _ties(text, found)
    types = _name_types(found, ties)
    mentions: dict[str, Mention] = {}
    for span, type in zip(found, types, strict=True):
        mentions.setdefault(folded_name(span.shown), Mention(memory.ref, span.shown, type))
    dated = [*_dated_ties(memory, found, ties), *_denials(memory, text, found)]
    for name, bare in _titled_names(found).items():
        mentions.setdefault(folded_name(bare), Mention(memory.ref, bare, BARE))
        dated.append(Tie(memory.ref, folded_name(name), SAME_AS, folded_name(bare)))
    for role, span in _named_roles(found):
        mentions.setdefault(folded_name(role), Mention(memory.ref, role, span.type))
        dated.append(Tie(memory.ref, folded_name(role), SAME_AS, folded_name(span.shown)))
    return MemoryReading(memory.ref, tuple(mentions.values()), tuple(dated))


def _titled_names(found: list[NameSpan]) -> dict[str, str]:
    """Names with a title → the same name without it, as other memories may write it."""
    parted = {span.shown: span.shown.partition(" ") for span in found}
    return {shown: rest for shown, (title, _, rest) in parted.items() if title in TITLES and rest}


def _denials(memory: Memory, text: str, found: list[NameSpan]) -> list[Tie]:
    numbered = _numbered_text(text, found)
    return [
        Tie(memory.ref, folded_name(found[one].shown), relation, folded_name(found[other].shown), LONG_AGO, LONG_AGO)
        for relation, pattern, *_ in _DENIAL_PATTERNS
        for m in pattern.finditer(numbered)
        for one in _indexes(m[1])
        for other in _indexes(m[2])
    ]


def _named_roles(found: list[NameSpan]) -> list[tuple[str, NameSpan]]:
    """Exclusive roles and their holders: "the user's sister" is Marta in "the user's sister Marta"."""
    named = []
    for span in found:
        if span.owner is not None and ROLES[span.role] in EXCLUSIVE_RELATIONS:
            role = f"{found[span.owner].shown}'s {span.role}"
            if role != span.shown:
                named.append((role, span))
    return named


def _ties(text: str, found: list[NameSpan]) -> list[NumberedTie]:
    ties: list[NumberedTie] = [
        (span.owner, ROLES[span.role], n, False, "") for n, span in enumerate(found) if span.owner is not None
    ]
    numbered = _numbered_text(text, found)
    if not _VERBAL.search(numbered):
        return ties
    for rows, back in ((_PATTERNS, False), (_PASSIVE_PATTERNS, True)):
        for relation, pattern, _, _, ended in rows:
            for m in pattern.finditer(numbered):
                one, other = (m[2], m[1]) if back else (m[1], m[2])
                tail = _words_after(numbered, m.end())
                ties += [
                    (subject, relation, object, ended, tail) for subject in _indexes(one) for object in _indexes(other)
                ]
    ties += [(int(m[1]), SAME_AS, int(m[2]), False, "") for p in (_NAME_IS, _CALLED) for m in p.finditer(numbered)]
    for relation, pattern in _RELATIVE_CLAUSES:
        ties += [
            (subject, relation, object, False, "")
            for m in pattern.finditer(numbered)
            for subject in _indexes(m[2])
            for object in _indexes(m[1])
        ]
    for m in _IS.finditer(numbered):  # "Marta is the user's sister"
        if {bool(found[int(m[1])].role), bool(found[int(m[2])].role)} == {True, False}:
            ties.append((int(m[1]), SAME_AS, int(m[2]), False, ""))
    return ties


def _indexes(numbers: str) -> list[int]:
    return [int(number) for number in _PAIR.findall(numbers)]


def _words_after(numbered: str, at: int) -> str:
    """The words after a match, up to the next name."""
    return numbered[at : at + 60].partition("\x02")[0]


def _numbered_text(text: str, found: list[NameSpan]) -> str:
    """The text with each name replaced by its number, except names that only name an owner."""
    pieces, at = [], 0
    for n, span in enumerate(found):
        if not span.silent:
            pieces.append(f"{text[at : span.start]}\x02{n}\x03")
            at = span.stop
    return _SHARED_SUBJECT.sub(r"\1\2; \1 ", "".join(pieces) + text[at:])


def _name_types(found: list[NameSpan], ties: list[NumberedTie]) -> list[str]:
    """The type of each name: by its own form, else by the relations that it is part of."""
    types = [span.type for span in found]
    wanted = {row[0]: row[2:4] for row in (*_PASSIVE_PATTERNS[:2], *_PATTERNS)}
    for subject, relation, object, *_ in ties:
        for place, side in ((subject, 0), (object, 1)):
            if types[place] == "other":
                types[place] = wanted.get(relation, ("", ""))[side] or "other"
    return types


def _dated_ties(memory: Memory, found: list[NameSpan], ties: list[NumberedTie]) -> list[Tie]:
    made: dict[tuple[str, str, str], Tie] = {}
    for subject, relation, object, ended, tail in ties:
        names = folded_name(found[subject].shown), folded_name(found[object].shown)
        if names[0] != names[1] and (names[1], relation, names[0]) not in made:
            since, until = _year(_SINCE.search(tail)), _year(_UNTIL.search(tail))
            if ended:
                until = until or memory.occurred_at or LONG_AGO
            else:
                since = since or memory.occurred_at
            made.setdefault((names[0], relation, names[1]), Tie(memory.ref, names[0], relation, names[1], since, until))
    tied = {frozenset((each.subject, each.object)) for each in made.values()}
    others = dict.fromkeys(name for span in found if (name := folded_name(span.shown)) != USER)
    together = [pair for pair in combinations(others, 2) if frozenset(pair) not in tied][:MAX_CO_MENTIONS]
    return [*made.values(), *(Tie(memory.ref, one, WITH, other) for one, other in together)]


def _year(m: re.Match[str] | None) -> datetime | None:
    return None if m is None else datetime(int(m[1]), 1, 1, tzinfo=UTC)
