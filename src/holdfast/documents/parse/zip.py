"""Parses zip archives: each member by its own format; a member that cannot be parsed is noted and skipped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from holdfast.documents.parse.dispatch import OverBudget, ParserInput, parse_part
from holdfast.documents.parse.safe_zip import SafeZip, member_path
from holdfast.documents.types import DocumentError, DocumentProperties, ParserOutput, Progress, Section

_IGNORED_MEMBERS = ("__MACOSX/", ".DS_Store", "Thumbs.db", ".git/", "desktop.ini")


def parse(source: ParserInput) -> Iterator[ParserOutput]:
    notes: list[str] = []
    count = 0
    yield DocumentProperties(title=source.name)
    with SafeZip(source) as packed:
        names = [name for name in packed.members if not any(junk in name for junk in _IGNORED_MEMBERS)]
        if not names:
            raise DocumentError("There are no documents in the archive.")
        for number, name in enumerate(names, 1):
            for piece in _member_sections(packed, name, source, notes):
                count += 1
                yield piece
            if source.depth == 0:
                yield Progress(min(99, number * 100 // len(names)))
    if not count:
        raise DocumentError("Nothing in the archive can be read.", fix=" ".join(notes[:5]))
    if notes:
        yield DocumentProperties(title=source.name, notes=tuple(notes))


def _member_sections(packed: SafeZip, name: str, source: ParserInput, notes: list[str]) -> Iterator[Section]:
    # The name is only displayed, but a heading with `..` would look as if it had left the archive.
    heading = member_path(name.replace("\\", "/"), "")[-200:] or "unnamed"
    try:
        data = packed.read(name)
    except OverBudget:
        raise
    except DocumentError as error:
        notes.append(f"{heading}: {error}")
        return
    if data:
        yield from parse_part(source, data, PurePosixPath(heading).name, (heading,), notes)
