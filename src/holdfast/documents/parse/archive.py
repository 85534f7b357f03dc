"""Zip archives of documents: each is read as what it is; what cannot be read is noted, and the rest goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from ..types import About, DocumentError, Piece, Progress, Section
from .packed import Packed, within
from .source import OverBudget, Source, parsed_part

_JUNK = ("__MACOSX/", ".DS_Store", "Thumbs.db", ".git/", "desktop.ini")


def read(source: Source) -> Iterator[Piece]:
    notes: list[str] = []
    found = 0
    yield About(title=source.name)
    with Packed(source) as packed:
        names = [name for name in packed.members if not any(junk in name for junk in _JUNK)]
        if not names:
            raise DocumentError("There are no documents in the archive.")
        for number, name in enumerate(names, 1):
            for piece in _member(packed, name, source, notes):
                found += 1
                yield piece
            if source.depth == 0:
                yield Progress(min(99, number * 100 // len(names)))
    if not found:
        raise DocumentError("Nothing in the archive can be read.", fix=" ".join(notes[:5]))
    if notes:
        yield About(title=source.name, notes=tuple(notes))


def _member(packed: Packed, name: str, source: Source, notes: list[str]) -> Iterator[Section]:
    # Only shown, never opened: but a heading that climbs out of the archive would look as if it had.
    shown = within(name.replace("\\", "/"), "")[-200:] or "unnamed"
    try:
        data = packed.read(name)
    except OverBudget:
        raise
    except DocumentError as error:
        notes.append(f"{shown}: {error}")
        return
    if data:
        yield from parsed_part(source, data, PurePosixPath(shown).name, (shown,), notes)
