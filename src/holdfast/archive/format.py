"""The archive format: one profile as lines of JSON, UTF-8, one value per line, in canonical form.

    {"format": "holdfast-archive", "version": 2, …}      the header: namespace, profile, and how much follows
    {"type": "message", …}                               in the order of the conversation
    {"type": "memory", …}                                every version, each after what it supersedes
    {"type": "setting", …}  {"type": "usage", …}         by name; by month, model and task
    {"type": "document", …}                              oldest first; their passages are messages
    {"type": "original", …}                              the documents' original bytes, one mebibyte per line
    {"type": "end", "counts": {…}, "sha256": "…"}        the SHA-256 of every byte before this line

An archive contains nothing about the time of the export: `created_at` is the time at which its newest item was written,
so the same content gives the same bytes. The fields of messages and memories are those of Message and Memory in
`domain.types`; a field that is left out has its default. docs/archive.md describes each field. In version 1, each
version of a memory had an id of its own (version_chains.py).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from holdfast.domain import json_codec
from holdfast.domain.results import Document
from holdfast.domain.timestamps import iso_text
from holdfast.domain.types import Item, Json, Message, Part, Vector
from holdfast.domain.usage import Spent
from holdfast.domain.vectors import vector_bytes
from holdfast.storage.inventory import IndexedParts, canonical_numbers
from holdfast.text import passages

FORMAT = "holdfast-archive"
VERSION = 2
READABLE_VERSIONS = (1, VERSION)
COUNT_NAMES = ("messages", "memories", "settings", "usage", "documents", "pieces")
MAX_POSITION_GAP = 10_000
"""The largest gap that forgotten messages leave between two positions of a session; an export shortens wider gaps."""
COMPUTED_FIELDS = ("pending", "original")
"""Fields of a document that are computed from other lines, and so are not written."""
USAGE_FIELDS = ("month", "model", "task", "calls", "input", "output", "cached")


@dataclass(frozen=True, slots=True)
class Header:
    """The first line: the namespace and profile of the archive, and how much is in it."""

    namespace: str
    profile: str
    created_at: datetime | None
    vectors: bool
    counts: dict[str, int]
    version: int = VERSION

    def line(self) -> bytes:
        about = {"format": FORMAT, "version": VERSION, "namespace": self.namespace, "profile": self.profile}
        at = None if self.created_at is None else iso_text(self.created_at)
        return _line(about | {"created_at": at, "vectors": self.vectors, "counts": self.counts})


@dataclass(frozen=True, slots=True)
class ArchivedItem:
    """A message or a memory with its entries in the index."""

    item: Item
    embed: bool
    parts: tuple[Part, ...] | None = None
    """None when the parts are to be computed again."""
    vectors: tuple[Vector, ...] = ()

    def indexed(self) -> tuple[Part, ...]:
        """The parts of the item with their words."""
        if self.parts is not None:
            return tuple(passages.part_with_words(self.item, part) for part in self.parts)
        return tuple(replace(part, embed=part.embed and self.embed) for part in passages.index_parts(self.item))

    def with_item(self, item: Item) -> ArchivedItem:
        """The same entries as those of another version of the item."""
        parts = None if self.parts is None else tuple(replace(part, item=item.ref) for part in self.parts)
        return replace(self, item=item, parts=parts, vectors=tuple(replace(v, item=item.ref) for v in self.vectors))


def item_line(item: Item, index: IndexedParts, *, vectors: bool) -> bytes:
    told: dict[str, Any] = {"type": "message" if isinstance(item, Message) else "memory"}
    told |= _object(item)
    told["embed"] = any(part.embed for part, _ in index)
    if vectors:
        ordered = sorted(index, key=lambda each: each[0].number)  # numbers may begin after 0
        told["parts"] = [_part(n, part, vector) for n, (part, vector) in enumerate(ordered)]
    return _line(told)


def setting_line(name: str, value: Any) -> bytes:
    return _line({"type": "setting", "name": name, "value": canonical_json(value)})


def usage_line(spent: Spent) -> bytes:
    return _line({"type": "usage"} | {name: getattr(spent, name) for name in USAGE_FIELDS})


def document_line(document: Document) -> bytes:
    told = {name: value for name, value in _object(document).items() if name not in COMPUTED_FIELDS}
    return _line({"type": "document"} | told)


def piece_line(document: str, number: int, data: bytes) -> bytes:
    about = {"type": "original", "document": document, "number": number}
    return _line(about | {"data": base64.b64encode(data).decode()})


def end_line(counts: Mapping[str, int], sha256: str) -> bytes:
    return _line({"type": "end", "counts": dict(counts), "sha256": sha256})


class Checksum:
    """The checksum over all lines so far."""

    def __init__(self) -> None:
        self._sha = hashlib.sha256()

    def add(self, line: bytes) -> bytes:
        self._sha.update(line)
        return line

    @property
    def hex(self) -> str:
        return self._sha.hexdigest()


def _line(value: Mapping[str, Any]) -> bytes:
    return json_codec.compact_json(value).encode() + b"\n"


def _object(value: Item | Document) -> dict[str, Any]:
    """The fields in their order, each in canonical form."""
    return {name: canonical_json(each) for name, each in json_codec.encode(value).items()}


def canonical_json(value: Json) -> Json:
    """The value in one canonical form, whichever backend stored it: names sorted, whole numbers without a decimal
    point."""
    if isinstance(value, dict):
        return {name: canonical_json(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [canonical_json(each) for each in value]
    return canonical_numbers(value) if isinstance(value, float) else value


def _part(number: int, part: Part, vector: Vector | None) -> list[Any]:
    meaning = [None, None] if vector is None else [vector.model, base64.b64encode(vector_bytes(vector.values)).decode()]
    return [number, part.start, part.stop, part.embed, *meaning]
