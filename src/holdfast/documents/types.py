"""What documents are made of, the limits they are read under, and the one error a bad one gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..errors import InvalidInput

Kind = Literal["text", "table", "code"]
KINDS: tuple[Kind, ...] = ("text", "table", "code")


SAVE_AGAIN = "If it opens where it was made, save it there once more and add that."


class DocumentError(InvalidInput):
    """This document cannot be read, and why; other documents are none the worse."""

    def __init__(self, reason: str, *, field: str | None = None, fix: str | None = None) -> None:
        super().__init__(reason, field=field, fix=fix)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Section:
    """A piece of a document in reading order: a paragraph or several, a table, a block of code."""

    text: str
    heading: tuple[str, ...] = ()
    """The headings it stands under, outermost first."""
    page: int | None = None
    kind: Kind = "text"
    above: str = ""
    """What must be read with it though it stands elsewhere: the header row of a table that goes on."""


@dataclass(frozen=True, slots=True)
class About:
    """What a document says of itself. A later one replaces an earlier one."""

    title: str | None = None
    author: str | None = None
    date: str | None = None
    """As ISO 8601, if it can be read as a date."""
    language: str | None = None
    """As a two-letter code, if there is one: `en`, not `en-GB`."""
    pages: int | None = None
    format: str = ""
    """What the bytes are: see sniff.py."""
    notes: tuple[str, ...] = ()
    """What could not be read, and why; the rest could."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far reading has come."""

    percent: int


Piece = Section | About | Progress


@dataclass(frozen=True, slots=True)
class Limits:
    """What reading one document may cost. Beyond any of these it is given up with a DocumentError."""

    cpu_seconds: int = 60
    """From one piece to the next. A dense scanned page takes about 10; a thousand of them may take their time."""
    total_cpu_seconds: int = 3_600
    wall_seconds: float = 180.0
    """How long to wait for the next piece."""
    memory_bytes: int = 1536 * 1024 * 1024
    """Address space of the child. OCR of a page needs about 1.2 GB of it, everything else far less."""
    open_files: int = 64
    input_bytes: int = 512 * 1024 * 1024
    unpacked_bytes: int = 512 * 1024 * 1024
    """What all archives in it may unpack to, together."""
    members: int = 10_000
    """Files in all archives in it, together."""
    depth: int = 3
    """Archives within archives, attachments within attachments."""
    text_chars: int = 100_000_000
    pages: int = 20_000
    pixels: int = 100_000_000
