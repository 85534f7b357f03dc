"""Parses presentations: one page per slide, in order, under its title, with notes and tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from holdfast.documents.parse.dispatch import ParserInput
from holdfast.documents.parse.safe_zip import SafeZip, XmlEvent
from holdfast.documents.types import (
    DocumentError,
    DocumentProperties,
    ParserOutput,
    Progress,
    Section,
    SectionKind,
)

_PRESENTATION_PART = "ppt/presentation.xml"


def parse(source: ParserInput) -> Iterator[ParserOutput]:
    with SafeZip(source) as packed:
        slides = _slide_parts(packed)
        if not slides:
            raise DocumentError("The presentation has no slides.")
        core = packed.core_properties()
        yield DocumentProperties(core.title or source.name, core.author, core.date, core.language, len(slides))
        for number, name in enumerate(slides, 1):
            yield from _slide_sections(packed, name, number)
            yield Progress(min(99, number * 100 // len(slides)))


def _slide_parts(packed: SafeZip) -> list[str]:
    relations = packed.relations(_PRESENTATION_PART)
    ids = [given.get("relationships:id", "") for given in _attributes_of(packed.events(_PRESENTATION_PART), "sldId")]
    return [relations[each] for each in ids if relations.get(each) in packed.members]


def _attributes_of(events: Iterator[XmlEvent], tag: str) -> Iterator[dict[str, str]]:
    return (given for what, name, given in events if what == "start" and name == tag)


def _slide_sections(packed: SafeZip, name: str, number: int) -> Iterator[Section]:
    slide = Slide()
    for event in packed.events(name):
        slide.add_event(event)
    heading = (slide.title,) if slide.title else ()
    for text, kind in slide.blocks:
        yield Section(text, heading, number, kind)
    for target in packed.relations(name).values():
        if re.search(r"notesSlides/notesSlide\d*\.xml$", target) and target in packed.members:
            notes = Slide()
            for event in packed.events(target):
                notes.add_event(event)
            words = "\n".join(text for text, _ in notes.blocks if not text.isdigit())
            if words:
                yield Section(f"Notes: {words}", heading, number)


@dataclass(slots=True)
class Slide:
    """Collects the text of one slide from its XML events."""

    title: str = ""
    blocks: list[tuple[str, SectionKind]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    paragraphs: list[str] = field(default_factory=list)
    row: list[str] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)
    placeholder: str = ""
    writing: bool = False
    in_table: bool = False

    def add_event(self, event: XmlEvent) -> None:
        what, tag, given = event
        if what == "text":
            if self.writing:
                self.words.append(tag)
        elif what == "start":
            self._begin(tag, given)
        else:
            self._end(tag)

    def _begin(self, tag: str, given: dict[str, str]) -> None:
        if tag == "ph":
            self.placeholder = given.get("type", "")
        elif tag in ("sp", "graphicFrame"):
            self.placeholder = ""
        elif tag == "tbl":
            self.in_table, self.rows = True, []
        elif tag == "br":
            self.words.append("\n")
        self.writing = tag == "t"

    def _end(self, tag: str) -> None:
        self.writing = False
        if tag == "p":
            self.paragraphs.append("".join(self.words).strip())
            self.words = []
        elif tag == "tc":
            self.row.append(" ".join(filter(None, self.paragraphs)))
            self.paragraphs = []
        elif tag == "tr":
            self.rows.append(" | ".join(self.row))
            self.row = []
        elif tag == "tbl":
            self.in_table = False
            self.blocks.append(("\n".join(self.rows), "table"))
        elif tag == "sp":
            self._end_shape()

    def _end_shape(self) -> None:
        text = "\n".join(filter(None, self.paragraphs))
        self.paragraphs = []
        if text and self.placeholder in ("title", "ctrTitle") and not self.title:
            self.title = " ".join(text.split())
        if text and self.placeholder not in ("sldNum", "dt", "ftr"):
            self.blocks.append((text, "text"))
