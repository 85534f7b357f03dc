"""ChatGPT's export: conversations.json, each a tree of messages of which `current_node` ends the one that is shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .found import Conversation, Found, clean, maybe_text, said, session_of, when, wrong

ROLES = {"user": "user", "assistant": "assistant", "tool": "tool", "system": "system"}


def knows(first: dict[str, Any]) -> bool:
    return isinstance(first.get("mapping"), dict)


def read(told: Any, where: str) -> Iterator[Found]:
    if not isinstance(told, dict) or not isinstance(told.get("mapping"), dict):
        raise wrong(where, "mapping", told.get("mapping") if isinstance(told, dict) else told, "an object of messages")
    id = maybe_text(told, "conversation_id", "id")
    if id is None:
        raise wrong(where, "conversation_id", None, "text")
    title = maybe_text(told, "title")
    messages = [each for node in _path(told, where) for each in _messages(node, title, where)]
    if messages:
        yield Conversation(session_of("chatgpt", id), tuple(messages))


def _path(told: dict[str, Any], where: str) -> list[dict[str, Any]]:
    """From the root to the current node; edited questions and their answers lie beside it."""
    nodes: dict[str, Any] = told["mapping"]
    at = told.get("current_node") or _last(nodes)
    path: list[dict[str, Any]] = []
    seen: set[str] = set()
    while at is not None:
        node = nodes.get(at)
        if not isinstance(node, dict) or at in seen:
            raise wrong(where, "current_node", at, "a node whose parents lead to the root")
        seen.add(at)
        path.append(node)
        at = node.get("parent")
    return path[::-1]


def _last(nodes: dict[str, Any]) -> str | None:
    """Without a current node: the leaf that was written last."""
    leaves = [(node.get("message") or {}, id) for id, node in nodes.items() if isinstance(node, dict)
              and not node.get("children")]  # fmt: skip
    return max(leaves, key=lambda leaf: leaf[0].get("create_time") or 0, default=(None, None))[1]


def _messages(node: dict[str, Any], title: str | None, where: str) -> list[dict[str, Any]]:
    message = node.get("message")
    if not isinstance(message, dict) or _hidden(message):
        return []
    role = ROLES.get(str((message.get("author") or {}).get("role")))
    text = _text(message.get("content"))
    if role is None or not text.strip():
        return []
    about = message.get("metadata") or {}
    metadata = {"source": "chatgpt", "title": title, "model": about.get("model_slug")}
    return said(role, text, when(message, where, "create_time"), metadata)


def _hidden(message: dict[str, Any]) -> bool:
    about = message.get("metadata") or {}
    return message.get("weight") == 0 or bool(about.get("is_visually_hidden_from_conversation"))


def _text(content: Any) -> str:
    """What was said in words; pictures, thoughts and the like are left out."""
    if not isinstance(content, dict):
        return ""
    if content.get("content_type") in ("text", "multimodal_text"):
        parts = content.get("parts")
        return clean("\n".join(part for part in parts if isinstance(part, str))) if isinstance(parts, list) else ""
    if content.get("content_type") in ("code", "execution_output"):
        return maybe_text(content, "text") or ""
    return ""
