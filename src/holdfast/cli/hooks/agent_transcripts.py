"""Pure: parses a coding agent's transcript into the texts of user and assistant, without tool calls and reasoning.

Three agents write three forms of JSON Lines: Claude Code and Cursor one message per line, Codex one envelope per line.
Text that an agent inserts into the user's messages (reminders, command output, instructions, our memory) is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from holdfast.domain.limits import MAX_CONTENT_BYTES

SPOKEN_ROLES = ("user", "assistant")
MEMORY_TAG = "holdfast-memory"
"""The tag around the memory that a hook gives the agent; text inside it is never ingested."""
# Patterns are compiled when a text has a tag: every hook loads this module, and few prompts have one.
_INSERTED_BLOCK = rf"(?s)<({MEMORY_TAG}|system-reminder|system_reminder|hook_context|timestamp)\b[^>]*>.*?</\1>"
_USER_QUERY = r"(?s)\s*<user_query>(.*)</user_query>\s*"
_AGENT_TEXT_STARTS = (
    "<command-", "<local-command", "<bash-", "<task-notification", "<environment_context", "<user_instructions",
    "<INSTRUCTIONS", "<permissions", "<turn_aborted", "<collaboration_mode", "<skill", "<subagent_notification",
    "<user_shell_command", "# AGENTS.md instructions", "[Request interrupted", "Caveat: The messages below",
    "This session is being continued from a previous conversation",
)  # fmt: skip
_SKIP_MARKS = ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")


class TranscriptTurn(NamedTuple):
    role: str
    content: str
    timestamp: str | None = None


class AgentTranscript(NamedTuple):
    """The turns of a transcript, and the agent that wrote it."""

    turns: tuple[TranscriptTurn, ...]
    agent: str | None


def parse_transcript(lines: Iterable[str | bytes]) -> AgentTranscript:
    turns: list[TranscriptTurn] = []
    typed: list[
        TranscriptTurn
    ] = []  # Codex's own record of what the user typed; its other items also contain text that Codex added
    agents: list[str] = []
    for line in lines:
        agent, kind, turn = _parse_line(line)
        if kind == "summary":  # the agent wrote it for itself, as its last turn before compaction
            if turn is not None and turns and turns[-1].content in turn.content:
                turns.pop()
        elif turn is not None and agent is not None:
            agents.append(agent)
            (typed if kind == "typed" else turns).append(turn)
            if kind == "typed":
                turns.append(turn)
    if typed:
        turns = [turn for turn in turns if turn.role != "user" or any(turn is each for each in typed)]
    return AgentTranscript(tuple(turns), agents[-1] if agents else None)


def parse_messages(messages: Iterable[Any]) -> tuple[TranscriptTurn, ...]:
    """The turns in a list of messages with role, content and perhaps a timestamp."""
    turns = (
        _parse_turn(each.get("role"), each.get("content"), each.get("timestamp"))
        for each in messages
        if isinstance(each, dict)
    )
    return tuple(turn for turn in turns if turn is not None)


def spoken_text(text: str) -> str:
    """The text that a person or the assistant wrote, without inserted blocks; empty if nothing is left."""
    if "<" in text:
        text = re.sub(_INSERTED_BLOCK, "", text)
        asked = re.fullmatch(_USER_QUERY, text)
        text = asked[1] if asked else text
    words = text.strip()
    return "" if words.startswith(_AGENT_TEXT_STARTS) else truncated_text(words, MAX_CONTENT_BYTES)


def truncated_text(text: str, max_bytes: int) -> str:
    """As much of the text as fits into so many bytes of UTF-8, without NUL, which no message may contain."""
    return text.encode("utf-8", "replace").replace(b"\0", b"")[:max_bytes].decode("utf-8", "ignore")


def _parse_line(line: str | bytes) -> tuple[str | None, str, TranscriptTurn | None]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None, "", None
    if not isinstance(record, dict):
        return None, "", None
    at = record.get("timestamp")
    at = at if isinstance(at, str) else None
    if isinstance(record.get("payload"), dict):
        return _parse_codex(record.get("type"), record["payload"], at)
    message = record.get("message")
    if not isinstance(message, dict) or any(record.get(mark) for mark in _SKIP_MARKS):
        return None, "", None
    if message.get("model") == "<synthetic>":  # Claude Code answers its own commands so
        return None, "", None
    if record.get("type") in SPOKEN_ROLES:
        return "claude-code", "", _parse_turn(record["type"], message.get("content"), at)
    return "cursor", "", _parse_turn(record.get("role"), message.get("content"), at)


def _parse_codex(type: Any, payload: dict[str, Any], at: str | None) -> tuple[str, str, TranscriptTurn | None]:
    if type == "event_msg" and payload.get("type") == "user_message":
        return "codex", "typed", _parse_turn("user", payload.get("message"), at)
    if type == "compacted":
        return "codex", "summary", _parse_turn("assistant", payload.get("message"), at)
    item = payload.get("item")
    if payload.get("type") == "item_completed" and isinstance(item, dict) and item.get("type") == "UserMessage":
        return "codex", "typed", _parse_turn("user", item.get("content"), at)
    if type == "response_item" and payload.get("type") == "message":
        return "codex", "", _parse_turn(payload.get("role"), payload.get("content"), at)
    return "codex", "", None


def _parse_turn(role: Any, content: Any, at: str | None) -> TranscriptTurn | None:
    if role not in SPOKEN_ROLES:
        return None
    if isinstance(content, list):
        texts = [part["text"] for part in content if _is_text(part)]
        words = "\n\n".join(filter(None, map(spoken_text, texts)))
    else:
        words = spoken_text(content) if isinstance(content, str) else ""
    return TranscriptTurn(role, truncated_text(words, MAX_CONTENT_BYTES), at) if words else None


def _is_text(part: Any) -> bool:
    kinds = ("text", "input_text", "output_text")
    return isinstance(part, dict) and part.get("type") in kinds and isinstance(part.get("text"), str)
