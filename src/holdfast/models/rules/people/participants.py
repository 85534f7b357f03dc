"""Resolves the subject of each clause: a first person, a name, a relation ("my sister") or a pronoun."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from holdfast.domain.identifiers import topic_key
from holdfast.models.rules.patterns.vocabulary import split_words
from holdfast.models.rules.people.pronouns import (
    GIVEN_NAME,
    NOT_NAMES,
    RELATION,
    PersonMention,
    hyphenated_relation,
    is_given_name,
    person_mentions,
    pronoun_of_name,
)
from holdfast.models.rules.people.third_person import REGULAR_VERBS, Subject, is_past, main_predicate
from holdfast.text.lexicon.kinship import RELATIONS_TO_SEVERAL

MAX_SEARCHED_CHARACTERS = 400
"""How many characters of a text are searched for people. Chosen by hand, to bound the time; not measured."""
_ADJECTIVE = r"(?P<adj>(?:older|younger|little|big|best|twin|elder|late)\s+)?"
_FIRST_PERSON = re.compile(rf"(?:(?P<we>we|my (?:{RELATION}) and i|i and my (?:{RELATION}))|i)\s+(?P<rest>.+)", re.I)
_NAME_AND_I = re.compile(rf"(?P<name>{GIVEN_NAME}) and (?:I|me)\s+(?P<rest>.+)")
_RELATIVE_SUBJECT = re.compile(
    rf"(?P<whose>my|our|his|her)\s+{_ADJECTIVE}(?P<rel>{RELATION})(?:,?\s+"
    rf"(?P<name>(?-i:{GIVEN_NAME})),?)?\s+(?P<rest>(?!and\b|or\b).+)", re.I
)  # fmt: skip
_HAVING_VERB = re.compile(r"(?:have|had|own|owned|adopted|live|got)\b(?! to\b| been\b| a (?:call|meeting)\b)", re.I)
"""Predicates of "we" that apply to the author alone: what "we" have, the author has."""
_NAME_SUBJECT = re.compile(rf"(?P<name>{GIVEN_NAME}(?: [A-Z][a-zà-ÿ]{{1,20}})?)\s+(?P<rest>\S.*)")
_GROUP_SUBJECT = re.compile(
    r"(?:the|our|my) (?P<what>team|company|family|squad|group) (?P<rest>(?!is\b|was\b|name\b).+)", re.I
)
_PRONOUN_SUBJECT = re.compile(r"(?P<who>she|he)\s+(?P<rest>.+)", re.I)
_PERSON_PRONOUN = re.compile(r"\b(?:she|he|her|his|him|hers)\b", re.I)
_REACTION = re.compile(
    r"(?:(?:perfect|great|good|nice|lovely|ok|okay|thanks|thank you|sure|cool|haha|sounds|idea|point|one)\b[\s,.!…]*)+",
    re.I,
)
"""Reactions that mention nobody new."""
_UNKNOWN_PERSON = re.compile(r"(?<=[\w,] )[A-ZÀ-Þ][a-zà-ÿ]|\b(?:she|he|her|him|his)\b|^[A-ZÀ-Þ]\w+,", re.M)
"""Signs that somebody else's message mentions a person who is not yet known to this author's record."""
_NOT_NAMES = frozenset(
    split_words(
        "she he they we i you this that it there what who everything everyone nothing something today yesterday "
        "tomorrow the my our your his her their these those here now life work english german spanish french "
        "everyone nobody someone somebody weather python traffic lunch dinner breakfast all some most one docker "
        "god also still just"
    )
)
_NAME_PREDICATE = re.compile(
    r"(?:lives?|works?|is|was|moved|got|has|speaks|loves|hates|prefers|drives|studies|no longer|doesn't|grew|started|"
    r"joined|visited|bought|left|quit|gets|needs|wants|likes|owns|does|teaches|plays|goes|runs|will)\b .",
    re.I,
)
"""Predicates that make any capitalised word before them their subject."""
_PERSON_PREDICATE = re.compile(
    r"(?:lives?|works? (?:at|for|as|in)|speaks|loves|hates|prefers|drives|studies|grew up|joined|visited|quit|likes|"
    r"teaches|was born|doesn't (?:eat|drink|like|live|work|speak|drive)|"
    r"is (?:married|allergic|vegan|vegetarian|pregnant|\d))\b",
    re.I,
)
"""Predicates that apply only to people, so that a name before them is a person's."""


ParticipantsState = tuple[
    Subject,
    Subject | None,
    tuple[tuple[str, Subject], ...],
    str,
    tuple[PersonMention, ...],
    tuple[PersonMention, ...],
    tuple[PersonMention, ...],
    bool,
    bool,
]
"""The fields of Participants in order."""


@dataclass(slots=True)
class Participants:
    """The people one author has mentioned so far, by name, by relation, and in the order of mention."""

    author: Subject
    last_subject: Subject | None = None
    subjects_by_name: dict[str, Subject] = field(default_factory=dict)
    previous_sentence: str = ""
    """The sentence before the current one."""
    message_mentions: list[PersonMention] = field(default_factory=list)
    """The people that the current message has mentioned so far."""
    sentence_mentions: list[PersonMention] = field(default_factory=list)
    """The people that the current sentence has mentioned so far."""
    earlier_mentions: list[PersonMention] = field(default_factory=list)
    """The people in the latest earlier message that mentioned anybody."""
    only_refers_back: bool = True
    """Whether the message so far is only about people mentioned before it."""
    heard_nobody_new: bool = True
    """Whether somebody else's message just before mentions no unknown person."""

    def state(self) -> ParticipantsState:
        """What is known so far, as a value."""
        return (
            self.author, self.last_subject, tuple(self.subjects_by_name.items()), self.previous_sentence,
            tuple(self.message_mentions), tuple(self.sentence_mentions), tuple(self.earlier_mentions),
            self.only_refers_back, self.heard_nobody_new,
        )  # fmt: skip

    def restore(self, state: ParticipantsState) -> None:
        author, last, names, previous, of_message, of_sentence, earlier, refers_back, nobody_new = state
        self.author, self.last_subject, self.subjects_by_name, self.previous_sentence = (
            author, last, dict(names), previous
        )  # fmt: skip
        self.message_mentions, self.sentence_mentions = list(of_message), list(of_sentence)
        self.earlier_mentions, self.only_refers_back, self.heard_nobody_new = list(earlier), refers_back, nobody_new

    def parse(self, clause: str) -> tuple[Subject, str] | None:
        """Returns the clause's subject and predicate; None when the subject is not certain. Records the
        subject for later clauses."""
        if (m := _NAME_AND_I.match(clause)) and m["name"].lower() not in _NOT_NAMES:
            return Subject(f"{self.author.name} and {m['name']}", self.author.prefix, True), m["rest"]
        if m := _FIRST_PERSON.match(clause):
            plural = bool(m["we"]) and not _HAVING_VERB.match(main_predicate(m["rest"]))
            who = f"{self.author.name} and others" if plural else self.author.name
            return Subject(who, self.author.prefix, plural), m["rest"]
        if m := _GROUP_SUBJECT.match(clause):
            return Subject(f"{self.author.owner} {m['what'].lower()}", self.author.prefix, False, False), m["rest"]
        if m := _RELATIVE_SUBJECT.match(clause):
            subject = self._relative_of(m)
        elif m := _PRONOUN_SUBJECT.match(clause):
            subject = self._resolve_pronoun(m["who"].lower())
        elif (m := _NAME_SUBJECT.match(clause)) and self._is_acting(m["name"], m["rest"]):
            subject = self.subjects_by_name.get(m["name"]) or self._named_person(m["name"])
        else:
            return None
        if not subject or not m:
            return None
        self.last_subject = subject
        return subject, m["rest"]

    def learn_name(self, name: str, relation: str) -> None:
        """Records that from now on a name refers to one of the author's relations."""
        words = f"{self.author.owner} {relation} {name}"
        self.subjects_by_name = {
            **self.subjects_by_name,
            name: Subject(words, self._key_prefix(relation, name), False, False),
        }

    def begin_message(self, heard: str) -> None:
        """Starts a message; `heard` is somebody else's message right before it."""
        self.earlier_mentions = self.message_mentions or self.earlier_mentions
        if others_mentions := [
            m for m in person_mentions(heard[-MAX_SEARCHED_CHARACTERS:]) if m.who != self.author.name
        ]:
            whose_reversed = {"your": "my", "my": "their", "our": "their"}
            self.earlier_mentions = [
                replace(
                    m,
                    whose=(whose := whose_reversed.get(m.whose, m.whose)),
                    who=m.name or f"{whose} {m.relation or m.who}",
                )
                for m in others_mentions
            ]
        self.message_mentions, self.only_refers_back = [], True
        self.heard_nobody_new = not _UNKNOWN_PERSON.search(heard)

    def note_mentions(self, text: str) -> None:
        """Adds the people mentioned in a text of the author."""
        for mention in person_mentions(text[:MAX_SEARCHED_CHARACTERS]):
            if mention.who != self.author.name and not (mention.whose == "your" and not mention.name):
                self._add_mention(mention)
        if (m := _NAME_SUBJECT.match(text)) and self.is_about_person(text):
            self._add_mention(PersonMention(name := m["name"].split()[0], pronoun_of_name(name), name))
        self.only_refers_back = self.only_refers_back and bool(
            _PERSON_PRONOUN.search(text) or (self.heard_nobody_new and _REACTION.fullmatch(text))
        )

    def is_about_person(self, clause: str) -> bool:
        """Whether the subject of the clause is the name of a person."""
        if not (m := _NAME_SUBJECT.match(clause)) or not self._is_acting(m["name"], m["rest"]):
            return False
        return (
            is_given_name(m["name"])
            or m["name"] in self.subjects_by_name
            or bool(_PERSON_PREDICATE.match(main_predicate(m["rest"])))
        )

    def _add_mention(self, mention: PersonMention) -> None:
        known = next((m for m in (*self.message_mentions, *self.earlier_mentions) if m.same(mention)), mention)
        for mentions in (self.message_mentions, self.sentence_mentions):
            if not any(m.same(known) for m in mentions):
                mentions.append(known)

    def _resolve_pronoun(self, pronoun: str) -> Subject | None:
        """The person that a pronoun refers to, when only one fits."""
        fitting = [m for m in self.sentence_mentions if m.he_or_she in ("", pronoun)]
        fitting = fitting or [m for m in self.message_mentions if m.he_or_she in ("", pronoun)]
        if not self.message_mentions and self.only_refers_back:
            fitting = [m for m in self.earlier_mentions if m.he_or_she in ("", pronoun)]
            fitting = fitting if all(m.he_or_she for m in fitting) else []
        if len(fitting) != 1 or not fitting[0].sure:
            return None
        one = fitting[0]
        if not one.he_or_she:
            self.message_mentions = [replace(m, he_or_she=pronoun) if m is one else m for m in self.message_mentions]
        if one.name and (one.name in self.subjects_by_name or one.whose != "my"):
            return self.subjects_by_name.get(one.name) or self._named_person(one.name)
        return self._authors_relative("", one.relation or "", one.name)

    def _is_acting(self, name: str, rest: str) -> bool:
        """Whether the name is the subject of the verb after it."""
        if any(word.lower() in _NOT_NAMES or word.lower() in NOT_NAMES for word in name.split()):
            return False
        predicate = main_predicate(rest)
        verb = predicate.split(" ")[0].lower()
        acting = (is_given_name(name) or name in self.subjects_by_name) and (
            is_past(verb) or (verb in REGULAR_VERBS and verb.endswith("s"))
        )
        return bool(_NAME_PREDICATE.match(predicate)) or acting

    def _named_person(self, name: str) -> Subject:
        return Subject(name, topic_key(name) + ".", False, name == self.author.name)

    def _relative_of(self, m: re.Match[str]) -> Subject | None:
        relation, name, whose = hyphenated_relation(m["rel"]), m["name"], m["whose"].lower()
        if whose in ("my", "our"):
            return self._authors_relative((m["adj"] or "").strip().lower(), relation, name)
        owner = self._resolve_pronoun("he" if whose == "his" else "she")
        if not owner:
            return None
        words = " ".join(filter(None, (f"{_short_name(owner)}'s", relation, name)))
        prefix = f"{topic_key(name)}." if name else f"{owner.prefix}{topic_key(relation)}."
        return self._store_name(name, Subject(words, prefix, False, False))

    def _authors_relative(self, adjective: str, relation: str, name: str | None) -> Subject:
        """The author's relative. When only one person with this relation is known by name, it is that person."""
        if not name and not adjective and relation in RELATIONS_TO_SEVERAL:
            named = [
                s
                for s in self.subjects_by_name.values()
                if s.prefix.startswith(f"{self.author.prefix}{topic_key(relation)}-")
            ]
            if len(named) == 1:
                return named[0]
        words = " ".join(filter(None, (f"{self.author.owner}", adjective, relation, name)))
        return self._store_name(name, Subject(words, self._key_prefix(relation, name), False, False))

    def _store_name(self, name: str | None, subject: Subject) -> Subject:
        if name:
            self.subjects_by_name = {**self.subjects_by_name, name: self.subjects_by_name.get(name, subject)}
        return subject

    def _key_prefix(self, relation: str, name: str | None) -> str:
        """The prefix of the person's keys; it includes the name for relations that one person can have several of."""
        own = (
            f"{topic_key(relation)}-{topic_key(name)}"
            if name and relation in RELATIONS_TO_SEVERAL
            else topic_key(relation)
        )
        return f"{self.author.prefix}{own}."


def _short_name(subject: Subject) -> str:
    """The subject's short name: "Nora" of "The user's daughter Nora"."""
    last = subject.name.split(" ")[-1]
    return last if last[:1].isupper() else subject.name
