"""Pure: messages → numbered lines for a model, and a model's quotes back → the messages they stand in.

What was said is written as JSON strings: no text can begin a line of its own, so no line can be forged. Secrets are
redacted before anything leaves this machine. A quote counts only where it really stands.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence, Set
from dataclasses import dataclass
from datetime import timedelta

from ... import words
from ...quoted import quoted
from ...redaction import redacted
from ...types import SECOND_HAND, Message
from ...when import windows

TRUSTS = ("user", "agent", "document", "tool")
"""The strongest first."""
SHORTEST = 3
"""Characters of a quote that can prove anything."""
_SPACE = re.compile(r"\s+")
_UNSEEN = re.compile("[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]")
"""Characters that nobody sees, and that a copied quote lacks."""
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NAME = re.compile(r"(?<=[\w,;] )[A-ZÀ-Þ][\w-]*")
"""Capitalised, and not at the beginning of a sentence."""
_DAY, _YEAR = timedelta(days=1), timedelta(days=366)
_COMMON = {"user", "the", "i", "assistant", "a"}
_FRAME = frozenset(words.tokens("the user user's asked answered said"))
"""Stems that a statement has and nobody said."""
_SPELLED = {
    "1": "one", "2": "two", "3": "three", "4": "four", "5": "five", "6": "six", "7": "seven", "8": "eight", "9": "nine",
    "10": "ten", "11": "eleven", "12": "twelve", "20": "twenty", "100": "hundred",
}  # fmt: skip
_ALIKE = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "\u00a0": " "})


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    message: Message
    text: str
    context: bool = False
    """Was dealt with before: here to be understood by."""

    @property
    def trust(self) -> str:
        """Whose word it is."""
        return {"system": "user", "assistant": "agent"}.get(self.message.role, self.message.role)

    @property
    def second_hand(self) -> bool:
        return self.message.role in SECOND_HAND

    def __str__(self) -> str:
        said = self.message
        name = f" ({quoted(said.speaker)})" if said.speaker else ""
        note = " context" if self.context else ""
        when = f"{said.said_at:%Y-%m-%d %A}"
        return f"[{self.number}]{note} {said.role}{name} {when}: {quoted(self.text)}"


def lines(before: Sequence[Message], messages: Sequence[Message]) -> list[Line]:
    said = [*((each, True) for each in before), *((each, False) for each in messages)]
    return [Line(n, each, redacted(each.content), context) for n, (each, context) in enumerate(said, 1)]


def transcript(shown: Sequence[Line]) -> str:
    return "\n".join(map(str, shown))


def proven(quote: str, numbers: Sequence[int], among: Sequence[Line]) -> tuple[Line, ...]:
    """The lines that an item rests on: those it names of which one holds the quote, or else the one that does hold it.

    Empty when the quote stands nowhere, or only where everything was dealt with before.
    """
    wanted = _folded(quote)
    if len(wanted) < SHORTEST:
        return ()
    holding = [line for line in among if wanted in _folded(line.text)]
    named = [line for line in among if line.number in numbers]
    found = named if any(line in named for line in holding) else holding[:1]
    return tuple(found) if any(not line.context for line in found) else ()


def founded(statement: str, among: Sequence[Line]) -> bool:
    """Whether every number and name in the statement stands somewhere in the conversation, and every date follows.

    A cheap guard against what models invent; that the statement follows is for the verification to say.
    """
    return not _missing(_particulars(statement, among), among)


def grounds(statement: str, rests_on: Sequence[Line], among: Sequence[Line]) -> tuple[Line, ...]:
    """What the statement rests on, whole: the lines it is said to rest on, and before them each from which else it has
    a number, a name or most of its words. A statement that borrows from somebody's words is not free of them."""
    rest = _missing(_particulars(statement, among), rests_on)
    spoken = set(words.question_words(statement)) - _FRAME
    strange = spoken - {word for line in rests_on for word in words.tokens(line.text)}
    rest_words = strange if 2 * len(strange) > len(spoken) else set()
    more: list[Line] = []
    for line in sorted(among, key=lambda line: (TRUSTS.index(line.trust), line.number)):
        left, left_words = _missing(rest, [line]), rest_words - set(words.tokens(line.text))
        if (left, left_words) != (rest, rest_words) and line not in rests_on:
            more.append(line)
            rest, rest_words = left, left_words
    return (*sorted(more, key=lambda line: line.number), *rests_on)


def borrowed(text: str, statement: str) -> bool:
    """Whether the text has a number or a name that the statement has not."""
    said = _folded(statement)
    return any(word not in said for word in _particulars(text, ()))


def _particulars(statement: str, among: Sequence[Line]) -> set[str]:
    """The numbers and the words of the names, but for dates that follow."""
    rest = _without_dates(statement, among)
    called = {_folded(name) for name in _NAME.findall(rest)} - _COMMON
    return set(_NUMBER.findall(_folded(rest))) | {word for name in called for word in _WORD.findall(name)}


def _missing(particulars: Set[str], among: Sequence[Line]) -> set[str]:
    said = _folded(" ".join(f"{line.text} {line.message.speaker or ''}" for line in among))
    known = set(_WORD.findall(said))
    return {
        each
        for each in particulars
        if not (each in known or (_NUMBER.match(each) and (each in said or _SPELLED.get(each) in known)))
    }


def _without_dates(statement: str, among: Sequence[Line]) -> str:
    """The statement without the dates that follow from what a line says, or are the line's own."""
    told = [(w.start, w.stop) for line in among for w in windows(line.text, line.message.said_at)]
    told += [(line.message.said_at, line.message.said_at) for line in among]
    rest = statement
    for found in windows(statement, among[-1].message.said_at) if among else ():
        whole = found.stop - found.start <= _YEAR
        if any(
            start - _DAY <= found.start <= stop + _DAY or (whole and found.start <= start <= stop <= found.stop)
            for start, stop in told
        ):
            rest = rest.replace(statement[slice(*found.span)], " ")
    return rest


def _folded(text: str) -> str:
    plain = _UNSEEN.sub("", unicodedata.normalize("NFKC", text)).translate(_ALIKE)
    return _SPACE.sub(" ", plain).strip(" .,;:!?\"'…").casefold()
