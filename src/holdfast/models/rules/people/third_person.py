"""Turns clauses in the first person into the third person.

Singular "they" is used for the author: "I love my dog because I …" becomes "Maya loves their dog because they …", so
only the main verb changes its form.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast.domain.identifiers import topic_key
from holdfast.models.rules.patterns.vocabulary import split_words
from holdfast.text.lexicon.kinship import RELATIONS

USER_NAME = "The user"
_GENERIC_SPEAKERS = frozenset({"user", "human", "me", "customer", "client", "speaker", "unknown", "assistant"})
_RELATION = "|".join(sorted(map(re.escape, RELATIONS), key=len, reverse=True))
_CONTRACTIONS = [
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
    (
        re.compile(
            r"(?:^|(?<=[,;:.] )|(?<=\band )|(?<=\bbut )|(?<=\bthat ))((?:(?:Mrs?|Ms|Dr)\.? )?[A-ZÀ-Þ][a-zà-ÿ]+)'s "
            r"(?=(?:back|in|at|on|now|away|out|off|gone|from|an?)\b)"
        ),
        r"\1 is ",
    ),
    (re.compile(r"\b([A-ZÀ-Þ][a-zà-ÿ]+)'s (?=(?:got|been|moved|left|quit)\b)"), r"\1 has "),
    (re.compile(r"\b(have|has) got (?=an?\b|\w+ (?:kids|children|dogs|cats)\b)", re.I), r"\1 "),
]
_IN_LAW = re.compile(r"\b\w+-in-law\b", re.I)
_NAME_HAS = re.compile(r"\b([A-ZÀ-Þ][a-zà-ÿ]+) has (got|been|moved|left|quit)\b")
_HAS = re.compile(r"\b(has|have) (an? \w+|\w+ (?:kids|children|dogs|cats))\b")
_ADVERB_AFTER_VERB = re.compile(
    r"(?:\b|['’])(?P<verb>am|is|are|was|were|have|m|s|re|ve) "
    r"(?P<adverbs>(?:(?:now|both|all|officially|so|very|quite|severely|mildly|deathly|happily|finally) )+)"
    r"(?P<next>[\w'’.,-]*\w)",
    re.I,
)
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
    """The subject of a statement: `name` begins its sentence, `prefix` begins its key."""

    name: str = USER_NAME
    prefix: str = ""
    plural: bool = False
    first: bool = True

    @property
    def inline(self) -> str:
        return "the" + self.name[3:] if self.name.startswith(USER_NAME) else self.name

    @property
    def owner(self) -> str:
        return self.name + "'s"


def without_others(subject: Subject) -> Subject:
    """Reduces the subject "we" to the author alone."""
    return Subject(subject.name.removesuffix(" and others"), subject.prefix, False, subject.first)


def author_subject(speaker: str | None) -> Subject:
    """The author of a message as a subject."""
    name = re.sub(r"\s+", " ", speaker).strip()[:60] if speaker else ""
    if not name or name.casefold() in _GENERIC_SPEAKERS:
        return Subject()
    return Subject(name, topic_key(name).replace(".", "-").replace("/", "-") + ".")


def without_contractions(clause: str) -> str:
    """The clause without contractions that hide a verb: "I'm" becomes "I am"."""
    for pattern, plain in _CONTRACTIONS:
        clause = pattern.sub(plain, clause)
    return clause


def with_own_words(content: str, said: str) -> str:
    """The content with the author's words where rules read plainer ones: "Kim has" for "Kim's got", "has a" for
    "has got a", "favorite" for "favourite", "mother-in-law" for "mother in law", "is in Rome" for "am now in Rome"."""

    def is_said(text: str) -> bool:
        return re.search(rf"(?<!\w){re.escape(text)}(?!\w)", said, re.I) is not None

    if is_said("favorite"):
        content = content.replace("favourite", "favorite")
    content = _IN_LAW.sub(lambda m: m[0].replace("-", " ") if is_said(m[0].replace("-", " ")) else m[0], content)
    content = _HAS.sub(lambda m: f"{m[1]} got {m[2]}" if is_said(f"got {m[2]}") else m[0], content)
    content = _NAME_HAS.sub(lambda m: f"{m[1]}'s {m[2]}" if is_said(f"{m[1]}'s {m[2]}") else m[0], content)
    for m in _ADVERB_AFTER_VERB.finditer(said):
        verb = {"have": "has|have", "ve": "has|have", "was": "was", "were": "was|were"}.get(m["verb"].lower(), "is|are")
        place = re.compile(rf"\b(?:{verb}) (?={re.escape(m['next'])}(?!\w))", re.I)
        if not is_said(f"{m['verb']} {m['next']}") and len(place.findall(content)) == 1:
            content = place.sub(rf"\g<0>{m['adverbs'].lower()}", content)
    return content


def main_predicate(rest: str) -> str:
    """The predicate from its main verb on, without adverbs before it."""
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


def _third_person_verb(verb: str) -> str:
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return verb + "es"
    return verb[:-1] + "ies" if verb.endswith("y") and verb[-2] not in "aeiou" else verb + "s"


_AUXILIARIES = {
    "am": "is",
    "are": "is",
    "were": "was",
    "have": "has",
    "do": "does",
    "don't": "doesn't",
    "haven't": "hasn't",
}
_UNCHANGED_VERBS = frozenset(
    split_words("is was has does will can can't cannot won't had did didn't used doesn't never no must should isn't")
)
_FREQUENCIES = frozenset(split_words("never always usually often rarely sometimes"))
_BASE_VERBS = frozenset(
    split_words(
        "live work love like enjoy hate prefer dislike adore own drive use speak study play wear need want eat "
        "drink come go reside take wake run swim teach make get cook read write keep follow collect commute train "
        "practise practice volunteer manage lead build develop rent share exercise meditate code hike cycle bake "
        "watch listen travel host deploy store ship support attend visit plan know suffer identify weigh stand earn "
        "pay grow paint draw sing dance walk call owe"
    )
)
REGULAR_VERBS = _BASE_VERBS | {_third_person_verb(verb) for verb in _BASE_VERBS}
_PRONOUNS = {"i": "they", "we": "they", "my": "their", "our": "their", "me": "them", "us": "them", "mine": "theirs",
             "ours": "theirs", "myself": "themselves", "ourselves": "themselves"}  # fmt: skip
_FIRST_PERSON = re.compile(
    r"\b(?:i am|i was|i|we|my|our|me|us|(?<!\ba )(?<!\bthe )(?<!\bthat )(?<!\bgold )(?<!\bcoal )mine|"
    r"ours|myself|ourselves)\b",
    re.I,
)


def third_person_predicate(rest: str, subject: Subject, author: Subject | None = None) -> str:
    """The predicate in the third person; "" when the form of its verb is not known. What is the author's is named as
    theirs where somebody else is the subject: "Tom is my manager" becomes "Tom is the user's manager"."""
    plural = subject.plural
    verb, _, tail = rest.partition(" ")
    low = verb.lower()
    if low in _AUXILIARIES:
        low = low if plural and low != "am" else _AUXILIARIES[low]
    elif low in _BASE_VERBS:
        low = low if plural else _third_person_verb(low)
    elif low in _FREQUENCIES and (follows := third_person_predicate(tail, subject, author)):
        return f"{low} {follows}"
    elif low not in _UNCHANGED_VERBS and not is_past(low) and not low.endswith("s"):
        return ""
    if author is not None and not subject.first:
        tail = re.sub(r"\bmy\b", f"{author.inline}'s", tail, count=1, flags=re.I)
    return f"{low} {third_person_text(tail)}".strip()


def third_person_text(text: str) -> str:
    """Replaces first person pronouns in the text by "they", "their" and "them"."""
    return _FIRST_PERSON.sub(_third_person_pronoun, text)


def _third_person_pronoun(m: re.Match[str]) -> str:
    word = m[0].lower()
    if m[0] == "US":
        return m[0]
    return {"i am": "they are", "i was": "they were"}.get(word) or _PRONOUNS.get(word, m[0])  # İ is matched as an I


_PAST_VERBS = frozenset(
    split_words(
        "went bought got met came saw took made gave left began ate flew drove ran won lost spent told found broke "
        "built wrote read held sold became quit fell felt sent grew paid rode swam taught thought threw wore chose "
        "caught cut hit put set hurt hung had did was were forgot drank slept spoke stood woke fought hired let led "
        "shot sang hosted brought kept stayed tried"
    )
)


def is_past(verb: str) -> bool:
    return verb in _PAST_VERBS or (len(verb) > 4 and verb.endswith("ed") and verb not in ("need", "indeed", "speed"))
