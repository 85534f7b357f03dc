"""Parses web pages: the article without its surroundings, or the whole page if there is none. Other XML: its text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from holdfast.documents.parse.dispatch import ParserInput, load_library
from holdfast.documents.parse.html_sections import HtmlWalker, walk_html
from holdfast.documents.parse.text import whole_text
from holdfast.documents.types import DocumentProperties, ParserOutput

_MIN_ARTICLE_CHARS = 250
"""If the article is shorter, the whole page is parsed. Chosen by hand; not measured."""
_MAX_TREE_CHARS = 5_000_000
"""Longer pages are parsed whole, since extracting the article takes about 50 times their size in memory."""


def parse(source: ParserInput) -> Iterator[ParserOutput]:
    html = whole_text(source)
    if source.format == "xml" or len(html) > _MAX_TREE_CHARS:
        yield from _parse_whole_page(html, source.name)
        return
    article = _extract_article(html)
    if article is None:
        yield from _parse_whole_page(html, source.name)
        return
    about, body = article
    yield about
    yield from walk_html(HtmlWalker(), body)


def _extract_article(html: str) -> tuple[DocumentProperties, str] | None:
    trafilatura = load_library("trafilatura")
    try:
        article: Any = trafilatura.extract_with_metadata(
            html, output_format="html", include_comments=False, include_tables=True, include_formatting=True
        )
    except RecursionError:
        return None
    body = (article.text if article is not None else "") or ""
    if sum(len(section.text) for section in walk_html(HtmlWalker(), body)) < _MIN_ARTICLE_CHARS:
        return None
    return DocumentProperties(
        article.title, article.author, article.date, article.language or _declared_language(html)
    ), body


def _declared_language(html: str) -> str | None:
    walker = HtmlWalker()
    walker.feed(html[:4_096])
    return walker.metadata.get("lang") or None


def _parse_whole_page(html: str, name: str | None) -> Iterator[ParserOutput]:
    walker = HtmlWalker()
    yield from walk_html(walker, html)
    metadata = walker.metadata
    yield DocumentProperties(
        walker.title or name, metadata.get("author") or None, walker.date, metadata.get("lang") or None
    )
