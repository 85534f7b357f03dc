"""Prints a command's result: one JSON document, or blocks for people. Rich is loaded only for a terminal.

Stored text may come from anyone. Control characters, which a terminal would interpret, are printed as Unicode pictures.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, is_dataclass
from typing import TYPE_CHECKING, Any

from holdfast.cli.output.progress import stop_spinner
from holdfast.domain.json_codec import encode, public_fields

if TYPE_CHECKING:
    from rich.console import RenderableType

_CONTROL_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"} | {
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
}


INTERNAL_FIELDS = {
    "Hit": ("channels", "features", "reasons"),
    "Memory": ("keywords", "queries", "extractor", "origin", "last_version"),
    "Message": ("position", "failures"),
}
"""Class → fields that say how Holdfast works, not what it knows. JSON has them with --explain."""


MAX_ENTRY_CHARS = 1000
"""Characters of a text in a list. Chosen by hand; not measured."""


class ReaderGone(Exception):
    """The reader of stdout closed it. Not an OSError, because click would exit with its own status."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A text, and a dim line of details below it."""

    text: str
    about: str
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    rows: tuple[tuple[str, ...], ...]
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Markdown:
    text: str


@dataclass(frozen=True, slots=True)
class Remark:
    """A dim line."""

    text: str


Block = str | Entry | Table | Markdown | Remark


@dataclass(frozen=True, slots=True)
class CommandResult:
    document: Any
    blocks: tuple[Block, ...] = ()
    exit: int = 0


def print_result(reply: CommandResult, *, as_json: bool, explain: bool = False) -> None:
    """Print the JSON document, or the blocks. Internals are in the document only if `explain`."""
    stop_spinner()
    if as_json:
        document = encode(reply.document) if explain else public_document(reply.document)
        print(json.dumps(document, ensure_ascii=False, indent=2, default=_other))
    elif sys.stdout.isatty():
        _print_rich(reply.blocks)
    else:
        for block in reply.blocks:
            print(_plain_text(block))


def public_document(value: Any) -> Any:
    """The JSON form of a value without what only explains how Holdfast works."""
    if isinstance(value, dict):
        return {name: public_document(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [public_document(each) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        hidden = INTERNAL_FIELDS.get(type(value).__name__, ())
        shown = [field.name for field in public_fields(value) if field.name not in hidden]
        return {name: public_document(getattr(value, name)) for name in shown}
    return encode(value)


def _other(value: Any) -> Any:
    """The JSON form of a value of another library: a NumPy number, a path."""
    return value.item() if hasattr(value, "item") else str(value)


def printable_text(text: str) -> str:
    return text.translate(_CONTROL_PICTURES)


def one_line(text: str) -> str:
    return printable_text(" ".join(text.split()))


def _entry_text(text: str) -> str:
    """The text of an entry on one line, cut where it is long; its details have the id that shows the rest."""
    line = one_line(text)
    if len(line) <= MAX_ENTRY_CHARS:
        return line
    return f"{line[:MAX_ENTRY_CHARS]}… ({len(line) - MAX_ENTRY_CHARS:,} more characters: holdfast get ID)"


def _plain_text(block: Block) -> str:
    match block:
        case Entry(text, about, mark):
            lead = f"{mark} " if mark else ""
            return f"{lead}{_entry_text(text)}\n{' ' * len(lead)}{one_line(about)}"
        case Table(rows, columns):
            return "\n".join(_aligned_lines([columns, *rows] if columns else list(rows)))
        case Markdown(text) | Remark(text):
            return printable_text(text)
        case _:
            return printable_text(block)


def _aligned_lines(rows: list[tuple[str, ...]]) -> list[str]:
    clean = [tuple(one_line(cell) for cell in row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*clean, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in clean]


def _print_rich(blocks: tuple[Block, ...]) -> None:
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    for block in blocks:
        console.print(_renderable(block))


def _renderable(block: Block) -> RenderableType:
    from rich.text import Text

    match block:
        case Entry(text, about, mark):
            from rich.table import Table as Grid

            grid = Grid.grid(padding=(0, 1))
            lead = [Text(mark, "dim")] if mark else []
            grid.add_row(*lead, Text(_entry_text(text)))
            grid.add_row(*([Text("")] if mark else []), Text(one_line(about), "dim"))
            return grid
        case Table(rows, columns):
            from rich.table import Table as Grid

            grid = Grid(*columns, box=None, header_style="dim", pad_edge=False, show_header=bool(columns))
            for row in rows:
                grid.add_row(*(Text(one_line(cell)) for cell in row))
            return grid
        case Markdown(text):
            from rich.markdown import Markdown as Page

            return Page(printable_text(text))
        case Remark(text):
            return Text(printable_text(text), "dim")
        case _:
            return Text(printable_text(block))
