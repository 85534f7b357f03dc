"""What a parser reads, what reading may still cost, and which parser reads what.

A parser is a function `read(source) -> Iterator[Piece]` in the module named after its family. Libraries that are
extras are imported inside it, so that a missing one is missed only by its own format.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

from ..sniff import sniffed
from ..types import About, DocumentError, Limits, Piece, Progress, Section

_FAMILY = {
    "pdf": "pdf", "html": "html", "xml": "html", "docx": "docx", "pptx": "pptx", "xlsx": "xlsx", "epub": "epub",
    "markdown": "markdown", "text": "text", "code": "text", "csv": "table", "json": "table", "eml": "mail",
    "srt": "subtitles", "vtt": "subtitles", "image": "image", "zip": "archive",
}  # fmt: skip


@dataclass(slots=True)
class Budget:
    """What all of one document, with everything packed in it, may still unpack. It only ever shrinks."""

    limits: Limits
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
    """Not this part, the whole document is too much."""


@dataclass(frozen=True, slots=True)
class Source:
    """One document, or one part of a document that holds others."""

    file: BinaryIO
    size: int
    name: str | None
    budget: Budget
    path: Path | None = None
    """Where the bytes lie, unless they are packed in another document."""
    depth: int = 0
    format: str = ""

    @classmethod
    def of_file(cls, file: BinaryIO, path: Path, name: str | None, limits: Limits) -> Source:
        return cls(file, file.seek(0, io.SEEK_END), name, Budget(limits), path)

    @property
    def limits(self) -> Limits:
        return self.budget.limits

    def part(self, data: bytes, name: str | None) -> Source:
        """A document within this one."""
        if self.depth >= self.limits.depth:
            raise OverBudget(f"Documents are packed more than {self.limits.depth} deep in it.")
        return Source(io.BytesIO(data), len(data), name, self.budget, None, self.depth + 1)

    def start(self) -> BinaryIO:
        self.file.seek(0)
        return self.file

    def read(self) -> bytes:
        """All of it at once, for formats that cannot be read otherwise."""
        return self.start().read()

    def percent(self) -> Progress:
        return Progress(min(99, self.file.tell() * 100 // max(1, self.size)))


def parsed_source(source: Source) -> Iterator[Piece]:
    """What is in it, by what its bytes are."""
    format = sniffed(source.start(), source.name)
    known = Source(source.file, source.size, source.name, source.budget, source.path, source.depth, format)
    parser: ModuleType = import_module(f"..{_FAMILY[format]}", __name__)
    yield from _told(parser.read(known), format)


def parsed_part(source: Source, data: bytes, name: str, under: tuple[str, ...], notes: list[str]) -> Iterator[Section]:
    """The sections of a document within a document. If it cannot be read, that is noted and the rest goes on."""
    try:
        for piece in parsed_source(source.part(data, name)):
            if isinstance(piece, Section):
                yield replace(piece, heading=(*under, *piece.heading))
    except (OverBudget, MemoryError):
        raise
    except DocumentError as error:
        notes.append(f"{under[-1]}: {error}")
    except ImportError as error:
        notes.append(f"{under[-1]}: {unloaded(error)}")
    except Exception as error:
        # The parsers are other people's, and a broken part may make them raise anything.
        notes.append(f"{under[-1]}: It is broken ({type(error).__name__}).")


def _told(pieces: Iterator[Piece], format: str) -> Iterator[Piece]:
    """With the format and, where the document does not say it, the language filled in."""
    from .language import Listener

    listener, last = Listener(), About(format=format)
    for piece in pieces:
        if isinstance(piece, Section):
            if piece.kind == "text":
                listener.hear(piece.text)
        elif isinstance(piece, About):
            last = piece = listener.filled(piece, format)
        yield piece
    finished = listener.filled(last, format)
    if finished != last or last == About(format=format):
        yield finished


def library(name: str, extra: str = "documents") -> Any:
    """An optional library, or how to get it: also where a part of it is missing."""
    try:
        return import_module(name)
    except ImportError as missing:
        raise unloaded(missing, extra) from None


def unloaded(missing: ImportError, extra: str = "documents") -> DocumentError:
    """It is not the document's fault: a package that reads it is not there, or not whole."""
    fix = f"pip install 'holdfast[{extra}]'"
    if isinstance(missing, ModuleNotFoundError) and missing.name:
        return DocumentError(f"Reading this needs the library {missing.name.split('.')[0]}.", fix=fix)
    why = " ".join(str(missing).split())[:300].rstrip(".")
    return DocumentError(f"A library that reads this cannot be loaded: {why}.", fix=fix)
