"""Reading a document in a test: everything the child said, and what it cost."""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.documents.sandbox.spawn import parse_file as parsed
from holdfast.documents.types import DocumentError, DocumentProperties, ParseLimits, Progress, Section


@dataclass
class ParsedDocument:
    sections: list[Section] = field(default_factory=list)
    about: DocumentProperties = field(default_factory=DocumentProperties)
    percents: list[int] = field(default_factory=list)
    error: DocumentError | None = None

    @property
    def text(self) -> str:
        return "\n".join(section.text for section in self.sections)


def parse_bytes(
    data: bytes, folder: Path, name: str | None = None, limits: ParseLimits | None = None
) -> ParsedDocument:
    path = folder / hashlib.sha256(data).hexdigest()[:16]
    path.write_bytes(data)
    return asyncio.run(parse_file(path, name, limits))


async def parse_file(path: Path, name: str | None = None, limits: ParseLimits | None = None) -> ParsedDocument:
    found = ParsedDocument()
    try:
        async with aclosing(parsed(path, name, limits)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Section):
                    found.sections.append(piece)
                elif isinstance(piece, Progress):
                    found.percents.append(piece.percent)
                else:
                    found.about = piece
    except DocumentError as error:
        found.error = error
    return found
