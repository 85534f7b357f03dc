"""Parses Markdown line by line into separate sections for headings, fenced code and tables."""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.documents.parse.dispatch import ParserInput
from holdfast.documents.parse.text import read_lines
from holdfast.documents.types import TARGET_BLOCK_CHARS, DocumentProperties, ParserOutput, Section, SectionKind

_HEADING = re.compile(r"(#{1,6})[ \t]+(?=\S)")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_FRONT_MATTER_FIELD = re.compile(r"(title|author|date|lang|language):", re.I)


def parse(source: ParserInput) -> Iterator[ParserOutput]:
    reader = MarkdownReader()
    about: dict[str, str] = {}
    sent = False
    for number, line in enumerate(_after_front_matter(read_lines(source), about)):
        yield from reader.add_line(line)
        if not sent and (reader.headings or number > 50):
            sent = True
            yield _properties(about, reader.headings[0][1] if reader.headings else source.name)
        if number % 500 == 499:
            yield source.progress()
    yield from reader.flush()
    if not sent:
        yield _properties(about, reader.headings[0][1] if reader.headings else source.name)


def _properties(fields: dict[str, str], title: str | None) -> DocumentProperties:
    date = fields.get("date", "")
    return DocumentProperties(
        fields.get("title") or title, fields.get("author"), date[:10] if re.match(r"\d{4}-\d\d-\d\d", date) else None,
        fields.get("lang") or fields.get("language"),
    )  # fmt: skip


def _after_front_matter(lines: Iterator[str], about: dict[str, str]) -> Iterator[str]:
    """Yield all lines; fields of a block between --- lines at the top are also stored in `about`."""
    inside = False
    for number, line in enumerate(lines):
        if line.rstrip() == "---" and (number == 0 or inside):
            inside = not inside
        elif inside and (found := _FRONT_MATTER_FIELD.match(line)):
            about.setdefault(found.group(1).lower(), line[found.end() :].strip().strip("\"'"))
        yield line


class MarkdownReader:
    """Takes lines and yields sections."""

    def __init__(self) -> None:
        self.headings: list[tuple[int, str]] = []
        self.kind: SectionKind = "text"
        self.fence = ""
        self.lines: list[str] = []
        self.size = 0
        self.above = ""

    def add_line(self, line: str) -> Iterator[Section]:
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
            self.headings = [step for step in self.headings if step[0] < level] + [
                (level, line[found.end() :].strip().rstrip("#").rstrip())
            ]
            yield from self._hold(line)
        else:
            yield from self._plain(line)

    def _plain(self, line: str) -> Iterator[Section]:
        in_table = line.lstrip().startswith("|")
        if in_table != (self.kind == "table") and self.lines:
            yield from self.flush()
        self.kind = "table" if in_table else "text"
        yield from self._hold(line)

    def _hold(self, line: str) -> Iterator[Section]:
        paused = self.kind == "table" or not line.strip()
        if self.size + len(line) > (TARGET_BLOCK_CHARS if paused and self.kind != "code" else 4 * TARGET_BLOCK_CHARS):
            kind, above = self.kind, self.above or (self.lines[0].strip() if self.lines else "")
            yield from self.flush()
            self.kind, self.above = kind, above if kind == "table" else ""
        self.lines.append(line)
        self.size += len(line)

    def flush(self) -> Iterator[Section]:
        text = "".join(self.lines).strip("\n")
        if text.strip():
            yield Section(text, tuple(words for _, words in self.headings), None, self.kind, self.above)
        self.lines, self.size, self.kind, self.above = [], 0, "text", ""
