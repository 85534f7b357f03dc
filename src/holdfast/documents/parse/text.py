"""Parses plain text and source code as a stream, into blocks of whole paragraphs."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from holdfast.documents.parse.dispatch import ParserInput
from holdfast.documents.sniff import HEAD_BYTES, encoding_of
from holdfast.documents.types import TARGET_BLOCK_CHARS, DocumentProperties, ParserOutput, Section, SectionKind

MAX_LINE_CHARS = 20_000
"""A longer line is yielded in pieces, so that memory stays bounded. Chosen by hand; not measured."""


def parse(source: ParserInput) -> Iterator[ParserOutput]:
    kind: SectionKind = "code" if source.format == "code" else "text"
    heading = (source.name,) if kind == "code" and source.name else ()
    yield DocumentProperties(title=source.name)
    for number, block in enumerate(text_blocks(read_lines(source), kind)):
        yield Section(block, heading, None, kind)
        if number % 20 == 19:
            yield source.progress()


def read_lines(source: ParserInput) -> Iterator[str]:
    """Yield the lines of a document with their ends; one longer than MAX_LINE_CHARS in pieces."""
    file = source.start()
    head = file.read(HEAD_BYTES)
    encoding = encoding_of(head) or "utf-8"
    if source.format in ("html", "xml") and not encoding.startswith("utf"):
        encoding = _declared_encoding(head) or encoding
    file.seek(0)
    decode = codecs.getincrementaldecoder(encoding)("replace").decode
    rest = ""
    while data := file.read(64 * 1024):
        *whole, rest = (rest + decode(data)).removeprefix("\ufeff").splitlines(keepends=True) or [""]
        yield from whole
        while len(rest) > MAX_LINE_CHARS:
            yield rest[:MAX_LINE_CHARS]
            rest = rest[MAX_LINE_CHARS:]
    yield from (rest + decode(b"", True)).splitlines(keepends=True)


def _declared_encoding(head: bytes) -> str | None:
    """The encoding that a page declares, if it is a known one."""
    declaration = re.search(rb"""(?:charset|encoding)\s{0,9}=\s{0,9}["']?([\w-]{1,40})""", head[:4_096], re.I)
    if declaration is None:
        return None
    try:
        "".encode(name := declaration.group(1).decode("ascii"))
    except (LookupError, UnicodeError):
        return None
    return name


def whole_text(source: ParserInput) -> str:
    """The decoded text of a document."""
    return "".join(read_lines(source))


def text_blocks(lines: Iterator[str], kind: SectionKind) -> Iterator[str]:
    """Yield blocks of whole paragraphs; code is split where a line begins in the first column after an empty one."""
    held: list[str] = []
    size = 0
    for line in lines:
        ends = bool(held) and held[-1].isspace()
        if ends and line.isspace():
            continue  # consecutive empty lines are reduced to one
        if ends and kind == "code":
            ends = bool(re.match(r"\S", line)) and not re.match(r"[)}\]]", line)
        grown = size + len(line)
        if held and ((ends and grown > TARGET_BLOCK_CHARS // 2) or grown > TARGET_BLOCK_CHARS * 4):
            yield "".join(held).strip("\n")
            held, size = [], 0
        held.append(line)
        size += len(line)
    if held:
        yield "".join(held).strip("\n")
