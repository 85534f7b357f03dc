"""Finds the names in a statement. Pure. Precision comes before recall: a word that may be ordinary is not a name.

Memories are written in the third person ("The user's sister Marta lives in Porto."), so names are recognised by
capitals, roles by their owner ("the user's sister"), and things by their noun ("the billing service"). At the start of
a sentence, where every word has a capital, a word counts only when the words after it make it a subject.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast.domain.graph import USER
from holdfast.text.lexicon.entity_names import NAME_ENDINGS, ORDINARY_WORDS, THING_NOUNS
from holdfast.text.lexicon.geography import PLACES
from holdfast.text.lexicon.given_names import MEN, WOMEN
from holdfast.text.lexicon.kinship import FEMALE_ROLES, MALE_ROLES, ROLES
from holdfast.text.lexicon.sentences import A_TITLE, TITLES

MAX_STATEMENT_CHARS = 2_000
"""Maximum characters of a statement that are read. Chosen by hand; not measured."""
MAX_NAMES = 12
"""Maximum number of names in one statement. Chosen by hand; not measured."""

_TITLED = rf"(?:{A_TITLE}|St)\. "
_CAPITAL = r"[A-ZÀ-ÖØ-Þ]"
_WORD = rf"{_CAPITAL}[\w&+#]*(?:[-.](?=\w)[\w+#]+)*"
NAME_PATTERN = (
    rf"(?:St\. {_WORD}['\u2019]s(?! [a-z]+ (?:is|was|has|and)\b)|(?:{_TITLED})?{_WORD})"
    rf"(?:['\u2019]s(?= (?:Hospital|School|College|University|Church)\b))?"
    rf"(?: (?:(?:of|de|da|do|del|van|von|la|the) )?(?:(?:St)\. )?{_WORD})*"
)
_ROLE = "|".join(sorted(ROLES, key=len, reverse=True))
_OWNED_ROLE = (
    rf"(?:(?:ex|late|younger|older|elder|little|big|best|good|close|new|old|former|twin)[- ])?(?P<role>{_ROLE})\b"
)
_MENTION = re.compile(
    rf"(?P<user>\b[Tt]he user\b|\bUser\b|\bI\b(?!['.])|\b[Mm]y\b|\b[Mm]e\b)"
    rf"|(?P<hers>\b[Hh](?:er|is)\b(?= {_OWNED_ROLE.replace('?P<role>', '')}))"
    rf"|`(?P<code>[\w./:@+-]{{2,60}})`"
    rf"|\b[Tt]he (?P<thing>(?:[a-z][\w-]* ){{1,2}}?(?:{'|'.join(THING_NOUNS)}))\b"
    rf"|(?P<name>\b{NAME_PATTERN})"
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
    rf"['\u2019]s {_OWNED_ROLE}|(?:(?<=[Mm]y)|(?<=[Hh]er)|(?<=[Hh]is)) {_OWNED_ROLE.replace('?P<role>', '?P<mine>')}"
)
_NAME_AFTER_ROLE = re.compile(rf",? (?P<name>{NAME_PATTERN})")
_GERUNDS = re.compile(r"(?:ings|tions|ments|nesses|ities)$")


@dataclass(frozen=True, slots=True)
class NameSpan:
    """A name and its position. `owner` is the index of the span that owns the role: "the
    user" for "the user's sister"."""

    start: int
    stop: int
    shown: str
    type: str
    owner: int | None = None
    role: str = ""
    silent: bool = False
    """Whether it only names an owner: "the user" in "the user's sister"."""


def name_spans(text: str, me: str | None = USER) -> list[NameSpan]:
    """The names in a text, in order; `me` is the person that "I" refers to, None when unknown."""
    found: list[NameSpan] = []
    at = 0
    while len(found) < MAX_NAMES and (m := _MENTION.search(text, at)):
        span = _pronoun_owner(m, found) if m["hers"] else _mention_span(text, m, me)
        at = m.end()
        if span is not None:
            found.append(span)
            at = _append_roles(text, found, span.stop)
    return found


def _pronoun_owner(m: re.Match[str], found: list[NameSpan]) -> NameSpan | None:
    """The owner in "her brother": the person named before, if exactly one fits."""
    fits = {each.shown: each for each in found if each.type == "person" and _pronoun_fits(m["hers"], each)}
    owner = next(iter(fits.values())) if len(fits) == 1 else None
    return None if owner is None else NameSpan(*m.span(), owner.shown, owner.type)


def _pronoun_fits(pronoun: str, span: NameSpan) -> bool:
    names, roles = (MEN, MALE_ROLES) if pronoun.casefold() == "her" else (WOMEN, FEMALE_ROLES)
    return span.role not in roles and span.shown.split(" ")[0] not in names


def _mention_span(text: str, m: re.Match[str], me: str | None) -> NameSpan | None:
    start, stop = m.span()
    if m["user"]:
        third = m["user"].lower() in ("the user", "user")
        who = USER if third else me
        return None if who is None else NameSpan(start, stop, who, "person" if who != USER else USER)
    if m["code"]:
        return NameSpan(start, stop, m["code"], "thing")
    if m["thing"]:
        return NameSpan(start, stop, m["thing"], THING_NOUNS[m["thing"].split()[-1]])
    return _capitalised_name(text, start, m["name"])


def _capitalised_name(text: str, start: int, name: str) -> NameSpan | None:
    """A run of capitalised words without ordinary words at its start; None when nothing is left."""
    words, initial = name.split(" "), _starts_sentence(text, start)
    while (
        words
        and words[0].rstrip(".").casefold() in ORDINARY_WORDS
        and words[0] not in ("St.", "Dr.", "Mr.", "Ms.", "Mrs.")
    ):
        start += len(words[0]) + 1
        words, initial = words[1:], False
    if not words or not words[-1][:1].isupper() or (len(words) == 1 and words[0].casefold() in ORDINARY_WORDS):
        return None
    shown = " ".join(words)
    stop = start + len(shown)
    doubtful = initial and len(words) == 1 and words[0][1:].islower()
    if len(shown) < 2 or (doubtful and (not _SUBJECT.match(text, stop) or _GERUNDS.search(shown))):
        return None
    type = _word_type(words)
    if type == "other":
        type = "person" if _ANIMATE.match(text, stop) else _lexicon_type(text, start, words)
    return NameSpan(start, stop, shown, type)


def _lexicon_type(text: str, start: int, words: list[str]) -> str:
    """The type of a name by the lexicons; the destination of a journey is a place."""
    if " ".join(words).casefold() in PLACES or _TRAVEL.search(text, max(0, start - 40), start):
        return "place"
    return "person" if words[0] in WOMEN | MEN and all(word[1:].islower() for word in words) else "other"


def _starts_sentence(text: str, at: int) -> bool:
    before = text[:at].rstrip(" \"'(\u201c*-")
    return not before or before[-1] in ".!?:;\n"


def _word_type(words: list[str]) -> str:
    if words[0] == "Project" and len(words) > 1:
        return "project"
    if words[0] in TITLES:
        return "person"
    if words[0] == "St." and words[-1].endswith(("'s", "\u2019s")):
        return "organisation"
    return NAME_ENDINGS.get(words[-1].casefold(), "other") if len(words) > 1 else "other"


def _append_roles(text: str, found: list[NameSpan], at: int) -> int:
    """Append the roles after a name ("'s sister", "'s sister Marta", "'s sister's husband"); returns their end."""
    while len(found) < MAX_NAMES and (m := _OF_ROLE.match(text, at)):
        role, owner = m["role"] or m["mine"], len(found) - 1
        held = found[owner]
        found[owner] = NameSpan(held.start, held.stop, held.shown, held.type, held.owner, held.role, silent=True)
        named = _NAME_AFTER_ROLE.match(text, m.end())
        span = _capitalised_name(text, named.start("name"), named["name"]) if named else None
        kind = "animal" if ROLES[role] == "has-pet" else "person"
        if span is not None:
            found.append(NameSpan(held.start, span.stop, span.shown, kind, owner, role))
        else:
            found.append(NameSpan(held.start, m.end(), f"{held.shown}'s {role}", kind, owner, role))
        at = found[-1].stop
    return at
