"""Claude's export: conversations.json, each a list of chat messages, oldest first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .found import Conversation, Found, clean, maybe_text, said, session_of, text_of, when, wrong

ROLES = {"human": "user", "assistant": "assistant"}


def knows(first: dict[str, Any]) -> bool:
    return isinstance(first.get("chat_messages"), list)


def read(told: Any, where: str) -> Iterator[Found]:
    if not isinstance(told, dict) or not isinstance(told.get("chat_messages"), list):
        raise wrong(where, "chat_messages", told, "a list of messages")
    id, title = text_of(told, "uuid", where), maybe_text(told, "name")
    messages = [
        each
        for n, message in enumerate(told["chat_messages"])
        for each in _messages(message, {"source": "claude", "title": title}, f"{where}, chat_messages[{n}]")
    ]
    if messages:
        yield Conversation(session_of("claude", id), tuple(messages))


def _messages(told: Any, about: dict[str, Any], where: str) -> list[dict[str, Any]]:
    if not isinstance(told, dict) or told.get("sender") not in ROLES:
        raise wrong(where, "sender", told.get("sender") if isinstance(told, dict) else told, "human or assistant")
    at = when(told, where, "created_at")
    found = [
        each
        for attached in told.get("attachments") or ()
        if isinstance(attached, dict) and (text := maybe_text(attached, "extracted_content")) is not None
        for each in said("document", text, at, about | {"file": maybe_text(attached, "file_name")})
    ]
    return found + said(ROLES[told["sender"]], _text(told), at, about)


def _text(told: dict[str, Any]) -> str:
    blocks = told.get("content")
    texts = [each.get("text") for each in blocks if isinstance(each, dict) and each.get("type") == "text"] \
        if isinstance(blocks, list) else []  # fmt: skip
    spoken = "\n".join(text for text in texts if isinstance(text, str))
    return clean(spoken) if spoken.strip() else maybe_text(told, "text") or ""
