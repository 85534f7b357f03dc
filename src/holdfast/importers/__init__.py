"""What other memories export, as conversations and statements. Pure: a file or folder in, values out; never a store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ..errors import InvalidInput
from . import chatgpt, claude, langgraph, markdown, mem0, supermemory
from .found import Conversation, Found, Statement, unreadable
from .sources import Source, elements, files

READERS = {
    "mem0": mem0, "supermemory": supermemory, "chatgpt": chatgpt, "claude": claude, "langgraph": langgraph,
}  # fmt: skip
FORMATS = (*READERS, "markdown")


def found_in(place: Path | BinaryIO, format: str = "auto") -> Iterator[Found]:
    """Everything in it. What is wrong with the whole is told at once, what is wrong with a part when it is reached."""
    source = Source(place)
    if format == "auto":
        format = detected(source)
    if format == "markdown":
        return markdown.read(source)
    return _all(source, format)


def detected(source: Source) -> str:
    """The format that the content is in: by its first element, or a folder or file of Markdown."""
    for name, file in files(source):
        first = next(elements(file, name), None)
        for format, reader in READERS.items():
            if isinstance(first, dict) and reader.knows(first):
                return format
        raise _unknown(name)
    if source.folder is None and not source.name.lower().endswith(markdown.SUFFIXES):
        raise _unknown(source.name)
    return "markdown"


def _unknown(name: str) -> InvalidInput:
    return InvalidInput(
        f"{name} is no archive, and no export that is known here: {', '.join(FORMATS)}.",
        field="path",
        fix="Name its format if it is one of these. A conversation (messages, or `Name: text` lines) is for ingest, "
        "any other text for add.",
    )


def _all(source: Source, format: str) -> Iterator[Found]:
    there = False
    for name, file in files(source):
        there = True
        for n, each in enumerate(elements(file, name), 1):
            yield from READERS[format].read(each, f"{name}, entry {n}")
    if not there:
        raise unreadable(f"There is no JSON in it, which {format} exports.")


__all__ = ["FORMATS", "Conversation", "Found", "Statement", "detected", "found_in"]
