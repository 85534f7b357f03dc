"""The same text with odd characters made plain, so that rules can read it: spaces, dashes, quotes, full-width digits.

Redaction looks for secrets here and removes them from the text as it was written; nothing else of that text changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

Span = tuple[int, int]

_PLAIN = {
    **{0xFEE0 + each: each for each in range(0x21, 0x7F)},  # full-width letters, digits and signs
    **{base + n: 0x30 + n for base in (0x0660, 0x06F0, 0x0966) for n in range(10)},  # Arabic and Devanagari digits
    **dict.fromkeys((0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), 0x20),
    **dict.fromkeys((*range(0x2010, 0x2016), 0x2043, 0x2212, 0x30FC, 0xFE58, 0xFE63), 0x2D),
    **dict.fromkeys((0x201C, 0x201D, 0x201E, 0x201F, 0xAB, 0xBB, 0x300C, 0x300D, 0x300E, 0x300F), 0x22),
    **dict.fromkeys((0x2018, 0x2019, 0x201A, 0x201B, 0x2039, 0x203A, 0x2032), 0x27),
    0x130: 0x49,  # İ, the one letter that grows when it is made small
    0x2028: 0x0A,
    0x2029: 0x0A,
}
del _PLAIN[0xFEE0 + 0x2D], _PLAIN[0x30FC]  # the long mark of Japanese is part of a word, and so is what stands for it
_PLAIN[0xFF0D] = 0x2D
_INVISIBLE = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe0e\ufe0f\ufeff]")


@dataclass(frozen=True, slots=True)
class ReadableText:
    """A text as rules read it, and where each of its characters stands in the original."""

    text: str
    low: str
    """In small letters, and as long as the text."""
    positions: list[int] | None = None

    def original_span(self, span: Span) -> Span:
        if self.positions is None:
            return span
        return self.positions[span[0]], self.positions[span[1] - 1] + 1


def readable_text(text: str) -> ReadableText:
    if text.isascii():
        return ReadableText(text, text.lower())
    positions = None
    if _INVISIBLE.search(text):
        positions = [n for n, character in enumerate(text) if not _INVISIBLE.match(character)]
        text = "".join([text[n] for n in positions])
    plain = text.translate(_PLAIN)
    return ReadableText(plain, plain.lower(), positions)


def merged_spans(spans: Iterable[Span]) -> list[Span]:
    """The spans in order, those that overlap as one."""
    merged: list[Span] = []
    for start, stop in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((start, stop))
    return merged


def any_of(words: Iterable[str]) -> str:
    """A pattern of these words that reads each letter once: "pin", "pwd" as `p(?:in|wd)`."""
    tails: dict[str, list[str]] = {}
    for word in words:
        tails.setdefault(word[0], []).append(word[1:])
    parts = [re.escape(first) + ("" if "" in rest else any_of(rest)) for first, rest in sorted(tails.items())]
    return parts[0] if len(parts) == 1 else f"(?:{'|'.join(parts)})"


def word_set(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())
