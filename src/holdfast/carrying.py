"""A profile out of the house and into it: archives, and what other memories export."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from .archive import Sum
from .archive_checks import value_of
from .archive_file import Archive, Checked, is_archive, opened, writing
from .errors import Conflict, Forbidden, InvalidInput, NotFound, StorageError, shown
from .export import exported
from .foreign import FORMATS, brought
from .kinds import unheld
from .reported import Reported
from .restore import Imported, Restoring

TRIES = 3
CHUNK = 1 << 20
Seen = Callable[[int], None]
Place = str | Path | BinaryIO


@dataclass(frozen=True, slots=True)
class Exported:
    """An archive that was written: how much is in it, and the SHA-256 that its last line tells."""

    messages: int
    memories: int
    settings: int
    usage: int
    documents: int
    pieces: int
    """Of documents' originals, of a mebibyte each."""
    bytes: int
    """Before any compression."""
    sha256: str


class Carrying(Reported):
    """A profile of this process's data folder, as far as it comes from and goes to files."""

    async def export_to(
        self, path: str | Path | BinaryIO, *, vectors: bool = False, seen: Seen = lambda lines: None
    ) -> Exported:
        """Write everything that the profile holds into an archive; compressed when the file's name ends in .gz.

        With `vectors`, also what the embedder made of it. The file is there when it is whole. `seen` hears how many
        lines are written.
        """
        for attempt in range(TRIES):
            try:
                return await written(self.exported(vectors=vectors), path, seen)
            except Conflict:
                if attempt == TRIES - 1 or not isinstance(path, str | Path):
                    raise
        raise AssertionError("unreachable")

    async def exported(self, *, vectors: bool = False) -> AsyncIterator[bytes]:
        """The lines of an archive, as they are written."""
        if not self._sight.whole:
            raise Forbidden("An archive holds the whole profile, and this view of it does not.", fix="Use another key.")
        store = await self._store()
        async for line in exported(store, self.namespace, self.name, vectors=vectors):
            yield line

    async def import_from(
        self,
        path: str | Path | BinaryIO,
        *,
        format: str = "auto",
        replace: bool = False,
        force: bool = False,
        dry_run: bool = False,
        seen: Seen = lambda items: None,
    ) -> Imported:
        """Bring an archive in, or what another memory exported; twice is once, and what is known is left alone.

        Formats: archive, mem0, supermemory, chatgpt, claude, langgraph, markdown; auto looks at the content. An archive
        is checked as a whole before anything is written; `force` brings what can be read of a damaged one. A key that
        the profile uses for something else is reported, or with `replace` takes the archive's memory and keeps the
        profile's as its history. With `dry_run` it is only told what would be done. `seen` hears how many messages and
        memories are done.
        """
        with source(path) as file:
            if not archived(file, format):
                with unheld():
                    return await brought(self, file, format, dry_run=dry_run, seen=seen)
            assert not isinstance(file, Path)
            reader = Archive(file)
            checked = await asyncio.to_thread(reader.check, force=force)
            return await self._restored(reader, checked, replacing=replace, force=force, dry_run=dry_run, seen=seen)

    async def _restored(self, reader: Archive, checked: Checked, **how: Any) -> Imported:
        if how["dry_run"]:
            try:
                store = await self._store()
            except NotFound:
                return all_of(checked)
            return await Restoring(store, reader, checked, **how).run()
        store = await self._written_to()
        try:
            async with self._holdfast._worker.expecting(self._who):
                return await Restoring(store, reader, checked, **how).run()
        finally:
            self._holdfast._forget_laid_down(self._who)
            self._holdfast._readers.notify(self._who)


async def written(lines: AsyncIterator[bytes], path: Place, seen: Seen) -> Exported:
    """Write an archive's lines down; its last line tells what was written."""
    if not isinstance(path, str | Path):
        return await _poured(lines, path.write, seen)
    place = Path(path)
    if place.is_dir():
        raise InvalidInput(f"{place} is a folder; name a file.", field="path")
    with writing(place) as write:
        return await _poured(lines, write, seen)


async def _poured(lines: AsyncIterator[bytes], write: Callable[[bytes], Any], seen: Seen) -> Exported:
    size, count, sum, last = 0, 0, Sum(), b""
    async for line in lines:
        sum.add(last)
        last = line
        write(line)
        size += len(line)
        count += 1
        if not count % 500:
            seen(count)
    told = value_of(last) if last else {}
    if told.get("sha256") != sum.hex:
        raise StorageError("The archive was cut off on its way here.", fix="Export it again.")
    return Exported(**told["counts"], bytes=size, sha256=sum.hex)


def archived(file: Path | BinaryIO, format: str) -> bool:
    """Whether it is to be read as an archive."""
    if format not in ("auto", "archive", *FORMATS):
        known = ", ".join(("auto", "archive", *FORMATS))
        raise InvalidInput(f"format is {shown(format)}; use one of {known}.", field="format")
    if isinstance(file, Path):
        if format == "archive":
            raise InvalidInput(f"{file} is a folder, not an archive.", field="path")
        return False
    return format == "archive" or (format == "auto" and is_archive(file))


@contextmanager
def source(path: Place) -> Iterator[Path | BinaryIO]:
    """A folder as its path, a file open for reading."""
    if not isinstance(path, str | Path):
        yield path
    elif os.path.isdir(path):
        yield Path(path)
    else:
        with opened(Path(path)) as file:
            yield file


def all_of(checked: Checked) -> Imported:
    """What an import into a profile that is not there would bring."""
    counts = {name: many for name, many in checked.counts.items() if name != "pieces"}
    here: Any = counts | {"problems": tuple(checked.problems)}
    return Imported(**here, dry_run=True)


async def by_line(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The same bytes, a line at a time."""
    held = b""
    async for chunk in chunks:
        *lines, held = (held + chunk).split(b"\n")
        for line in lines:
            yield line + b"\n"
    if held:
        yield held


async def chunked(file: BinaryIO) -> AsyncIterator[bytes]:
    """The whole file, in pieces."""
    file.seek(0)
    while piece := await asyncio.to_thread(file.read, CHUNK):
        yield piece
