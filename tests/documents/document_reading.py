"""Reading a document in a test: everything the child said, and what it cost."""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.documents.spawn import parsed
from holdfast.documents.types import About, DocumentError, Limits, Progress, Section


@dataclass
class Found:
    sections: list[Section] = field(default_factory=list)
    about: About = field(default_factory=About)
    percents: list[int] = field(default_factory=list)
    error: DocumentError | None = None

    @property
    def text(self) -> str:
        return "\n".join(section.text for section in self.sections)


def read(data: bytes, folder: Path, name: str | None = None, limits: Limits | None = None) -> Found:
    path = folder / hashlib.sha256(data).hexdigest()[:16]
    path.write_bytes(data)
    return asyncio.run(read_file(path, name, limits))


async def read_file(path: Path, name: str | None = None, limits: Limits | None = None) -> Found:
    found = Found()
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
