"""Who a clause is about, and the clause in the third person.

Singular "they" carries the first person: "I love my dog because I …" becomes "Maya loves their dog because they …", so
only the main verb changes its form.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...names import topic
from .words import RELATIONS, listed

USER = "The user"
_NOBODY = frozenset({"user", "human", "me", "customer", "client", "speaker", "unknown", "assistant"})
_RELATION = "|".join(sorted(map(re.escape, RELATIONS), key=len, reverse=True))
_CONTRACTED = [
    (re.compile(r"\b(i)'?m\b(?!')", re.I), r"\1 am"),
    (re.compile(r"\b(i|we|you|they)'ve\b", re.I), r"\1 have"),
    (re.compile(r"\b(i|we|you|they|he|she)'ll\b", re.I), r"\1 will"),
    (re.compile(r"\b(we|you|they)'re\b", re.I), r"\1 are"),
    (re.compile(rf"\b(he|she|it|(?:my|our) (?:{_RELATION}))'s (been|got)\b", re.I), r"\1 has \2"),
    (
        re.compile(
            rf"\b(he|she|it|that|there|(?:my|our) (?:{_RELATION}))'s (?=(?:an?|in|from|at|on|allergic|"
            r"married|called|named|"
            r"not|now|\d+|vegan|vegetarian|(?!wedding|meeting|building|painting|evening)\w+ing|due|been)\b)",
            re.I,
        ),
        r"\1 is ",
    ),
    (re.compile(r"\b([A-ZÀ-Þ][a-zà-ÿ]+)'s (?=(?:back|in|at|on|now|away|out|off|gone|from|an?)\b)"), r"\1 is "),
    (re.compile(r"\b([A-ZÀ-Þ][a-zà-ÿ]+)'s (?=(?:got|been|moved|left|quit)\b)"), r"\1 has "),
    (re.compile(r"\b(?:have|has) got (?=an?\b|\w+ (?:kids|children|dogs|cats)\b)", re.I), "have "),
]
ADVERBS = re.compile(
    r"(?:(?:currently|now|just|still|also|actually|really|recently|already|originally|absolutely|"
    r"mostly|mainly|usually|always|"
    r"generally|typically|normally|personally|finally|truly|definitely|so|both|all|do(?! not)|"
    r"basically|officially|simply|only|"
    r"even|once|often|sometimes|kind of|deeply|very much|first|then|ended up)\s+)",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Subject:
    """`name` opens the sentence, `prefix` opens the key."""

    name: str = USER
    prefix: str = ""
    plural: bool = False
    first: bool = True

    @property
    def inline(self) -> str:
        return "the" + self.name[3:] if self.name.startswith(USER) else self.name

    @property
    def owner(self) -> str:
        return self.name + "'s"


def alone(subject: Subject) -> Subject:
    """Of "we", the one who speaks."""
    return Subject(subject.name.removesuffix(" and others"), subject.prefix, False, subject.first)


def speaking(speaker: str | None) -> Subject:
    """The author of a message."""
    name = re.sub(r"\s+", " ", speaker or "").strip()[:60]
    if not name or name.casefold() in _NOBODY:
        return Subject()
    return Subject(name, topic(name).replace(".", "-").replace("/", "-") + ".")


def expanded(clause: str) -> str:
    """Without contractions that hide a verb: "I'm" becomes "I am"."""
    for pattern, plain in _CONTRACTED:
        clause = pattern.sub(plain, clause)
    return clause


def main(rest: str) -> str:
    """What is said, from its main verb on."""
    for _ in range(3):
        m = ADVERBS.match(rest)
        if not m:
            break
        rest = rest[m.end() :]
    return re.sub(
        r"^(am|are|is|have|has|was|were) (?:currently|now|just|still|also|actually|really|recently|"
        r"already|originally|both|all|"
        r"actively|officially|so|very|severely|mildly|deathly|quite|happily|finally) ",
        r"\1 ",
        rest,
        flags=re.I,
    )


def _s(verb: str) -> str:
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return verb + "es"
    return verb[:-1] + "ies" if verb.endswith("y") and verb[-2] not in "aeiou" else verb + "s"


_BE = {"am": "is", "are": "is", "were": "was", "have": "has", "do": "does", "don't": "doesn't", "haven't": "hasn't"}
_AS_IS = frozenset(
    listed("is was has does will can can't cannot won't had did didn't used doesn't never no must should isn't")
)
_BASE = frozenset(
    listed(
        "live work love like enjoy hate prefer dislike adore own drive use speak study play wear need want eat "
        "drink come go reside take wake run swim teach make get cook read write keep follow collect commute train "
        "practise practice volunteer manage lead build develop rent share exercise meditate code hike cycle bake "
        "watch listen travel host deploy store ship support attend visit plan know suffer identify weigh stand earn "
        "pay grow paint draw sing dance walk call owe"
    )
)
REGULAR = _BASE | {_s(verb) for verb in _BASE}
_PRONOUNS = {"i": "they", "we": "they", "my": "their", "our": "their", "me": "them", "us": "them", "mine": "theirs",
             "ours": "theirs", "myself": "themselves", "ourselves": "themselves"}  # fmt: skip
_MINE = re.compile(r"\b(?:i am|i was|i|we|my|our|me|us|mine|ours|myself|ourselves)\b", re.I)


def third(rest: str, plural: bool) -> str:
    """The predicate in the third person; "" when its verb is not one whose form is known."""
    verb, _, tail = rest.partition(" ")
    low = verb.lower()
    if low in _BE:
        low = low if plural and low != "am" else _BE[low]
    elif low in _BASE:
        low = low if plural else _s(low)
    elif low not in _AS_IS and not is_past(low) and not low.endswith("s"):
        return ""
    return f"{low} {theirs(tail)}".strip()


def theirs(text: str) -> str:
    """First-person pronouns become "they", "their", "them"."""
    return _MINE.sub(_pronoun, text)


def _pronoun(m: re.Match[str]) -> str:
    word = m[0].lower()
    if m[0] == "US":
        return m[0]
    return {"i am": "they are", "i was": "they were"}.get(word) or _PRONOUNS.get(word, m[0])  # İ is matched as an I


_PAST = frozenset(
    listed(
        "went bought got met came saw took made gave left began ate flew drove ran won lost spent told found broke "
        "built wrote read held sold became quit fell felt sent grew paid rode swam taught thought threw wore chose "
        "caught cut hit put set hurt hung had did was were forgot drank slept spoke stood woke fought hired let led "
        "shot sang hosted brought kept stayed tried"
    )
)


def is_past(verb: str) -> bool:
    return verb in _PAST or (len(verb) > 4 and verb.endswith("ed") and verb not in ("need", "indeed", "speed"))
