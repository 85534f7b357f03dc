"""Slides: one page each, in the order they are shown, under their titles; notes and tables kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..types import About, DocumentError, Kind, Piece, Progress, Section
from .packed import Event, Packed
from .source import Source

_DECK = "ppt/presentation.xml"


def read(source: Source) -> Iterator[Piece]:
    with Packed(source) as packed:
        slides = _slides(packed)
        if not slides:
            raise DocumentError("The presentation has no slides.")
        said = packed.core_properties()
        yield About(said.title or source.name, said.author, said.date, said.language, len(slides))
        for number, name in enumerate(slides, 1):
            yield from _slide(packed, name, number)
            yield Progress(min(99, number * 100 // len(slides)))


def _slides(packed: Packed) -> list[str]:
    relations = packed.relations(_DECK)
    ids = [given.get("relationships:id", "") for given in _given(packed.events(_DECK), "sldId")]
    return [relations[each] for each in ids if relations.get(each) in packed.members]


def _given(events: Iterator[Event], tag: str) -> Iterator[dict[str, str]]:
    return (given for what, name, given in events if what == "start" and name == tag)


def _slide(packed: Packed, name: str, number: int) -> Iterator[Section]:
    slide = Slide()
    for event in packed.events(name):
        slide.take(event)
    heading = (slide.title,) if slide.title else ()
    for text, kind in slide.blocks:
        yield Section(text, heading, number, kind)
    for target in packed.relations(name).values():
        if re.search(r"notesSlides/notesSlide\d*\.xml$", target) and target in packed.members:
            notes = Slide()
            for event in packed.events(target):
                notes.take(event)
            words = "\n".join(text for text, _ in notes.blocks if not text.isdigit())
            if words:
                yield Section(f"Notes: {words}", heading, number)


@dataclass(slots=True)
class Slide:
    """What one slide says, as its XML goes by."""

    title: str = ""
    blocks: list[tuple[str, Kind]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    paragraphs: list[str] = field(default_factory=list)
    row: list[str] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)
    place: str = ""
    writing: bool = False
    in_table: bool = False

    def take(self, event: Event) -> None:
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
            self.place = given.get("type", "")
        elif tag in ("sp", "graphicFrame"):
            self.place = ""
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
        if text and self.place in ("title", "ctrTitle") and not self.title:
            self.title = " ".join(text.split())
        if text and self.place not in ("sldNum", "dt", "ftr"):
            self.blocks.append((text, "text"))
