"""Pure: sections → chunks of a size that a search can use and a reader can cite.

A chunk stands on one page, under one heading, and is one kind of thing. Small neighbours share a chunk, large sections
are cut at the strongest break near the target. Tables and code stay whole up to the limit. Every character that is not
white space is in exactly one chunk, in order; what is repeated for understanding (headings, a table's header row)
stands beside the text, not in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .types import Kind, Section

TARGET_CHARS = 1_200
LIMIT_CHARS = 4_000
SMALL_CHARS = 200
"""A rest smaller than this stays with what is before it, if there is room."""
ABOVE_CHARS = 500
HEADING_CHARS = 300
_BREAKS = (
    re.compile(r"\n[ \t]*\n+"),
    re.compile(r"\n"),
    re.compile(r"(?<=[.!?。！？…])[\"'”’)\]]*\s+|(?<=[。！？])"),
    re.compile(r"(?<=[,;:，；：])\s+"),
    re.compile(r"\s+"),
)


@dataclass(frozen=True, slots=True)
class Chunk:
    text: str
    heading: tuple[str, ...] = ()
    page: int | None = None
    kind: Kind = "text"
    above: str = ""
    """The header row of the table that this is a part of."""

    @property
    def whole(self) -> str:
        """With its headings and header row: what is indexed and shown to a model."""
        headings = " › ".join(self.heading)[:HEADING_CHARS]
        # A heading that the text itself begins with is not said twice.
        told = headings if self.heading and not self.text.lstrip("# ").startswith(self.heading[-1]) else ""
        return "\n".join(part for part in (told, self.above, self.text) if part)


@dataclass(slots=True)
class Chunker:
    """Sections in, chunks out as soon as they are full: a document of any length is never held."""

    held: list[str] = field(default_factory=list)
    size: int = 0
    first: Section | None = None

    def add(self, section: Section) -> Iterator[Chunk]:
        text = section.text.strip("\n\r") if section.kind == "code" else section.text.strip()
        if not text.strip():
            return
        if self.first is not None and self._is_its_heading(section):
            self.first = section
        elif self.first is not None and not self._goes_on(section, len(text)):
            yield from self.rest()
        self.first = self.first or section
        self.held.append(text)
        self.size += len(text) + 2
        if self.size > LIMIT_CHARS or (self.size >= TARGET_CHARS and section.kind == "text"):
            yield from self._cut()

    def rest(self) -> Iterator[Chunk]:
        """What is left when the document, or a part of it, ends."""
        if self.first is not None:
            first, text = self.first, self._text()
            self.held, self.size, self.first = [], 0, None
            yield from _pieces(text, first)

    def _goes_on(self, section: Section, size: int) -> bool:
        first = self.first
        assert first is not None
        same = (section.page, section.heading, section.kind) == (first.page, first.heading, first.kind)
        fits = self.size + size <= (TARGET_CHARS if section.kind == "text" else LIMIT_CHARS)
        # Two tables side by side would read as one; two blocks of code are still code.
        return same and section.kind != "table" and (fits or section.kind == "text")

    def _is_its_heading(self, section: Section) -> bool:
        """Whether nothing is held but the heading above the section: a chunk of its own would say nothing."""
        first = self.first
        assert first is not None
        bare = bool(first.heading) and self._text().lstrip("# ") == first.heading[-1]
        below = section.heading[: len(first.heading)] == first.heading and section.page == first.page
        return bare and below and first.kind == section.kind == "text"

    def _cut(self) -> Iterator[Chunk]:
        """Give out all that is full, keep the last piece: more may come."""
        first = self.first
        assert first is not None
        pieces = list(_pieces(self._text(), first))
        keep = (
            pieces.pop() if first.kind == "text" and len(pieces) > 1 and len(pieces[-1].text) < TARGET_CHARS else None
        )
        yield from pieces
        self.held, self.size = ([keep.text], len(keep.text)) if keep else ([], 0)
        self.first = first if keep else None

    def _text(self) -> str:
        return "\n\n".join(self.held)


def chunked(sections: Iterable[Section]) -> Iterator[Chunk]:
    chunker = Chunker()
    for section in sections:
        yield from chunker.add(section)
    yield from chunker.rest()


def _pieces(text: str, of: Section) -> Iterator[Chunk]:
    header = of.above[:ABOVE_CHARS]
    for number, piece in enumerate(_cut_up(text, of.kind)):
        yield Chunk(piece, of.heading, of.page, of.kind, header)
        if of.kind == "table" and number == 0 and not header:
            header = text.split("\n", 1)[0][:ABOVE_CHARS] if "\n" in text else ""


def _cut_up(text: str, kind: Kind) -> Iterator[str]:
    # Tables and code are cut only where they do not fit; prose near the target.
    target = TARGET_CHARS if kind == "text" else LIMIT_CHARS
    start = 0
    while len(text) - start > (target + SMALL_CHARS if kind == "text" else LIMIT_CHARS):
        stop = _break(text, start, target, kind)
        if text[start:stop].strip():
            yield _trimmed(text[start:stop], kind)
        start = stop
    if text[start:].strip():
        yield _trimmed(text[start:], kind)


def _break(text: str, start: int, target: int, kind: Kind) -> int:
    """The end of the strongest break in the second half before the target, else exactly there."""
    for pattern in _BREAKS[:2] + _BREAKS[-1:] if kind != "text" else _BREAKS:
        best = None
        for found in pattern.finditer(text, start + target // 2, start + target):
            best = found.end()
        if best is not None and best > start:
            return best
    return start + target


def _trimmed(text: str, kind: Kind) -> str:
    """Code keeps the indentation of its first line."""
    return text.rstrip().lstrip("\n") if kind == "code" else text.strip()
