"""Reads and writes archive files. Writing is atomic; reading takes two passes: one checks every byte, one uses it."""

from __future__ import annotations

import gzip
import os
import stat
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, cast

from holdfast.archive import validation
from holdfast.archive.format import COUNT_NAMES, FORMAT, MAX_POSITION_GAP, Checksum, Header
from holdfast.archive.validation import InvalidLine
from holdfast.archive.version_chains import VersionChains
from holdfast.domain.errors import DamagedArchive, HoldfastError, InvalidInput, StorageError, StorageFull
from holdfast.domain.types import Memory

MAX_LINE_BYTES = 8 * 1024 * 1024
MAX_HEADER_BYTES = 65_536
"""Longer lines and headers are refused, so that memory stays bounded. Both limits were chosen by hand; not measured."""
MAX_PROBLEMS = 20
"""How many problems of a damaged archive are reported."""
MAX_LINKS = 40
"""How many links to links are followed, as many as Linux follows."""
GZIP_MAGIC = b"\x1f\x8b"
LINE_PARSERS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "message": validation.message, "memory": validation.memory, "setting": validation.setting,
    "usage": validation.usage, "document": validation.document, "original": validation.piece,
}  # fmt: skip
LINE_ORDER = dict(zip((*LINE_PARSERS, "end"), range(len(LINE_PARSERS) + 1), strict=True))
_COUNT_NAMES = dict(zip(LINE_PARSERS, COUNT_NAMES, strict=True))


@dataclass(slots=True)
class CheckedArchive:
    """The result of the first pass over an archive."""

    header: Header
    sha256: str
    counts: dict[str, int]
    problems: list[str] = field(default_factory=list)
    """Empty unless the check was forced to continue."""
    bad_lines: set[int] = field(default_factory=set)
    """The numbers of the lines that cannot be used."""
    successors: dict[str, str] = field(default_factory=dict)
    """Superseded memory → its successor, as references."""
    chains: VersionChains | None = None
    """In an archive of format 1: how its memories become versions of one id."""
    starts: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Type → the byte offset and the number of its first line."""
    piece_counts: dict[str, int] = field(default_factory=dict)
    """Document → the number of pieces of its original."""
    has_waiting: bool = False
    """Whether the archive has a message that waits to be digested and has never failed."""

    @property
    def total(self) -> int:
        return self.counts["messages"] + self.counts["memories"]


class Archive:
    """An archive in a seekable file, compressed or not."""

    def __init__(self, file: BinaryIO) -> None:
        file.seek(0)
        compressed = file.read(2) == GZIP_MAGIC
        file.seek(0)
        self._file = cast(BinaryIO, gzip.GzipFile(fileobj=file, mode="rb")) if compressed else file

    def check(self, *, force: bool = False, seen: Callable[[int], None] = lambda lines: None) -> CheckedArchive:
        """Check every line; raise at the first invalid one, or with `force` note it and continue."""
        return _ArchiveCheck(self, force, seen).run()

    def values(self, type: str, known: CheckedArchive) -> Iterator[Any]:
        """Yield the values of a type in order, without the lines that the first pass found unusable."""
        if type not in known.starts:
            return
        place = LINE_ORDER[type]
        for number, line in self._readable(known, *known.starts[type]):
            if number in known.bad_lines:
                continue
            value = validation.parse_line(line)
            if LINE_ORDER[value["type"]] > place and not known.problems:
                return
            if value["type"] == type:
                yield _parsed_value(type, value, known)

    def _readable(self, known: CheckedArchive, start: int, number: int) -> Iterator[tuple[int, bytes]]:
        try:
            yield from self.lines(start, number)
        except DamagedArchive:
            if not known.problems:
                raise

    def header(self) -> Header:
        """What the first line states; raise if it is no header."""
        _, line = next(self.lines(), (1, b""))
        if not line:
            raise _empty_archive_error()
        return _parsed_header(line)

    def first(self) -> bytes:
        """The first line, up to the maximum length of a header."""
        self._file.seek(0)
        return self._file.readline(MAX_HEADER_BYTES)

    def lines(self, start: int = 0, number: int = 1) -> Iterator[tuple[int, bytes]]:
        """Yield each line with its number, from the byte offset `start`, where line `number` begins."""
        self._file.seek(start)
        for at in count(number):
            try:
                line = self._file.readline(MAX_LINE_BYTES + 1)
            except (EOFError, OSError, zlib.error) as cut:
                raise DamagedArchive(
                    f"Line {at} of the archive cannot be read: {cut}.", fix="Export it again."
                ) from cut
            if not line:
                return
            if len(line) > MAX_LINE_BYTES:
                raise InvalidInput(f"Line {at} of the archive is longer than {MAX_LINE_BYTES:,} bytes.")
            yield at, line


class _ArchiveCheck:
    """The first pass: checks order, content, counts and checksum of all lines."""

    def __init__(self, archive: Archive, force: bool, seen: Callable[[int], None]) -> None:
        self._archive = archive
        self._force = force
        self._seen = seen
        self._sum = Checksum()
        self._last = "message"
        self._places: dict[str, int] = {}
        self._documents: set[str] = set()
        self._read = 0
        self._ended = False

    def run(self) -> CheckedArchive:
        found: CheckedArchive | None = None
        try:
            for number, line in self._archive.lines():
                if found is None:
                    found = self._check_header(line)
                elif self._ended:
                    self._refuse(found, number, InvalidLine("nothing may follow the end"))
                else:
                    self._check_line(found, number, line)
                self._read += len(line)
                if not number % 1000:
                    self._seen(number)
        except DamagedArchive as cut:
            if found is None or not self._force:
                raise
            self._note(found, str(cut))
        if found is None:
            raise _empty_archive_error()
        if not self._ended:
            self._report_damage(found, "The archive has no end line: it was cut off.")
        found.sha256 = found.sha256 or self._sum.hex
        if found.chains is not None:
            name = found.chains.reference
            found.successors = {name(old): name(new) for old, new in found.successors.items()}
        return found

    def _check_header(self, line: bytes) -> CheckedArchive:
        header = _parsed_header(line)
        self._sum.add(line)
        chains = VersionChains() if header.version == 1 else None
        return CheckedArchive(header, "", dict.fromkeys(COUNT_NAMES, 0), chains=chains)

    def _check_line(self, found: CheckedArchive, number: int, line: bytes) -> None:
        try:
            value = validation.parse_line(line)
            type = value.get("type")
            if type not in LINE_ORDER:
                raise InvalidLine(
                    f"it is not a type of line in an archive; use one of {', '.join(LINE_ORDER)}", field="type"
                )
            if LINE_ORDER[type] < LINE_ORDER[self._last]:
                raise InvalidLine(f"it comes after a {self._last}", field="type")
            self._last = type
            found.starts.setdefault(type, (self._read, number))
            if type == "end":
                self._check_end(found, value)
                return
            old = type == "memory" and found.chains is not None
            self._count(found, type, (validation.unversioned_memory if old else LINE_PARSERS[type])(value))
        except InvalidInput as wrong:
            self._refuse(found, number, wrong)
        self._sum.add(line)

    def _count(self, found: CheckedArchive, type: str, value: Any) -> None:
        if type == "message":
            session, position = value.item.session_id, value.item.position
            before = self._places.get(session, 0)
            if not before < position <= before + MAX_POSITION_GAP + 1:
                raise InvalidLine(
                    f"it is {position}, but the previous message of its session has {before}", field="position"
                )
            self._places[session] = position
            found.has_waiting |= value.item.pending and not value.item.failures
        elif type == "memory":
            self._count_memory(found, value.item)
        elif type == "original":
            self._count_piece(found.piece_counts, *value[:2])
        elif type == "document":
            self._documents.add(value.id)
        found.counts[_COUNT_NAMES[type]] += 1

    def _count_memory(self, found: CheckedArchive, memory: Memory) -> None:
        if found.chains is not None:
            found.chains.add(memory)
        if memory.superseded_by is not None and not memory.retired:
            found.successors[memory.ref if found.chains is None else memory.id] = memory.superseded_by

    def _count_piece(self, pieces: dict[str, int], id: str, number: int) -> None:
        if id not in self._documents:
            raise InvalidLine("there is no such document in the archive", field="document")
        if number != pieces.get(id, 0) or (number and next(reversed(pieces)) != id):
            raise InvalidLine(
                f"it is {number}, but {pieces.get(id, 0)} pieces of its original precede it", field="number"
            )
        pieces[id] = number + 1

    def _check_end(self, found: CheckedArchive, value: Mapping[str, Any]) -> None:
        self._ended = True
        found.sha256 = self._sum.hex
        if value.get("sha256") != found.sha256:
            self._report_damage(found, "The archive was changed after it was written: its checksum does not match.")
        elif not validation.counts(value) == found.header.counts == found.counts:
            self._report_damage(found, "The archive does not contain as many items as its header says.")

    def _refuse(self, found: CheckedArchive, number: int, wrong: InvalidInput) -> None:
        placed = _error_at_line(wrong, number)
        if not self._force:
            raise placed from None
        found.bad_lines.add(number)
        self._note(found, str(placed))

    def _report_damage(self, found: CheckedArchive, what: str) -> None:
        if not self._force:
            raise DamagedArchive(what, fix="Export it again, or import the readable part with --force.")
        self._note(found, what)

    def _note(self, found: CheckedArchive, problem: str) -> None:
        if len(found.problems) < MAX_PROBLEMS:
            found.problems.append(problem)


def _empty_archive_error() -> DamagedArchive:
    return DamagedArchive("The archive is empty.", fix="Export it again.")


def _parsed_header(line: bytes) -> Header:
    try:
        return validation.header(validation.parse_line(line))
    except InvalidInput as wrong:
        raise _error_at_line(wrong, 1) from None


def _parsed_value(type: str, value: Mapping[str, Any], known: CheckedArchive) -> Any:
    if type != "memory" or known.chains is None:
        return LINE_PARSERS[type](value)
    found = validation.unversioned_memory(value)
    return found.with_item(known.chains.converted(cast(Memory, found.item)))


def _error_at_line(wrong: InvalidInput, number: int) -> InvalidInput:
    message = str(wrong).rstrip(".")
    where = f", field {wrong.field}" if wrong.field else ""
    return InvalidInput(f"Line {number} of the archive{where}: {message}.", field=wrong.field)


def is_archive(file: BinaryIO) -> bool:
    """Whether the file begins like an archive."""
    try:
        return validation.parse_line(Archive(file).first()).get("format") == FORMAT
    except (HoldfastError, EOFError, OSError, zlib.error):
        return False
    finally:
        file.seek(0)


@contextmanager
def atomic_writer(path: Path) -> Iterator[Callable[[bytes], Any]]:
    """Write a file that appears under its name only when it is complete and on disk; compressed if it ends in `.gz`.

    A device, a named pipe or an open descriptor is written to as it is: replacing it would destroy it.
    """
    try:
        if not is_replaceable(path):
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOCTTY)
            with os.fdopen(descriptor, "wb") as raw, _encoded(raw, path) as write:
                yield write
            return
        place = path.resolve()  # the target of a link: replacing the link would turn it into a file
        fresh = place.with_name(f".{place.name}.new")
        try:
            with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as raw:
                with _encoded(raw, path) as write:
                    yield write
                raw.flush()
                os.fsync(raw.fileno())
            fresh.replace(place)
        finally:
            fresh.unlink(missing_ok=True)
    except OSError as bad:
        kind = StorageFull if bad.errno == 28 else StorageError
        raise kind(f"{path} cannot be written: {bad.strerror}.", field="path") from bad


@contextmanager
def _encoded(raw: BinaryIO, path: Path) -> Iterator[Callable[[bytes], Any]]:
    if path.suffix == ".gz":
        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as compressed:
            yield compressed.write
    else:
        yield raw.write


def is_replaceable(path: Path) -> bool:
    """Whether a new file may take the place of this one: it does not exist yet, or it is a regular file.

    What lies in /dev or /proc, such as /dev/stdout, is not, even when it leads to a regular file: that file is open.
    """
    for _ in range(MAX_LINKS):
        folder = path.absolute().parent.resolve()
        if folder in (Path("/dev"), Path("/dev/fd")) or Path("/proc") in (folder, *folder.parents):
            return False
        if not path.is_symlink():
            break
        path = folder / path.readlink()
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return True


@contextmanager
def open_for_reading(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading; raise InvalidInput if that fails."""
    try:
        with path.open("rb") as file:
            yield file
    except OSError as bad:
        raise InvalidInput(f"{path} cannot be read: {bad.strerror}.", field="path") from bad
