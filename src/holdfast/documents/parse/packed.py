"""Zip archives and the XML in them, opened with distrust: nothing is written to disk, nothing unpacks uncounted.

Refused: members that overlap (one bomb told a thousand times), compressions that cannot be unpacked bit by bit,
passwords, and XML that declares a document type: entities are the part of XML that makes text out of nothing.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, BinaryIO, Literal
from xml.parsers import expat

from ..types import SAVE_AGAIN, About, DocumentError
from .source import Source

MEMBER_BYTES = 256 * 1024 * 1024
PIECE = 64 * 1024
Event = tuple[Literal["start", "end", "text"], str, dict[str, str]]


class Packed:
    """The members of an archive, by name."""

    def __init__(self, source: Source) -> None:
        self.source = source
        try:
            self.zip = zipfile.ZipFile(source.start())
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError) as bad:
            raise DocumentError(f"The archive is broken: {bad}.", fix=SAVE_AGAIN) from None
        self.members = {info.filename: info for info in self.zip.infolist() if not info.is_dir()}
        source.budget.open_members(len(self.zip.infolist()))
        self._refuse_overlaps()

    def __enter__(self) -> Packed:
        return self

    def __exit__(self, *_: object) -> None:
        self.zip.close()

    def _refuse_overlaps(self) -> None:
        end = 0
        for info in sorted(self.zip.infolist(), key=lambda info: info.header_offset):
            if info.header_offset < end:
                raise DocumentError("Files in the archive overlap, as only a bomb's do.")
            end = info.header_offset + 30 + info.compress_size

    def open(self, name: str) -> BinaryIO:
        info = self.members.get(name)
        if info is None:
            raise DocumentError(f"The archive lacks {name[:100]!r}.")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DocumentError(f"{name[:100]!r} is packed in a way that cannot be read (method {info.compress_type}).")
        if info.flag_bits & 1:
            raise DocumentError("The archive is locked with a password; unlock it first.")
        try:
            return self.zip.open(info)  # type: ignore[return-value]
        except (zipfile.BadZipFile, NotImplementedError, OSError) as bad:
            raise DocumentError(f"The archive is broken: {bad}.", fix=SAVE_AGAIN) from None

    def pieces(self, name: str) -> Iterator[bytes]:
        """A member bit by bit, counted."""
        with self.open(name) as file:
            while data := self._next(file):
                self.source.budget.unpack(len(data))
                yield data

    def _next(self, file: BinaryIO) -> bytes:
        try:
            return file.read(PIECE)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as bad:
            raise DocumentError(f"The archive is broken: {bad}.", fix=SAVE_AGAIN) from None

    def read(self, name: str) -> bytes:
        """A member at once."""
        held = bytearray()
        for data in self.pieces(name):
            held += data
            if len(held) > MEMBER_BYTES:
                raise DocumentError(f"{name[:100]!r} unpacks to more than {MEMBER_BYTES:,} bytes.")
        return bytes(held)

    def events(self, name: str) -> Iterator[Event]:
        """A member as XML: what begins, ends and is written, with names bare of their namespaces."""
        return xml_events(self.pieces(name))

    def check_all(self, suffixes: tuple[str, ...]) -> None:
        for name in self.members:
            if name.lower().endswith(suffixes):
                for _ in self.events(name):
                    pass

    def relations(self, part: str) -> dict[str, str]:
        """Of an Office part: relation id → the member it points to. What points outside is left out."""
        path = PurePosixPath(part)
        name = str(path.parent / "_rels" / f"{path.name}.rels")
        found: dict[str, str] = {}
        for what, tag, given in self.events(name) if name in self.members else ():
            if what == "start" and tag == "Relationship" and given.get("TargetMode") != "External":
                found[given.get("Id", "")] = within(given.get("Target", ""), str(path.parent))
        return found

    def core_properties(self) -> About:
        """What an Office file says of itself."""
        said: dict[str, str] = {}
        inside = ""
        for what, tag, _ in self.events("docProps/core.xml") if "docProps/core.xml" in self.members else ():
            if what == "start":
                inside = tag
            elif what == "text" and inside:
                said[inside] = said.get(inside, "") + tag
            else:
                inside = ""
        date = said.get("created", "") or said.get("modified", "")
        return About(
            said.get("title") or None, said.get("creator") or None,
            date[:10] if re.match(r"\d{4}-\d\d-\d\d", date) else None, said.get("language") or None,
        )  # fmt: skip


def within(target: str, folder: str) -> str:
    """A path of an archive relative to a folder in it. What climbs out of the archive stays at its top."""
    steps: list[str] = []
    for step in (*([] if target.startswith("/") else folder.split("/")), *target.split("/")):
        if step == "..":
            steps = steps[:-1]
        elif step not in ("", "."):
            steps.append(step)
    return "/".join(steps)


def xml_events(pieces: Iterator[bytes]) -> Iterator[Event]:
    found: list[Event] = []
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = lambda name, given: found.append(("start", _bare(name), _bare_all(given)))
    parser.EndElementHandler = lambda name: found.append(("end", _bare(name), {}))
    parser.CharacterDataHandler = lambda text: found.append(("text", text, {}))
    parser.StartDoctypeDeclHandler = _refuse_declarations
    parser.EntityDeclHandler = _refuse_declarations
    try:
        for data in pieces:
            parser.Parse(data, False)
            yield from found
            found.clear()
        parser.Parse(b"", True)
        yield from found
    except expat.ExpatError as bad:
        raise DocumentError(f"XML in the document is broken: {bad}.", fix=SAVE_AGAIN) from None


def _refuse_declarations(*_: Any) -> None:
    raise DocumentError("XML in the document declares a document type or entities, which is refused.")


def _bare(name: str) -> str:
    return name.rsplit(" ", 1)[-1]


def _bare_all(given: dict[str, str]) -> dict[str, str]:
    """Attributes by bare name; one with a namespace also as `relationships:id`, for where two have the same name."""
    found = {name: value for name, value in given.items() if " " not in name}
    for name, value in given.items():
        space, _, bare = name.rpartition(" ")
        if space:
            found[f"{space.rsplit('/', 1)[-1]}:{bare}"] = value
            found.setdefault(bare, value)
    return found
