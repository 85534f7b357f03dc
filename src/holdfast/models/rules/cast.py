"""Who takes part in what an author says: whom each clause is about, and whom "he" or "she" stands for."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from ...names import topic
from .people import NOBODY, RELATION, Mention, given, mentioned, of_name, related
from .voice import REGULAR, Subject, is_past, main
from .words import MANY, listed

LONGEST = 400
"""So much of a text is searched for people."""
_ADJECTIVE = r"(?P<adj>(?:older|younger|little|big|best|twin|elder|late)\s+)?"
_FIRST = re.compile(rf"(?:(?P<we>we|my (?:{RELATION}) and i|i and my (?:{RELATION}))|i)\s+(?P<rest>.+)", re.I)
_WITH = re.compile(r"(?P<name>[A-Z][a-zà-ÿ]{1,20}) and (?:I|me)\s+(?P<rest>.+)")
_THEIRS = re.compile(
    rf"(?P<whose>my|our|his|her)\s+{_ADJECTIVE}(?P<rel>{RELATION})(?:,?\s+"
    rf"(?P<name>(?-i:[A-Z][a-zà-ÿ]{{1,20}})),?)?\s+(?P<rest>(?!and\b|or\b).+)", re.I
)  # fmt: skip
_HAVING = re.compile(r"(?:have|had|own|owned|adopted|live|got)\b(?! to\b| been\b| a (?:call|meeting)\b)", re.I)
"""What "we" have, I have."""
_NAMED = re.compile(r"(?P<name>[A-Z][a-zà-ÿ]{1,20}(?: [A-Z][a-zà-ÿ]{1,20})?)\s+(?P<rest>\S.*)")
_GROUP = re.compile(r"(?:the|our|my) (?P<what>team|company|family|squad|group) (?P<rest>(?!is\b|was\b|name\b).+)", re.I)
_PRONOUN = re.compile(r"(?P<who>she|he)\s+(?P<rest>.+)", re.I)
_OF_PERSON = re.compile(r"\b(?:she|he|her|his|him|hers)\b", re.I)
_REACTION = re.compile(
    r"(?:(?:perfect|great|good|nice|lovely|ok|okay|thanks|thank you|sure|cool|haha|sounds|idea|point|one)\b[\s,.!…]*)+",
    re.I,
)
"""What speaks of nobody new."""
_UNHEARD = re.compile(r"(?<=[\w,] )[A-ZÀ-Þ][a-zà-ÿ]|\b(?:she|he|her|him|his)\b|^[A-ZÀ-Þ]\w+,", re.M)
"""What may bring in somebody whom nobody here knows."""
_NOT_NAMES = frozenset(
    listed(
        "she he they we i you this that it there what who everything everyone nothing something today yesterday "
        "tomorrow the my our your his her their these those here now life work english german spanish french "
        "everyone nobody someone somebody weather python traffic lunch dinner breakfast all some most one docker "
        "god also still just"
    )
)
_ANY_NAME = re.compile(
    r"(?:lives?|works?|is|was|moved|got|has|speaks|loves|hates|prefers|drives|studies|no longer|doesn't|grew|started|"
    r"joined|visited|bought|left|quit|gets|needs|wants|likes|owns|does|teaches|plays|goes|runs|will)\b .",
    re.I,
)
"""Verbs that make the subject of whatever name stands before them."""
_LIVING = re.compile(
    r"(?:lives?|works? (?:at|for|as|in)|speaks|loves|hates|prefers|drives|studies|grew up|joined|visited|quit|likes|"
    r"teaches|was born|doesn't (?:eat|drink|like|live|work|speak|drive)|"
    r"is (?:married|allergic|vegan|vegetarian|pregnant|\d))\b",
    re.I,
)
"""What only people do, so that a name before it is a person's."""


@dataclass(slots=True)
class Cast:
    """Who has been mentioned, the last of whom a clause was about, and names that stand for relations."""

    author: Subject
    last: Subject | None = None
    known: dict[str, Subject] = field(default_factory=dict)
    before: str = ""
    """The sentence before the one that is read."""
    people: list[Mention] = field(default_factory=list)
    """Whom the message has mentioned so far."""
    here: list[Mention] = field(default_factory=list)
    """Whom the sentence has mentioned so far."""
    earlier: list[Mention] = field(default_factory=list)
    """Whom the last message before it that spoke of anybody mentioned."""
    opening: bool = True
    """Whether the message has spoken of nothing yet but of those before."""
    undisturbed: bool = True
    """Whether what was heard before the message can have been about nobody else."""

    def parsed(self, clause: str) -> tuple[Subject, str] | None:
        """The clause's subject and what is said of it; None when nobody can tell whom it is about."""
        if (m := _WITH.match(clause)) and m["name"].lower() not in _NOT_NAMES:
            return Subject(f"{self.author.name} and {m['name']}", self.author.prefix, True), m["rest"]
        if m := _FIRST.match(clause):
            plural = bool(m["we"]) and not _HAVING.match(main(m["rest"]))
            who = f"{self.author.name} and others" if plural else self.author.name
            return Subject(who, self.author.prefix, plural), m["rest"]
        if m := _GROUP.match(clause):
            return Subject(f"{self.author.owner} {m['what'].lower()}", self.author.prefix, False, False), m["rest"]
        if m := _THEIRS.match(clause):
            subject = self._relative(m)
        elif m := _PRONOUN.match(clause):
            subject = self._meant(m["who"].lower())
        elif (m := _NAMED.match(clause)) and self._acts(m["name"], m["rest"]):
            subject = self.known.get(m["name"]) or self._named(m["name"])
        else:
            return None
        if not subject or not m:
            return None
        self.last = subject
        return subject, m["rest"]

    def learn(self, name: str, relation: str) -> None:
        """From now on this name stands for the author's relation."""
        words = f"{self.author.owner} {relation} {name}"
        self.known = {**self.known, name: Subject(words, self._prefix(relation, name), False, False)}

    def begin(self, heard: str) -> None:
        """A message begins; `heard` is what somebody else has said just before it."""
        self.earlier = self.people or self.earlier
        if others := [m for m in mentioned(heard[-LONGEST:]) if m.who != self.author.name]:
            yours = {"your": "my", "my": "their", "our": "their"}
            self.earlier = [
                replace(
                    m,
                    whose=(whose := yours.get(m.whose, m.whose)),
                    who=m.name or f"{whose} {m.relation or m.who}",
                )
                for m in others
            ]
        self.people, self.opening = [], True
        self.undisturbed = not _UNHEARD.search(heard)

    def heed(self, text: str) -> None:
        """Remembers whom a text of the author mentions."""
        for mention in mentioned(text[:LONGEST]):
            if mention.who != self.author.name and not (mention.whose == "your" and not mention.name):
                self._add(mention)
        if (m := _NAMED.match(text)) and self.of_someone(text):
            self._add(Mention(name := m["name"].split()[0], of_name(name), name))
        self.opening = self.opening and bool(
            _OF_PERSON.search(text) or (self.undisturbed and _REACTION.fullmatch(text))
        )

    def of_someone(self, clause: str) -> bool:
        """Whether its subject is the name of a person."""
        if not (m := _NAMED.match(clause)) or not self._acts(m["name"], m["rest"]):
            return False
        return given(m["name"]) or m["name"] in self.known or bool(_LIVING.match(main(m["rest"])))

    def _add(self, mention: Mention) -> None:
        known = next((m for m in (*self.people, *self.earlier) if m.same(mention)), mention)
        for those in (self.people, self.here):
            if not any(m.same(known) for m in those):
                those.append(known)

    def _meant(self, pronoun: str) -> Subject | None:
        """Whom the pronoun stands for, if it can stand for one person only."""
        fitting = [m for m in self.here if m.he_or_she in ("", pronoun)]
        fitting = fitting or [m for m in self.people if m.he_or_she in ("", pronoun)]
        if not self.people and self.opening:
            fitting = [m for m in self.earlier if m.he_or_she in ("", pronoun)]
            fitting = fitting if all(m.he_or_she for m in fitting) else []
        if len(fitting) != 1 or not fitting[0].sure:
            return None
        one = fitting[0]
        if not one.he_or_she:
            self.people = [replace(m, he_or_she=pronoun) if m is one else m for m in self.people]
        if one.name and (one.name in self.known or one.whose != "my"):
            return self.known.get(one.name) or self._named(one.name)
        return self._owned("", one.relation or "", one.name)

    def _acts(self, name: str, rest: str) -> bool:
        """Whether the name is the subject of a verb."""
        if any(word.lower() in _NOT_NAMES or word.lower() in NOBODY for word in name.split()):
            return False
        said = main(rest)
        verb = said.split(" ")[0].lower()
        acting = (given(name) or name in self.known) and (is_past(verb) or (verb in REGULAR and verb.endswith("s")))
        return bool(_ANY_NAME.match(said)) or acting

    def _named(self, name: str) -> Subject:
        return Subject(name, topic(name) + ".", False, name == self.author.name)

    def _relative(self, m: re.Match[str]) -> Subject | None:
        relation, name, whose = related(m["rel"]), m["name"], m["whose"].lower()
        if whose in ("my", "our"):
            return self._owned((m["adj"] or "").strip().lower(), relation, name)
        owner = self._meant("he" if whose == "his" else "she")
        if not owner:
            return None
        words = " ".join(filter(None, (f"{_short(owner)}'s", relation, name)))
        prefix = f"{topic(name)}." if name else f"{owner.prefix}{topic(relation)}."
        return self._kept(name, Subject(words, prefix, False, False))

    def _owned(self, adjective: str, relation: str, name: str | None) -> Subject:
        """Someone who is the author's. A relation of which only one is known by name is that one."""
        if not name and not adjective and relation in MANY:
            named = [s for s in self.known.values() if s.prefix.startswith(f"{self.author.prefix}{topic(relation)}-")]
            if len(named) == 1:
                return named[0]
        words = " ".join(filter(None, (f"{self.author.owner}", adjective, relation, name)))
        return self._kept(name, Subject(words, self._prefix(relation, name), False, False))

    def _kept(self, name: str | None, subject: Subject) -> Subject:
        if name:
            self.known = {**self.known, name: self.known.get(name, subject)}
        return subject

    def _prefix(self, relation: str, name: str | None) -> str:
        """Of those whom one may have several of, each has keys of their own."""
        own = f"{topic(relation)}-{topic(name)}" if name and relation in MANY else topic(relation)
        return f"{self.author.prefix}{own}."


def _short(subject: Subject) -> str:
    """ "Nora" of "The user's daughter Nora"."""
    last = subject.name.split(" ")[-1]
    return last if last[:1].isupper() else subject.name
