"""Parses EPUB books: the chapters in reading order, each as HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from holdfast.documents.parse.dispatch import ParserInput
from holdfast.documents.parse.html_sections import HtmlWalker, walk_html
from holdfast.documents.parse.safe_zip import SafeZip, member_path
from holdfast.documents.sniff import encoding_of
from holdfast.documents.types import DocumentError, DocumentProperties, ParserOutput, Progress

_FIELDS = ("title", "creator", "date", "language")


def parse(source: ParserInput) -> Iterator[ParserOutput]:
    with SafeZip(source) as packed:
        if "META-INF/encryption.xml" in packed.members and "META-INF/rights.xml" in packed.members:
            raise DocumentError("The book is locked by its publisher and cannot be read.")
        package = _package(packed)
        properties, chapters = _contents(packed, package)
        if not chapters:
            raise DocumentError("The book lists no chapters.")
        yield properties
        for number, name in enumerate(chapters, 1):
            data = packed.read(name)
            html = data.decode(encoding_of(data[:65_536]) or "utf-8", "replace")
            yield from walk_html(HtmlWalker(), html)
            yield Progress(min(99, number * 100 // len(chapters)))


def _package(packed: SafeZip) -> str:
    for what, tag, given in packed.events("META-INF/container.xml"):
        if what == "start" and tag == "rootfile":
            return member_path(unquote(given.get("full-path", "")), "")
    raise DocumentError("The book does not say where its contents are.")


def _contents(packed: SafeZip, package: str) -> tuple[DocumentProperties, list[str]]:
    folder = package.rsplit("/", 1)[0] if "/" in package else ""
    files: dict[str, str] = {}
    order: list[str] = []
    texts: dict[str, str] = {}
    inside = ""
    for what, tag, given in packed.events(package):
        if what == "text":
            if inside in _FIELDS:
                texts[inside] = texts.get(inside, "") + tag
            continue
        inside = tag if what == "start" else ""
        if what == "start" and tag == "item" and re.search("html|xml", given.get("media-type", "")):
            files[given.get("id", "")] = member_path(unquote(given.get("href", "")), folder)
        elif what == "start" and tag == "itemref":
            order.append(given.get("idref", ""))
    chapters = [files[each] for each in dict.fromkeys(order) if files.get(each) in packed.members]
    date = texts.get("date", "").strip()
    return DocumentProperties(
        texts.get("title"), texts.get("creator"), date[:10] if re.match(r"\d{4}", date) else None, texts.get("language")
    ), chapters
