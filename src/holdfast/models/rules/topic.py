"""The topic of a statement that is remembered on purpose, where a rule knows it and the text says nothing else."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from ...types import Draft, Message
from ...when import windows
from .clauses import sentences
from .extractor import noted
from .found import Found, draft
from .judge import GENERIC

SURE = 0.75
_ONE_AT_A_TIME = frozenset(("call-me", "language"))
"""Of the orders those whose topic has one value; the others' topics are words of the order."""
_NOT_A_VALUE = frozenset(("no-longer", "denied", "former", "correction", "likes", "uses"))
_ACCUMULATES = re.compile(r"(?:has|likes|uses|skill|hobby|part|plays|owns)-|languages$")
_OWNER = re.compile(r"^(?:the )?user['’]s (?=\w)", re.I)
_SUBJECT = re.compile(
    r"^(?:the )?user (?:(?P<be>is|was)|(?P<have>has)|(?P<verb>[a-z]+s)|(?P<past>moved|changed))\b ?", re.I
)
_BESIDES = re.compile(
    r"[,;:]|\b(?:and|but|or|because|with|who|which|when|if|while|until|except|not|also|too|another)\b", re.I
)
_NOW = re.compile(
    r"[\s,]*(?:(?:right |just )?now(?:adays)?|currently|these days|at the moment|at present|today|again|actually)?"
    r"[\s.!]*",
    re.I,
)
_NOTHING = re.compile(r"(?!)")
_COUNTRY = re.compile(r"^, (?-i:[A-Z][\w.]+(?: [A-Z][\w.]+)?)(?=$|[\s.!])")
_AS_TOLD = {"home": _COUNTRY, "moved": _COUNTRY, "age": re.compile(r"^ years? old\b", re.I)}
"""What may follow the value of a rule and says no more."""
_UNTIL = re.compile(r"\b(?:until|till)\b", re.I)
_LATELY = ("moved", "employer", "job")


def topic_of(text: str, at: datetime) -> Draft | None:
    """What would be drawn from it, had it been said, with its kind and key."""
    said = _in_first_person(" ".join(text.split()))
    if len(sentences(said)) != 1 or said.endswith("?"):
        return None
    found = [note.found for note in noted([Message("", "", "user", said, at, timestamp=at)])]
    keyed = [one for one in found if one.topic]
    if len(keyed) != 1 or not _sure(keyed[0]) or not _whole(keyed[0], said, at):
        return None
    beside = [one for one in found if not one.topic]
    if beside and (keyed[0].rule != "moved" or any(one.kind != "event" for one in beside)):
        return None
    return draft(keyed[0], (), "user")


def _in_first_person(text: str) -> str:
    """An agent writes "The user lives in Porto" of the one whose memory this is."""
    if _OWNER.match(text):
        return _OWNER.sub("My ", text)
    if not (m := _SUBJECT.match(text)):
        return text
    verb = {"is": "am", "was": "was"}.get((m["be"] or "").lower()) or ("have" if m["have"] else "")
    return f"I {verb or m['past'] or _plain(m['verb'].lower())} {text[m.end() :]}"


def _plain(verb: str) -> str:
    """live from lives, study from studies, watch from watches."""
    if verb.endswith("ies"):
        return f"{verb[:-3]}y"
    return verb[:-2] if re.search(r"(?:[sxz]|ch|sh|o)es$", verb) else verb[:-1]


def _sure(found: Found) -> bool:
    if not found.topic or found.confidence < SURE or found.rule in GENERIC | _NOT_A_VALUE:
        return False
    if found.kind == "instruction":
        return found.rule in _ONE_AT_A_TIME
    return found.kind == "fact" and not _ACCUMULATES.match(found.topic)


def _whole(found: Found, said: str, at: datetime) -> bool:
    """Whether the text is what comes before the value, the value, and at most "now" or, of a change, when it was."""
    start = said.rfind(found.value) if found.value else -1
    if start < 0 or _BESIDES.search(said, 0, start):
        return False
    after = said[start + len(found.value) :]
    if _NOW.fullmatch(_AS_TOLD.get(found.rule, _NOTHING).sub("", after)):
        return True
    lately = windows(after, at) if found.rule in _LATELY else []
    if len(lately) != 1 or lately[0].stop > at + timedelta(1) or _UNTIL.search(after):
        return False
    rest = after.replace(lately[0].text, "").replace(" in ", " ").replace(" on ", " ")
    return _NOW.fullmatch(rest) is not None
