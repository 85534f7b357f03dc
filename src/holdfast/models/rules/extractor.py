"""The extractor: messages in order, clause by clause, each clause to the first rules that know it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...types import Draft, Message
from ...when import Window, window, windows
from .clauses import LONGEST, asks, bare, clauses, hypothetical, ironic, reported, sentences
from .context import answered, corrected
from .found import LEAST, Found, draft
from .happened import happened
from .orders import instruction, system_instruction, task
from .stated import stated
from .voice import Cast, Subject, expanded, speaking
from .words import listed

REMEMBERED = 4
"""How many messages back a correction may reach."""
_IFFY = re.compile(r"\b(?:if|suppose|imagine|pretend|let's say|hypothetically)\b", re.I)
_ORDERED = re.compile(r"^.*?\b(?=from now on,? \w|please (?:always|never)\b)", re.I)
_OF_NOTE = re.compile(
    r"\b(?:met|bought|moved|visited|went|got|started|finished|booked|saw|flew|joined|i|i'm|im|"
    r"i've|we|my|our|me|she|he|always|never|ever|don't|please|use|stop|todo|"
    r"remember|deadline|port|due|call|answer|reply|"
    r"from now on|whenever|forget|the)\b|\b[A-Z][a-z]{1,20} (?:lives|works|is|moved|has)|^(?:no|"
    r"sorry|actually|not)\b",
    re.I,
)
_BEGAN = frozenset(listed("moved employer no-longer degree age school diet status named-one decision choice"))
"""Facts whose statement may tell of an event as well: it happened on a day."""
_SUBJECT = re.compile(r"(?:i|i'm|i've|i'll|we|we're|we've|we'll|my|our|she|he|the)\b|[A-Z]", re.I)
_ASKED_TO = re.compile(r"(?:please )?(?:can|could|would|will) you (?:please )?(?=remind (?:me|us) to\b)", re.I)
_DIARY = re.compile(
    r"(?:just |finally |recently )?(?:met|bought|moved|visited|went|got|started|finished|booked|"
    r"saw|flew|adopted|joined|sold|"
    r"ordered|signed up|graduated|ran|tried|attended|watched)\b (?!it\b|you\b|that\b)",
    re.I,
)
"""A diary leaves out the "I"."""
_INTRODUCED = re.compile(
    r"^(?:hi|hello|hey)(?: there| all| everyone)?[\s,!.]+(?:i'm|i am) (?-i:(?P<name>[A-Z][a-z]{1,20}))"
    r"(?=[,.!]|$| and\b)",
    re.I,
)


@dataclass(frozen=True, slots=True)
class _Note:
    """A finding and the messages it rests on; `place` is where in the conversation it was said."""

    found: Found
    sources: tuple[str, ...]
    trust: str
    place: int
    author: Subject


class RuleExtractor:
    """Keeps the Extractor promise with rules alone."""

    name = "rules/1"

    async def extract(self, messages: Sequence[Message], before: Sequence[Message]) -> list[Draft]:
        return await asyncio.to_thread(drafts, messages, before)


def drafts(messages: Sequence[Message], before: Sequence[Message] = ()) -> list[Draft]:
    """Drafts resting on `messages`; `before` only explains them."""
    talk = [*before[-REMEMBERED:], *messages]
    first = len(talk) - len(messages)
    notes: list[_Note] = []
    cast: dict[str, Cast] = {}
    for place, message in enumerate(talk):
        author = speaking(message.speaker)
        previous = talk[place - 1] if place else None
        for note in _notes(message, previous, place, cast.setdefault(author.name, Cast(author)), notes):
            notes = [n for n in notes if not _replaces(note, n)] + [note]
    kept = [n for n in notes if n.place >= first and n.found.confidence >= LEAST]
    return [draft(n.found, n.sources, n.trust) for n in kept]


def _replaces(new: _Note, old: _Note) -> bool:
    """Inside a batch, the last value of a key and one of equal contents stay; a correction takes what it corrects."""
    a, b = new.found, old.found
    if a.topic and (a.kind, a.topic, a.subject.prefix) == (b.kind, b.topic, b.subject.prefix):
        return True
    same_words = a.content.casefold() == b.content.casefold() and a.kind == b.kind
    undated = a.rule == "correction" and not b.topic and a.kind == b.kind and old.sources[0] in new.sources
    return same_words or (undated and a.subject == b.subject and b.value != "" and b.rule != "correction")


def _notes(message: Message, previous: Message | None, place: int, cast: Cast, notes: list[_Note]) -> list[_Note]:
    if message.role in ("assistant", "tool", "document") and not message.speaker:
        return []
    trust = {"tool": "tool", "document": "document"}.get(message.role, "user")
    cast.last = None
    made: list[_Note] = []
    if previous and (statement := _reply(previous, message)):
        both = (previous.id, message.id)
        return [_Note(found, both, trust, place, cast.author) for found in _clause(statement, cast, message)]
    lower = message.content == message.content.lower()
    for sentence in sentences(message.content):
        if len(sentence) > LONGEST:
            continue
        earlier = _earlier([*notes, *made], cast.author, place)
        fixed = corrected(sentence, earlier.found, message) if earlier else None
        if fixed and earlier:
            made = [n for n in made if n is not earlier]
            made.append(_Note(fixed, tuple(dict.fromkeys((*earlier.sources, message.id))), trust, place, cast.author))
        elif _OF_NOTE.search(sentence):
            system = message.role == "system"
            found_here = _system(sentence, cast) if system else _sentence(sentence, cast, message, lower)
            made += [_Note(found, (message.id,), trust, place, cast.author) for found in found_here]
    return made


def _reply(previous: Message, message: Message) -> str | None:
    """What a message states as an answer to the one before, if somebody else asked it."""
    other = (previous.role, previous.speaker) != (message.role, message.speaker)
    return answered(previous.content, message.content) if other and previous.content.rstrip().endswith("?") else None


def _earlier(notes: list[_Note], author: Subject, place: int) -> _Note | None:
    near = [n for n in notes if n.author == author and place - n.place <= REMEMBERED and n.found.value]
    return near[-1] if near else None


def _system(sentence: str, cast: Cast) -> list[Found]:
    made = [system_instruction(clause, cast.author) for clause in clauses(sentence)[:1]]
    return [m for m in made if m]


def _sentence(sentence: str, cast: Cast, message: Message, lower: bool) -> list[Found]:
    if ironic(sentence):
        return []
    sentence = _ASKED_TO.sub("", sentence).rstrip("?") if _ASKED_TO.match(sentence) else sentence
    sentence = _INTRODUCED.sub(r"My name is \g<name>", sentence)
    whole = clauses(_joined(bare(sentence), message))
    if whole and not asks(sentence):
        ordered = _ORDERED.sub("", bare(sentence).rstrip(" .!"))
        if order := instruction(ordered, cast.author):
            return [order]
    if _IFFY.search(sentence):
        return []
    return [found for clause in whole[:8] for found in _clause(clause, cast, message, lower)]


def _joined(sentence: str, message: Message) -> str:
    """Without the comma after an opening date, which would part it from its clause."""
    w = window(sentence[:50], message.said_at)
    if not w or w.span[0] > 8 or not sentence.startswith(",", w.span[1]):
        return sentence
    return sentence[: w.span[1]] + " " + sentence[w.span[1] :].lstrip(" ,")


def _date_last(clause: str, found: list[Window]) -> str:
    """ "Last week we moved" → "we moved last week": the rules begin at the subject."""
    if not found or found[0].span[0] > 8:
        return clause
    end = found[0].span[1]
    date, rest = clause[:end], clause[end:].lstrip(" ,")
    return f"{rest} {date[:1].lower()}{date[1:]}" if date and _SUBJECT.match(rest) else clause


def _clause(clause: str, cast: Cast, message: Message, lower: bool = False) -> list[Found]:
    if hypothetical(clause) or reported(clause):
        return []
    clause = expanded(f"I {clause[:1].lower()}{clause[1:]}" if _DIARY.match(clause) else clause)
    found = windows(clause, message.said_at)
    if (turned := _date_last(clause, found)) != clause:
        clause, found = turned, windows(turned, message.said_at)
    if to_do := task(clause, cast.author, found):
        return [to_do]
    facts = stated(clause, cast, found, lower)
    events = happened(clause, cast, found)
    if any(f.rule not in _BEGAN for f in facts):
        return facts
    dated = [e for e in events if e.window]
    return [replace(f, window=None) if dated and f.rule == "moved" else f for f in facts] + (dated if facts else events)
