"""Pure: what was said in a coding agent's transcript. Only the words of user and assistant; no tools, no thinking.

Three agents, three shapes of JSON Lines: Claude Code and Cursor write one message a line, Codex one envelope a line.
What an agent puts into a user's mouth (reminders, command output, its own instructions, our memory) is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..names import CONTENT_BYTES

ROLES = ("user", "assistant")
MEMORY = "holdfast-memory"
"""The tag around what a hook tells the agent; text within it is never taken for something said."""
_INSERTED = re.compile(rf"<({MEMORY}|system-reminder|system_reminder|timestamp)\b[^>]*>.*?</\1>", re.S)
_ASKED = re.compile(r"\s*<user_query>(.*)</user_query>\s*", re.S)
_NOT_SAID = re.compile(
    r"\s*(?:<(?:command-|local-command|bash-|task-notification|environment_context|user_instructions|INSTRUCTIONS"
    r"|permissions|turn_aborted|collaboration_mode|skill|subagent_notification|user_shell_command)"
    r"|# AGENTS\.md instructions|\[Request interrupted|Caveat: The messages below"
    r"|This session is being continued from a previous conversation)"
)
_SKIPPED = ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")


@dataclass(frozen=True, slots=True)
class Turn:
    role: str
    content: str
    timestamp: str | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """What a transcript tells, and whose it is."""

    turns: tuple[Turn, ...]
    agent: str | None


def told(lines: Iterable[str | bytes]) -> Told:
    turns: list[Turn] = []
    typed: list[Turn] = []  # Codex's own record of what a person typed; its items also hold what it added
    agents: list[str] = []
    for line in lines:
        agent, kind, turn = _read(line)
        if turn is not None and agent is not None:
            agents.append(agent)
            (typed if kind == "typed" else turns).append(turn)
            if kind == "typed":
                turns.append(turn)
    if typed:
        turns = [turn for turn in turns if turn.role != "user" or any(turn is each for each in typed)]
    return Told(tuple(turns), agents[-1] if agents else None)


def said(text: str) -> str:
    """The words themselves, or nothing."""
    asked = _ASKED.fullmatch(_INSERTED.sub("", text))
    words = asked[1] if asked else _INSERTED.sub("", text)
    return "" if _NOT_SAID.match(words) else short(words.strip(), CONTENT_BYTES)


def short(text: str, most: int) -> str:
    """As much of the text as fits into so many bytes of UTF-8, without what no message may hold."""
    return text.encode("utf-8", "replace").replace(b"\0", b"")[:most].decode("utf-8", "ignore")


def _read(line: str | bytes) -> tuple[str | None, str, Turn | None]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None, "", None
    if not isinstance(record, dict):
        return None, "", None
    at = record.get("timestamp")
    at = at if isinstance(at, str) else None
    if isinstance(record.get("payload"), dict):
        return _of_codex(record.get("type"), record["payload"], at)
    message = record.get("message")
    if not isinstance(message, dict) or any(record.get(mark) for mark in _SKIPPED):
        return None, "", None
    if record.get("type") in ROLES:
        return "claude-code", "", _turn(record["type"], message.get("content"), at)
    return "cursor", "", _turn(record.get("role"), message.get("content"), at)


def _of_codex(type: Any, payload: dict[str, Any], at: str | None) -> tuple[str, str, Turn | None]:
    if type == "event_msg" and payload.get("type") == "user_message":
        return "codex", "typed", _turn("user", payload.get("message"), at)
    item = payload.get("item")
    if payload.get("type") == "item_completed" and isinstance(item, dict) and item.get("type") == "UserMessage":
        return "codex", "typed", _turn("user", item.get("content"), at)
    if type == "response_item" and payload.get("type") == "message":
        return "codex", "", _turn(payload.get("role"), payload.get("content"), at)
    return "codex", "", None


def _turn(role: Any, content: Any, at: str | None) -> Turn | None:
    if role not in ROLES:
        return None
    if isinstance(content, list):
        texts = [part["text"] for part in content if _is_text(part)]
        words = "\n\n".join(filter(None, map(said, texts)))
    else:
        words = said(content) if isinstance(content, str) else ""
    return Turn(role, short(words, CONTENT_BYTES), at) if words else None


def _is_text(part: Any) -> bool:
    kinds = ("text", "input_text", "output_text")
    return isinstance(part, dict) and part.get("type") in kinds and isinstance(part.get("text"), str)
