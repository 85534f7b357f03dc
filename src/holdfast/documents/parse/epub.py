"""Books: the chapters in reading order, each walked like a page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from ..sniff import encoding_of
from ..types import About, DocumentError, Piece, Progress
from .markup import Walker, walked
from .packed import Packed, within
from .source import Source

_FIELDS = ("title", "creator", "date", "language")


def read(source: Source) -> Iterator[Piece]:
    with Packed(source) as packed:
        if "META-INF/encryption.xml" in packed.members and "META-INF/rights.xml" in packed.members:
            raise DocumentError("The book is locked by its publisher and cannot be read.")
        package = _package(packed)
        said, chapters = _contents(packed, package)
        if not chapters:
            raise DocumentError("The book lists no chapters.")
        yield said
        for number, name in enumerate(chapters, 1):
            data = packed.read(name)
            html = data.decode(encoding_of(data[:65_536]) or "utf-8", "replace")
            yield from walked(Walker(), html)
            yield Progress(min(99, number * 100 // len(chapters)))


def _package(packed: Packed) -> str:
    for what, tag, given in packed.events("META-INF/container.xml"):
        if what == "start" and tag == "rootfile":
            return within(unquote(given.get("full-path", "")), "")
    raise DocumentError("The book does not say where its contents are.")


def _contents(packed: Packed, package: str) -> tuple[About, list[str]]:
    folder = package.rsplit("/", 1)[0] if "/" in package else ""
    files: dict[str, str] = {}
    order: list[str] = []
    said: dict[str, str] = {}
    inside = ""
    for what, tag, given in packed.events(package):
        if what == "text":
            if inside in _FIELDS:
                said[inside] = said.get(inside, "") + tag
            continue
        inside = tag if what == "start" else ""
        if what == "start" and tag == "item" and re.search("html|xml", given.get("media-type", "")):
            files[given.get("id", "")] = within(unquote(given.get("href", "")), folder)
        elif what == "start" and tag == "itemref":
            order.append(given.get("idref", ""))
    chapters = [files[each] for each in dict.fromkeys(order) if files.get(each) in packed.members]
    date = said.get("date", "").strip()
    return About(
        said.get("title"), said.get("creator"), date[:10] if re.match(r"\d{4}", date) else None, said.get("language")
    ), chapters
