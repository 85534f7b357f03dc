"""An archive in a file: written whole or not at all, read twice: once to check every byte of it, once to use it."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, cast

from . import archive_checks as checks
from .archive import COUNTED, FORMAT, GAP, Header, Sum
from .archive_checks import Wrong
from .errors import Damaged, HoldfastError, InvalidInput, StorageError, StorageFull

LINE_BYTES = 64 * 1024 * 1024
HEADER_BYTES = 65_536
MOST_PROBLEMS = 20
GZIP = b"\x1f\x8b"
READ: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "message": checks.message, "memory": checks.memory, "setting": checks.setting, "usage": checks.usage,
    "document": checks.document, "original": checks.piece,
}  # fmt: skip
ORDER = dict(zip((*READ, "end"), range(len(READ) + 1), strict=True))
_NAMES = dict(zip(READ, COUNTED, strict=True))


@dataclass(slots=True)
class Checked:
    """What the first pass found."""

    header: Header
    sha256: str
    counts: dict[str, int]
    problems: list[str] = field(default_factory=list)
    """Empty unless the reader was told to go on."""
    bad: set[int] = field(default_factory=set)
    """Numbers of the lines that cannot be used."""
    links: dict[str, str] = field(default_factory=dict)
    """Superseded memory → its successor."""
    starts: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Type → the byte and the line at which it begins."""
    packed: dict[str, int] = field(default_factory=dict)
    """Document → how many pieces of its original there are."""
    waiting: bool = False
    """Whether some message waits that has never failed."""

    @property
    def total(self) -> int:
        return self.counts["messages"] + self.counts["memories"]


class Archive:
    """A seekable file that holds one."""

    def __init__(self, file: BinaryIO) -> None:
        file.seek(0)
        squeezed = file.read(2) == GZIP
        file.seek(0)
        self._file = cast(BinaryIO, gzip.GzipFile(fileobj=file, mode="rb")) if squeezed else file

    def check(self, *, force: bool = False, seen: Callable[[int], None] = lambda lines: None) -> Checked:
        """Read every line; raise at the first that is wrong, or with `force` note it and go on."""
        return _Checking(self, force, seen).run()

    def values(self, type: str, known: Checked) -> Iterator[Any]:
        """Every value of this type, in order, but for what the first pass found to be unusable."""
        if type not in known.starts:
            return
        place = ORDER[type]
        for number, line in self._readable(known, *known.starts[type]):
            if number in known.bad:
                continue
            told = checks.value_of(line)
            if ORDER[told["type"]] > place and not known.problems:
                return
            if told["type"] == type:
                yield READ[type](told)

    def _readable(self, known: Checked, start: int, number: int) -> Iterator[tuple[int, bytes]]:
        try:
            yield from self.lines(start, number)
        except Damaged:
            if not known.problems:
                raise

    def first(self) -> bytes:
        """Its first line, or as much of it as a header may have."""
        self._file.seek(0)
        return self._file.readline(HEADER_BYTES)

    def lines(self, start: int = 0, number: int = 1) -> Iterator[tuple[int, bytes]]:
        """Each line with its number, from the byte `start` on, which is line `number`."""
        self._file.seek(start)
        for at in count(number):
            try:
                line = self._file.readline(LINE_BYTES + 1)
            except (EOFError, OSError, zlib.error) as cut:
                raise Damaged(f"Line {at} of the archive cannot be read: {cut}.", fix="Export it again.") from cut
            if not line:
                return
            if len(line) > LINE_BYTES:
                raise InvalidInput(f"Line {at} of the archive is longer than {LINE_BYTES:,} bytes.")
            yield at, line


class _Checking:
    def __init__(self, archive: Archive, force: bool, seen: Callable[[int], None]) -> None:
        self._archive = archive
        self._force = force
        self._seen = seen
        self._sum = Sum()
        self._last = "message"
        self._places: dict[str, int] = {}
        self._documents: set[str] = set()
        self._read = 0
        self._ended = False

    def run(self) -> Checked:
        found: Checked | None = None
        try:
            for number, line in self._archive.lines():
                if found is None:
                    found = self._begun(line)
                elif self._ended:
                    self._refuse(found, number, Wrong("nothing may follow the end"))
                else:
                    self._look(found, number, line)
                self._read += len(line)
                if not number % 1000:
                    self._seen(number)
        except Damaged as cut:
            if found is None or not self._force:
                raise
            self._note(found, str(cut))
        if found is None:
            raise Damaged("The archive is empty.", fix="Export it again.")
        if not self._ended:
            self._lacks(found, "The archive has no end: it was cut off.")
        found.sha256 = found.sha256 or self._sum.hex
        return found

    def _begun(self, line: bytes) -> Checked:
        try:
            header = checks.header(checks.value_of(line))
        except InvalidInput as wrong:
            raise _placed(wrong, 1) from None
        self._sum.add(line)
        return Checked(header, "", dict.fromkeys(COUNTED, 0))

    def _look(self, found: Checked, number: int, line: bytes) -> None:
        try:
            told = checks.value_of(line)
            type = told.get("type")
            if type not in ORDER:
                raise Wrong(f"it is no line of an archive; use one of {', '.join(ORDER)}", field="type")
            if ORDER[type] < ORDER[self._last]:
                raise Wrong(f"it comes after a {self._last}", field="type")
            self._last = type
            found.starts.setdefault(type, (self._read, number))
            if type == "end":
                self._end(found, told)
                return
            self._count(found, type, READ[type](told))
        except InvalidInput as wrong:
            self._refuse(found, number, wrong)
        self._sum.add(line)

    def _count(self, found: Checked, type: str, value: Any) -> None:
        if type == "message":
            session, position = value.item.session_id, value.item.position
            before = self._places.get(session, 0)
            if not before < position <= before + GAP + 1:
                raise Wrong(f"it is {position} and follows {before} of its session", field="position")
            self._places[session] = position
            found.waiting |= value.item.pending and not value.item.failures
        elif type == "memory" and value.item.superseded_by is not None:
            found.links[value.item.id] = value.item.superseded_by
        elif type == "original":
            self._count_piece(found.packed, *value[:2])
        elif type == "document":
            self._documents.add(value.id)
        found.counts[_NAMES[type]] += 1

    def _count_piece(self, packed: dict[str, int], id: str, number: int) -> None:
        if id not in self._documents:
            raise Wrong("there is no such document in the archive", field="document")
        if number != packed.get(id, 0) or (number and next(reversed(packed)) != id):
            raise Wrong(f"it is {number} and follows {packed.get(id, 0)} pieces of its original", field="number")
        packed[id] = number + 1

    def _end(self, found: Checked, told: Mapping[str, Any]) -> None:
        self._ended = True
        found.sha256 = self._sum.hex
        if told.get("sha256") != found.sha256:
            self._lacks(found, "The archive was changed after it was written: its checksum is another.")
        elif not checks.counts(told) == found.header.counts == found.counts:
            self._lacks(found, "The archive does not hold as much as it says.")

    def _refuse(self, found: Checked, number: int, wrong: InvalidInput) -> None:
        placed = _placed(wrong, number)
        if not self._force:
            raise placed from None
        found.bad.add(number)
        self._note(found, str(placed))

    def _lacks(self, found: Checked, what: str) -> None:
        if not self._force:
            raise Damaged(what, fix="Export it again, or bring what can be read with --force.")
        self._note(found, what)

    def _note(self, found: Checked, problem: str) -> None:
        if len(found.problems) < MOST_PROBLEMS:
            found.problems.append(problem)


def _placed(wrong: InvalidInput, number: int) -> InvalidInput:
    said = str(wrong).rstrip(".")
    where = f", field {wrong.field}" if wrong.field else ""
    return InvalidInput(f"Line {number} of the archive{where}: {said}.", field=wrong.field)


def is_archive(file: BinaryIO) -> bool:
    """Whether it begins like one."""
    try:
        return checks.value_of(Archive(file).first()).get("format") == FORMAT
    except (HoldfastError, EOFError, OSError, zlib.error):
        return False
    finally:
        file.seek(0)


@contextmanager
def writing(path: Path) -> Iterator[Callable[[bytes], Any]]:
    """A file that appears under its name when everything is in it and on disk; squeezed when it is called `.gz`."""
    fresh = path.with_name(f".{path.name}.new")
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as raw:
            if path.suffix == ".gz":
                with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as squeezed:
                    yield squeezed.write
            else:
                yield raw.write
            raw.flush()
            os.fsync(raw.fileno())
        fresh.replace(path)
    except OSError as bad:
        kind = StorageFull if bad.errno == 28 else StorageError
        raise kind(f"{path} cannot be written: {bad.strerror}.", field="path") from bad
    finally:
        fresh.unlink(missing_ok=True)


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("rb") as file:
            yield file
    except OSError as bad:
        raise InvalidInput(f"{path} cannot be read: {bad.strerror}.", field="path") from bad
