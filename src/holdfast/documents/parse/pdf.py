"""PDF: page by page, so that a thousand pages take no more memory than one. Pages that are pictures are read by OCR."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
from typing import Any

from ..types import SAVE_AGAIN, About, DocumentError, Piece, Progress, Section
from .source import Source, library

_BOOKMARKS = 5_000
_BARE = 16
"""A page with fewer letters than this and a picture on it was scanned."""


def read(source: Source) -> Iterator[Piece]:
    pdfium = library("pypdfium2")
    try:
        document = pdfium.PdfDocument(source.path or source.read())
    except pdfium.PdfiumError as error:
        if "password" in str(error).lower():
            raise DocumentError("The PDF is locked with a password; unlock it first.") from None
        raise DocumentError(f"The PDF is broken: {str(error).rstrip('.')}.", fix=SAVE_AGAIN) from None
    with document:
        yield from _pages(document, source)


def _pages(document: Any, source: Source) -> Iterator[Piece]:
    count = len(document)
    if not count:
        raise DocumentError("The PDF has no pages.")
    if count > source.limits.pages:
        raise DocumentError(f"The PDF has {count:,} pages; the limit is {source.limits.pages:,}.")
    about = _about(document, count)
    yield about
    headings = Headings(document)
    bad: dict[str, list[int]] = {}
    for number in range(1, count + 1):
        try:
            for text in _page_text(document, number, source):
                yield Section(text, headings.of(number), number)
        except _Unread as why:
            bad.setdefault(str(why), []).append(number)
        yield Progress(min(99, number * 100 // count))
    notes = tuple(f"{_listed(pages)}: {why}" for why, pages in bad.items())
    if sum(map(len, bad.values())) == count:
        raise DocumentError("No page of the PDF can be read.", fix=" ".join(notes))
    if notes:
        yield About(about.title, about.author, about.date, about.language, count, notes=notes)


class _Unread(Exception):
    """This page cannot be read; others may."""


def _page_text(document: Any, number: int, source: Source) -> Iterator[str]:
    pdfium = library("pypdfium2")
    try:
        page = document[number - 1]
    except pdfium.PdfiumError as error:
        raise _Unread(f"broken ({error})") from None
    try:
        words = page.get_textpage()
        text = flowing(words.get_text_bounded())
        words.close()
        if sum(map(str.isalnum, text)) >= _BARE or not _pictures(page):
            yield text
            return
        from .image import ocr_missing, read_pixels

        if missing := ocr_missing():
            if text.strip():
                yield text
            raise _Unread(missing)
        yield f"{text}\n{read_pixels(_rendered(page))}".strip()
    except pdfium.PdfiumError as error:
        raise _Unread(f"broken ({error})") from None
    finally:
        page.close()


def _pictures(page: Any) -> bool:
    """Whether pictures are on it; a page of thousands of strokes is not searched to the end."""
    kinds = library("pypdfium2.raw")
    return any(thing.type == kinds.FPDF_PAGEOBJ_IMAGE for thing in islice(page.get_objects(max_depth=3), 500))


def _rendered(page: Any) -> Any:
    """Its pixels, at 200 dots per inch, or fewer for a page of monstrous size."""
    width, height = page.get_size()
    scale = min(200 / 72, 2_500 / max(width, height, 1))
    bitmap = page.render(scale=scale, rev_byteorder=False, may_draw_forms=False)
    pixels = bitmap.to_numpy().copy()
    bitmap.close()
    return pixels


class Headings:
    """The document's own table of contents, by page."""

    def __init__(self, document: Any) -> None:
        trail: list[str] = []
        self.starts: list[int] = []
        self.paths: list[tuple[str, ...]] = []
        for mark in islice(document.get_toc(max_depth=8), _BOOKMARKS):
            trail = [*trail[: mark.level], " ".join((mark.get_title() or "").split())[:300]]
            target = mark.get_dest()
            page = target.get_index() if target is not None else None
            if page is not None and (not self.starts or page + 1 >= self.starts[-1]):
                self.starts.append(page + 1)
                self.paths.append(tuple(filter(None, trail)))

    def of(self, page: int) -> tuple[str, ...]:
        """The first heading that begins on the page, else the last one before it."""
        first = bisect_right(self.starts, page - 1)
        if first < len(self.starts) and self.starts[first] == page:
            return self.paths[first]
        return self.paths[first - 1] if first else ()


def _about(document: Any, pages: int) -> About:
    said = document.get_metadata_dict(skip_empty=True)
    found = re.match(r"D:(\d{4})(\d\d)?(\d\d)?", said.get("CreationDate", ""))
    date = "-".join(filter(None, found.groups())) if found else None
    return About(said.get("Title"), said.get("Author"), date, None, pages)


def flowing(text: str) -> str:
    """Lines of a page as paragraphs: a line that is full and does not end a sentence goes on in the next."""
    # U+FFFE and U+0002 are PDFium's marks of a word parted at a line's end.
    text = re.sub(r"[\ufffe\x02]\r?\n?", "", text).replace("\r\n", "\n")
    lines = [line.rstrip() for line in text.split("\n")]
    full = max((len(line) for line in lines), default=0) * 0.7
    joined: list[str] = []
    for line in lines:
        before = joined[-1] if joined else ""
        last = before.rsplit("\n", 1)[-1]
        if before and line and len(last) >= max(full, 30) and last[-1] not in ".!?:;" and not _begins(line):
            joined[-1] = f"{before} {line}"
        else:
            joined.append(line)
    return "\n".join(joined).strip()


def _begins(line: str) -> bool:
    return bool(re.match(r"[•·▪◦‣*–-]\s|\(?\d{1,3}[.)]\s", line))


def _listed(pages: list[int]) -> str:
    shown = ", ".join(map(str, pages[:5])) + (f" and {len(pages) - 5} more" if len(pages) > 5 else "")
    return f"Page {shown}" if len(pages) == 1 else f"Pages {shown}"
