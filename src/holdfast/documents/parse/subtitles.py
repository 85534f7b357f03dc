"""Parses transcripts (SRT, WebVTT): the spoken text, with the time at the start of each half minute."""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.documents.parse.dispatch import ParserInput
from holdfast.documents.parse.text import read_lines
from holdfast.documents.types import DocumentProperties, ParserOutput, Section

_CUE_TIME = re.compile(r"(?:(\d{1,3}):)?(\d\d):(\d\d)[,.]\d{1,3}\s*-->")
_MARKUP = re.compile(r"<v(?:\.[\w.]+)?\s+([^>]{1,100})>|<[^>\n]{0,200}>|\{\\[^}\n]{0,100}\}")
_SECTION_SECONDS = 30
"""The length of speech in one section. Chosen by hand; not measured."""


def parse(source: ParserInput) -> Iterator[ParserOutput]:
    yield DocumentProperties(title=source.name)
    words: list[str] = []
    marked = -_SECTION_SECONDS
    for at, text in _cues(read_lines(source)):
        if at - marked >= _SECTION_SECONDS or at < marked:
            if words:
                yield Section(" ".join(words))
                yield source.progress()
            words, marked = [f"[{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}]"], at
        words.append(text)
    if words:
        yield Section(" ".join(words))


def _cues(lines: Iterator[str]) -> Iterator[tuple[int, str]]:
    """Yield (seconds, text) of each cue; text outside of cues (numbers, styles, notes) is skipped."""
    at: int | None = None
    before = ""
    for line in lines:
        time = _CUE_TIME.match(line.strip())
        if time:
            hours, minutes, seconds = (int(part or 0) for part in time.groups())
            at = hours * 3600 + minutes * 60 + seconds
        elif not line.strip():
            at = None
        elif at is not None:
            text = _MARKUP.sub(lambda tag: f"{tag.group(1)}: " if tag.group(1) else "", line).strip()
            # Live captions scroll, so each line appears twice.
            if text and text != before:
                yield at, text
            before = text
