"""Plain text and source code: paragraphs and blocks as they stand, read bit by bit."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from ..sniff import HEAD_BYTES, encoding_of
from ..types import About, Kind, Piece, Section
from .source import Source

BLOCK_CHARS = 3_500
LINE_CHARS = 20_000
"""A line longer than this is not waited for: it is handed on in pieces."""


def read(source: Source) -> Iterator[Piece]:
    kind: Kind = "code" if source.format == "code" else "text"
    heading = (source.name,) if kind == "code" and source.name else ()
    yield About(title=source.name)
    for number, block in enumerate(blocks(lines(source), kind)):
        yield Section(block, heading, None, kind)
        if number % 20 == 19:
            yield source.percent()


def lines(source: Source) -> Iterator[str]:
    """Its lines with their ends; none longer than LINE_CHARS, however long the document's are."""
    file = source.start()
    head = file.read(HEAD_BYTES)
    encoding = encoding_of(head) or "utf-8"
    if source.format in ("html", "xml") and not encoding.startswith("utf"):
        encoding = _declared(head) or encoding
    file.seek(0)
    decode = codecs.getincrementaldecoder(encoding)("replace").decode
    rest = ""
    while data := file.read(64 * 1024):
        *whole, rest = (rest + decode(data)).removeprefix("\ufeff").splitlines(keepends=True) or [""]
        yield from whole
        while len(rest) > LINE_CHARS:
            yield rest[:LINE_CHARS]
            rest = rest[LINE_CHARS:]
    yield from (rest + decode(b"", True)).splitlines(keepends=True)


def _declared(head: bytes) -> str | None:
    """The encoding that a page says it is in, if there is such a one."""
    found = re.search(rb"""(?:charset|encoding)\s{0,9}=\s{0,9}["']?([\w-]{1,40})""", head[:4_096], re.I)
    if found is None:
        return None
    try:
        "".encode(name := found.group(1).decode("ascii"))
    except (LookupError, UnicodeError):
        return None
    return name


def whole_text(source: Source) -> str:
    return "".join(lines(source))


def blocks(lines: Iterator[str], kind: Kind) -> Iterator[str]:
    """Paragraphs together, as many as make a block; code is parted where something new begins in the first column."""
    held: list[str] = []
    size = 0
    for line in lines:
        ends = bool(held) and held[-1].isspace()
        if ends and line.isspace():
            continue  # of many empty lines one is kept
        if ends and kind == "code":
            ends = bool(re.match(r"\S", line)) and not re.match(r"[)}\]]", line)
        if held and ((ends and size + len(line) > BLOCK_CHARS // 2) or size + len(line) > BLOCK_CHARS * 4):
            yield "".join(held).strip("\n")
            held, size = [], 0
        held.append(line)
        size += len(line)
    if held:
        yield "".join(held).strip("\n")
