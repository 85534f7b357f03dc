"""Finds the topic of a statement that a user stores directly, if a rule is sure of it and it covers the whole text."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from holdfast.domain.types import Draft, Message
from holdfast.models.rules.conversation import sourced_findings
from holdfast.models.rules.findings.finding import TOPICLESS_RULES, RuleFinding, finding_draft
from holdfast.models.rules.sentences.clauses import sentences
from holdfast.text.dates import windows

MIN_TOPIC_CONFIDENCE = 0.75
"""Minimum confidence of a rule whose topic is used. Chosen by hand; not measured."""
_SINGLE_VALUE_RULES = frozenset(("call-me", "language"))
"""Rules for instructions whose topic has one value; the topics of other rules are words of the instruction."""
_RULES_WITHOUT_VALUE = frozenset(("no-longer", "denied", "former", "correction", "likes", "uses"))
_ACCUMULATING_TOPIC = re.compile(r"(?:has|likes|uses|skill|hobby|part|plays|owns)-|languages$")
_OWNER = re.compile(r"^(?:the )?user['’]s (?=\w)", re.I)
_SUBJECT = re.compile(
    r"^(?:the )?user (?:(?P<be>is|was)|(?P<have>has)|(?P<verb>[a-z]+s)|(?P<past>moved|changed))\b ?", re.I
)
_FURTHER_CLAUSE = re.compile(
    r"[,;:]|\b(?:and|but|or|because|with|who|which|when|if|while|until|except|not|also|too|another)\b", re.I
)
_CLOSING_NOW = re.compile(
    r"[\s,]*(?:(?:right |just )?now(?:adays)?|currently|these days|at the moment|at present|today|again|actually)?"
    r"[\s.!]*",
    re.I,
)
_NOTHING = re.compile(r"(?!)")
_COUNTRY = re.compile(r"^, (?-i:[A-Z][\w.]+(?: [A-Z][\w.]+)?)(?=$|[\s.!])")
_AFTER_VALUE = {"home": _COUNTRY, "moved": _COUNTRY, "age": re.compile(r"^ years? old\b", re.I)}
"""What may follow the value of a rule without adding a statement."""
_UNTIL = re.compile(r"\b(?:until|till)\b", re.I)
_DATED_RULES = ("moved", "employer", "job")


def topic_draft(text: str, at: datetime) -> Draft | None:
    """The draft that the rules make of the text as a message, with its kind and key; None when they are not sure."""
    statement = _in_first_person(" ".join(text.split()))
    if len(sentences(statement)) != 1 or statement.endswith("?"):
        return None
    findings = [note.found for note in sourced_findings([Message("", "", "user", statement, at, timestamp=at)])]
    keyed = [one for one in findings if one.topic]
    if len(keyed) != 1 or not _is_sure(keyed[0]) or not _is_whole_statement(keyed[0], statement, at):
        return None
    others = [one for one in findings if not one.topic]
    if others and (keyed[0].rule != "moved" or any(one.kind != "event" for one in others)):
        return None
    return finding_draft(keyed[0], (), "user")


def _in_first_person(text: str) -> str:
    """Replaces "the user" by "I": agents refer to the owner of the memory so ("The user lives in Porto")."""
    if _OWNER.match(text):
        return _OWNER.sub("My ", text)
    if not (m := _SUBJECT.match(text)):
        return text
    verb = {"is": "am", "was": "was"}.get((m["be"] or "").lower()) or ("have" if m["have"] else "")
    return f"I {verb or m['past'] or _base_form(m['verb'].lower())} {text[m.end() :]}"


def _base_form(verb: str) -> str:
    """The base form: live from lives, study from studies, watch from watches."""
    if verb.endswith("ies"):
        return f"{verb[:-3]}y"
    return verb[:-2] if re.search(r"(?:[sxz]|ch|sh|o)es$", verb) else verb[:-1]


def _is_sure(finding: RuleFinding) -> bool:
    if (
        not finding.topic
        or finding.confidence < MIN_TOPIC_CONFIDENCE
        or finding.rule in TOPICLESS_RULES | _RULES_WITHOUT_VALUE
    ):
        return False
    if finding.kind == "instruction":
        return finding.rule in _SINGLE_VALUE_RULES
    return finding.kind == "fact" and not _ACCUMULATING_TOPIC.match(finding.topic)


def _is_whole_statement(finding: RuleFinding, statement: str, at: datetime) -> bool:
    """Whether only "now" follows the value or, for a change, its date."""
    start = statement.rfind(finding.value) if finding.value else -1
    if start < 0 or _FURTHER_CLAUSE.search(statement, 0, start):
        return False
    after = statement[start + len(finding.value) :]
    if _CLOSING_NOW.fullmatch(_AFTER_VALUE.get(finding.rule, _NOTHING).sub("", after)):
        return True
    lately = windows(after, at) if finding.rule in _DATED_RULES else []
    if len(lately) != 1 or lately[0].stop > at + timedelta(1) or _UNTIL.search(after):
        return False
    rest = after.replace(lately[0].text, "").replace(" in ", " ").replace(" on ", " ")
    return _CLOSING_NOW.fullmatch(rest) is not None
