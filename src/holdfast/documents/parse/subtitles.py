"""Transcripts (SRT, WebVTT): what was said, with the time at the start of each half minute."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..types import About, Piece, Section
from .source import Source
from .text import lines

_TIME = re.compile(r"(?:(\d{1,3}):)?(\d\d):(\d\d)[,.]\d{1,3}\s*-->")
_TAG = re.compile(r"<v(?:\.[\w.]+)?\s+([^>]{1,100})>|<[^>\n]{0,200}>|\{\\[^}\n]{0,100}\}")
_EVERY = 30


def read(source: Source) -> Iterator[Piece]:
    yield About(title=source.name)
    said: list[str] = []
    marked = -_EVERY
    for at, text in _cues(lines(source)):
        if at - marked >= _EVERY or at < marked:
            if said:
                yield Section(" ".join(said))
                yield source.percent()
            said, marked = [f"[{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}]"], at
        said.append(text)
    if said:
        yield Section(" ".join(said))


def _cues(lines: Iterator[str]) -> Iterator[tuple[int, str]]:
    """(seconds, words) of each cue; what stands outside cues (numbers, styles, notes) is no speech."""
    at: int | None = None
    before = ""
    for line in lines:
        found = _TIME.match(line.strip())
        if found:
            hours, minutes, seconds = (int(part or 0) for part in found.groups())
            at = hours * 3600 + minutes * 60 + seconds
        elif not line.strip():
            at = None
        elif at is not None:
            text = _TAG.sub(lambda tag: f"{tag.group(1)}: " if tag.group(1) else "", line).strip()
            # Live captions roll: each line is shown twice.
            if text and text != before:
                yield at, text
            before = text
