"""Values that parsers produce, the limits they run under, and the error for a document that cannot be parsed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from holdfast.domain.errors import InvalidInput

SectionKind = Literal["text", "table", "code"]
SECTION_KINDS: tuple[SectionKind, ...] = ("text", "table", "code")


TARGET_BLOCK_CHARS = 3_500
"""Parsers close a section of text or table rows at about this size. Chosen by hand; not measured."""
SAVE_AGAIN_FIX = "If another program can open it, save it there again and add the new file."


class DocumentError(InvalidInput):
    """This document cannot be parsed, for the given reason. Other documents are not affected."""

    def __init__(self, reason: str, *, field: str | None = None, fix: str | None = None) -> None:
        super().__init__(reason, field=field, fix=fix)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Section:
    """A piece of a document in reading order: a paragraph or several, a table, a block of code."""

    text: str
    heading: tuple[str, ...] = ()
    """The headings above it, outermost first."""
    page: int | None = None
    kind: SectionKind = "text"
    above: str = ""
    """Context that is not part of its text: the header row, when the section continues a table."""


@dataclass(frozen=True, slots=True)
class DocumentProperties:
    """The properties that a document states about itself. A later value replaces an earlier one."""

    title: str | None = None
    author: str | None = None
    date: str | None = None
    """As ISO 8601; None if it is not a date."""
    language: str | None = None
    """As a two-letter code where one exists: `en`, not `en-GB`."""
    pages: int | None = None
    format: str = ""
    """The format of the bytes; sniff.py lists them."""
    notes: tuple[str, ...] = ()
    """Parts that could not be parsed, each with the reason; all other parts were parsed."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How much of the document has been parsed."""

    percent: int


ParserOutput = Section | DocumentProperties | Progress


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """Limits for parsing one document. Beyond any of these limits parsing ends with a DocumentError.

    Limits without a measurement in their description were chosen by hand; not measured.
    """

    cpu_seconds: int = 60
    """Between two pieces of output. OCR of a dense scanned page takes about 10 seconds."""
    total_cpu_seconds: int = 3_600
    wall_seconds: float = 180.0
    """How long to wait for the next piece of output."""
    memory_bytes: int = 1536 * 1024 * 1024
    """Address space of the child process. OCR of a page needs about 1.2 GB, everything else far less."""
    open_files: int = 64
    input_bytes: int = 512 * 1024 * 1024
    unpacked_bytes: int = 512 * 1024 * 1024
    """The unpacked size of all archives in it together."""
    members: int = 10_000
    """The number of files in all archives in it together."""
    depth: int = 3
    """Archives within archives, attachments within attachments."""
    text_chars: int = 100_000_000
    pages: int = 20_000
    pixels: int = 100_000_000
