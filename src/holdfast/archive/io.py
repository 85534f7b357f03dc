"""Reads and writes archives as files or streams; shared by local and remote profiles."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from holdfast.archive.file import CheckedArchive, atomic_writer, is_archive, open_for_reading
from holdfast.archive.format import Checksum
from holdfast.archive.importers import FORMATS
from holdfast.archive.validation import parse_line
from holdfast.domain.errors import InvalidInput, StorageError, quoted_value
from holdfast.domain.reports import Exported, Imported

READ_BYTES = 1 << 20
ItemProgress = Callable[[int], None]
ArchivePlace = str | Path | BinaryIO


async def write_archive(lines: AsyncIterator[bytes], path: ArchivePlace, seen: ItemProgress) -> Exported:
    """Write the lines of an archive to a path or an open file; return what its last line states."""
    if not isinstance(path, str | Path):
        return await _write_lines(lines, path.write, seen)
    place = Path(path)
    if place.is_dir():
        raise InvalidInput(f"{place} is a folder; name a file.", field="path")
    with atomic_writer(place) as write:
        return await _write_lines(lines, write, seen)


async def _write_lines(lines: AsyncIterator[bytes], write: Callable[[bytes], Any], seen: ItemProgress) -> Exported:
    size, count, checksum, last = 0, 0, Checksum(), b""
    async for line in lines:
        checksum.add(last)
        last = line
        write(line)
        size += len(line)
        count += 1
        if not count % 500:
            seen(count)
    end = parse_line(last) if last else {}
    if end.get("sha256") != checksum.hex:
        raise StorageError("The archive was cut off during the transfer.", fix="Export it again.")
    return Exported(**end["counts"], bytes=size, sha256=checksum.hex)


def reads_as_archive(file: Path | BinaryIO, format: str) -> bool:
    """Whether to import the file as an archive; otherwise it is an export of another product."""
    if format not in ("auto", "archive", *FORMATS):
        known = ", ".join(("auto", "archive", *FORMATS))
        raise InvalidInput(f"format is {quoted_value(format)}; use one of {known}.", field="format")
    if isinstance(file, Path):
        if format == "archive":
            raise InvalidInput(f"{file} is a folder, not an archive.", field="path")
        return False
    return format == "archive" or (format == "auto" and is_archive(file))


@contextmanager
def open_import(path: ArchivePlace) -> Iterator[Path | BinaryIO]:
    """Yield a folder as its path, or a file open for reading."""
    if not isinstance(path, str | Path):
        yield path
    elif os.path.isdir(path):
        yield Path(path)
    else:
        with open_for_reading(Path(path)) as file:
            yield file


def full_import(checked: CheckedArchive) -> Imported:
    """The result of a dry run into a profile that does not exist: everything would be imported."""
    counts = {name: many for name, many in checked.counts.items() if name != "pieces"}
    fields: Any = counts | {"problems": tuple(checked.problems)}
    return Imported(**fields, dry_run=True)


async def lines_of_chunks(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the same bytes line by line."""
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line + b"\n"
    if rest:
        yield rest


async def file_chunks(file: BinaryIO) -> AsyncIterator[bytes]:
    """Yield the whole file in pieces."""
    file.seek(0)
    while piece := await asyncio.to_thread(file.read, READ_BYTES):
        yield piece
