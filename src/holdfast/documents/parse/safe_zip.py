"""Reads untrusted zip archives and the XML in them: nothing is written to disk, every unpacked byte is counted.

Refused are overlapping members (a zip bomb that refers to the same data many times), compressions that cannot be
unpacked as a stream, passwords, and XML that declares a document type, since entities can expand without bound.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, BinaryIO, Literal
from xml.parsers import expat

from holdfast.documents.parse.dispatch import ParserInput
from holdfast.documents.types import SAVE_AGAIN_FIX, DocumentError, DocumentProperties

MAX_MEMBER_BYTES = 256 * 1024 * 1024
"""The largest member that is read as a whole. Chosen by hand; not measured."""
READ_BYTES = 64 * 1024
XmlEvent = tuple[Literal["start", "end", "text"], str, dict[str, str]]


class SafeZip:
    """The members of an archive, by name."""

    def __init__(self, source: ParserInput) -> None:
        self.source = source
        try:
            self.zip = zipfile.ZipFile(source.start())
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError) as bad:
            raise DocumentError(f"The archive is broken: {bad}.", fix=SAVE_AGAIN_FIX) from None
        self.members = {info.filename: info for info in self.zip.infolist() if not info.is_dir()}
        source.budget.open_members(len(self.zip.infolist()))
        self._refuse_overlaps()

    def __enter__(self) -> SafeZip:
        return self

    def __exit__(self, *_: object) -> None:
        self.zip.close()

    def _refuse_overlaps(self) -> None:
        end = 0
        for info in sorted(self.zip.infolist(), key=lambda info: info.header_offset):
            if info.header_offset < end:
                raise DocumentError("Files in the archive overlap, as in a zip bomb.")
            end = info.header_offset + 30 + info.compress_size

    def open(self, name: str) -> BinaryIO:
        info = self.members.get(name)
        if info is None:
            raise DocumentError(f"The archive lacks {name[:100]!r}.")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DocumentError(f"{name[:100]!r} is compressed with an unsupported method ({info.compress_type}).")
        if info.flag_bits & 1:
            raise DocumentError("The archive is locked with a password; unlock it first.")
        try:
            return self.zip.open(info)  # type: ignore[return-value]
        except (zipfile.BadZipFile, NotImplementedError, OSError) as bad:
            raise DocumentError(f"The archive is broken: {bad}.", fix=SAVE_AGAIN_FIX) from None

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield a member in pieces, each counted against the budget."""
        with self.open(name) as file:
            while data := self._next(file):
                self.source.budget.unpack(len(data))
                yield data

    def _next(self, file: BinaryIO) -> bytes:
        try:
            return file.read(READ_BYTES)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as bad:
            raise DocumentError(f"The archive is broken: {bad}.", fix=SAVE_AGAIN_FIX) from None

    def read(self, name: str) -> bytes:
        """A member as a whole."""
        content = bytearray()
        for data in self.pieces(name):
            content += data
            if len(content) > MAX_MEMBER_BYTES:
                raise DocumentError(f"{name[:100]!r} unpacks to more than {MAX_MEMBER_BYTES:,} bytes.")
        return bytes(content)

    def events(self, name: str) -> Iterator[XmlEvent]:
        """The XML events of a member, with names without their namespaces."""
        return xml_events(self.pieces(name))

    def check_all(self, suffixes: tuple[str, ...]) -> None:
        """Raise DocumentError unless every member with one of these suffixes is acceptable XML."""
        for name in self.members:
            if name.lower().endswith(suffixes):
                for _ in self.events(name):
                    pass

    def relations(self, part: str) -> dict[str, str]:
        """The relations of an Office part: id → the member it points to, without external targets."""
        path = PurePosixPath(part)
        name = str(path.parent / "_rels" / f"{path.name}.rels")
        found: dict[str, str] = {}
        for what, tag, given in self.events(name) if name in self.members else ():
            if what == "start" and tag == "Relationship" and given.get("TargetMode") != "External":
                found[given.get("Id", "")] = member_path(given.get("Target", ""), str(path.parent))
        return found

    def core_properties(self) -> DocumentProperties:
        """The properties that an Office file states about itself."""
        texts: dict[str, str] = {}
        inside = ""
        for what, tag, _ in self.events("docProps/core.xml") if "docProps/core.xml" in self.members else ():
            if what == "start":
                inside = tag
            elif what == "text" and inside:
                texts[inside] = texts.get(inside, "") + tag
            else:
                inside = ""
        date = texts.get("created", "") or texts.get("modified", "")
        return DocumentProperties(
            texts.get("title") or None, texts.get("creator") or None,
            date[:10] if re.match(r"\d{4}-\d\d-\d\d", date) else None, texts.get("language") or None,
        )  # fmt: skip


def member_path(target: str, folder: str) -> str:
    """The path of a member, given relative to a folder of the archive. `..` never leaves the archive."""
    steps: list[str] = []
    for step in (*([] if target.startswith("/") else folder.split("/")), *target.split("/")):
        if step == "..":
            steps = steps[:-1]
        elif step not in ("", "."):
            steps.append(step)
    return "/".join(steps)


def xml_events(pieces: Iterator[bytes]) -> Iterator[XmlEvent]:
    """Parse XML in pieces into events; refuse document types and entities."""
    found: list[XmlEvent] = []
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = lambda name, given: found.append(
        ("start", _local_name(name), _local_attributes(given))
    )
    parser.EndElementHandler = lambda name: found.append(("end", _local_name(name), {}))
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
        raise DocumentError(f"XML in the document is broken: {bad}.", fix=SAVE_AGAIN_FIX) from None


def _refuse_declarations(*_: Any) -> None:
    raise DocumentError("XML in the document declares a document type or entities, which is refused.")


def _local_name(name: str) -> str:
    return name.rsplit(" ", 1)[-1]


def _local_attributes(given: dict[str, str]) -> dict[str, str]:
    """Attributes by local name; one with a namespace also as `relationships:id`, since two may have the same name."""
    attributes = {name: value for name, value in given.items() if " " not in name}
    for name, value in given.items():
        space, _, bare = name.rpartition(" ")
        if space:
            attributes[f"{space.rsplit('/', 1)[-1]}:{bare}"] = value
            attributes.setdefault(bare, value)
    return attributes
