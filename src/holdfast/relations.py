"""Pure: a statement → what it mentions and which names it ties, and how.

Names are found first (entities.py) and stand as numbers while the relations are looked for, so that a pattern meets two
names and the words between them, and nothing else. What two names have to do with each other beyond that is `with`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import combinations

from .entities import LONGEST, Span, spans
from .entity_words import ROLES, TITLES
from .graphs import BARE, LONG_AGO, SAME_AS, USER, WITH, Mention, Read, Tie, folded
from .types import Memory

VERSION = 2
"""What these rules find changes with it: every memory is read anew."""
FEW = ("sibling-of", "married-to", "partner-of", "child-of", "parent-of", "reports-to", "has-pet")
"""Relations to so few people that whose role it is says who it is, unless there are two."""
TOGETHER = 10
"""How many pairs of one memory are tied for being mentioned together."""
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

Row = tuple[str, re.Pattern[str], str, str, bool]


def _row(relation: str, words: str, subject: str = "", object: str = "", *, ended: bool = False) -> Row:
    return relation, re.compile(f"{_S}(?:{words}){_O}"), subject, object, ended


_ROWS: tuple[Row, ...] = (
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
_BACKWARDS: tuple[Row, ...] = (
    _row("owns", r"(?:is|are|was) (?:owned|maintained|run) by ", "", ""),
    _row("manages", r"(?:is|are|was) (?:led|managed|headed) by ", "", _PEOPLE),
    _row("made", r"(?:is|was|were) (?:built|created|written|developed|designed|painted) by ", "", ""),
    _row("founded", r"(?:is|was) (?:co-?founded|founded|started) by ", "", ""),
)
_DENIED: tuple[Row, ...] = (
    _row("works-at", rf"{_NOT}(?:currently )?(?:work|working|employed) {_SOME}(?:at|for|with|by) ", _PEOPLE, _ORG),
    _row("lives-in", rf"{_NOT}(?:currently )?(?:live|living) {_SOME}in ", _PEOPLE, _PLACE),
)
_WHICH: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (relation, re.compile(rf"{_O},? (?:which|that|whom?) {_O} (?:now |still |also |originally )?(?:{verbs})\b"))
    for relation, verbs in (
        ("owns", "owns?|bought|maintains?"),
        ("manages", "manages?|leads?|runs?|heads?|supervises?"),
        ("made", "built|wrote|created|made|designed|painted|developed"),
        ("founded", "founded|co-?founded|started"),
        ("uses", "uses?"),
    )
)
"""The service, which Tom owns."""
_TOO = re.compile(
    r"(\x02\d+\x03)((?: [a-z'-]+){1,6} \x02\d+\x03),? (?:and|but) "
    r"(?=(?:is )?(?:now|then|currently|joined|moved|works|lives|started) )"
)
"""Whoever quit one job "and now works" elsewhere is who works there."""
_NAME_IS = re.compile(rf"{_E}['\u2019]s (?:real |full |first |nick)?name is {_E}")
_IS = re.compile(rf"{_E} (?:is|was) {_E}(?!['\u2019])")
_CALLED = re.compile(rf"(?:calls?|called) {_E} {_E}")
_PAIR = re.compile("\x02(\\d+)\x03")
_SINCE = re.compile(r"\b(?:since|from) (?:\w+ )?((?:19|20)\d\d)\b")
_UNTIL = re.compile(r"\b(?:until|till|to) (?:\w+ )?((?:19|20)\d\d)\b")
_VERBAL = re.compile("\x03[^\x02]{0,60}?[a-z]")
Tied = tuple[int, str, int, bool, str]
"""Names by their numbers, and the words after them, where a year may stand."""


def read(memory: Memory) -> Read:
    """What a memory mentions and ties. Whom "I" means is known of what users and speakers say, not of documents."""
    text = memory.content[:LONGEST].replace("\x02", " ").replace("\x03", " ")
    me = USER if memory.trust == "user" else None
    quoted = _QUOTED.fullmatch(text.strip()) or _ANSWERED.fullmatch(text.strip())
    if quoted:
        me = USER if quoted["who"].casefold() == "the user" else quoted["who"]
        text = quoted["said"]
    found = spans(text, me)
    if quoted and me != USER and me is not None and all(folded(span.shown) != folded(me) for span in found):
        found = [*found, Span(len(text), len(text), me, "person")]
    if not found:
        return Read(memory.id)
    ties = _ties(text, found)
    types = _types(found, ties)
    mentions: dict[str, Mention] = {}
    for span, type in zip(found, types, strict=True):
        mentions.setdefault(folded(span.shown), Mention(memory.id, span.shown, type))
    dated = [*_dated(memory, found, ties), *_denied(memory, text, found)]
    for name, bare in _titled(found).items():
        mentions.setdefault(folded(bare), Mention(memory.id, bare, BARE))
        dated.append(Tie(memory.id, folded(name), SAME_AS, folded(bare)))
    for role, span in _named_roles(found):
        mentions.setdefault(folded(role), Mention(memory.id, role, span.type))
        dated.append(Tie(memory.id, folded(role), SAME_AS, folded(span.shown)))
    return Read(memory.id, tuple(mentions.values()), tuple(dated))


def _titled(found: list[Span]) -> dict[str, str]:
    """Names with a title, and without it, as they may be called elsewhere."""
    parted = {span.shown: span.shown.partition(" ") for span in found}
    return {shown: rest for shown, (title, _, rest) in parted.items() if title in TITLES and rest}


def _denied(memory: Memory, text: str, found: list[Span]) -> list[Tie]:
    numbered = _numbered(text, found)
    return [
        Tie(memory.id, folded(found[one].shown), relation, folded(found[other].shown), LONG_AGO, LONG_AGO)
        for relation, pattern, *_ in _DENIED
        for m in pattern.finditer(numbered)
        for one in _each(m[1])
        for other in _each(m[2])
    ]


def _named_roles(found: list[Span]) -> list[tuple[str, Span]]:
    """Roles that few have, and who has them: "the user's sister" is Marta in "the user's sister Marta"."""
    named = []
    for span in found:
        if span.owner is not None and ROLES[span.role] in FEW:
            role = f"{found[span.owner].shown}'s {span.role}"
            if role != span.shown:
                named.append((role, span))
    return named


def _ties(text: str, found: list[Span]) -> list[Tied]:
    ties: list[Tied] = [
        (span.owner, ROLES[span.role], n, False, "") for n, span in enumerate(found) if span.owner is not None
    ]
    numbered = _numbered(text, found)
    if not _VERBAL.search(numbered):
        return ties
    for rows, back in ((_ROWS, False), (_BACKWARDS, True)):
        for relation, pattern, _, _, ended in rows:
            for m in pattern.finditer(numbered):
                one, other = (m[2], m[1]) if back else (m[1], m[2])
                tail = _tail(numbered, m.end())
                ties += [(subject, relation, object, ended, tail) for subject in _each(one) for object in _each(other)]
    ties += [(int(m[1]), SAME_AS, int(m[2]), False, "") for p in (_NAME_IS, _CALLED) for m in p.finditer(numbered)]
    for relation, pattern in _WHICH:
        ties += [
            (subject, relation, object, False, "")
            for m in pattern.finditer(numbered)
            for subject in _each(m[2])
            for object in _each(m[1])
        ]
    for m in _IS.finditer(numbered):  # "Marta is the user's sister"
        if {bool(found[int(m[1])].role), bool(found[int(m[2])].role)} == {True, False}:
            ties.append((int(m[1]), SAME_AS, int(m[2]), False, ""))
    return ties


def _each(numbers: str) -> list[int]:
    return [int(number) for number in _PAIR.findall(numbers)]


def _tail(numbered: str, at: int) -> str:
    """What stands behind, before the next name."""
    return numbered[at : at + 60].partition("\x02")[0]


def _numbered(text: str, found: list[Span]) -> str:
    """The text with each name as its number; one that is there only as somebody's is left out."""
    pieces, at = [], 0
    for n, span in enumerate(found):
        if not span.silent:
            pieces.append(f"{text[at : span.start]}\x02{n}\x03")
            at = span.stop
    return _TOO.sub(r"\1\2; \1 ", "".join(pieces) + text[at:])


def _types(found: list[Span], ties: list[Tied]) -> list[str]:
    """Each name's type: as it is written, or as the relations that it stands in have it."""
    types = [span.type for span in found]
    wanted = {row[0]: row[2:4] for row in (*_BACKWARDS[:2], *_ROWS)}
    for subject, relation, object, *_ in ties:
        for place, side in ((subject, 0), (object, 1)):
            if types[place] == "other":
                types[place] = wanted.get(relation, ("", ""))[side] or "other"
    return types


def _dated(memory: Memory, found: list[Span], ties: list[Tied]) -> list[Tie]:
    made: dict[tuple[str, str, str], Tie] = {}
    for subject, relation, object, ended, tail in ties:
        names = folded(found[subject].shown), folded(found[object].shown)
        if names[0] != names[1] and (names[1], relation, names[0]) not in made:
            since, until = _year(_SINCE.search(tail)), _year(_UNTIL.search(tail))
            if ended:
                until = until or memory.occurred_at or LONG_AGO
            else:
                since = since or memory.occurred_at
            made.setdefault((names[0], relation, names[1]), Tie(memory.id, names[0], relation, names[1], since, until))
    tied = {frozenset((each.subject, each.object)) for each in made.values()}
    others = dict.fromkeys(name for span in found if (name := folded(span.shown)) != USER)
    together = [pair for pair in combinations(others, 2) if frozenset(pair) not in tied][:TOGETHER]
    return [*made.values(), *(Tie(memory.id, one, WITH, other) for one, other in together)]


def _year(m: re.Match[str] | None) -> datetime | None:
    return None if m is None else datetime(int(m[1]), 1, 1, tzinfo=UTC)
