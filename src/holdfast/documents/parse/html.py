"""Web pages: the article without what surrounds it; a page that is no article, all of it. Other XML: its words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..types import About, Piece, Section
from .markup import Walker, walked
from .source import Source, library
from .text import whole_text

_SHORT = 250
"""An article of fewer characters is none: then the whole page is read."""
_TREE = 5_000_000
"""Longer pages are read whole: an article finder takes 50 times their size in memory."""


def read(source: Source) -> Iterator[Piece]:
    html = whole_text(source)
    if source.format == "xml" or len(html) > _TREE:
        yield from _whole(html, source.name)
        return
    article = _article(html)
    if article is None:
        yield from _whole(html, source.name)
        return
    about, body = article
    yield about
    yield from walked(Walker(), body)


def _article(html: str) -> tuple[About, str] | None:
    trafilatura = library("trafilatura")
    try:
        found: Any = trafilatura.extract_with_metadata(
            html, output_format="html", include_comments=False, include_tables=True, include_formatting=True
        )
    except RecursionError:
        return None
    body = (found.text if found is not None else "") or ""
    if sum(len(section.text) for section in walked(Walker(), body)) < _SHORT:
        return None
    return About(found.title, found.author, found.date, found.language or _language(html)), body


def _language(html: str) -> str | None:
    walker = Walker()
    walker.feed(html[:4_096])
    return walker.said.get("lang") or None


def _whole(html: str, name: str | None) -> Iterator[Piece]:
    walker = Walker()
    yield from _words(walked(walker, html))
    yield About(walker.title or name, walker.said.get("author") or None, walker.date, walker.said.get("lang") or None)


def _words(found: Iterator[Section]) -> Iterator[Section]:
    yield from found
