"""The extractor: messages in order, clause by clause, each clause to the first rules that know it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...types import Draft, Message
from ...when import Window, window, windows
from .clauses import LONGEST, asks, bare, clauses, hypothetical, ironic, reported, sentences
from .context import answered, corrected, joined_corrections, rescheduled
from .foreign import english_dates, foreign, pieces, told_abroad
from .found import LEAST, Found, draft
from .happened import happened
from .orders import instruction, system_instruction, task
from .replies import reply
from .standing import lasting_question, standing
from .stated import introduced, stated
from .told import counted, told
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
_FRAMED = re.compile(
    r"((?:for|on|in|at) (?!that|this|it|now|fact|case|short)[a-z]+(?: [a-z]+)?),? (?=(?:i|we) (?!am|was|will)\w)", re.I
)
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
    return same_words or (undated and a.subject == b.subject and bool(b.value or b.window) and b.rule != "correction")


def _notes(message: Message, previous: Message | None, place: int, cast: Cast, notes: list[_Note]) -> list[_Note]:
    if message.role in ("assistant", "tool", "document") and not message.speaker:
        return []
    trust = {"tool": "tool", "document": "document"}.get(message.role, "user")
    made: list[_Note] = []
    if previous and (statement := _reply(previous, message)):
        both = (previous.id, message.id)
        return [_Note(found, both, trust, place, cast.author) for found in _clause(statement, cast, message)]
    lower = message.content == message.content.lower()
    abroad = message.role != "system" and foreign(message.content)
    said = pieces(message.content) if abroad else joined_corrections(sentences(message.content))
    short = _short_reply(previous, message, said, cast.author) if previous and said else None
    if short and previous:
        made.append(_Note(short, (previous.id, message.id), trust, place, cast.author))
    if abroad:
        news = (told_abroad(sentence, cast.author, message.said_at) for sentence in said[1 if short else 0 :])
        return made + [_Note(found, (message.id,), trust, place, cast.author) for found in news if found]
    for i, sentence in enumerate(said):
        if len(sentence) > LONGEST:
            continue
        earlier, fixed = _corrected(sentence, message, _near([*notes, *made], cast.author, place))
        if short and not i:
            earlier = fixed = None
        if fixed and earlier:
            made = [n for n in made if n is not earlier]
            made.append(_Note(fixed, tuple(dict.fromkeys((*earlier.sources, message.id))), trust, place, cast.author))
        else:
            cast.before = _before(said, i, _last_said(previous, message))
            system = message.role == "system"
            found_here = _system(sentence, cast) if system else _sentence(sentence, cast, message, lower)
            news = (f for f in found_here if not (short and (f.rule == "told" or (f.rule[:4] == "told" and not i))))
            made += [_Note(found, (message.id,), trust, place, cast.author) for found in news]
    return made


def _reply(previous: Message, message: Message) -> str | None:
    """What a message states as an answer to the one before, if somebody else asked it."""
    other = (previous.role, previous.speaker) != (message.role, message.speaker)
    return answered(previous.content, message.content) if other and previous.content.rstrip().endswith("?") else None


def _short_reply(previous: Message, message: Message, said: list[str], author: Subject) -> Found | None:
    """A short message, or its short first sentence, that answers a plain question of somebody else."""
    other = (previous.role, previous.speaker) != (message.role, message.speaker)
    if not other or message.role == "system" or not previous.content.rstrip().endswith(("?", "？", "か。")):
        return None
    for text in (" ".join(said), said[0]):
        if found := reply(
            previous.content,
            text,
            author,
            windows(english_dates(said[0]), message.said_at),
            previous.role == "assistant",
        ):
            return found
    return None


def _before(said: list[str], i: int, other: str) -> str:
    """What a sentence may point back to: the one before it, with what that one rests on when it is short."""
    if not i:
        return other
    return said[i - 1] if len(said[i - 1].split()) > 3 or not other else f"{other} {said[i - 1]}"


def _last_said(previous: Message | None, message: Message) -> str:
    """The end of what somebody else has just said, for a reply that points back to it."""
    if not previous or (previous.role, previous.speaker) == (message.role, message.speaker):
        return ""
    last = re.split(r"(?<=[.!?])\s+", previous.content.strip()[-400:])[-1]
    return last if len(last) <= 160 else ""


def _near(notes: list[_Note], author: Subject, place: int) -> list[_Note]:
    """What the author, or with a date anybody, has just said and may now correct; the latest first."""
    near = (n for n in notes if place - n.place <= REMEMBERED and (n.found.value or n.found.window))
    return [n for n in near if n.author == author or n.found.window][-1:-5:-1]


def _corrected(text: str, message: Message, near: list[_Note]) -> tuple[_Note | None, Found | None]:
    """The note that a sentence corrects, and what it then says."""
    for i, note in enumerate(near):
        others = note.author != speaking(message.speaker)
        fixed = rescheduled(text, note.found, message) if others or not i else None
        for said in () if others else dict.fromkeys((text, text.split(", ")[0])):
            fixed = fixed or corrected(said, note.found, message)
        if fixed and (i == 0 or " not " in text):
            return note, fixed
    return None, None


def _with_amounts(events: list[Found], amounts: list[Found]) -> list[Found]:
    """An amount is a fact of its own, so the event beside it does not repeat it."""
    for one in amounts:
        events = [replace(e, content=e.content.replace(f", {one.value}", "")) for e in events]
    return events + amounts


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
    if order := lasting_question(bare(sentence)):
        return [made for made in [standing(order, cast.author, cast.before)] if made]
    if _IFFY.search(sentence):
        rest = re.sub(r"^if\b[^,:]{3,60}[,:] ", "", bare(sentence).rstrip(" .!"), flags=re.I)
        order = (
            standing(rest, cast.author) if rest != sentence and not asks(sentence) and not _IFFY.search(rest) else None
        )
        return [order] if order else []
    made: list[Found] = []
    for clause in whole[:8]:
        made += _clause(clause, cast, message, lower)
        cast.before = clause if len(clause.split()) > 3 or not cast.before else f"{cast.before} {clause}"[-300:]
    return made


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


def _subject_first(clause: str) -> str:
    """ "For flights I want a window seat" → "I want a window seat for flights"."""
    m = _FRAMED.match(clause)
    return f"{clause[m.end() :]} {m[1][:1].lower()}{m[1][1:]}" if m else clause


def _clause(clause: str, cast: Cast, message: Message, lower: bool = False) -> list[Found]:
    if hypothetical(clause) or reported(clause):
        return []
    clause = _subject_first(clause)
    clause = expanded(f"I {clause[:1].lower()}{clause[1:]}" if _DIARY.match(clause) else clause)
    found = windows(clause, message.said_at)
    if (turned := _date_last(clause, found)) != clause:
        clause, found = turned, windows(turned, message.said_at)
    if to_do := task(clause, cast.author, found):
        return [to_do]
    noted = bool(_OF_NOTE.search(clause))
    facts = stated(clause, cast, found, lower) if noted else []
    events = happened(clause, cast, found) if noted else []
    if not facts and not events:
        return told(clause, cast, found, cast.before)
    if events and not facts:
        events = _with_amounts(events, counted(clause, cast.author)) + introduced(clause, cast.author)
    if any(f.rule not in _BEGAN for f in facts):
        return facts
    dated = [e for e in events if e.window]
    return [replace(f, window=None) if dated and f.rule == "moved" else f for f in facts] + (dated if facts else events)
