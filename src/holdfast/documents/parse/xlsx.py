"""Parses workbooks: each sheet as a table under its name; dates as dates, formulas as their last value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta

from holdfast.documents.parse.dispatch import ParserInput
from holdfast.documents.parse.safe_zip import SafeZip
from holdfast.documents.types import TARGET_BLOCK_CHARS, DocumentError, DocumentProperties, ParserOutput, Section

_WORKBOOK_PART = "xl/workbook.xml"
_MAX_COLUMNS = 16_384
_MAX_CELL_CHARS = 32_767
"""The limits of Excel itself."""
_MAX_EMPTY_CELLS = 200
"""Empty cells kept before a filled one, so that columns match their header. Chosen by hand; not measured."""


def parse(source: ParserInput) -> Iterator[ParserOutput]:
    with SafeZip(source) as packed:
        sheets = _sheet_parts(packed)
        if not sheets:
            raise DocumentError("The workbook has no sheets.")
        core = packed.core_properties()
        yield DocumentProperties(core.title or source.name, core.author, core.date, core.language)
        book = Workbook(packed)
        for title, name in sheets:
            yield from table_sections(book.rows(name), (title,))


def _sheet_parts(packed: SafeZip) -> list[tuple[str, str]]:
    relations = packed.relations(_WORKBOOK_PART)
    sheets = []
    for what, tag, given in packed.events(_WORKBOOK_PART):
        target = relations.get(given.get("id", "")) if what == "start" and tag == "sheet" else None
        if target in packed.members:
            sheets.append((given.get("name", ""), str(target)))
    return sheets


def table_sections(rows: Iterator[list[str]], heading: tuple[str, ...] = ()) -> Iterator[Section]:
    """Yield rows as table sections of about TARGET_BLOCK_CHARS; each but the first has the header row."""
    held: list[str] = []
    size, header = 0, ""
    for row in rows:
        line = " | ".join(" ".join(cell.split()) for cell in row).rstrip(" |")
        if not line:
            continue
        if held and size + len(line) > TARGET_BLOCK_CHARS:
            yield Section("\n".join(held), heading, None, "table", header)
            header = header or held[0][:1_000]
            held, size = [], 0
        held.append(line)
        size += len(line) + 1
    if held:
        yield Section("\n".join(held), heading, None, "table", header)


class Workbook:
    """What the cells of all sheets refer to: shared strings and the styles that show dates."""

    def __init__(self, packed: SafeZip) -> None:
        self.packed = packed
        self.texts = list(self._texts())
        self.dates = self._date_styles()
        self.epoch = datetime(1899, 12, 30)
        for what, tag, given in packed.events(_WORKBOOK_PART):
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
        """The numbers of the cell formats that show a date or a time."""
        if "xl/styles.xml" not in self.packed.members:
            return frozenset()
        custom: set[int] = set()
        styles, count, listing = set(), 0, False
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
                    styles.add(count)
                count += 1
        return frozenset(styles)

    def rows(self, name: str) -> Iterator[list[str]]:
        """Yield the rows of a sheet as texts."""
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
                    self._add_cell(row, cell, "".join(words)[:_MAX_CELL_CHARS])
                elif tag == "row":
                    yield row
                    row = []

    def _add_cell(self, row: list[str], cell: dict[str, str], words: str) -> None:
        if not words or len(row) >= _MAX_COLUMNS:
            return
        column = _column_index(cell.get("r", ""))
        if column is not None:
            row.extend([""] * min(_MAX_EMPTY_CELLS, max(0, column - len(row))))
        row.append(self._cell_text(cell, words))

    def _cell_text(self, cell: dict[str, str], words: str) -> str:
        if cell.get("t") == "s":
            number = _number(words)
            return self.texts[number] if 0 <= number < len(self.texts) else ""
        if cell.get("t") == "b":
            return "TRUE" if words == "1" else "FALSE"
        if cell.get("t") in (None, "n") and _number(cell.get("s")) in self.dates:
            return self._date_text(words)
        return words

    def _date_text(self, words: str) -> str:
        try:
            at = self.epoch + timedelta(days=float(words))
        except (ValueError, OverflowError):
            return words
        at = at.replace(microsecond=0)
        return at.date().isoformat() if not (at.hour or at.minute or at.second) else at.isoformat(" ")


def _number(text: str | None) -> int:
    return int(text) if text and re.fullmatch(r"\d{1,9}", text) else -1


def _column_index(reference: str) -> int | None:
    letters = re.match(r"[A-Z]{1,3}", reference)
    if not letters:
        return None
    number = 0
    for letter in letters.group():
        number = number * 26 + ord(letter) - 64
    return number - 1
