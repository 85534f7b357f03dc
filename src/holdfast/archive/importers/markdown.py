"""Parses a folder of Markdown: each file is a note, its path is the key, its front matter the metadata."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from holdfast.archive.importers.files import ImportSource
from holdfast.archive.importers.types import (
    ImportedItem,
    ImportedStatement,
    clean_text,
    field_error,
    first_moment,
    message_pieces,
    unreadable_error,
)
from holdfast.domain.errors import InvalidInput
from holdfast.domain.identifiers import KIND_PATTERN

_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*\r?$\n?", re.S | re.M)
_ENTRY = re.compile(r"([^\s:#][^:]*?)\s*:(?:\s+(.*))?")
_ITEM = re.compile(r"\s*-\s+(.*)")
SUFFIXES = (".md", ".markdown", ".mdx")


def parse_notes(source: ImportSource) -> Iterator[ImportedItem]:
    """Parse the notes in the order of their paths; hidden files and folders are left out."""
    if source.folder is None:
        assert source.file is not None
        source.file.seek(0)
        return _parse_note(source.file.read(), Path(source.file_name))
    paths = sorted(path for path in source.folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    visible = [
        path for path in paths if not any(part.startswith(".") for part in path.relative_to(source.folder).parts)
    ]
    if not visible:
        raise unreadable_error(f"{source.folder} contains neither Markdown nor a known export.")
    return _parse_files(source.folder, visible)


def _parse_files(folder: Path, paths: list[Path]) -> Iterator[ImportedItem]:
    for path in paths:
        yield from _parse_note(path.read_bytes(), path.relative_to(folder))


def _parse_note(data: bytes, path: Path) -> Iterator[ImportedItem]:
    where = path.as_posix()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as bad:
        raise unreadable_error(f"{where} is not UTF-8 at byte {bad.start}.") from None
    front = _FRONT_MATTER.match(text)
    about = {} if front is None else _parse_front_matter(front[1], where)
    body = clean_text(text[front.end() :] if front else text).strip()
    kind, key = about.pop("kind", "note"), about.pop("key", path.with_suffix("").as_posix())
    if not isinstance(kind, str) or not KIND_PATTERN.fullmatch(kind):
        raise field_error(where, "kind", kind, "a kind, such as note")
    if not isinstance(key, str) or not key.strip():
        raise field_error(where, "key", key, "text")
    at = _note_date(about, where)
    for n, piece in enumerate(message_pieces(body), 1):
        yield ImportedStatement(
            piece, kind, clean_text(key) if n == 1 else f"{clean_text(key)}#{n}", metadata=about, occurred_at=at
        )


def _note_date(about: dict[str, Any], where: str) -> datetime | None:
    """The date of a note; one that cannot be parsed is left in the metadata."""
    try:
        return first_moment(about, where, "date", "created", "created_at")
    except InvalidInput:
        return None


def _parse_front_matter(text: str, where: str) -> dict[str, Any]:
    """Parse front matter in the simple subset of YAML that is common: names with values or lists, not nested."""
    fields: dict[str, Any] = {}
    name = ""
    for number, line in enumerate(text.splitlines(), 2):
        item, entry = _ITEM.fullmatch(line), _ENTRY.fullmatch(line)
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if item and name and isinstance(fields[name] or [], list):
            fields[name] = [*(fields[name] or []), _parse_value(item[1])]
        elif entry and not line[0].isspace():
            name = entry[1].strip("\"'")
            fields[name] = _parse_value(entry[2] or "")
        elif line[0].isspace() and name:
            fields[name] = f"{fields[name] or ''}\n{line.strip()}".strip()  # a continuation line, kept as it is written
        else:
            raise unreadable_error(f"{where}, line {number}: the front matter is not `name: value`.", None)
    return {name: value for name, value in fields.items() if value is not None}


def _parse_value(text: str) -> Any:
    text = text.strip()
    if text in ("", "~", "null"):
        return None
    if text in ("true", "false"):
        return text == "true"
    if text.startswith("[") and text.endswith("]"):
        return [_parse_value(each) for each in text[1:-1].split(",") if each.strip()]
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return clean_text(text[1:-1])
    try:
        return json.loads(text) if re.fullmatch(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,9})?", text) else clean_text(text)
    except ValueError:
        return clean_text(text)
