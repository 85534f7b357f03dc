"""What an importer finds, and the small things that all of them need."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from .. import spoken
from ..errors import InvalidInput, shown
from ..moments import moment
from ..names import SESSION_CHARS


@dataclass(frozen=True, slots=True)
class Conversation:
    """Something that was said, or a document: messages as `ingest` takes them, under a session that stays the same."""

    session_id: str
    messages: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """Something that was known, as `remember` takes it."""

    content: str
    kind: str = "fact"
    key: str | None = None
    value: Any = None
    metadata: dict[str, Any] = field(default_factory=dict)
    session_id: str | None = None
    agent: str | None = None
    occurred_at: datetime | None = None
    expires_at: datetime | None = None


Found = Conversation | Statement


def unreadable(what: str, field: str | None = "path") -> InvalidInput:
    return InvalidInput(what, field=field)


def wrong(where: str, field: str, value: Any, wanted: str) -> InvalidInput:
    return InvalidInput(f"{where}: {field} is {shown(value)} and should be {wanted}.", field=field)


def text_of(told: dict[str, Any], field: str, where: str) -> str:
    value = told.get(field)
    if not isinstance(value, str):
        raise wrong(where, field, value, "text")
    return clean(value)


def maybe_text(told: dict[str, Any], *fields: str) -> str | None:
    """The first of these fields that has text."""
    for name in fields:
        value = told.get(name)
        if isinstance(value, str) and value.strip():
            return clean(value)
    return None


def clean(text: str) -> str:
    """Without what no memory keeps: NUL characters, and halves of surrogate pairs."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "�")


def when(told: dict[str, Any], where: str, *fields: str) -> datetime | None:
    """The first of these moments that is told."""
    for name in fields:
        value = told.get(name)
        if value not in (None, ""):
            try:
                return moment(value, name)
            except InvalidInput as bad:
                raise InvalidInput(f"{where}: {bad}", field=name) from None
    return None


def session_of(source: str, id: str) -> str:
    """A session's id that every reading gives again."""
    name = f"{source}-{id}"
    return name if len(name) <= SESSION_CHARS else f"{source}-{hashlib.sha256(id.encode()).hexdigest()[:32]}"


def pieces(text: str) -> Iterator[str]:
    """The text in pieces that a message can hold, without those that are only space."""
    return (piece for piece in spoken.pieces(text) if piece.strip())


def said(role: str, text: str, at: datetime | None, metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """One thing that was said, as one message or, when it is long, several."""
    about = {name: value for name, value in metadata.items() if value is not None}
    return [{"role": role, "content": piece, "timestamp": at, "metadata": about} for piece in pieces(text)]
