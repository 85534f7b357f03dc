"""Pure: parses bytes into messages. Formats: JSON, JSON Lines, or a transcript of `Name: text` lines."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Literal, get_args

from holdfast.domain.errors import InvalidInput, quoted_value

Format = Literal["auto", "json", "jsonl", "text"]
FORMATS: tuple[str, ...] = get_args(Format)
TRANSCRIPT_ROLES = ("user", "assistant", "system", "tool")
CONVERSATION_FIELDS = ("messages", "session_id", "agent")
ZIP_START = b"PK\x03\x04"
_BOM = b"\xef\xbb\xbf"
# [2025-03-04 18:20] Mara Lind: text. A space must follow the colon, so that URLs and clock times are not names.
_SPEAKER_LINE = re.compile(
    r"(?:\[(?P<at>\d{4}-\d\d-\d\d[^\]]*)\]\s*)?(?P<name>[^\W\d_][\w.'’-]*(?: [\w.'’-]+){0,3}):(?:\s+|$)"
)


@dataclass(frozen=True, slots=True)
class ParsedConversation:
    messages: list[Any]
    session_id: Any = None
    agent: Any = None


def parse_conversation(data: bytes, format: str, source: str) -> ParsedConversation:
    """The messages in `data`. Ingest checks their fields."""
    if data.startswith(ZIP_START):
        raise InvalidInput(
            f"{source} is a ZIP file, not a conversation.", field="file",
            fix="For the export of ChatGPT or Claude: holdfast import FILE. For documents: holdfast add FILE.",
        )  # fmt: skip
    text = _decode_utf8(data, source)
    if format not in FORMATS:
        raise InvalidInput(f"format is {quoted_value(format)}; use one of {', '.join(FORMATS)}.", field="format")
    guessed = format == "auto"
    if guessed:
        format = _guess_format(text, source)
    parse = {"json": _from_json, "jsonl": _from_json_lines, "text": _from_transcript}[format]
    try:
        found = parse(text, source)
    except InvalidInput as wrong:
        if not guessed or wrong.fix is not None or wrong.field != "file":
            raise
        raise InvalidInput(str(wrong), field="file", fix="If it is a conversation in text: --format text.") from None
    if not found.messages:
        raise InvalidInput(f"{source} has no messages.", field="messages")
    return found


def parse_json(text: str, field: str, where: str) -> Any:
    """The JSON value, or an error that says where the text is broken."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as bad:
        spot = f"line {bad.lineno}, column {bad.colno}" if "\n" in text else f"column {bad.colno}"
        raise InvalidInput(f"{where} is not JSON: {bad.msg} at {spot}.", field=field) from None
    except (ValueError, RecursionError) as bad:
        raise InvalidInput(f"{where} is not JSON: {bad}.", field=field) from None


def _decode_utf8(data: bytes, source: str) -> str:
    mark = len(_BOM) if data.startswith(_BOM) else 0
    try:
        return data[mark:].decode()
    except UnicodeDecodeError as bad:
        at = mark + bad.start
        raise InvalidInput(
            f"{source} is not valid UTF-8: byte 0x{data[at]:02x} at offset {at:,}.",
            field="file",
            fix="Convert it first, e.g.: iconv -f LATIN1 -t UTF-8",
        ) from None


def _guess_format(text: str, source: str) -> str:
    start = text.lstrip()
    if source.endswith((".jsonl", ".ndjson")):
        return "jsonl"
    if not start.startswith(("{", "[")):
        return "json" if source.endswith(".json") else "text"
    if _is_json(start):
        return "json"
    if start.startswith("{") and _is_json(start.splitlines()[0]):
        return "jsonl"
    looks_like_json = re.match(r'\{\s*"|\[\s*[\[{"]', start) is not None
    return "json" if looks_like_json or source.endswith(".json") else "text"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _from_json(text: str, source: str) -> ParsedConversation:
    value = parse_json(text, "file", source)
    if isinstance(value, list):
        return ParsedConversation(value)
    if isinstance(value, dict) and "messages" in value:
        unknown = [name for name in value if name not in CONVERSATION_FIELDS]
        if unknown:
            raise InvalidInput(
                f"{source} has an unknown field {quoted_value(unknown[0])}; use {', '.join(CONVERSATION_FIELDS)}.",
                field=unknown[0],
            )
        if not isinstance(value["messages"], list):
            raise InvalidInput(f"messages must be a list, not {quoted_value(value['messages'])}.", field="messages")
        return ParsedConversation(value["messages"], value.get("session_id"), value.get("agent"))
    if isinstance(value, dict) and "role" in value:
        return ParsedConversation([value])
    raise InvalidInput(
        f'{source} is {quoted_value(value)}; give a list of messages, or {{"messages": [...], "session_id": "..."}}.',
        field="file",
    )


def _from_json_lines(text: str, source: str) -> ParsedConversation:
    lines = enumerate(text.split("\n"), 1)
    return ParsedConversation([parse_json(line, "file", f"{source} line {n}") for n, line in lines if line.strip()])


def _from_transcript(text: str, _: str) -> ParsedConversation:
    messages: list[dict[str, Any]] = []
    texts: list[list[str]] = []
    for line in text.splitlines():
        spoken = _SPEAKER_LINE.match(line)
        if spoken and _is_name(spoken["name"]):
            messages.append(_speaker_message(spoken))
            texts.append([line[spoken.end() :]])
        elif texts:
            texts[-1].append(line)
        elif line.strip():
            messages.append({"role": "user"})
            texts.append([line])
    for message, lines in zip(messages, texts, strict=True):
        message["content"] = "\n".join(lines).strip()
    return ParsedConversation([message for message in messages if message["content"]])


def _is_name(name: str) -> bool:
    """Whether it is one word, or several that are capitalised: "we were told: wait" has no speaker."""
    words = name.split(" ")
    return len(words) == 1 or not any(word[0].islower() for word in words)


def _speaker_message(spoken: re.Match[str]) -> dict[str, Any]:
    name = spoken["name"]
    message = {"role": name.lower()} if name.lower() in TRANSCRIPT_ROLES else {"role": "user", "speaker": name}
    return message | ({"timestamp": spoken["at"].strip()} if spoken["at"] else {})
