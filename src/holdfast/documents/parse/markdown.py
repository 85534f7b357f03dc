"""Markdown: headings, fenced code and tables kept apart, read line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..types import About, Kind, Piece, Section
from .source import Source
from .text import BLOCK_CHARS, lines

_HEADING = re.compile(r"(#{1,6})[ \t]+(?=\S)")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_FRONT = re.compile(r"(title|author|date|lang|language):", re.I)


def read(source: Source) -> Iterator[Piece]:
    reader = Reader()
    about: dict[str, str] = {}
    told = False
    for number, line in enumerate(_after_front_matter(lines(source), about)):
        yield from reader.take(line)
        if not told and (reader.trail or number > 50):
            told = True
            yield _about(about, reader.trail[0][1] if reader.trail else source.name)
        if number % 500 == 499:
            yield source.percent()
    yield from reader.flush()
    if not told:
        yield _about(about, reader.trail[0][1] if reader.trail else source.name)


def _about(said: dict[str, str], title: str | None) -> About:
    date = said.get("date", "")
    return About(
        said.get("title") or title, said.get("author"), date[:10] if re.match(r"\d{4}-\d\d-\d\d", date) else None,
        said.get("lang") or said.get("language"),
    )  # fmt: skip


def _after_front_matter(lines: Iterator[str], about: dict[str, str]) -> Iterator[str]:
    """What a block between --- lines at the top says goes into `about`; it is text as well."""
    inside = False
    for number, line in enumerate(lines):
        if line.rstrip() == "---" and (number == 0 or inside):
            inside = not inside
        elif inside and (found := _FRONT.match(line)):
            about.setdefault(found.group(1).lower(), line[found.end() :].strip().strip("\"'"))
        yield line


class Reader:
    """Lines in, sections out."""

    def __init__(self) -> None:
        self.trail: list[tuple[int, str]] = []
        self.kind: Kind = "text"
        self.fence = ""
        self.held: list[str] = []
        self.size = 0
        self.above = ""

    def take(self, line: str) -> Iterator[Section]:
        fence = _FENCE.match(line)
        if self.fence:
            yield from self._hold(line)
            if fence and fence.group(1).startswith(self.fence) and not line.strip().strip(self.fence[0]):
                self.fence = ""
                yield from self.flush()
        elif fence:
            yield from self.flush()
            self.kind, self.fence = "code", fence.group(1)[:3]
            yield from self._hold(line)
        elif found := _HEADING.match(line):
            yield from self.flush()
            level = len(found.group(1))
            self.trail = [step for step in self.trail if step[0] < level] + [
                (level, line[found.end() :].strip().rstrip("#").rstrip())
            ]
            yield from self._hold(line)
        else:
            yield from self._plain(line)

    def _plain(self, line: str) -> Iterator[Section]:
        in_table = line.lstrip().startswith("|")
        if in_table != (self.kind == "table") and self.held:
            yield from self.flush()
        self.kind = "table" if in_table else "text"
        yield from self._hold(line)

    def _hold(self, line: str) -> Iterator[Section]:
        paused = self.kind == "table" or not line.strip()
        if self.size + len(line) > (BLOCK_CHARS if paused and self.kind != "code" else 4 * BLOCK_CHARS):
            kind, above = self.kind, self.above or (self.held[0].strip() if self.held else "")
            yield from self.flush()
            self.kind, self.above = kind, above if kind == "table" else ""
        self.held.append(line)
        self.size += len(line)

    def flush(self) -> Iterator[Section]:
        text = "".join(self.held).strip("\n")
        if text.strip():
            yield Section(text, tuple(words for _, words in self.trail), None, self.kind, self.above)
        self.held, self.size, self.kind, self.above = [], 0, "text", ""
