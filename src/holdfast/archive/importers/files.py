"""Finds the JSON files of an export (a JSON file, a ZIP file or a folder) and parses them element by element."""

from __future__ import annotations

import codecs
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from holdfast.archive.importers.types import unreadable_error
from holdfast.domain.errors import quoted_value

CHUNK = 1 << 20
MOST = 1 << 30
"""The largest size of one element of an export, and of a member of a ZIP file."""
WRAPPED = ("results", "memories", "documents", "memoryEntries", "items", "conversations")
BYTE_ORDER_MARK = "\ufeff"
NAMELESS_FILE = "The file"
STREAM_LABELS = {"<stdin>": "Standard input", "<body>": "The body"}
"""Streams without a file name, and how errors call them."""
_SPACE, _COMMAS = re.compile(r"[ \t\r\n]*"), re.compile(r"[ \t\r\n,]*")


class ImportSource:
    """A folder, or a file that is open for reading."""

    def __init__(self, place: Path | BinaryIO) -> None:
        self.folder = place if isinstance(place, Path) else None
        self.file = None if isinstance(place, Path) else place
        name = getattr(place, "name", None)
        # A temporary file's name may be the number of its descriptor, which would tell a caller nothing.
        known = str(name) if isinstance(name, str | Path) and name and name not in STREAM_LABELS else None
        self.name = known or STREAM_LABELS.get(name if isinstance(name, str) else "", NAMELESS_FILE)
        """As errors call it: a path, or what else it is."""
        self.file_name = Path(known).name if known else NAMELESS_FILE


def json_files(source: ImportSource) -> Iterator[tuple[str, BinaryIO]]:
    """Yield the JSON files of an export with their names; none when it contains something else."""
    if source.folder is not None:
        yield from _in_folder(source.folder)
    elif source.file is not None:
        source.file.seek(0)
        start = source.file.read(512).lstrip(b"\xef\xbb\xbf \t\r\n")
        source.file.seek(0)
        if start.startswith(b"PK\x03\x04"):
            yield from _in_zip(source.file, source.name)
        elif start[:1] in (b"[", b"{"):
            yield (source.file_name if source.file_name != NAMELESS_FILE else source.name), source.file


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
            json_members = [each for each in packed.infolist() if each.filename.endswith(".json")]
            named = [(each.filename.rpartition("/")[2], each) for each in json_members]
            chosen = [pair for pair in named if pair[0].startswith("conversations")] or named
            for inside, member in sorted(chosen, key=lambda pair: pair[1].filename):
                if member.file_size > MOST:
                    raise unreadable_error(f"{name}: {inside} is larger than {MOST:,} bytes.")
                with packed.open(member) as opened:
                    yield inside, opened  # type: ignore[misc]
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as bad:
        raise unreadable_error(f"{name} is not a readable ZIP file: {bad}.") from None


def json_elements(file: BinaryIO, name: str) -> Iterator[Any]:
    """Yield the elements of a JSON array, of the array in an object, or of JSON Lines, one at a time."""
    reader = _Reader(file, name)
    if reader.peek() == "[":
        reader.skip("[")
        while reader.peek(commas=True) not in ("]", ""):
            yield reader.value()
        if reader.peek() != "]":
            raise unreadable_error(f"{name} ends in the middle of its list.")
        return
    while reader.peek():
        found = reader.value()
        wrapped = next(
            (found[key] for key in WRAPPED if isinstance(found, dict) and isinstance(found.get(key), list)), None
        )
        yield from [found] if wrapped is None else wrapped


class _Reader:
    """Parses a stream of text into JSON values. Positions in errors count from the start of the file."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._name = name
        self._held = ""
        self._at = 0
        self._decoder = json.JSONDecoder()
        self._utf8 = codecs.getincrementaldecoder("utf-8")()
        self._bytes_read = 0
        self._chars = self._lines = self._column = 0
        """How much of the text was dropped before `_held`: characters, line ends, and characters of its last line."""

    def peek(self, *, commas: bool = False) -> str:
        """The next character that is not white space (nor, with `commas`, a comma); empty at the end."""
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
                raise unreadable_error(f"{self._name} is nested too deeply.") from None
            except ValueError as bad:
                reason = self._positioned(bad)  # before the buffer moves on
                if len(self._held) - self._at > MOST or not self._more(size):
                    near = quoted_value(self._held[self._at : self._at + 40])
                    raise unreadable_error(
                        f"{self._name} is not JSON, or it was cut off, near {near}: {reason}."
                    ) from None
                size *= 2

    def _positioned(self, bad: ValueError) -> str:
        """The decoder's reason, with the position in the file instead of the position in the buffer."""
        if not isinstance(bad, json.JSONDecodeError):
            return str(bad)
        column = bad.colno + (self._column if bad.lineno == 1 else 0)
        return f"{bad.msg}: line {self._lines + bad.lineno} column {column} (char {self._chars + bad.pos})"

    def _more(self, size: int) -> bool:
        text = self._next_text(size)
        dropped = self._held[: self._at]
        self._chars += len(dropped)
        self._lines += dropped.count("\n")
        self._column = len(dropped) - dropped.rfind("\n") - 1 + (0 if "\n" in dropped else self._column)
        self._held, self._at = self._held[self._at :] + text, 0
        return bool(text)

    def _next_text(self, size: int) -> str:
        """The next characters; empty at the end. A chunk may end within a character, so one chunk may give none."""
        while True:
            data = self._file.read(size)
            start = self._bytes_read - len(self._utf8.getstate()[0])
            self._bytes_read += len(data)
            try:
                text = self._utf8.decode(data, final=not data)
            except UnicodeDecodeError as bad:
                raise unreadable_error(f"{self._name} is not UTF-8 at byte {start + bad.start}.") from None
            if not start and text.startswith(BYTE_ORDER_MARK):
                text = text.removeprefix(BYTE_ORDER_MARK)
            if text or not data:
                return text
