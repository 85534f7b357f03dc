"""Where an export lies: a JSON file, a ZIP file or a folder with some in it; read element by element."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import shown
from .found import unreadable

CHUNK = 1 << 20
MOST = 1 << 30
"""No export's one element is larger, and no ZIP's member may be."""
WRAPPED = ("results", "memories", "documents", "memoryEntries", "items", "conversations")
_SPACE, _COMMAS = re.compile(r"[ \t\r\n]*"), re.compile(r"[ \t\r\n,]*")


class Source:
    """A folder, or a file that is open for reading."""

    def __init__(self, place: Path | BinaryIO) -> None:
        self.folder = place if isinstance(place, Path) else None
        self.file = None if isinstance(place, Path) else place
        self.name = str(getattr(place, "name", None) or "The file")  # what is sent has no name


def files(source: Source) -> Iterator[tuple[str, BinaryIO]]:
    """Its JSON files, with their names; none when it holds something else."""
    if source.folder is not None:
        yield from _in_folder(source.folder)
    elif source.file is not None:
        source.file.seek(0)
        start = source.file.read(512).lstrip(b"\xef\xbb\xbf \t\r\n")
        source.file.seek(0)
        if start.startswith(b"PK\x03\x04"):
            yield from _in_zip(source.file, source.name)
        elif start[:1] in (b"[", b"{"):
            yield Path(source.name).name, source.file


def _in_folder(folder: Path) -> Iterator[tuple[str, BinaryIO]]:
    chosen = sorted(folder.glob("conversations*.json"))
    if not chosen and not any(folder.rglob("*.md")):
        chosen = sorted(folder.glob("*.json"))
    for path in chosen:
        with path.open("rb") as file:
            yield path.name, file


def _in_zip(file: BinaryIO, name: str) -> Iterator[tuple[str, BinaryIO]]:
    try:
        with zipfile.ZipFile(file) as packed:
            for member in sorted(packed.infolist(), key=lambda each: each.filename):
                inside = member.filename.rpartition("/")[2]
                if inside.startswith("conversations") and inside.endswith(".json"):
                    if member.file_size > MOST:
                        raise unreadable(f"{name}: {inside} is larger than {MOST:,} bytes.")
                    with packed.open(member) as opened:
                        yield inside, opened  # type: ignore[misc]
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as bad:
        raise unreadable(f"{name} is not a readable ZIP file: {bad}.") from None


def elements(file: BinaryIO, name: str) -> Iterator[Any]:
    """Of a JSON array, of the array in an object, or of JSON Lines; one at a time."""
    reader = _Reader(file, name)
    if reader.peek() == "[":
        reader.skip("[")
        while reader.peek(commas=True) not in ("]", ""):
            yield reader.value()
        if reader.peek() != "]":
            raise unreadable(f"{name} ends in the middle of its list.")
        return
    while reader.peek():
        found = reader.value()
        wrapped = next(
            (found[key] for key in WRAPPED if isinstance(found, dict) and isinstance(found.get(key), list)), None
        )
        yield from [found] if wrapped is None else wrapped


def _unwrapped(found: Any) -> list[Any]:
    if isinstance(found, dict) and "content" not in found:
        return next((found[key] for key in WRAPPED if isinstance(found.get(key), list)), [found])
    return [found]


class _Reader:
    """JSON values out of a stream of text."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._text = io.TextIOWrapper(io.BufferedReader(_Unclosed(file)), encoding="utf-8-sig")
        self._name = name
        self._held = ""
        self._at = 0
        self._decoder = json.JSONDecoder()

    def peek(self, *, commas: bool = False) -> str:
        """The next character that is no space (nor, with `commas`, a comma); nothing at the end."""
        while True:
            self._at = (_COMMAS if commas else _SPACE).match(self._held, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._held) or not self._more(CHUNK):
                return self._held[self._at : self._at + 1]

    def skip(self, mark: str) -> None:
        self._at += len(mark)

    def value(self) -> Any:
        size = CHUNK
        while True:
            try:
                found, self._at = self._decoder.raw_decode(self._held, self._at)
                return found
            except RecursionError:
                raise unreadable(f"{self._name} is nested too deeply.") from None
            except ValueError as bad:
                if len(self._held) - self._at > MOST or not self._more(size):
                    near = shown(self._held[self._at : self._at + 40])
                    raise unreadable(f"{self._name} is not JSON, or it was cut off, near {near}: {bad}.") from None
                size *= 2

    def _more(self, size: int) -> bool:
        try:
            read = self._text.read(size)
        except UnicodeDecodeError as bad:
            raise unreadable(f"{self._name} is not UTF-8 at byte {bad.start}.") from None
        self._held, self._at = self._held[self._at :] + read, 0
        return bool(read)


class _Unclosed(io.RawIOBase):
    """A file that its owner closes, whoever wraps it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        read = self._file.read(len(into))
        into[: len(read)] = read
        return len(read)
