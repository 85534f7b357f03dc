"""Parses Claude's export: conversations.json, each a list of chat messages, oldest first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from holdfast.archive.importers.types import (
    ImportedConversation,
    ImportedItem,
    clean_text,
    field_error,
    first_moment,
    import_session_id,
    messages_for_ingest,
    optional_text,
    required_text,
)

ROLES = {"human": "user", "assistant": "assistant"}


def matches(first: dict[str, Any]) -> bool:
    return isinstance(first.get("chat_messages"), list)


def parse_entry(entry: Any, where: str) -> Iterator[ImportedItem]:
    if not isinstance(entry, dict) or not isinstance(entry.get("chat_messages"), list):
        raise field_error(where, "chat_messages", entry, "a list of messages")
    id, title = required_text(entry, "uuid", where), optional_text(entry, "name")
    messages = [
        each
        for n, message in enumerate(entry["chat_messages"])
        for each in _messages(message, {"source": "claude", "title": title}, f"{where}, chat_messages[{n}]")
    ]
    if messages:
        yield ImportedConversation(import_session_id("claude", id), tuple(messages))


def _messages(entry: Any, about: dict[str, Any], where: str) -> list[dict[str, Any]]:
    if not isinstance(entry, dict) or entry.get("sender") not in ROLES:
        raise field_error(
            where, "sender", entry.get("sender") if isinstance(entry, dict) else entry, "human or assistant"
        )
    at = first_moment(entry, where, "created_at")
    documents = [
        each
        for attached in entry.get("attachments") or ()
        if isinstance(attached, dict) and (text := optional_text(attached, "extracted_content")) is not None
        for each in messages_for_ingest("document", text, at, about | {"file": optional_text(attached, "file_name")})
    ]
    return documents + messages_for_ingest(ROLES[entry["sender"]], _text(entry), at, about)


def _text(entry: dict[str, Any]) -> str:
    blocks = entry.get("content")
    texts = [each.get("text") for each in blocks if isinstance(each, dict) and each.get("type") == "text"] \
        if isinstance(blocks, list) else []  # fmt: skip
    spoken = "\n".join(text for text in texts if isinstance(text, str))
    return clean_text(spoken) if spoken.strip() else optional_text(entry, "text") or ""
