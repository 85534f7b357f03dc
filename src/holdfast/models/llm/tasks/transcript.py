"""Writes messages as numbered lines for a model, and finds the messages that contain a model's quotes.

Texts are written as JSON strings: no text can begin a new line, so no line can be forged. Secrets are redacted before
anything leaves this machine. A quote counts only where it occurs word for word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence, Set
from dataclasses import dataclass
from datetime import timedelta

from holdfast.domain.types import SECOND_HAND_TRUST, Message
from holdfast.text import tokens
from holdfast.text.dates import windows
from holdfast.text.quoting import single_line_json
from holdfast.text.redaction import redacted_conversation

TRUST_ORDER = ("user", "agent", "document", "tool")
"""The most trusted first."""
MIN_QUOTE_CHARACTERS = 3
"""Minimum characters of a quote that counts. Chosen by hand; not measured."""
_BLANKS = re.compile(r"\s+")
_INVISIBLE = re.compile("[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]")
"""Invisible characters, which are missing from a copied quote."""
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NAME = re.compile(r"(?<=[\w,;] )[A-ZÀ-Þ][\w-]*")
"""A capitalised word that does not begin a sentence."""
_DAY, _YEAR = timedelta(days=1), timedelta(days=366)
_COMMON_NAMES = {"user", "the", "i", "assistant", "a"}
_FRAME_STEMS = frozenset(tokens.tokens("the user user's asked answered said"))
"""Stems of the words that frame a statement and occur in no message."""
_NUMBER_WORDS = {
    "1": "one", "2": "two", "3": "three", "4": "four", "5": "five", "6": "six", "7": "seven", "8": "eight", "9": "nine",
    "10": "ten", "11": "eleven", "12": "twelve", "20": "twenty", "100": "hundred",
}  # fmt: skip
_PLAIN_PUNCTUATION = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "\u00a0": " "})


@dataclass(frozen=True, slots=True)
class TranscriptLine:
    number: int
    message: Message
    text: str
    context: bool = False
    """Whether the message was digested before, and is included only as context."""

    @property
    def trust(self) -> str:
        """The trust of a statement that rests on this line."""
        return {"system": "user", "assistant": "agent"}.get(self.message.role, self.message.role)

    @property
    def second_hand(self) -> bool:
        return self.message.role in SECOND_HAND_TRUST

    def __str__(self) -> str:
        said = self.message
        name = f" ({single_line_json(said.speaker)})" if said.speaker else ""
        note = " context" if self.context else ""
        when = f"{said.said_at:%Y-%m-%d %A}"
        return f"[{self.number}]{note} {said.role}{name} {when}: {single_line_json(self.text)}"


def transcript_lines(before: Sequence[Message], messages: Sequence[Message]) -> list[TranscriptLine]:
    said = [*((each, True) for each in before), *((each, False) for each in messages)]
    texts = redacted_conversation([each.content for each, _ in said])
    return [
        TranscriptLine(n, each, text, context)
        for n, ((each, context), text) in enumerate(zip(said, texts, strict=True), 1)
    ]


def transcript_text(shown: Sequence[TranscriptLine]) -> str:
    return "\n".join(map(str, shown))


def quoted_lines(quote: str, numbers: Sequence[int], among: Sequence[TranscriptLine]) -> tuple[TranscriptLine, ...]:
    """The lines that an item rests on: the lines it names, if one of them contains the quote, or else the first that
    does.

    Empty when the quote occurs nowhere, or only in messages that were digested before.
    """
    wanted = _normalised(quote)
    if len(wanted) < MIN_QUOTE_CHARACTERS:
        return ()
    holding = [line for line in among if wanted in _normalised(line.text)]
    named = [line for line in among if line.number in numbers]
    found = named if any(line in named for line in holding) else holding[:1]
    return tuple(found) if any(not line.context for line in found) else ()


def is_grounded(statement: str, among: Sequence[TranscriptLine]) -> bool:
    """Whether every number and name of the statement occurs in the conversation, and every date follows from it.

    A cheap guard against inventions of models; verification decides whether the statement follows.
    """
    return not _missing_particulars(_particulars(statement, among), among)


def grounding_lines(
    statement: str, rests_on: Sequence[TranscriptLine], among: Sequence[TranscriptLine]
) -> tuple[TranscriptLine, ...]:
    """All lines that the statement rests on: those given, preceded by every other line that it has a
    number, a name or most of its words from. A statement that borrows from another author has at most the
    trust of that author's words."""
    rest = _missing_particulars(_particulars(statement, among), rests_on)
    spoken = set(tokens.question_words(statement)) - _FRAME_STEMS
    strange = spoken - {word for line in rests_on for word in tokens.tokens(line.text)}
    rest_words = strange if 2 * len(strange) > len(spoken) else set()
    more: list[TranscriptLine] = []
    for line in sorted(among, key=lambda line: (TRUST_ORDER.index(line.trust), line.number)):
        left, left_words = _missing_particulars(rest, [line]), rest_words - set(tokens.tokens(line.text))
        if (left, left_words) != (rest, rest_words) and line not in rests_on:
            more.append(line)
            rest, rest_words = left, left_words
    return (*sorted(more, key=lambda line: line.number), *rests_on)


def has_foreign_particulars(text: str, statement: str) -> bool:
    """Whether the text contains a number or a name that the statement does not."""
    said = _normalised(statement)
    return any(word not in said for word in _particulars(text, ()))


def _particulars(statement: str, among: Sequence[TranscriptLine]) -> set[str]:
    """The numbers and the words of names in the statement, without dates that follow from the lines."""
    rest = _without_dates(statement, among)
    called = {_normalised(name) for name in _NAME.findall(rest)} - _COMMON_NAMES
    return set(_NUMBER.findall(_normalised(rest))) | {word for name in called for word in _WORD.findall(name)}


def _missing_particulars(particulars: Set[str], among: Sequence[TranscriptLine]) -> set[str]:
    said = _normalised(" ".join(f"{line.text} {line.message.speaker or ''}" for line in among))
    known = set(_WORD.findall(said))
    return {
        each
        for each in particulars
        if not (each in known or (_NUMBER.match(each) and (each in said or _NUMBER_WORDS.get(each) in known)))
    }


def _without_dates(statement: str, among: Sequence[TranscriptLine]) -> str:
    """The statement without dates that follow from a line's words or from its day."""
    known_dates = [(w.start, w.stop) for line in among for w in windows(line.text, line.message.said_at)]
    known_dates += [(line.message.said_at, line.message.said_at) for line in among]
    rest = statement
    for found in windows(statement, among[-1].message.said_at) if among else ():
        whole = found.stop - found.start <= _YEAR
        if any(
            start - _DAY <= found.start <= stop + _DAY or (whole and found.start <= start <= stop <= found.stop)
            for start, stop in known_dates
        ):
            rest = rest.replace(statement[slice(*found.span)], " ")
    return rest


def _normalised(text: str) -> str:
    plain = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).translate(_PLAIN_PUNCTUATION)
    return _BLANKS.sub(" ", plain).strip(" .,;:!?\"'…").casefold()
