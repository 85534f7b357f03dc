"""Pure: the wire format between the child process and its parent: one JSON frame per line.

    {"section": [text, heading, page, kind, above]}   {"about": {…}}   {"percent": 40}
    {"error": "…", "fix": "…"}                        {"end": true}

The parent validates every frame, since a hostile document may control the child. A child that was killed never sends
`end`, so a truncated document is never taken for a complete one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any, TypeGuard

from holdfast.documents.types import (
    SECTION_KINDS,
    DocumentError,
    DocumentProperties,
    ParserOutput,
    Progress,
    Section,
)

MAX_SECTION_CHARS = 60_000
"""A longer section is sent as several frames. Chosen by hand; not measured."""
MAX_HEADING_CHARS = 300
MAX_HEADINGS = 8
MAX_TABLE_HEADER_CHARS = 1_000
"""Bounds for headings, their number, and table header rows. Chosen by hand; not measured."""
MAX_LINE_BYTES = 1024 * 1024
"""No valid frame is this long: 60,000 characters are 360,000 bytes at most, escaped."""
END_FRAME = b'{"end":true}\n'


def encode_frames(piece: ParserOutput) -> Iterator[bytes]:
    """Encode a piece of parser output as lines; a section without text gives none."""
    if isinstance(piece, Progress):
        yield _encode_line({"percent": piece.percent})
    elif isinstance(piece, DocumentProperties):
        yield _encode_line({"about": asdict(_shortened_properties(piece))})
    else:
        heading = [clean_text(step)[:MAX_HEADING_CHARS] for step in piece.heading[:MAX_HEADINGS]]
        above = clean_text(piece.above)[:MAX_TABLE_HEADER_CHARS]
        for text in _text_pieces(clean_text(piece.text)):
            if text.strip():
                yield _encode_line({"section": [text, heading, piece.page, piece.kind, above]})


def encode_error(reason: str, fix: str | None = None) -> bytes:
    """Encode the error that ends a document."""
    return _encode_line({"error": clean_text(reason)[:1_000], "fix": fix})


def decode_frame(line: bytes) -> ParserOutput | None:
    """Decode and validate a line; None at the end. Raise DocumentError for an error frame and for an invalid line."""
    try:
        frame = json.loads(line)
    except (ValueError, RecursionError):
        raise DocumentError("The parser returned invalid data; the document may be malicious.") from None
    match frame:
        case {"section": [str(text), list(heading), page, kind, str(above)]} if _is_valid_section(
            text, heading, page, kind
        ):
            return Section(text, tuple(heading), page, kind, above[:MAX_TABLE_HEADER_CHARS])
        case {"about": dict(about)}:
            return _decode_properties(about)
        case {"percent": int(percent)}:
            return Progress(max(0, min(100, percent)))
        case {"error": str(reason), "fix": str() | None as fix}:
            raise DocumentError(reason[:1_000], fix=fix and fix[:200])
        case {"end": True}:
            return None
    raise DocumentError("The parser returned invalid data; the document may be malicious.")


def _is_valid_section(text: str, heading: list[Any], page: object, kind: object) -> TypeGuard[Any]:
    good = (
        all(isinstance(step, str) and len(step) <= MAX_HEADING_CHARS for step in heading)
        and len(heading) <= MAX_HEADINGS
    )
    numbered = page is None or (isinstance(page, int) and page > 0)
    return good and numbered and kind in SECTION_KINDS and len(text) <= MAX_SECTION_CHARS


def _decode_properties(given: dict[str, Any]) -> DocumentProperties:
    def words(key: str) -> str | None:
        value = given.get(key)
        return value[:MAX_HEADING_CHARS] if isinstance(value, str) and value.strip() else None

    pages = given.get("pages")
    notes = given.get("notes")
    return DocumentProperties(
        words("title"), words("author"), words("date"), words("language"),
        pages if isinstance(pages, int) and pages >= 0 else None,
        words("format") or "",
        tuple(str(note)[:MAX_HEADING_CHARS] for note in notes[:20]) if isinstance(notes, list) else (),
    )  # fmt: skip


def _shortened_properties(about: DocumentProperties) -> DocumentProperties:
    def cut(text: str | None) -> str | None:
        return clean_text(" ".join(text.split()))[:MAX_HEADING_CHARS] if text else None

    notes = tuple(clean_text(note)[:MAX_HEADING_CHARS] for note in about.notes[:20])
    return replace(about, title=cut(about.title), author=cut(about.author), date=cut(about.date),
                   language=cut(about.language), notes=notes)  # fmt: skip


def _text_pieces(text: str) -> Iterator[str]:
    """Pieces of at most MAX_SECTION_CHARS, cut after a line end in the last half, else after a space, else anywhere."""
    start = 0
    while len(text) - start > MAX_SECTION_CHARS:
        half, stop = start + MAX_SECTION_CHARS // 2, start + MAX_SECTION_CHARS
        cut = max(text.rfind("\n", half, stop), -1) + 1 or text.rfind(" ", half, stop) + 1 or stop
        yield text[start:cut]
        start = cut
    yield text[start:]


_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f\ufffe\uffff]")
_SURROGATES = re.compile("[\ud800-\udfff]")


def clean_text(text: str) -> str:
    """The text without control characters and lone surrogates, lines ending in \\n, so that every store can hold it."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n").replace("\v", "\n")
    return _SURROGATES.sub("\ufffd", _CONTROLS.sub("", text))


def _encode_line(frame: dict[str, Any]) -> bytes:
    return json.dumps(frame, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
