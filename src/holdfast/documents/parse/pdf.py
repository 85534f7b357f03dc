"""Parses PDF page by page, so that memory does not grow with the pages. Scanned pages go through OCR."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
from typing import Any

from holdfast.documents.parse.dispatch import ParserInput, load_library
from holdfast.documents.types import (
    SAVE_AGAIN_FIX,
    DocumentError,
    DocumentProperties,
    ParserOutput,
    Progress,
    Section,
)

_MAX_BOOKMARKS = 5_000
"""Further bookmarks are ignored. Chosen by hand; not measured."""
_MIN_PAGE_LETTERS = 16
"""A page with fewer letters and a picture counts as scanned. Chosen by hand; not measured."""


def parse(source: ParserInput) -> Iterator[ParserOutput]:
    pdfium = load_library("pypdfium2")
    try:
        document = pdfium.PdfDocument(source.path or source.read())
    except pdfium.PdfiumError as error:
        if "password" in str(error).lower():
            raise DocumentError("The PDF is locked with a password; unlock it first.") from None
        raise DocumentError(f"The PDF is broken: {str(error).rstrip('.')}.", fix=SAVE_AGAIN_FIX) from None
    with document:
        yield from _parse_pages(document, source)


def _parse_pages(document: Any, source: ParserInput) -> Iterator[ParserOutput]:
    count = len(document)
    if not count:
        raise DocumentError("The PDF has no pages.")
    if count > source.limits.pages:
        raise DocumentError(f"The PDF has {count:,} pages; the limit is {source.limits.pages:,}.")
    about = _properties(document, count)
    yield about
    headings = PdfOutline(document)
    bad: dict[str, list[int]] = {}
    for number in range(1, count + 1):
        try:
            for text in _page_text(document, number, source):
                yield Section(text, headings.of(number), number)
        except _UnreadablePage as why:
            bad.setdefault(str(why), []).append(number)
        yield Progress(min(99, number * 100 // count))
    notes = tuple(f"{_page_list(pages)}: {why}" for why, pages in bad.items())
    if sum(map(len, bad.values())) == count:
        raise DocumentError("No page of the PDF can be read.", fix=" ".join(notes))
    if notes:
        yield DocumentProperties(about.title, about.author, about.date, about.language, count, notes=notes)


class _UnreadablePage(Exception):
    """This page cannot be parsed; others may be."""


def _page_text(document: Any, number: int, source: ParserInput) -> Iterator[str]:
    pdfium = load_library("pypdfium2")
    try:
        page = document[number - 1]
    except pdfium.PdfiumError as error:
        raise _UnreadablePage(f"broken ({error})") from None
    try:
        words = page.get_textpage()
        text = reflowed_text(words.get_text_bounded())
        words.close()
        if sum(map(str.isalnum, text)) >= _MIN_PAGE_LETTERS or not _has_images(page):
            yield text
            return
        from holdfast.documents.parse.image import ocr_missing_reason, recognised_text

        if missing := ocr_missing_reason():
            if text.strip():
                yield text
            raise _UnreadablePage(missing)
        yield f"{text}\n{recognised_text(_page_pixels(page))}".strip()
    except pdfium.PdfiumError as error:
        raise _UnreadablePage(f"broken ({error})") from None
    finally:
        page.close()


def _has_images(page: Any) -> bool:
    """Whether the page has images; only its first 500 objects are examined, since some have many thousands."""
    kinds = load_library("pypdfium2.raw")
    return any(thing.type == kinds.FPDF_PAGEOBJ_IMAGE for thing in islice(page.get_objects(max_depth=3), 500))


def _page_pixels(page: Any) -> Any:
    """The pixels of a page at 200 dots per inch, or fewer for a very large page."""
    width, height = page.get_size()
    scale = min(200 / 72, 2_500 / max(width, height, 1))
    bitmap = page.render(scale=scale, rev_byteorder=False, may_draw_forms=False)
    pixels = bitmap.to_numpy().copy()
    bitmap.close()
    return pixels


class PdfOutline:
    """The bookmarks of a document, by page."""

    def __init__(self, document: Any) -> None:
        path: list[str] = []
        self.starts: list[int] = []
        self.paths: list[tuple[str, ...]] = []
        for mark in islice(document.get_toc(max_depth=8), _MAX_BOOKMARKS):
            path = [*path[: mark.level], " ".join((mark.get_title() or "").split())[:300]]
            target = mark.get_dest()
            page = target.get_index() if target is not None else None
            if page is not None and (not self.starts or page + 1 >= self.starts[-1]):
                self.starts.append(page + 1)
                self.paths.append(tuple(filter(None, path)))

    def of(self, page: int) -> tuple[str, ...]:
        """The first heading that begins on the page, else the last one before it."""
        first = bisect_right(self.starts, page - 1)
        if first < len(self.starts) and self.starts[first] == page:
            return self.paths[first]
        return self.paths[first - 1] if first else ()


def _properties(document: Any, pages: int) -> DocumentProperties:
    metadata = document.get_metadata_dict(skip_empty=True)
    created = re.match(r"D:(\d{4})(\d\d)?(\d\d)?", metadata.get("CreationDate", ""))
    date = "-".join(filter(None, created.groups())) if created else None
    return DocumentProperties(metadata.get("Title"), metadata.get("Author"), date, None, pages)


def reflowed_text(text: str) -> str:
    """The lines of a page joined into paragraphs: a full line that does not end a sentence continues in the next.

    A line counts as full from 70 % of the longest line and 30 characters. Chosen by hand; not measured.
    """
    # PDFium marks a word that is hyphenated at the end of a line with U+FFFE or U+0002.
    text = re.sub(r"[\ufffe\x02]\r?\n?", "", text).replace("\r\n", "\n")
    lines = [line.rstrip() for line in text.split("\n")]
    full_chars = max((len(line) for line in lines), default=0) * 0.7
    joined: list[str] = []
    for line in lines:
        before = joined[-1] if joined else ""
        last = before.rsplit("\n", 1)[-1]
        if (
            before
            and line
            and len(last) >= max(full_chars, 30)
            and last[-1] not in ".!?:;"
            and not _starts_list_item(line)
        ):
            joined[-1] = f"{before} {line}"
        else:
            joined.append(line)
    return "\n".join(joined).strip()


def _starts_list_item(line: str) -> bool:
    return bool(re.match(r"[•·▪◦‣*–-]\s|\(?\d{1,3}[.)]\s", line))


def _page_list(pages: list[int]) -> str:
    numbers = ", ".join(map(str, pages[:5])) + (f" and {len(pages) - 5} more" if len(pages) > 5 else "")
    return f"Page {numbers}" if len(pages) == 1 else f"Pages {numbers}"
