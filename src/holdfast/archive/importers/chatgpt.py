"""Parses ChatGPT's export: conversations.json, each a tree of messages; `current_node` ends the visible branch."""

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
)

ROLES = {"user": "user", "assistant": "assistant", "tool": "tool", "system": "system"}


def matches(first: dict[str, Any]) -> bool:
    return isinstance(first.get("mapping"), dict)


def parse_entry(entry: Any, where: str) -> Iterator[ImportedItem]:
    if not isinstance(entry, dict) or not isinstance(entry.get("mapping"), dict):
        raise field_error(
            where, "mapping", entry.get("mapping") if isinstance(entry, dict) else entry, "an object of messages"
        )
    id = optional_text(entry, "conversation_id", "id")
    if id is None:
        raise field_error(where, "conversation_id", None, "text")
    title = optional_text(entry, "title")
    messages = [each for node in _visible_branch(entry, where) for each in _messages(node, title, where)]
    if messages:
        yield ImportedConversation(import_session_id("chatgpt", id), tuple(messages))


def _visible_branch(entry: dict[str, Any], where: str) -> list[dict[str, Any]]:
    """The nodes from the root to the current node, without the branches of edited questions."""
    nodes: dict[str, Any] = entry["mapping"]
    at = entry.get("current_node") or _newest_leaf(nodes)
    path: list[dict[str, Any]] = []
    seen: set[str] = set()
    while at is not None:
        node = nodes.get(at)
        if not isinstance(node, dict) or at in seen:
            raise field_error(where, "current_node", at, "a node whose parents lead to the root")
        seen.add(at)
        path.append(node)
        at = node.get("parent")
    return path[::-1]


def _newest_leaf(nodes: dict[str, Any]) -> str | None:
    """The leaf that was written last, for a conversation without a current node."""
    leaves = [(node.get("message") or {}, id) for id, node in nodes.items() if isinstance(node, dict)
              and not node.get("children")]  # fmt: skip
    return max(leaves, key=lambda leaf: leaf[0].get("create_time") or 0, default=(None, None))[1]


def _messages(node: dict[str, Any], title: str | None, where: str) -> list[dict[str, Any]]:
    message = node.get("message")
    if not isinstance(message, dict) or _is_hidden(message):
        return []
    role = ROLES.get(str((message.get("author") or {}).get("role")))
    text = _text(message.get("content"))
    if role is None or not text.strip():
        return []
    about = message.get("metadata") or {}
    metadata = {"source": "chatgpt", "title": title, "model": about.get("model_slug")}
    return messages_for_ingest(role, text, first_moment(message, where, "create_time"), metadata)


def _is_hidden(message: dict[str, Any]) -> bool:
    about = message.get("metadata") or {}
    return message.get("weight") == 0 or bool(about.get("is_visually_hidden_from_conversation"))


def _text(content: Any) -> str:
    """The text of a message; images, reasoning and the like are left out."""
    if not isinstance(content, dict):
        return ""
    if content.get("content_type") in ("text", "multimodal_text"):
        parts = content.get("parts")
        return clean_text("\n".join(part for part in parts if isinstance(part, str))) if isinstance(parts, list) else ""
    if content.get("content_type") in ("code", "execution_output"):
        return optional_text(content, "text") or ""
    return ""
