"""Pure: the language of the child: one piece per line, as JSON; the parent believes none of it unchecked.

    {"section": [text, heading, page, kind, above]}   {"about": {…}}   {"percent": 40}
    {"error": "…", "fix": "…"}                        {"end": true}

A child that was killed never says `end`, so a cut-off document is never taken for a whole one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any, TypeGuard

from .types import KINDS, About, DocumentError, Piece, Progress, Section

SECTION_CHARS = 60_000
"""A longer section travels in pieces."""
HEADING_CHARS = 300
HEADINGS = 8
ABOVE_CHARS = 1_000
LINE_BYTES = 1024 * 1024
"""No honest frame is as long as this: 60,000 characters are 360,000 bytes at most, escaped."""
END = b'{"end":true}\n'


def framed(piece: Piece) -> Iterator[bytes]:
    """The piece as lines; none for a section without text."""
    if isinstance(piece, Progress):
        yield _line({"percent": piece.percent})
    elif isinstance(piece, About):
        yield _line({"about": asdict(_short(piece))})
    else:
        heading = [clean(step)[:HEADING_CHARS] for step in piece.heading[:HEADINGS]]
        above = clean(piece.above)[:ABOVE_CHARS]
        for text in _pieces(clean(piece.text)):
            if text.strip():
                yield _line({"section": [text, heading, piece.page, piece.kind, above]})


def failed(reason: str, fix: str | None = None) -> bytes:
    return _line({"error": clean(reason)[:1_000], "fix": fix})


def unframed(line: bytes) -> Piece | None:
    """What a line says; None at the end. Raises DocumentError for the child's error, and for nonsense."""
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        raise DocumentError("The parser's answer makes no sense; the document may be hostile.") from None
    match said:
        case {"section": [str(text), list(heading), page, kind, str(above)]} if _fits(text, heading, page, kind):
            return Section(text, tuple(heading), page, kind, above[:ABOVE_CHARS])
        case {"about": dict(about)}:
            return _about(about)
        case {"percent": int(percent)}:
            return Progress(max(0, min(100, percent)))
        case {"error": str(reason), "fix": str() | None as fix}:
            raise DocumentError(reason[:1_000], fix=fix and fix[:200])
        case {"end": True}:
            return None
    raise DocumentError("The parser's answer makes no sense; the document may be hostile.")


def _fits(text: str, heading: list[Any], page: object, kind: object) -> TypeGuard[Any]:
    good = all(isinstance(step, str) and len(step) <= HEADING_CHARS for step in heading) and len(heading) <= HEADINGS
    numbered = page is None or (isinstance(page, int) and page > 0)
    return good and numbered and kind in KINDS and len(text) <= SECTION_CHARS


def _about(said: dict[str, Any]) -> About:
    def words(key: str) -> str | None:
        value = said.get(key)
        return value[:HEADING_CHARS] if isinstance(value, str) and value.strip() else None

    pages = said.get("pages")
    notes = said.get("notes")
    return About(
        words("title"), words("author"), words("date"), words("language"),
        pages if isinstance(pages, int) and pages >= 0 else None,
        words("format") or "",
        tuple(str(note)[:HEADING_CHARS] for note in notes[:20]) if isinstance(notes, list) else (),
    )  # fmt: skip


def _short(about: About) -> About:
    def cut(text: str | None) -> str | None:
        return clean(" ".join(text.split()))[:HEADING_CHARS] if text else None

    notes = tuple(clean(note)[:HEADING_CHARS] for note in about.notes[:20])
    return replace(about, title=cut(about.title), author=cut(about.author), date=cut(about.date),
                   language=cut(about.language), notes=notes)  # fmt: skip


def _pieces(text: str) -> Iterator[str]:
    """Cut at a line's end where there is one in the last half, else at a space, else anywhere."""
    start = 0
    while len(text) - start > SECTION_CHARS:
        half, stop = start + SECTION_CHARS // 2, start + SECTION_CHARS
        cut = max(text.rfind("\n", half, stop), -1) + 1 or text.rfind(" ", half, stop) + 1 or stop
        yield text[start:cut]
        start = cut
    yield text[start:]


_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f\ufffe\uffff]")
_SURROGATES = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """Without control characters and lone surrogates, lines ending in \\n: text that every store can hold."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n").replace("\v", "\n")
    return _SURROGATES.sub("\ufffd", _CONTROLS.sub("", text))


def _line(frame: dict[str, Any]) -> bytes:
    return json.dumps(frame, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
