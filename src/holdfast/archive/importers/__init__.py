"""Parses exports of other memory products into conversations and statements. Pure: it touches no store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from holdfast.archive.importers import chatgpt, claude, langgraph, markdown, mem0, supermemory
from holdfast.archive.importers.files import ImportSource, json_elements, json_files
from holdfast.archive.importers.types import ImportedItem, unreadable_error
from holdfast.domain.errors import InvalidInput

IMPORTERS = {
    "mem0": mem0, "supermemory": supermemory, "chatgpt": chatgpt, "claude": claude, "langgraph": langgraph,
}  # fmt: skip
FORMATS = (*IMPORTERS, "markdown")


def parse_export(place: Path | BinaryIO, format: str = "auto") -> Iterator[ImportedItem]:
    """Parse everything in an export. Errors in the whole are raised at once, errors in a part when it is reached."""
    source = ImportSource(place)
    if format == "auto":
        format = detect_format(source)
    if format == "markdown":
        return markdown.parse_notes(source)
    return _parse_entries(source, format)


def detect_format(source: ImportSource) -> str:
    """Detect the format from the first JSON element; a folder or file without JSON may be Markdown."""
    for name, file in json_files(source):
        first = next(json_elements(file, name), None)
        for format, importer in IMPORTERS.items():
            if isinstance(first, dict) and importer.matches(first):
                return format
        raise _unknown_format_error(name)
    if source.folder is None and not source.name.lower().endswith(markdown.SUFFIXES):
        raise _unknown_format_error(source.name)
    return "markdown"


def _unknown_format_error(name: str) -> InvalidInput:
    return InvalidInput(
        f"{name} is neither an archive nor an export in a known format: {', '.join(FORMATS)}.",
        field="path",
        fix="Give the format if it is one of these. Use ingest for a conversation (messages, or `Name: text` lines), "
        "and add for any other text.",
    )


def _parse_entries(source: ImportSource, format: str) -> Iterator[ImportedItem]:
    found = False
    for name, file in json_files(source):
        found = True
        for n, each in enumerate(json_elements(file, name), 1):
            yield from IMPORTERS[format].parse_entry(each, f"{name}, entry {n}")
    if not found:
        raise unreadable_error(f"It contains no JSON, but an export of {format} is JSON.")
