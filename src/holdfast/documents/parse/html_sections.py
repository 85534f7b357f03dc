"""Turns HTML into sections of the text that a reader would see; scripts and hidden elements are skipped.

Every format based on HTML uses it: pages, EPUB chapters, mail, converted Word files. It separates headings, tables and
preformatted text, has only one block in memory at a time, and does not recurse, so deep nesting costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

from holdfast.documents.types import TARGET_BLOCK_CHARS, Section

_SKIPPED_TAGS = frozenset(
    str.split("script style noscript template iframe object embed applet svg math canvas select textarea")
)
_BLOCK_TAGS = frozenset(
    str.split(
        "p div section article main header footer nav aside ul ol dl li dt dd blockquote figure figcaption address "
        "form fieldset details summary body br hr h1 h2 h3 h4 h5 h6 table caption tr td th pre"
    )
)
_VOID_TAGS = frozenset(str.split("area base br col embed hr img input link meta source track wbr"))
_HIDDEN_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?:px|pt|em|%)?\s*(?:;|$)", re.I
)
_DATE_FIELDS = (
    "article:published_time",
    "date",
    "dc.date",
    "dcterms.created",
    "datepublished",
    "citation_publication_date",
)


class HtmlWalker(HTMLParser):
    """An incremental parser: feed it HTML and take finished sections from `done`."""

    def __init__(self, heading: tuple[str, ...] = (), page: int | None = None) -> None:
        super().__init__(convert_charrefs=True)
        self.parent_heading, self.page = heading, page
        self.title = ""
        self.metadata: dict[str, str] = {}
        self.done: list[Section] = []
        self.headings: list[tuple[int, str]] = []
        self.text: list[str] = []
        self.size = 0
        self.skipped: tuple[str, int] | None = None
        self.inside: str | None = None
        """`title`, `h1` … `h6`, `pre` or `table`: the element that collects text instead of the running text."""
        self.buffer: list[str] = []
        self.rows = TableRows()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.skipped:
            if tag == self.skipped[0]:
                self.skipped = (tag, self.skipped[1] + 1)
            return
        given = {name: value or "" for name, value in attrs}
        if tag in _SKIPPED_TAGS or (
            tag not in _VOID_TAGS and tag not in ("html", "body") and _is_hidden(given, dict(attrs))
        ):
            if tag not in _VOID_TAGS:
                self.skipped = (tag, 1)
        elif self.inside == "table":
            self.rows.open_tag(tag)
        elif tag == "meta":
            name = (given.get("property") or given.get("name") or given.get("itemprop") or "").lower()
            self.metadata.setdefault(name, given.get("content", ""))
        elif tag == "html":
            self.metadata.setdefault("lang", given.get("lang") or given.get("xml:lang") or "")
        elif tag == "title" and not self.title:
            self.inside, self.buffer = "title", []
        elif self.inside != "pre":
            self._open(tag)

    def _open(self, tag: str) -> None:
        if tag in _BLOCK_TAGS:
            self._break()
        if re.fullmatch("h[1-6]|pre", tag):
            self._flush()
            self.inside, self.buffer = tag, []
        elif tag == "table":
            self._flush()
            self.inside, self.rows = "table", TableRows()
        elif tag == "li":
            self.text.append("- ")

    def handle_endtag(self, tag: str) -> None:
        if self.skipped:
            if tag == self.skipped[0]:
                self.skipped = (tag, self.skipped[1] - 1) if self.skipped[1] > 1 else None
            return
        if self.inside == "table":
            if self.rows.close_tag(tag):
                self._table(True)
                self.inside = None
            else:
                self._table(False)
        elif self.inside and (tag == self.inside or (self.inside[0] == "h" and tag in _BLOCK_TAGS)):
            self._close(self.inside)
        elif tag in _BLOCK_TAGS and self.inside is None:
            self._break()

    def _close(self, inside: str) -> None:
        words = "".join(self.buffer)
        self.inside, self.buffer = None, []
        if inside == "title":
            self.title = " ".join(words.split())
        elif inside == "pre":
            self._section(words.strip("\n"), "code")
        elif words.strip():
            level = int(inside[1])
            self.headings = [step for step in self.headings if step[0] < level] + [(level, " ".join(words.split()))]
            # The heading is also kept as text, so that no visible text is lost.
            self.text.append(" ".join(words.split()))
            self._break()

    def handle_data(self, data: str) -> None:
        if self.skipped:
            return
        if self.inside == "table":
            self.rows.add_text(data)
        elif self.inside:
            self.buffer.append(data)
        else:
            words = re.sub(r"\s+", " ", data)
            if words != " " or (self.text and not self.text[-1].endswith(("\n", " "))):
                self.text.append(words)
                self.size += len(words)

    def _break(self) -> None:
        if self.size >= TARGET_BLOCK_CHARS:
            self._flush()
        elif self.text and not self.text[-1].endswith("\n"):
            self.text.append("\n")

    def _flush(self) -> None:
        lines = (line.strip() for line in "".join(self.text).split("\n"))
        self._section("\n".join(line for line in lines if line and line != "-"), "text")
        self.text, self.size = [], 0

    def _section(self, text: str, kind: str, above: str = "") -> None:
        if text.strip():
            heading = (*self.parent_heading, *(words for _, words in self.headings))
            self.done.append(Section(text, heading, self.page, "code" if kind == "code" else "text", above))

    def _table(self, last: bool) -> None:
        for text, above in self.rows.blocks(last):
            heading = (*self.parent_heading, *(words for _, words in self.headings))
            self.done.append(Section(text, heading, self.page, "table" if self.rows.wide else "text", above))

    def finish(self) -> None:
        """Flush everything that is still open."""
        # Browsers treat an unclosed comment as one up to the end of the page; HTMLParser would treat it as text.
        start = self.rawdata.rfind("<!--")
        if start >= 0 and "-->" not in self.rawdata[start:]:
            self.rawdata = self.rawdata[:start]
        self.close()
        if self.inside == "table":
            self._table(True)
        elif self.inside:
            self._close(self.inside)
        self._flush()

    @property
    def date(self) -> str | None:
        text = next((self.metadata[name] for name in _DATE_FIELDS if self.metadata.get(name)), "")
        return text if re.match(r"\d{4}(-\d\d){0,2}", text) else None


class TableRows:
    """Collects the rows of a table and yields them in blocks; a nested table becomes text of its cell."""

    def __init__(self) -> None:
        self.depth = 1
        self.cells: list[list[str]] = []
        self.lines: list[str] = []
        self.size = 0
        self.header = ""
        self.wide = False

    def open_tag(self, tag: str) -> None:
        if tag == "table":
            self.depth += 1
        elif self.depth == 1 and tag == "tr":
            self._end_row()
        elif self.depth == 1 and tag in ("td", "th"):
            self.cells.append([])
        elif tag in _BLOCK_TAGS:
            self.add_text(" ")

    def close_tag(self, tag: str) -> bool:
        """Handle an end tag; return whether it closes the table itself."""
        if tag == "table":
            self.depth -= 1
        elif self.depth == 1 and tag == "tr":
            self._end_row()
        if not self.depth:
            self._end_row()
        return not self.depth

    def add_text(self, words: str) -> None:
        if not self.cells:
            if not words.strip():
                return
            self.cells.append([])
        self.cells[-1].append(words)

    def _end_row(self) -> None:
        cells = [" ".join("".join(cell).split()) for cell in self.cells]
        self.cells = []
        if any(cells):
            self.wide = self.wide or len(cells) > 1
            self.lines.append(" | ".join(cells))
            self.size += len(self.lines[-1]) + 1

    def blocks(self, last: bool) -> Iterator[tuple[str, str]]:
        """Yield finished blocks, each but the first with the header row."""
        if last:
            self._end_row()
        if self.lines and (last or self.size >= TARGET_BLOCK_CHARS):
            yield "\n".join(self.lines), self.header
            self.header = self.header or self.lines[0][:1_000]
            self.lines, self.size = [], 0


def _is_hidden(given: dict[str, str], present: dict[str, str | None]) -> bool:
    return "hidden" in present or bool(_HIDDEN_STYLE.search(given.get("style", "")))


def html_sections(html: str, heading: tuple[str, ...] = (), page: int | None = None) -> Iterator[Section]:
    """Yield the sections of a complete HTML text."""
    walker = HtmlWalker(heading, page)
    yield from walk_html(walker, html)


def walk_html(walker: HtmlWalker, html: str) -> Iterator[Section]:
    """Feed the walker and yield sections as they finish; afterwards the walker has title, language and date."""
    for start in range(0, len(html), 64 * 1024):
        walker.feed(html[start : start + 64 * 1024])
        yield from walker.done
        walker.done.clear()
    walker.finish()
    yield from walker.done
    walker.done.clear()
