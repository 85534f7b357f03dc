"""Parses CSV as table rows, and JSON as lines of `path: value`."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from holdfast.documents.parse.dispatch import ParserInput
from holdfast.documents.parse.text import read_lines, text_blocks
from holdfast.documents.parse.xlsx import table_sections
from holdfast.documents.sniff import delimiter_of
from holdfast.documents.types import DocumentError, DocumentProperties, ParserOutput, Section

_MAX_CELL_CHARS = 1_000_000
_MAX_JSON_BYTES = 128 * 1024 * 1024
"""JSON is parsed as a whole, so its size is bounded. Both limits were chosen by hand; not measured."""


def parse(source: ParserInput) -> Iterator[ParserOutput]:
    yield DocumentProperties(title=source.name)
    if source.format == "json":
        for block in text_blocks(_json_lines(source), "text"):
            yield Section(block)
    else:
        yield from _parse_table(source)


def _parse_table(source: ParserInput) -> Iterator[ParserOutput]:
    rest = read_lines(source)
    first = list(islice(rest, 40))
    csv.field_size_limit(_MAX_CELL_CHARS)
    delimiter = delimiter_of("".join(first)) or delimiter_of("".join(first[:1])) or ","
    rows = csv.reader(chain(first, rest), delimiter=delimiter)
    try:
        for number, section in enumerate(table_sections(rows)):
            yield section
            if number % 20 == 19:
                yield source.progress()
    except csv.Error as error:
        raise DocumentError(f"The table is broken in line {rows.line_num:,}: {error}.") from None


def _json_lines(source: ParserInput) -> Iterator[str]:
    """Yield the values of a file that holds one JSON value or one per line, as lines of `path: value`."""
    if source.size > _MAX_JSON_BYTES:
        raise DocumentError(f"The JSON is {source.size:,} bytes; the limit is {_MAX_JSON_BYTES:,}.")
    text = "".join(read_lines(source))
    try:
        values = [json.loads(text)]
    except RecursionError:
        raise DocumentError("The JSON is nested too deeply to be read.") from None
    except ValueError as error:
        values = _parse_json_lines(text, error)
    for value in values:
        yield from _leaf_lines(value)
        yield "\n"


def _parse_json_lines(text: str, why: ValueError) -> list[Any]:
    filled = [line for line in text.splitlines() if line.strip()]
    try:
        if len(filled) < 2:
            raise why
        return [json.loads(line) for line in filled]
    except (ValueError, RecursionError):
        raise DocumentError(f"The JSON is broken: {why}.") from None


def _leaf_lines(value: Any) -> Iterator[str]:
    """Yield `user.name: Ada` for each leaf value, without recursion."""
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        path, this = waiting.pop()
        if isinstance(this, dict) and this:
            waiting += [(f"{path}.{key}" if path else str(key), each) for key, each in reversed(this.items())]
        elif isinstance(this, list) and this and not all(isinstance(each, str | int | float) for each in this):
            waiting += [(f"{path}[{n}]", this[n]) for n in range(len(this) - 1, -1, -1)]
        else:
            leaf = this if isinstance(this, str) else json.dumps(this, ensure_ascii=False)
            yield f"{path[-500:]}: {leaf}\n" if path else f"{leaf}\n"
