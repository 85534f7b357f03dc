"""Chooses the parser for a document, and defines the parsers' input and the unpacking budget.

A parser is a function `parse(source: ParserInput) -> Iterator[ParserOutput]` in the module of its family. It imports
optional libraries itself, so that a missing library affects only its own format.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

from holdfast.documents.sniff import sniff_format
from holdfast.documents.types import (
    DocumentError,
    DocumentProperties,
    ParseLimits,
    ParserOutput,
    Progress,
    Section,
)
from holdfast.domain.errors import install_fix

_PARSER_MODULES = {
    "pdf": "pdf", "html": "html", "xml": "html", "docx": "docx", "pptx": "pptx", "xlsx": "xlsx", "epub": "epub",
    "markdown": "markdown", "text": "text", "code": "text", "csv": "csv_json", "json": "csv_json", "eml": "mail",
    "srt": "subtitles", "vtt": "subtitles", "image": "image", "zip": "zip",
}  # fmt: skip


@dataclass(slots=True)
class UnpackBudget:
    """Counts how much one document and everything packed in it have unpacked, and enforces the limits."""

    limits: ParseLimits
    unpacked: int = 0
    members: int = 0

    def unpack(self, count: int) -> None:
        self.unpacked += count
        if self.unpacked > self.limits.unpacked_bytes:
            raise OverBudget(f"It unpacks to more than {self.limits.unpacked_bytes:,} bytes.")

    def open_members(self, count: int) -> None:
        self.members += count
        if self.members > self.limits.members:
            raise OverBudget(f"There are more than {self.limits.members:,} files packed in it.")


class OverBudget(DocumentError):
    """The whole document, not only one part of it, exceeds a limit."""


@dataclass(frozen=True, slots=True)
class ParserInput:
    """One document, or a document inside another (an attachment, a member of an archive)."""

    file: BinaryIO
    size: int
    name: str | None
    budget: UnpackBudget
    path: Path | None = None
    """The file of the bytes; None if they are inside another document."""
    depth: int = 0
    format: str = ""

    @classmethod
    def of_file(cls, file: BinaryIO, path: Path, name: str | None, limits: ParseLimits) -> ParserInput:
        return cls(file, file.seek(0, io.SEEK_END), name, UnpackBudget(limits), path)

    @property
    def limits(self) -> ParseLimits:
        return self.budget.limits

    def part(self, data: bytes, name: str | None) -> ParserInput:
        """The input for a document inside this one."""
        if self.depth >= self.limits.depth:
            raise OverBudget(f"It contains archives nested more than {self.limits.depth} levels deep.")
        return ParserInput(io.BytesIO(data), len(data), name, self.budget, None, self.depth + 1)

    def start(self) -> BinaryIO:
        self.file.seek(0)
        return self.file

    def read(self) -> bytes:
        """All bytes at once, for formats that cannot be parsed as a stream."""
        return self.start().read()

    def progress(self) -> Progress:
        return Progress(min(99, self.file.tell() * 100 // max(1, self.size)))


def parse_document(source: ParserInput) -> Iterator[ParserOutput]:
    """Detect the format of a document and yield its content."""
    format = sniff_format(source.start(), source.name)
    typed = replace(source, format=format)
    parser: ModuleType = import_module(f"..{_PARSER_MODULES[format]}", __name__)
    yield from _fill_properties(parser.parse(typed), format)


def parse_part(
    source: ParserInput, data: bytes, name: str, under: tuple[str, ...], notes: list[str]
) -> Iterator[Section]:
    """Yield the sections of a document inside another. If it cannot be parsed, add a note; the rest is still parsed."""
    try:
        for piece in parse_document(source.part(data, name)):
            if isinstance(piece, Section):
                yield replace(piece, heading=(*under, *piece.heading))
    except (OverBudget, MemoryError):
        raise
    except DocumentError as error:
        notes.append(f"{under[-1]}: {error}")
    except ImportError as error:
        notes.append(f"{under[-1]}: {missing_library_error(error)}")
    except Exception as error:
        # Third-party parsers may raise anything on a broken part.
        notes.append(f"{under[-1]}: It is broken ({type(error).__name__}).")


def _fill_properties(pieces: Iterator[ParserOutput], format: str) -> Iterator[ParserOutput]:
    """Fill in the format and, where the document does not state it, the language."""
    from holdfast.documents.parse.language import LanguageSample

    sample, last = LanguageSample(), DocumentProperties(format=format)
    for piece in pieces:
        if isinstance(piece, Section):
            if piece.kind == "text":
                sample.add(piece.text)
        elif isinstance(piece, DocumentProperties):
            last = piece = sample.fill(piece, format)
        yield piece
    finished = sample.fill(last, format)
    if finished != last or last == DocumentProperties(format=format):
        yield finished


def load_library(name: str, extra: str = "documents") -> Any:
    """Import an optional library; raise a DocumentError with the install command if any part of it is missing."""
    try:
        return import_module(name)
    except ImportError as missing:
        raise missing_library_error(missing, extra) from None


def missing_library_error(missing: ImportError, extra: str = "documents") -> DocumentError:
    """The error for a library that is not installed, or not completely."""
    fix = install_fix(extra)
    if isinstance(missing, ModuleNotFoundError) and missing.name:
        return DocumentError(f"Reading this needs the library {missing.name.split('.')[0]}.", fix=fix)
    why = " ".join(str(missing).split())[:300].rstrip(".")
    return DocumentError(f"A library that reads this cannot be loaded: {why}.", fix=fix)
