"""Turns a question and the passages found for it into the token ids that a reader of answers sees, and back to words.

The reader returns the words that answer the question, yes, no, or nothing. It is not part of the package yet.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from holdfast.text.wordpiece import WordPiece

NONE, SPAN, LIST, YES, NO = range(5)
"""What the network tells: nothing is told, one answer, several, yes, no."""
MAX_TOKENS = 288
"""What is read at once. A token costs about 0.27 ms of CPU."""
MAX_QUESTION_TOKENS, MAX_PASSAGE_TOKENS = 40, 72
_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class ReadPassage:
    """A message, or a part of one, as the network sees it."""

    text: str
    speaker: str
    """`user`, `assistant` or a name."""
    day: date | None


@dataclass(frozen=True, slots=True)
class EncodedPassage:
    ids: list[int]
    words: list[tuple[int, int]]
    """For each token the place of its word in the text; (0, 0) for those of the heading."""


def encoded_passage(pieces: WordPiece, passage: ReadPassage) -> EncodedPassage:
    day = f"{passage.day.day} {passage.day:%b %Y} " if passage.day else ""
    ids = pieces.ids(f"{day}{passage.speaker}:")
    words = [(0, 0)] * len(ids)
    for match in _WORD.finditer(passage.text):
        some = pieces.ids(match[0])
        if len(ids) + len(some) > MAX_PASSAGE_TOKENS:
            break
        ids += some
        words += [match.span()] * len(some)
    return EncodedPassage(ids, words)


def encoded_question(pieces: WordPiece, question: str, asked: date) -> list[int]:
    ids = pieces.ids(f"{asked.day} {asked:%b %Y}: {question}")
    return [pieces.start, *ids[:MAX_QUESTION_TOKENS], pieces.end]


def fitting_passages(question: list[int], passages: Sequence[EncodedPassage]) -> list[int]:
    """The indices of the first passages, best first, that are read with the question."""
    room, chosen = MAX_TOKENS - len(question), []
    for n, passage in enumerate(passages):
        if len(passage.ids) + 1 <= room:
            chosen.append(n)
            room -= len(passage.ids) + 1
    return chosen


def whole_words(text: str, start: int, stop: int) -> tuple[int, int]:
    """Widen a span to whole words, numbers, dates and names: nothing is cut inside what spaces part."""
    while start > 0 and not text[start - 1].isspace():
        start -= 1
    while stop < len(text) and not text[stop].isspace():
        stop += 1
    left = re.match(r"[\"'“‘(\[*]*", text[start:stop])
    start += left.end() if left else 0
    right = re.search(r"(?:['’]s)?[\"'”’)\]*.,;:!?…]*$", text[start:stop])
    return start, stop - (len(right[0]) if right else 0)
