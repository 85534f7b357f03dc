"""What a command says: a JSON document, or blocks for people. Rich is loaded only for a terminal.

Stored text is anybody's text: control characters, which a terminal would obey, are shown as pictures.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ..moments import iso

if TYPE_CHECKING:
    from rich.console import RenderableType

_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"} | {
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
}


class ReaderGone(Exception):
    """Whoever read our output reads no more. No OSError, for which typer would end with a status of its own."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A thing, and a quiet line about it."""

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
class Note:
    """A quiet remark."""

    text: str


Block = str | Entry | Table | Markdown | Note


@dataclass(frozen=True, slots=True)
class Reply:
    document: Any
    blocks: tuple[Block, ...] = ()
    exit: int = 0


def show(reply: Reply, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(reply.document, ensure_ascii=False, indent=2, default=plain))
    elif sys.stdout.isatty():
        _draw(reply.blocks)
    else:
        for block in reply.blocks:
            print(_text(block))


def plain(value: Any) -> Any:
    """One of our values as JSON knows it."""
    if isinstance(value, datetime):
        return iso(value)
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, set | frozenset):
        return sorted(value)
    if hasattr(value, "item"):  # a NumPy number
        return value.item()
    return str(value)


def harmless(text: str) -> str:
    return text.translate(_PICTURES)


def one_line(text: str) -> str:
    return harmless(" ".join(text.split()))


def _text(block: Block) -> str:
    match block:
        case Entry(text, about, mark):
            lead = f"{mark} " if mark else ""
            return f"{lead}{one_line(text)}\n{' ' * len(lead)}{one_line(about)}"
        case Table(rows, columns):
            return "\n".join(_aligned([columns, *rows] if columns else list(rows)))
        case Markdown(text) | Note(text):
            return harmless(text)
        case _:
            return harmless(block)


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    clean = [tuple(one_line(cell) for cell in row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*clean, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in clean]


def _draw(blocks: tuple[Block, ...]) -> None:
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    for block in blocks:
        console.print(_drawn(block))


def _drawn(block: Block) -> RenderableType:
    from rich.text import Text

    match block:
        case Entry(text, about, mark):
            from rich.table import Table as Grid

            grid = Grid.grid(padding=(0, 1))
            lead = [Text(mark, "dim")] if mark else []
            grid.add_row(*lead, Text(one_line(text)))
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

            return Page(harmless(text))
        case Note(text):
            return Text(harmless(text), "dim")
        case _:
            return Text(harmless(block))
