"""The values that importers produce, and functions that all of them need."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from holdfast.domain.errors import InvalidInput, quoted_value
from holdfast.domain.limits import MAX_SESSION_CHARACTERS
from holdfast.domain.timestamps import parse_moment
from holdfast.ingest import chat_formats


@dataclass(frozen=True, slots=True)
class ImportedConversation:
    """A conversation or a document: messages for `ingest`, with a session id that is the same at every import."""

    session_id: str
    messages: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class ImportedStatement:
    """A memory of the other product, with the fields that `remember` accepts."""

    content: str
    kind: str = "fact"
    key: str | None = None
    value: Any = None
    metadata: dict[str, Any] = field(default_factory=dict)
    session_id: str | None = None
    agent: str | None = None
    occurred_at: datetime | None = None
    expires_at: datetime | None = None


ImportedItem = ImportedConversation | ImportedStatement


def unreadable_error(what: str, field: str | None = "path") -> InvalidInput:
    return InvalidInput(what, field=field)


def field_error(where: str, field: str, value: Any, wanted: str) -> InvalidInput:
    return InvalidInput(f"{where}: {field} is {quoted_value(value)} and should be {wanted}.", field=field)


def required_text(entry: dict[str, Any], field: str, where: str) -> str:
    value = entry.get(field)
    if not isinstance(value, str):
        raise field_error(where, field, value, "text")
    return clean_text(value)


def optional_text(entry: dict[str, Any], *fields: str) -> str | None:
    """The first of these fields that has text; None if none has."""
    for name in fields:
        value = entry.get(name)
        if isinstance(value, str) and value.strip():
            return clean_text(value)
    return None


def clean_text(text: str) -> str:
    """The text without characters that no store can hold: NUL and lone surrogates."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "�")


def first_moment(entry: dict[str, Any], where: str, *fields: str) -> datetime | None:
    """The first of these fields as a moment; None if all are empty."""
    for name in fields:
        value = entry.get(name)
        if value not in (None, ""):
            try:
                return parse_moment(value, name)
            except InvalidInput as bad:
                raise InvalidInput(f"{where}: {bad}", field=name) from None
    return None


def import_session_id(source: str, id: str) -> str:
    """A session id that is the same at every import."""
    name = f"{source}-{id}"
    return name if len(name) <= MAX_SESSION_CHARACTERS else f"{source}-{hashlib.sha256(id.encode()).hexdigest()[:32]}"


def message_pieces(text: str) -> Iterator[str]:
    """The text in pieces that fit into a message, without blank ones."""
    return (piece for piece in chat_formats.text_pieces(text) if piece.strip())


def messages_for_ingest(role: str, text: str, at: datetime | None, metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """One utterance as a message for `ingest`, or as several when it is long."""
    about = {name: value for name, value in metadata.items() if value is not None}
    return [{"role": role, "content": piece, "timestamp": at, "metadata": about} for piece in message_pieces(text)]
