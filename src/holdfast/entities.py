"""Pure: a statement → the names in it. Precision before recall: what may be an ordinary word is none.

Memories speak in the third person ("The user's sister Marta lives in Porto."), so names are told by their capitals,
roles by whose they are ("the user's sister"), and things by their noun ("the billing service"). At the start of a
sentence, where everything has a capital, a word counts only when what follows makes it a subject.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .entity_words import FEMALE, MALE, NOUNS, ORDINARY, PLACES, ROLES, SUFFIXES, TITLES
from .given_names import MEN, WOMEN
from .graphs import USER

LONGEST = 2_000
"""Characters of a statement that are read."""
MOST = 12
"""Names of one statement that count."""

_TITLED = r"(?:Dr|Mr|Mrs|Ms|Prof|St)\. "
_CAPITAL = r"[A-ZÀ-ÖØ-Þ]"
_WORD = rf"{_CAPITAL}[\w&+#]*(?:[-.](?=\w)[\w+#]+)*"
NAME = (
    rf"(?:St\. {_WORD}['\u2019]s(?! [a-z]+ (?:is|was|has|and)\b)|(?:{_TITLED})?{_WORD})"
    rf"(?:['\u2019]s(?= (?:Hospital|School|College|University|Church)\b))?"
    rf"(?: (?:(?:of|de|da|do|del|van|von|la|the) )?(?:(?:St)\. )?{_WORD})*"
)
_ROLE = "|".join(sorted(ROLES, key=len, reverse=True))
_OWNED = rf"(?:(?:ex|late|younger|older|elder|little|big|best|good|close|new|old|former|twin)[- ])?(?P<role>{_ROLE})\b"
_FOUND = re.compile(
    rf"(?P<user>\b[Tt]he user\b|\bUser\b|\bI\b(?!['.])|\b[Mm]y\b|\b[Mm]e\b)"
    rf"|(?P<hers>\b[Hh](?:er|is)\b(?= {_OWNED.replace('?P<role>', '')}))"
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
    r"decided|bought|cooked|learned|approves|approved|called|texted|emailed|taught|teaches|promised|agreed|suggested|"
    r"recommended|invited|reminded|retired|is \d{1,3}(?: years old)?(?=[.,;!]|$| now)|turned \d{1,3}\b|"
    r"is (?:lactose|allergic|vegan|vegetarian|pregnant|married|sick|ill)|"
    r"is (?:a (?:big )?fan|going|hosting|planning|learning|trying|excited|worried|happy)|"
    r"is an? [a-z]+(?:er|or|ist|ian|ect|yst)|has (?:a (?:son|daughter|sister|brother|dog|cat)|been)|has had|had)\b"
)
_TRAVEL = re.compile(
    r"\b(?:fl(?:y|ies|ew|ying|own|ight|ights)|travel(?:s|led|ed|ling|ing)?|trip|drive|drives|drove|driving|move[sd]?|"
    r"moving|relocat(?:ed|es|ing)|holiday|vacation|honeymoon) (?:to|in|from|via) $"
)
_OF_ROLE = re.compile(
    rf"['\u2019]s {_OWNED}|(?:(?<=[Mm]y)|(?<=[Hh]er)|(?<=[Hh]is)) {_OWNED.replace('?P<role>', '?P<mine>')}"
)
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
        span = _theirs(m, found) if m["hers"] else _span(text, m, me)
        at = m.end()
        if span is not None:
            found.append(span)
            at = _roles(text, found, span.stop)
    return found


def _theirs(m: re.Match[str], found: list[Span]) -> Span | None:
    """Whose brother "her brother" is: of whoever was named before, if that can only be one."""
    fits = {each.shown: each for each in found if each.type == "person" and _fits(m["hers"], each)}
    held = next(iter(fits.values())) if len(fits) == 1 else None
    return None if held is None else Span(*m.span(), held.shown, held.type)


def _fits(pronoun: str, span: Span) -> bool:
    names, roles = (MEN, MALE) if pronoun.casefold() == "her" else (WOMEN, FEMALE)
    return span.role not in roles and span.shown.split(" ")[0] not in names


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
    if type == "other":
        type = "person" if _ANIMATE.match(text, stop) else _known(text, start, words)
    return Span(start, stop, shown, type)


def _known(text: str, start: int, words: list[str]) -> str:
    """What a name is that is a name everywhere; and where one travels, there is a place."""
    if " ".join(words).casefold() in PLACES or _TRAVEL.search(text, max(0, start - 40), start):
        return "place"
    return "person" if words[0] in WOMEN | MEN and all(word[1:].islower() for word in words) else "other"


def _starts(text: str, at: int) -> bool:
    before = text[:at].rstrip(" \"'(\u201c*-")
    return not before or before[-1] in ".!?:;\n"


def _type(words: list[str]) -> str:
    if words[0] == "Project" and len(words) > 1:
        return "project"
    if words[0] in TITLES:
        return "person"
    if words[0] == "St." and words[-1].endswith(("'s", "\u2019s")):
        return "organisation"
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
