"""The extractor: messages in order, sentence by sentence, with what the messages before explain."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from ... import words
from ...ports import Embedder, Keys, no_keys
from ...types import Draft, Memory, Message
from ...when import windows
from .cast import Cast
from .clauses import LONGEST, sentences
from .context import answered, corrected, joined_corrections, rescheduled
from .foreign import english_dates, foreign, pieces, told_abroad
from .found import BY_WORDS, LEAST, Found, draft, says_something
from .judge import CLEAR, DOUBT, GENERIC, Reader, Sentence, Setting, judged, readable
from .quotes import verbatim
from .reading import ordered_by_system, read, read_clause
from .replies import reply
from .signs import pointing, whole
from .spelt import spelt
from .voice import Subject, speaking

log = logging.getLogger("holdfast")
_FRAME = frozenset(("the", "user", "said", "according", "to"))
_OWN = re.compile(r"(?:i|i'm|i've|we|we're|we've|my|our)\b", re.I)
APART = 5
"""A sentence of so many words stands apart from the reply before it."""
REMEMBERED = 4
"""How many messages back a correction may reach."""


@dataclass(frozen=True, slots=True)
class Note:
    """A finding and the messages it rests on; `place` is where in the conversation it was said."""

    found: Found
    setting: Setting
    sources: tuple[str, ...]
    trust: str
    place: int
    author: Subject


Judged = tuple[Found, Note, Sentence]
"""A finding as judged, as noted, and as it can be read."""


class RuleExtractor:
    """Keeps the Extractor promise with rules alone."""

    name = "rules/2"

    def __init__(self, embedder: Embedder | None = None, least: float = LEAST) -> None:
        """With an embedder that can read, it judges better. What is less sure than `least` stays a message."""
        self._reader = embedder if isinstance(embedder, Reader) else None
        self._least = least

    async def extract(
        self, messages: Sequence[Message], before: Sequence[Message], keys: Keys = no_keys
    ) -> list[Draft]:
        found = await asyncio.to_thread(lambda: _judged(noted(messages, before)))
        was_read = self._reader is not None and await self._reread(self._reader, found)
        return _drafts(found, self._least, was_read)

    async def topic(self, text: str, at: datetime) -> Draft | None:
        """What one statement is about, all of it, where a rule knows that for sure."""
        from .topic import topic_of  # late: it reads statements as this module does

        return await asyncio.to_thread(topic_of, text, at)

    async def finished(
        self, messages: Sequence[Message], before: Sequence[Message], tasks: Sequence[Memory | Draft]
    ) -> list[Draft]:
        """Statements that tell that one of the tasks was done, also those that would not be kept by themselves."""
        from .finished import finished  # late, as above

        return await asyncio.to_thread(finished, messages, before, tasks)

    async def _reread(self, reader: Reader, found: list[Judged]) -> bool:
        """Judges again by reading, where the words leave a doubt; False when the reader fails."""
        doubtful = [
            n
            for n, (finding, _, seen) in enumerate(found)
            if finding.confidence >= DOUBT and np.exp(seen.words[1:]).max() < CLEAR
        ]
        try:
            read = await reader.classes([found[n][2] for n in doubtful]) if doubtful else []
        except Exception as failure:
            log.warning("judging by words alone, the reader failed: %s", failure)
            return False
        for n, classes in zip(doubtful, read, strict=True):
            _, note, seen = found[n]
            found[n] = (judged(note.found, seen, classes), note, seen)
        return True


def drafts(messages: Sequence[Message], before: Sequence[Message] = (), least: float = LEAST) -> list[Draft]:
    """Drafts resting on `messages`, judged by their words; `before` only explains them."""
    return _drafts(_judged(noted(messages, before)), least, was_read=False)


def _judged(notes: list[Note]) -> list[Judged]:
    seen = [readable(note.found, note.setting) for note in notes]
    return [(judged(note.found, each), note, each) for note, each in zip(notes, seen, strict=True)]


def _drafts(found: list[Judged], least: float, was_read: bool) -> list[Draft]:
    return [
        draft(finding, note.sources, note.trust, note.setting.around)
        for finding, note, _ in found
        if finding.confidence >= (least if was_read and words.latin(note.setting.sentence) else least * BY_WORDS)
        and says_something(finding)
    ]


def noted(messages: Sequence[Message], before: Sequence[Message] = ()) -> list[Note]:
    """Everything the rules find in `messages`, however little it may be worth."""
    talk = spelt([*before[-REMEMBERED:], *messages])
    first = len(talk) - len(messages)
    notes: list[Note] = []
    cast: dict[str, Cast] = {}
    for place, message in enumerate(talk):
        author = speaking(message.speaker)
        for note in _notes(talk, place, cast.setdefault(author.name, Cast(author)), notes):
            notes = [n for n in notes if not _replaces(note, n)] + [note]
    return [note for note in notes if note.place >= first]


def _replaces(new: Note, old: Note) -> bool:
    """Inside a batch one of equal contents stays, and a correction takes what it corrects.

    An earlier value of a key stays too: it becomes history, and what was said then is known to be superseded.
    """
    a, b = new.found, old.found
    if a.topic and (a.kind, a.topic, a.subject.prefix) == (b.kind, b.topic, b.subject.prefix):
        if a.rule == "correction" or old.place == new.place:
            return True
    same_words = a.content.casefold() == b.content.casefold() and a.kind == b.kind
    undated = a.rule == "correction" and not b.topic and a.kind == b.kind and old.sources[0] in new.sources
    undated = undated and a.subject == b.subject and bool(b.value or b.window) and b.rule != "correction"
    return same_words or (undated and _mostly(a.content, b.content))


def _mostly(new: str, old: str) -> bool:
    """Whether half of the words of the old are in the new, as when one of them was put right."""
    words = set(re.findall(r"\w+", re.sub(r" \([^()]*\)", "", old).lower())) - _FRAME
    return 2 * len(words & set(re.findall(r"\w+", new.lower()))) >= len(words)


def _notes(talk: list[Message], place: int, cast: Cast, notes: list[Note]) -> list[Note]:
    message, previous = talk[place], talk[place - 1] if place else None
    if message.role in ("assistant", "tool", "document") and not message.speaker:
        return []
    trust = {"tool": "tool", "document": "document"}.get(message.role, "user")
    made: list[Note] = []

    def note(found: Found, sources: tuple[str, ...], number: int = 0) -> Note:
        last = previous or Message("", "", "", "", message.created_at)
        before = said[number - 1] if number else ""
        found = replace(
            found, content=verbatim(found.content, said[number], before, _heard(previous, message), message.content)
        )
        if previous and sources == (message.id,) and found.content.startswith(('Asked "', 'Told "')):
            sources = (previous.id, message.id)
        around = (message.role, message.speaker is not None, last.content, last.role, found.window is not None)
        setting = Setting(said[number], number, len(said), *around, *_framed(talk, place))
        return Note(found, setting, sources, trust, place, cast.author)

    cast.begin(_heard(previous, message))
    said = [message.content]
    if previous and (statement := _reply(previous, message)):
        both = (previous.id, message.id)
        return [note(found, both) for found in read_clause(statement, cast, message)]
    lower = message.content == message.content.lower()
    abroad = message.role != "system" and foreign(message.content)
    said = pieces(message.content) if abroad else joined_corrections(sentences(message.content))
    short, covered = _short_reply(previous, message, said, cast.author) if previous and said else (None, 0)
    if short and previous:
        made.append(note(short, (previous.id, message.id)))
    if abroad:
        heard = [told_abroad(sentence, cast.author, message.said_at) for sentence in said]
        return made + [note(f, (message.id,), i) for i, f in enumerate(heard) if f and i >= covered]
    for i, sentence in enumerate(said):
        if len(sentence) > LONGEST:
            continue
        earlier, fixed = _corrected(sentence, message, _near([*notes, *made], cast.author, place))
        if i < covered:
            earlier = fixed = None
        if fixed and earlier:
            made = [n for n in made if n is not earlier]
            made.append(note(fixed, tuple(dict.fromkeys((*earlier.sources, message.id))), i))
        else:
            cast.before = _before(said, i, _last_said(previous, message))
            system = message.role == "system"
            found_here = ordered_by_system(sentence, cast) if system else read(sentence, cast, message, lower)
            news = (f for f in found_here if not (i < covered and (f.rule == "told" or (f.rule in GENERIC and not i))))
            made += [note(found, (message.id,), i) for found in news]
    return made


def _framed(talk: list[Message], place: int) -> tuple[str, str, str]:
    """The two messages before, the message itself, and what the assistant answered."""
    after = talk[place + 1] if place + 1 < len(talk) else None
    reply = after.content if after and after.role == "assistant" and not after.speaker else ""
    return "\n".join(each.content for each in talk[max(0, place - 2) : place]), talk[place].content, reply


def _reply(previous: Message, message: Message) -> str | None:
    """What a message states as an answer to the one before, if somebody else asked it."""
    other = (previous.role, previous.speaker) != (message.role, message.speaker)
    return answered(previous.content, message.content) if other and previous.content.rstrip().endswith("?") else None


def _short_reply(previous: Message, message: Message, said: list[str], author: Subject) -> tuple[Found | None, int]:
    """A short message, or its short first sentence, that answers a plain question; and how many sentences that is."""
    other = (previous.role, previous.speaker) != (message.role, message.speaker)
    if not other or message.role == "system" or not previous.content.rstrip().endswith(("?", "？", "か。")):
        return None, 0
    when, helping = (
        windows(english_dates(said[0]) if foreign(said[0]) else said[0], message.said_at),
        previous.role == "assistant",
    )
    if not any(_apart(more) for more in said[1:]):
        if together := reply(previous.content, " ".join(said), author, when, helping):
            return together, len(said)
    first = reply(previous.content, said[0], author, when, helping)
    return first, int(first is not None)


def _apart(sentence: str) -> bool:
    """Whether a sentence after a reply tells something else, with a subject and a verb of its own."""
    own = whole(sentence) or _OWN.match(sentence)
    return bool(own) and len(sentence.split()) >= APART and not pointing(sentence)


def _before(said: list[str], i: int, other: str) -> str:
    """What a sentence may point back to: the one before it, with what that one rests on when it is short."""
    if not i:
        return other
    return said[i - 1] if len(said[i - 1].split()) > 3 or not other else f"{other} {said[i - 1]}"


def _heard(previous: Message | None, message: Message) -> str:
    """What somebody else has said just before."""
    if not previous or (previous.role, previous.speaker) == (message.role, message.speaker):
        return ""
    return previous.content


def _last_said(previous: Message | None, message: Message) -> str:
    """The end of what somebody else has just said, for a reply that points back to it."""
    if not previous or (previous.role, previous.speaker) == (message.role, message.speaker):
        return ""
    last = re.split(r"(?<=[.!?])\s+", previous.content.strip()[-400:])[-1]
    return last if len(last) <= 160 else ""


def _near(notes: list[Note], author: Subject, place: int) -> list[Note]:
    """What the author, or with a date anybody, has just said and may now correct; the latest first."""
    near = (n for n in notes if place - n.place <= REMEMBERED and (n.found.value or n.found.window))
    return [n for n in near if n.author == author or n.found.window][-1:-5:-1]


def _corrected(text: str, message: Message, near: list[Note]) -> tuple[Note | None, Found | None]:
    """The note that a sentence corrects, and what it then says."""
    for i, note in enumerate(near):
        others = note.author != speaking(message.speaker)
        fixed = rescheduled(text, note.found, message) if others or not i else None
        for said in () if others else dict.fromkeys((text, text.split(", ")[0])):
            fixed = fixed or corrected(said, note.found, message)
        if fixed and (i == 0 or " not " in text):
            return note, fixed
    return None, None
