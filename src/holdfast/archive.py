"""The archive format: one profile as lines of JSON, UTF-8, one value a line, in one canonical spelling.

    {"format": "holdfast-archive", "version": 1, …}      the header: whose it is, and how much follows
    {"type": "message", …}                               in the order in which they were said
    {"type": "memory", …}                                every version, each after what it supersedes
    {"type": "setting", …}  {"type": "usage", …}         by name; by month, model and task
    {"type": "document", …}                              oldest first; their passages are messages
    {"type": "original", …}                              what they were read from, a mebibyte a line
    {"type": "end", "counts": {…}, "sha256": "…"}        the SHA-256 of every byte before this line

Nothing in it is of the moment it was made: `created_at` is when the newest thing in it was written, so that the same
content is the same bytes. A message's and a memory's fields are those of `types`, whatever these come to be; a field
that is left out has its default. docs/moving.md tells them one by one.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

from . import passages
from .inventory import Indexed, even
from .moments import iso
from .results import Document
from .spending import Spent
from .types import Item, Json, Message, Part, Vector
from .vectors import packed

FORMAT = "holdfast-archive"
VERSION = 1
COUNTED = ("messages", "memories", "settings", "usage", "documents", "pieces")
GAP = 10_000
"""How far apart two messages of a session may stand where others were forgotten; wider gaps are drawn together."""
COMPUTED = ("pending", "original")
"""Of a document, what follows from other lines."""
USAGE = ("month", "model", "task", "calls", "input", "output", "cached")


@dataclass(frozen=True, slots=True)
class Header:
    """Whose archive it is, and how much is in it."""

    namespace: str
    profile: str
    created_at: datetime | None
    vectors: bool
    counts: dict[str, int]

    def line(self) -> bytes:
        about = {"format": FORMAT, "version": VERSION, "namespace": self.namespace, "profile": self.profile}
        at = None if self.created_at is None else iso(self.created_at)
        return _line(about | {"created_at": at, "vectors": self.vectors, "counts": self.counts})


@dataclass(frozen=True, slots=True)
class Carried:
    """A message or a memory with what the index needs to know of it."""

    item: Item
    embed: bool
    parts: tuple[Part, ...] | None = None
    """None when they are to be made anew."""
    vectors: tuple[Vector, ...] = ()

    def indexed(self) -> tuple[Part, ...]:
        """Its parts with their words."""
        if self.parts is not None:
            return tuple(passages.filled(self.item, part) for part in self.parts)
        return tuple(replace(part, embed=part.embed and self.embed) for part in passages.parts(self.item))


def item_line(item: Item, index: Indexed, *, vectors: bool) -> bytes:
    told: dict[str, Any] = {"type": "message" if isinstance(item, Message) else "memory"}
    told |= {field.name: _plain(getattr(item, field.name)) for field in fields(item)}
    told["embed"] = any(part.embed for part, _ in index)
    if vectors:
        told["parts"] = [_part(part, vector) for part, vector in sorted(index, key=lambda each: each[0].number)]
    return _line(told)


def setting_line(name: str, value: Any) -> bytes:
    return _line({"type": "setting", "name": name, "value": canonical(value)})


def usage_line(spent: Spent) -> bytes:
    return _line({"type": "usage"} | {name: getattr(spent, name) for name in USAGE})


def document_line(document: Document) -> bytes:
    told = {field.name: _plain(getattr(document, field.name)) for field in fields(document)}
    return _line({"type": "document"} | {name: value for name, value in told.items() if name not in COMPUTED})


def piece_line(document: str, number: int, data: bytes) -> bytes:
    about = {"type": "original", "document": document, "number": number}
    return _line(about | {"data": base64.b64encode(data).decode()})


def end_line(counts: Mapping[str, int], sha256: str) -> bytes:
    return _line({"type": "end", "counts": dict(counts), "sha256": sha256})


class Sum:
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
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, tuple):
        return list(value)
    return canonical(value)


def canonical(value: Json) -> Json:
    """In one spelling, whichever backend kept it: names in order, whole numbers without a point."""
    if isinstance(value, dict):
        return {name: canonical(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [canonical(each) for each in value]
    return even(value)


def _part(part: Part, vector: Vector | None) -> list[Any]:
    meaning = [None, None] if vector is None else [vector.model, base64.b64encode(packed(vector.values)).decode()]
    return [part.number, part.start, part.stop, part.embed, *meaning]
