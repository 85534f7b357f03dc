"""Pure: a statement → the names in it. Precision before recall: what may be an ordinary word is none.

Memories speak in the third person ("The user's sister Marta lives in Porto."), so names are told by their capitals,
roles by whose they are ("the user's sister"), and things by their noun ("the billing service"). At the start of a
sentence, where everything has a capital, a word counts only when what follows makes it a subject.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .entity_words import NOUNS, ORDINARY, ROLES, SUFFIXES, TITLES
from .graphs import USER

LONGEST = 2_000
"""Characters of a statement that are read."""
MOST = 12
"""Names of one statement that count."""

_CAPITAL = r"[A-ZÀ-ÖØ-Þ]"
_WORD = rf"{_CAPITAL}[\w&+#]*(?:[-.](?=\w)[\w+#]+)*"
NAME = (
    rf"(?:(?:Dr|Mr|Mrs|Ms|Prof|St)\. )?{_WORD}(?:['\u2019]s(?= (?:Hospital|School|College|University|Church)\b))?"
    rf"(?: (?:(?:of|de|da|do|del|van|von|la|the) )?(?:(?:St)\. )?{_WORD})*"
)
_ROLE = "|".join(sorted(ROLES, key=len, reverse=True))
_OWNED = rf"(?:(?:ex|late|younger|older|elder|little|big|best|good|close|new|old|former|twin)[- ])?(?P<role>{_ROLE})\b"
_FOUND = re.compile(
    rf"(?P<user>\b[Tt]he user\b|\bUser\b|\bI\b(?!['.])|\b[Mm]y\b|\b[Mm]e\b)"
    rf"|`(?P<code>[\w./:@+-]{{2,60}})`"
    rf"|\b[Tt]he (?P<thing>(?:[a-z][\w-]* ){{1,2}}?(?:{'|'.join(NOUNS)}))\b"
    rf"|(?P<name>\b{NAME})"
)
_SUBJECT = re.compile(
    r"(?:['\u2019]s\b|,? (?:and|who|also|now|still|currently|recently|just)\b"
    r"| (?:is|was|has|had|will|would|can|could|does|did|got|went|came|met|made|took|told|said|left|quit|grew|gave|"
    r"found|bought|built|wrote|led|ran|won|lost|kept|felt|knows|[a-z]{2,}(?:es|ed|ks|ts|ns|rs|ds|ys|ls|gs|ps|ms|ws))\b)"
)
_ANIMATE = re.compile(
    r" (?:(?:also|really|just|recently|still|and others) )*(?:said|says|loves|likes|hates|enjoys|wants|wanted|thinks|"
    r"feels|felt|believes|hopes|plans|prefers|went|got|took|told|asked|met|married|lives|works|studies|started|volunteered|"
    r"decided|bought|cooked|learned|is (?:a (?:big )?fan|going|hosting|planning|learning|trying|excited|worried|happy)|"
    r"is an? [a-z]+(?:er|or|ist|ian|ect|yst)|has (?:a (?:son|daughter|sister|brother|dog|cat)|been)|has had|had)\b"
)
_OF_ROLE = re.compile(rf"['\u2019]s {_OWNED}|(?<=[Mm]y) {_OWNED.replace('?P<role>', '?P<mine>')}")
_NAMED = re.compile(rf",? (?P<name>{NAME})")
_GERUNDS = re.compile(r"(?:ings|tions|ments|nesses|ities)$")


@dataclass(frozen=True, slots=True)
class Span:
    """A name, and where it stands. `owner` is the place among the names of the one whose role it is."""

    start: int
    stop: int
    shown: str
    type: str
    owner: int | None = None
    role: str = ""
    silent: bool = False
    """Whether it is there only as somebody's: "the user" in "the user's sister"."""


def spans(text: str, me: str | None = USER) -> list[Span]:
    """The names in a text, in order; `me` is whom "I" means, None when nobody known."""
    found: list[Span] = []
    at = 0
    while len(found) < MOST and (m := _FOUND.search(text, at)):
        span = _span(text, m, me)
        at = m.end()
        if span is not None:
            found.append(span)
            at = _roles(text, found, span.stop)
    return found


def _span(text: str, m: re.Match[str], me: str | None) -> Span | None:
    start, stop = m.span()
    if m["user"]:
        third = m["user"].lower() in ("the user", "user")
        who = USER if third else me
        return None if who is None else Span(start, stop, who, "person" if who != USER else USER)
    if m["code"]:
        return Span(start, stop, m["code"], "thing")
    if m["thing"]:
        return Span(start, stop, m["thing"], NOUNS[m["thing"].split()[-1]])
    return _named(text, start, m["name"])


def _named(text: str, start: int, name: str) -> Span | None:
    """A run of capitals, less what is an ordinary word at its start; None when nothing is left of it."""
    words, initial = name.split(" "), _starts(text, start)
    while (
        words and words[0].rstrip(".").casefold() in ORDINARY and words[0] not in ("St.", "Dr.", "Mr.", "Ms.", "Mrs.")
    ):
        start += len(words[0]) + 1
        words, initial = words[1:], False
    if not words or not words[-1][:1].isupper() or (len(words) == 1 and words[0].casefold() in ORDINARY):
        return None
    shown = " ".join(words)
    stop = start + len(shown)
    doubtful = initial and len(words) == 1 and words[0][1:].islower()
    if len(shown) < 2 or (doubtful and (not _SUBJECT.match(text, stop) or _GERUNDS.search(shown))):
        return None
    type = _type(words)
    return Span(start, stop, shown, "person" if type == "other" and _ANIMATE.match(text, stop) else type)


def _starts(text: str, at: int) -> bool:
    before = text[:at].rstrip(" \"'(\u201c*-")
    return not before or before[-1] in ".!?:;\n"


def _type(words: list[str]) -> str:
    if words[0] == "Project" and len(words) > 1:
        return "project"
    if words[0] in TITLES:
        return "person"
    return SUFFIXES.get(words[-1].casefold(), "other") if len(words) > 1 else "other"


def _roles(text: str, found: list[Span], at: int) -> int:
    """Add whoever is somebody's: "'s sister", "'s sister Marta", "'s sister's husband". Where the reading goes on."""
    while len(found) < MOST and (m := _OF_ROLE.match(text, at)):
        role, owner = m["role"] or m["mine"], len(found) - 1
        held = found[owner]
        found[owner] = Span(held.start, held.stop, held.shown, held.type, held.owner, held.role, silent=True)
        named = _NAMED.match(text, m.end())
        span = _named(text, named.start("name"), named["name"]) if named else None
        kind = "animal" if ROLES[role] == "has-pet" else "person"
        if span is not None:
            found.append(Span(held.start, span.stop, span.shown, kind, owner, role))
        else:
            found.append(Span(held.start, m.end(), f"{held.shown}'s {role}", kind, owner, role))
        at = found[-1].stop
    return at
