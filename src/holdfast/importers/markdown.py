"""A folder of Markdown: a file is a note, its path is its key, its front matter is its metadata."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from ..errors import InvalidInput
from ..names import KIND
from .found import Found, Statement, clean, pieces, unreadable, when, wrong
from .sources import Source

_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*\r?$\n?", re.S | re.M)
_ENTRY = re.compile(r"([^\s:#][^:]*?)\s*:(?:\s+(.*))?")
_ITEM = re.compile(r"\s*-\s+(.*)")
SUFFIXES = (".md", ".markdown", ".mdx")


def read(source: Source) -> Iterator[Found]:
    """Notes in the order of their paths; hidden files and folders are left out."""
    if source.folder is None:
        assert source.file is not None
        source.file.seek(0)
        return _notes(source.file.read(), Path(Path(source.name).name))
    paths = sorted(path for path in source.folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    shown = [path for path in paths if not any(part.startswith(".") for part in path.relative_to(source.folder).parts)]
    if not shown:
        raise unreadable(f"There is no Markdown in {source.folder}, and no export that is known here.")
    return _all(source.folder, shown)


def _all(folder: Path, paths: list[Path]) -> Iterator[Found]:
    for path in paths:
        yield from _notes(path.read_bytes(), path.relative_to(folder))


def _notes(data: bytes, path: Path) -> Iterator[Found]:
    where = path.as_posix()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as bad:
        raise unreadable(f"{where} is not UTF-8 at byte {bad.start}.") from None
    front = _FRONT.match(text)
    about = {} if front is None else _front(front[1], where)
    body = clean(text[front.end() :] if front else text).strip()
    kind, key = about.pop("kind", "note"), about.pop("key", path.with_suffix("").as_posix())
    if not isinstance(kind, str) or not KIND.fullmatch(kind):
        raise wrong(where, "kind", kind, "a kind, such as note")
    if not isinstance(key, str) or not key.strip():
        raise wrong(where, "key", key, "text")
    at = _written(about, where)
    for n, piece in enumerate(pieces(body), 1):
        yield Statement(piece, kind, clean(key) if n == 1 else f"{clean(key)}#{n}", metadata=about, occurred_at=at)


def _written(about: dict[str, Any], where: str) -> datetime | None:
    """A date that cannot be read stays metadata."""
    try:
        return when(about, where, "date", "created", "created_at")
    except InvalidInput:
        return None


def _front(text: str, where: str) -> dict[str, Any]:
    """The plain part of YAML that front matter is written in: names with values or lists, nothing nested deeper."""
    found: dict[str, Any] = {}
    name = ""
    for number, line in enumerate(text.splitlines(), 2):
        item, entry = _ITEM.fullmatch(line), _ENTRY.fullmatch(line)
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if item and name and isinstance(found[name] or [], list):
            found[name] = [*(found[name] or []), _value(item[1])]
        elif entry and not line[0].isspace():
            name = entry[1].strip("\"'")
            found[name] = _value(entry[2] or "")
        elif line[0].isspace() and name:
            found[name] = f"{found[name] or ''}\n{line.strip()}".strip()  # more of the same, kept as it is written
        else:
            raise unreadable(f"{where}, line {number}: the front matter is not `name: value`.", None)
    return {name: value for name, value in found.items() if value is not None}


def _value(text: str) -> Any:
    text = text.strip()
    if text in ("", "~", "null"):
        return None
    if text in ("true", "false"):
        return text == "true"
    if text.startswith("[") and text.endswith("]"):
        return [_value(each) for each in text[1:-1].split(",") if each.strip()]
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return clean(text[1:-1])
    try:
        return json.loads(text) if re.fullmatch(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,9})?", text) else clean(text)
    except ValueError:
        return clean(text)
