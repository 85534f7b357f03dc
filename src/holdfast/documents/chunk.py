"""Pure: sections → chunks of a size that search can use and a reader can cite.

A chunk has one page, one heading and one kind. Small neighbours share a chunk; large sections are cut at the strongest
break near the target size. Tables and code stay whole up to the maximum size. Invariant: every character that is not
white space is in exactly one chunk, in order. Repeated context (headings, a table's header row) is kept beside the
text, not in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from holdfast.documents.types import Section, SectionKind

TARGET_CHUNK_CHARS = 1_200
"""Prose is cut at about this size. Chosen by hand; other sizes were not measured."""
MAX_CHUNK_CHARS = 4_000
"""Tables and code are cut only beyond this size. Chosen by hand; not measured."""
MIN_REST_CHARS = 200
"""Remaining prose shorter than this stays in the chunk before it. Chosen by hand; not measured."""
MAX_TABLE_HEADER_CHARS = 500
MAX_HEADING_CHARS = 300
"""Longer header rows and heading paths are cut off. Both were chosen by hand; not measured."""
_BREAK_PATTERNS = (
    re.compile(r"\n[ \t]*\n+"),
    re.compile(r"\n"),
    re.compile(r"(?<=[.!?。！？…])[\"'”’)\]]*\s+|(?<=[。！？])"),
    re.compile(r"(?<=[,;:，；：])\s+"),
    re.compile(r"\s+"),
)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of a document, with the headings and the header row that explain it."""

    text: str
    heading: tuple[str, ...] = ()
    page: int | None = None
    kind: SectionKind = "text"
    above: str = ""
    """The header row of the table that this is a part of."""

    @property
    def whole(self) -> str:
        """The text with its headings and header row: this is indexed and shown to a model."""
        headings = " › ".join(self.heading)[:MAX_HEADING_CHARS]
        # A heading that the text itself begins with is not repeated.
        prefix = headings if self.heading and not self.text.lstrip("# ").startswith(self.heading[-1]) else ""
        return "\n".join(part for part in (prefix, self.above, self.text) if part)


@dataclass(slots=True)
class Chunker:
    """Takes sections and yields chunks as soon as they are full, so that a document is never in memory as a whole."""

    held: list[str] = field(default_factory=list)
    size: int = 0
    first: Section | None = None

    def add(self, section: Section) -> Iterator[Chunk]:
        text = section.text.strip("\n\r") if section.kind == "code" else section.text.strip()
        if not text.strip():
            return
        if self.first is not None and self._is_its_heading(section):
            self.first = section
        elif self.first is not None and not self._continues(section, len(text)):
            yield from self.rest()
        self.first = self.first or section
        self.held.append(text)
        self.size += len(text) + 2
        if self.size > MAX_CHUNK_CHARS or (self.size >= TARGET_CHUNK_CHARS and section.kind == "text"):
            yield from self._cut()

    def rest(self) -> Iterator[Chunk]:
        """The remaining chunks when the document, or a part of it, ends."""
        if self.first is not None:
            first, text = self.first, self._text()
            self.held, self.size, self.first = [], 0, None
            yield from _section_chunks(text, first)

    def _continues(self, section: Section, size: int) -> bool:
        first = self.first
        assert first is not None
        same = (section.page, section.heading, section.kind) == (first.page, first.heading, first.kind)
        fits = self.size + size <= (TARGET_CHUNK_CHARS if section.kind == "text" else MAX_CHUNK_CHARS)
        # Two adjacent tables would read as one table; two blocks of code are still code.
        return same and section.kind != "table" and (fits or section.kind == "text")

    def _is_its_heading(self, section: Section) -> bool:
        """Whether the chunk so far has only the heading above the section; as a chunk of its own it would be
        useless."""
        first = self.first
        assert first is not None
        bare = bool(first.heading) and self._text().lstrip("# ") == first.heading[-1]
        below = section.heading[: len(first.heading)] == first.heading and section.page == first.page
        return bare and below and first.kind == section.kind == "text"

    def _cut(self) -> Iterator[Chunk]:
        """Yield all full chunks and keep the last piece, which the next section may extend."""
        first = self.first
        assert first is not None
        pieces = list(_section_chunks(self._text(), first))
        keep = (
            pieces.pop()
            if first.kind == "text" and len(pieces) > 1 and len(pieces[-1].text) < TARGET_CHUNK_CHARS
            else None
        )
        yield from pieces
        self.held, self.size = ([keep.text], len(keep.text)) if keep else ([], 0)
        self.first = first if keep else None

    def _text(self) -> str:
        return "\n\n".join(self.held)


def chunk_sections(sections: Iterable[Section]) -> Iterator[Chunk]:
    """The chunks of a whole document."""
    chunker = Chunker()
    for section in sections:
        yield from chunker.add(section)
    yield from chunker.rest()


def _section_chunks(text: str, of: Section) -> Iterator[Chunk]:
    header = of.above[:MAX_TABLE_HEADER_CHARS]
    for number, piece in enumerate(_split_text(text, of.kind)):
        yield Chunk(piece, of.heading, of.page, of.kind, header)
        if of.kind == "table" and number == 0 and not header:
            header = text.split("\n", 1)[0][:MAX_TABLE_HEADER_CHARS] if "\n" in text else ""


def _split_text(text: str, kind: SectionKind) -> Iterator[str]:
    # Tables and code are cut only where they do not fit; prose is cut near the target size.
    target = TARGET_CHUNK_CHARS if kind == "text" else MAX_CHUNK_CHARS
    start = 0
    while len(text) - start > (target + MIN_REST_CHARS if kind == "text" else MAX_CHUNK_CHARS):
        stop = _break_position(text, start, target, kind)
        if text[start:stop].strip():
            yield _stripped_text(text[start:stop], kind)
        start = stop
    if text[start:].strip():
        yield _stripped_text(text[start:], kind)


def _break_position(text: str, start: int, target: int, kind: SectionKind) -> int:
    """The end of the strongest break in the half before the target position, else the target position."""
    for pattern in _BREAK_PATTERNS[:2] + _BREAK_PATTERNS[-1:] if kind != "text" else _BREAK_PATTERNS:
        best = None
        for match in pattern.finditer(text, start + target // 2, start + target):
            best = match.end()
        if best is not None and best > start:
            return best
    return start + target


def _stripped_text(text: str, kind: SectionKind) -> str:
    """The text without surrounding white space; code keeps the indentation of its first line."""
    return text.rstrip().lstrip("\n") if kind == "code" else text.strip()
