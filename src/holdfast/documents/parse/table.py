"""CSV and JSON: rows as a table, values as lines that say where they stand."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from ..sniff import delimiter_of
from ..types import About, DocumentError, Piece, Section
from .source import Source
from .text import blocks, lines
from .xlsx import tabled

_CELL_CHARS = 1_000_000
_JSON_BYTES = 128 * 1024 * 1024


def read(source: Source) -> Iterator[Piece]:
    yield About(title=source.name)
    if source.format == "json":
        for block in blocks(_said(source), "text"):
            yield Section(block)
    else:
        yield from _rows(source)


def _rows(source: Source) -> Iterator[Piece]:
    read_lines = lines(source)
    first = list(islice(read_lines, 40))
    csv.field_size_limit(_CELL_CHARS)
    delimiter = delimiter_of("".join(first)) or delimiter_of("".join(first[:1])) or ","
    rows = csv.reader(chain(first, read_lines), delimiter=delimiter)
    try:
        for number, section in enumerate(tabled(rows)):
            yield section
            if number % 20 == 19:
                yield source.percent()
    except csv.Error as error:
        raise DocumentError(f"The table is broken in line {rows.line_num:,}: {error}.") from None


def _said(source: Source) -> Iterator[str]:
    """One value, or one to a line."""
    if source.size > _JSON_BYTES:
        raise DocumentError(f"The JSON is {source.size:,} bytes; the limit is {_JSON_BYTES:,}.")
    text = "".join(lines(source))
    try:
        values = [json.loads(text)]
    except RecursionError:
        raise DocumentError("The JSON is nested too deeply to be read.") from None
    except ValueError as error:
        values = _each_line(text, error)
    for value in values:
        yield from _told(value)
        yield "\n"


def _each_line(text: str, why: ValueError) -> list[Any]:
    found = [line for line in text.splitlines() if line.strip()]
    try:
        if len(found) < 2:
            raise why
        return [json.loads(line) for line in found]
    except (ValueError, RecursionError):
        raise DocumentError(f"The JSON is broken: {why}.") from None


def _told(value: Any) -> Iterator[str]:
    """`user.name: Ada` for each value at the end of a path, without recursion."""
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        path, this = waiting.pop()
        if isinstance(this, dict) and this:
            waiting += [(f"{path}.{key}" if path else str(key), each) for key, each in reversed(this.items())]
        elif isinstance(this, list) and this and not all(isinstance(each, str | int | float) for each in this):
            waiting += [(f"{path}[{n}]", this[n]) for n in range(len(this) - 1, -1, -1)]
        else:
            shown = this if isinstance(this, str) else json.dumps(this, ensure_ascii=False)
            yield f"{path[-500:]}: {shown}\n" if path else f"{shown}\n"
