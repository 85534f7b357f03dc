"""Workbooks: each sheet a table under its name, rows as they are read; dates as dates, formulas by their last value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta

from ..types import About, DocumentError, Piece, Section
from .packed import Packed
from .source import Source

_BOOK = "xl/workbook.xml"
BLOCK_CHARS = 3_500
_COLUMNS = 16_384
_CELL_CHARS = 32_767
_EMPTY = 200
"""Empty cells before a filled one that are kept, so that columns stay in line with their header."""


def read(source: Source) -> Iterator[Piece]:
    with Packed(source) as packed:
        sheets = _sheets(packed)
        if not sheets:
            raise DocumentError("The workbook has no sheets.")
        said = packed.core_properties()
        yield About(said.title or source.name, said.author, said.date, said.language)
        book = Book(packed)
        for title, name in sheets:
            yield from tabled(book.rows(name), (title,))


def _sheets(packed: Packed) -> list[tuple[str, str]]:
    relations = packed.relations(_BOOK)
    found = []
    for what, tag, given in packed.events(_BOOK):
        target = relations.get(given.get("id", "")) if what == "start" and tag == "sheet" else None
        if target in packed.members:
            found.append((given.get("name", ""), str(target)))
    return found


def tabled(rows: Iterator[list[str]], heading: tuple[str, ...] = ()) -> Iterator[Section]:
    """Rows as tables of a readable size; each but the first knows the header row."""
    held: list[str] = []
    size, header = 0, ""
    for row in rows:
        line = " | ".join(" ".join(cell.split()) for cell in row).rstrip(" |")
        if not line:
            continue
        if held and size + len(line) > BLOCK_CHARS:
            yield Section("\n".join(held), heading, None, "table", header)
            header = header or held[0][:1_000]
            held, size = [], 0
        held.append(line)
        size += len(line) + 1
    if held:
        yield Section("\n".join(held), heading, None, "table", header)


class Book:
    """What the cells of all sheets refer to: shared texts and which styles are dates."""

    def __init__(self, packed: Packed) -> None:
        self.packed = packed
        self.texts = list(self._texts())
        self.dates = self._date_styles()
        self.epoch = datetime(1899, 12, 30)
        for what, tag, given in packed.events(_BOOK):
            if what == "start" and tag == "workbookPr" and given.get("date1904") in ("1", "true"):
                self.epoch = datetime(1904, 1, 1)

    def _texts(self) -> Iterator[str]:
        if "xl/sharedStrings.xml" not in self.packed.members:
            return
        words: list[str] = []
        writing = phonetic = False
        for what, tag, _ in self.packed.events("xl/sharedStrings.xml"):
            if what == "text":
                words += [tag] if writing and not phonetic else []
            elif what == "start":
                writing, phonetic = tag == "t", phonetic or tag == "rPh"
            else:
                writing, phonetic = False, phonetic and tag != "rPh"
                if tag == "si":
                    yield "".join(words)
                    words = []

    def _date_styles(self) -> frozenset[int]:
        """Numbers of the cell formats that show a day or a time."""
        if "xl/styles.xml" not in self.packed.members:
            return frozenset()
        custom: set[int] = set()
        found, count, listing = set(), 0, False
        for what, tag, given in self.packed.events("xl/styles.xml"):
            if tag == "cellXfs" and what != "text":
                listing = what == "start"
            elif (
                what == "start"
                and tag == "numFmt"
                and re.search(r"[ymdhs]", re.sub(r'"[^"]*"|\[[^\]]*\]|\\.', "", given.get("formatCode", "").lower()))
            ):
                custom.add(_number(given.get("numFmtId")))
            elif what == "start" and tag == "xf" and listing:
                style = _number(given.get("numFmtId"))
                if 14 <= style <= 22 or 45 <= style <= 47 or style in custom:
                    found.add(count)
                count += 1
        return frozenset(found)

    def rows(self, name: str) -> Iterator[list[str]]:
        row: list[str] = []
        cell: dict[str, str] = {}
        words: list[str] = []
        writing = False
        for what, tag, given in self.packed.events(name):
            if what == "text":
                words += [tag] if writing else []
            elif what == "start":
                writing = tag in ("v", "t")
                if tag == "c":
                    cell, words = given, []
            else:
                writing = False
                if tag == "c":
                    self._place(row, cell, "".join(words)[:_CELL_CHARS])
                elif tag == "row":
                    yield row
                    row = []

    def _place(self, row: list[str], cell: dict[str, str], words: str) -> None:
        if not words or len(row) >= _COLUMNS:
            return
        column = _column(cell.get("r", ""))
        if column is not None:
            row.extend([""] * min(_EMPTY, max(0, column - len(row))))
        row.append(self._shown(cell, words))

    def _shown(self, cell: dict[str, str], words: str) -> str:
        if cell.get("t") == "s":
            number = _number(words)
            return self.texts[number] if 0 <= number < len(self.texts) else ""
        if cell.get("t") == "b":
            return "TRUE" if words == "1" else "FALSE"
        if cell.get("t") in (None, "n") and _number(cell.get("s")) in self.dates:
            return self._day(words)
        return words

    def _day(self, words: str) -> str:
        try:
            at = self.epoch + timedelta(days=float(words))
        except (ValueError, OverflowError):
            return words
        at = at.replace(microsecond=0)
        return at.date().isoformat() if not (at.hour or at.minute or at.second) else at.isoformat(" ")


def _number(text: str | None) -> int:
    return int(text) if text and re.fullmatch(r"\d{1,9}", text) else -1


def _column(reference: str) -> int | None:
    found = re.match(r"[A-Z]{1,3}", reference)
    if not found:
        return None
    number = 0
    for letter in found.group():
        number = number * 26 + ord(letter) - 64
    return number - 1
