"""Reads a conversation message by message, and each message sentence by sentence, into findings with their sources.

Messages before a sentence explain it: they contain the question it answers, the statement it corrects, the person it
refers back to.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from holdfast.domain.types import Message
from holdfast.models.rules.findings.finding import TOPICLESS_RULES, RuleFinding
from holdfast.models.rules.judge import SentenceContext
from holdfast.models.rules.patterns.other_languages import english_dates, foreign_finding, foreign_sentences, is_foreign
from holdfast.models.rules.patterns.salience import has_subject_and_verb, points_back
from holdfast.models.rules.people.participants import Participants
from holdfast.models.rules.people.third_person import Subject, author_subject
from holdfast.models.rules.sentences.clauses import MAX_SENTENCE_CHARACTERS, sentences
from holdfast.models.rules.sentences.corrections import (
    answer_statement,
    corrected_finding,
    joined_corrections,
    rescheduled_finding,
)
from holdfast.models.rules.sentences.quotations import verbatim_quotation
from holdfast.models.rules.sentences.rule_dispatch import findings_in_clause, findings_in_sentence, system_findings
from holdfast.models.rules.sentences.short_replies import short_reply_finding
from holdfast.text.cache import cached_by_text
from holdfast.text.dates import day_first, windows, written_date
from holdfast.text.lexicon.patterns import ASIDE
from holdfast.text.lexicon.sentences import AFTER_SENTENCE
from holdfast.text.values import ValueMask, mask_values, values

_FRAME_WORDS = frozenset(("the", "user", "said", "according", "to"))
_FIRST_PERSON = re.compile(r"(?:i|i'm|i've|we|we're|we've|my|our)\b", re.I)
MIN_SEPARATE_WORDS = 5
"""Minimum words of a sentence after a short reply to count as a separate statement. Chosen by hand; not measured."""
MAX_CORRECTION_DISTANCE = 4
"""How many messages back a correction may reach. Chosen by hand; not measured."""
_NUMERIC_DATE = re.compile(r"(?<![\w/.-])(\d{1,2})([-/])(\d{1,2})\2(\d{4})(?![-/.]?\w)")


@dataclass(frozen=True, slots=True)
class SourcedFinding:
    """A finding, the ids of the messages it rests on, and the position of its message in the conversation."""

    found: RuleFinding
    setting: SentenceContext
    sources: tuple[str, ...]
    trust: str
    place: int
    author: Subject
    heard: tuple[Message, ...] = ()
    """The messages up to this one, as written."""


def sourced_findings(messages: Sequence[Message], before: Sequence[Message] = ()) -> list[SourcedFinding]:
    """Everything the rules find in `messages`, however low its value; `before` only explains them."""
    written = [*before[-MAX_CORRECTION_DISTANCE:], *messages]
    first = len(written) - len(messages)
    texts, mask = mask_values(message.content for message in with_dates_in_words(written))
    talk = [
        message if message.content == text else replace(message, content=text)
        for message, text in zip(written, texts, strict=True)
    ]
    notes: list[SourcedFinding] = []
    participants: dict[str, Participants] = {}
    for place, message in enumerate(talk):
        author = author_subject(message.speaker)
        for note in _message_findings(talk, place, participants.setdefault(author.name, Participants(author)), notes):
            notes = [n for n in notes if not _replaces(note, n)] + [note]
    return [_as_written(note, mask, written) for note in notes if note.place >= first]


def _as_written(note: SourcedFinding, mask: ValueMask, written: Sequence[Message]) -> SourcedFinding:
    """The finding with its values as the author wrote them."""
    found, setting = note.found, note.setting
    window = found.window
    heard = tuple(written[: note.place + 1])
    if mask.empty:
        return replace(note, heard=heard)
    return replace(
        note,
        found=replace(
            found,
            content=mask.restored(found.content),
            value=mask.restored(found.value),
            queries=tuple(map(mask.restored, found.queries)),
            window=replace(window, text=mask.restored(window.text)) if window else None,
        ),
        setting=replace(
            setting,
            sentence=mask.restored(setting.sentence),
            before=mask.restored(setting.before),
            earlier=mask.restored(setting.earlier),
            message=mask.restored(setting.message),
            reply=mask.restored(setting.reply),
        ),
        heard=heard,
    )


def _replaces(new: SourcedFinding, old: SourcedFinding) -> bool:
    """Whether `new` replaces `old` within one batch: it has the same content, or corrects it.

    An earlier value of a key is kept too: it becomes history, so that the earlier statement is known to be superseded.
    """
    a, b = new.found, old.found
    if a.topic and (a.kind, a.topic, a.subject.prefix) == (b.kind, b.topic, b.subject.prefix):
        if a.rule == "correction" or old.place == new.place:
            return True
    same_words = a.content.casefold() == b.content.casefold() and a.kind == b.kind
    corrects = a.rule == "correction" and not b.topic and a.kind == b.kind and old.sources[0] in new.sources
    corrects = corrects and a.subject == b.subject and bool(b.value or b.window) and b.rule != "correction"
    return same_words or (corrects and _has_most_words(a.content, b.content))


def _has_most_words(new: str, old: str) -> bool:
    """Whether half of the words of `old` are in `new`, as when one of them was corrected."""
    words = set(re.findall(r"\w+", ASIDE.sub("", old).lower())) - _FRAME_WORDS
    return 2 * len(words & set(re.findall(r"\w+", new.lower()))) >= len(words)


def _message_findings(
    talk: list[Message], place: int, participants: Participants, notes: list[SourcedFinding]
) -> list[SourcedFinding]:
    message, previous = talk[place], talk[place - 1] if place else None
    if message.role in ("assistant", "tool", "document") and not message.speaker:
        return []
    trust = {"tool": "tool", "document": "document"}.get(message.role, "user")
    new_notes: list[SourcedFinding] = []

    def note(finding: RuleFinding, sources: tuple[str, ...], number: int = 0) -> SourcedFinding:
        last = previous or Message("", "", "", "", message.created_at)
        before = parts[number - 1] if number else ""
        content = verbatim_quotation(
            finding.content, parts[number], before, _others_message(previous, message), message.content
        )
        finding = replace(finding, content=content)
        if previous and sources == (message.id,) and finding.content.startswith(('Asked "', 'Told "')):
            sources = (previous.id, message.id)
        around = (message.role, message.speaker is not None, last.content, last.role, finding.window is not None)
        setting = SentenceContext(parts[number], number, len(parts), *around, *_surrounding_messages(talk, place))
        return SourcedFinding(finding, setting, sources, trust, place, participants.author)

    participants.begin_message(_others_message(previous, message))
    parts = [message.content]
    if previous and (statement := _answered_statement(previous, message)):
        both = (previous.id, message.id)
        return [note(finding, both) for finding in findings_in_clause(statement, participants, message)]
    lower = message.content == message.content.lower()
    not_english = message.role != "system" and is_foreign(message.content)
    parts = foreign_sentences(message.content) if not_english else [*_english_sentences(message.content)]
    short, covered = (
        _short_reply_finding(previous, message, parts, participants.author) if previous and parts else (None, 0)
    )
    if short and previous:
        new_notes.append(note(short, (previous.id, message.id)))
    if not_english:
        statements = [foreign_finding(sentence, participants.author, message.said_at) for sentence in parts]
        return new_notes + [note(f, (message.id,), i) for i, f in enumerate(statements) if f and i >= covered]
    for i, sentence in enumerate(parts):
        if len(sentence) > MAX_SENTENCE_CHARACTERS:
            continue
        earlier, fixed = _correction(sentence, message, _correctable([*notes, *new_notes], participants.author, place))
        if i < covered:
            earlier = fixed = None
        if fixed and earlier:
            new_notes = [n for n in new_notes if n is not earlier]
            new_notes.append(note(fixed, tuple(dict.fromkeys((*earlier.sources, message.id))), i))
        else:
            participants.previous_sentence = _preceding_text(parts, i, _others_last_sentence(previous, message))
            system = message.role == "system"
            findings = (
                system_findings(sentence, participants)
                if system
                else findings_in_sentence(sentence, participants, message, lower)
            )
            news = (
                f for f in findings if not (i < covered and (f.rule == "told" or (f.rule in TOPICLESS_RULES and not i)))
            )
            new_notes += [note(finding, (message.id,), i) for finding in news]
    return new_notes


@cached_by_text
def _english_sentences(text: str) -> tuple[str, ...]:
    """The sentences of a message, which is read again as the context of each of the next ones."""
    return tuple(joined_corrections(sentences(text)))


def _surrounding_messages(talk: list[Message], place: int) -> tuple[str, str, str]:
    """The two messages before, the message itself, and the assistant's answer to it."""
    after = talk[place + 1] if place + 1 < len(talk) else None
    answer = after.content if after and after.role == "assistant" and not after.speaker else ""
    return "\n".join(each.content for each in talk[max(0, place - 2) : place]), talk[place].content, answer


def _answered_statement(previous: Message, message: Message) -> str | None:
    """The statement that a message makes as the answer to a question that somebody else asked right before it."""
    other = (previous.role, previous.speaker) != (message.role, message.speaker)
    return (
        answer_statement(previous.content, message.content)
        if other and previous.content.rstrip().endswith("?")
        else None
    )


def _short_reply_finding(
    previous: Message, message: Message, parts: list[str], author: Subject
) -> tuple[RuleFinding | None, int]:
    """The finding of a short message, or of its short first sentence, that answers a plain question; and how
    many sentences it covers."""
    other = (previous.role, previous.speaker) != (message.role, message.speaker)
    if not other or message.role == "system" or not previous.content.rstrip().endswith(("?", "？", "か。")):
        return None, 0
    when, by_assistant = (
        windows(english_dates(parts[0]) if is_foreign(parts[0]) else parts[0], message.said_at),
        previous.role == "assistant",
    )
    if not any(_is_separate(more) for more in parts[1:]):
        if together := short_reply_finding(previous.content, _whole_text(parts, message), author, when, by_assistant):
            return together, len(parts)
    first = short_reply_finding(previous.content, parts[0], author, when, by_assistant)
    return first, int(first is not None)


def _whole_text(parts: list[str], message: Message) -> str:
    """The sentences together: as written in another language, where they are split without their marks."""
    return " ".join(message.content.split()) if is_foreign(message.content) else " ".join(parts)


def _is_separate(sentence: str) -> bool:
    """Whether a sentence after a reply states something separate, with its own subject and verb."""
    own = has_subject_and_verb(sentence) or _FIRST_PERSON.match(sentence)
    return bool(own) and len(sentence.split()) >= MIN_SEPARATE_WORDS and not points_back(sentence)


def _preceding_text(parts: list[str], i: int, other: str) -> str:
    """What sentence `i` may refer back to: the sentence before it, after the other speaker's last
    sentence if that one is short."""
    if not i:
        return other
    return parts[i - 1] if len(parts[i - 1].split()) > 3 or not other else f"{other} {parts[i - 1]}"


def _others_message(previous: Message | None, message: Message) -> str:
    """The message before, when somebody else wrote it; otherwise empty."""
    if not previous or (previous.role, previous.speaker) == (message.role, message.speaker):
        return ""
    return previous.content


def _others_last_sentence(previous: Message | None, message: Message) -> str:
    """The last sentence of somebody else's message just before, for a reply that refers back to it."""
    if not previous or (previous.role, previous.speaker) == (message.role, message.speaker):
        return ""
    last = AFTER_SENTENCE.split(previous.content.strip()[-400:])[-1]
    return last if len(last) <= 160 else ""


def _correctable(notes: list[SourcedFinding], author: Subject, place: int) -> list[SourcedFinding]:
    """Recent findings that a sentence may correct, latest first: the author's own, and anybody's with a date."""
    near = (
        n
        for n in notes
        if place - n.place <= MAX_CORRECTION_DISTANCE
        and (n.found.value or n.found.window or (n is notes[-1] and values(n.found.content)))
    )
    return [n for n in near if n.author == author or n.found.window][-1:-5:-1]


def _correction(
    text: str, message: Message, near: list[SourcedFinding]
) -> tuple[SourcedFinding | None, RuleFinding | None]:
    """The finding that a sentence corrects, and the corrected finding."""
    for i, note in enumerate(near):
        others = note.author != author_subject(message.speaker)
        fixed = rescheduled_finding(text, note.found, message) if others or not i else None
        for part in () if others else dict.fromkeys((text, text.split(", ")[0])):
            fixed = fixed or corrected_finding(part, note.found, message)
        if fixed and (i == 0 or " not " in text):
            return note, fixed
    return None, None


def with_dates_in_words(talk: Sequence[Message]) -> list[Message]:
    """The messages with numeric dates written as words: "12/05/2027" is "12 May 2027" for an author who also writes
    "25/04/2027", which shows that the day comes first."""
    if not any(_NUMERIC_DATE.search(message.content) for message in talk):
        return [*talk]
    texts_by_author: dict[tuple[str, str | None], list[str]] = {}
    for message in talk:
        texts_by_author.setdefault((message.role, message.speaker), []).append(message.content)
    orders = {author: day_first("\n".join(texts)) for author, texts in texts_by_author.items()}
    return [_with_written_dates(message, orders[message.role, message.speaker]) for message in talk]


def _with_written_dates(message: Message, order: bool | None) -> Message:
    def words(m: re.Match[str]) -> str:
        a, b = int(m[1]), int(m[3])
        day, month = (a, b) if order else (b, a)
        try:
            return written_date(date(int(m[4]), month, day))
        except ValueError:  # no such day: the text stays as written
            return m[0]

    return message if order is None else replace(message, content=_NUMERIC_DATE.sub(words, message.content))
