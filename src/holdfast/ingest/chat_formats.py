"""Normalises messages in the formats of chat clients to Holdfast's own fields. Pure.

Besides `role` and `content` as text, the messages that OpenAI's and Anthropic's clients send and receive are accepted:
- `content` as a list of parts. Their texts become one message; images, audio, files and thinking are left out.
- `tool_result` parts, which Anthropic's clients send with role user: they become messages of role `tool`, so that what
  a tool returned is never attributed to the user.
- A message without text, such as one that only calls tools, is left out and counted.
- `name` is the speaker, or the tool; role `developer` becomes `system`, and `function` becomes `tool`.

A text over the limit is split into several messages at the best break; joined, they give exactly that text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.domain import identifiers, limits
from holdfast.domain.errors import InvalidInput, quoted_value
from holdfast.domain.types import ROLES

MESSAGE_FIELDS = ("role", "content", "speaker", "timestamp", "agent", "metadata")
CLIENT_FIELDS = (
    "name", "tool_calls", "tool_call_id", "function_call", "refusal", "annotations", "audio", "reasoning",
    "reasoning_content", "id", "type", "status", "model", "stop_reason", "stop_sequence", "stop_details", "usage",
    "container", "cache_control",
)  # fmt: skip
"""Fields of other clients that a message may have; only name, tool_call_id and refusal are used."""
ROLE_ALIASES = {"developer": "system", "function": "tool"}
"""A longer text should be added as a document. Chosen by hand; not measured."""
_BREAKS = ("\n\n", "\n", ". ", " ")


@dataclass(frozen=True, slots=True)
class NormalisedMessages:
    """Messages with Holdfast's fields only; for each, the index of the given message that it is, or is a piece of;
    and how many had no text."""

    rows: tuple[dict[str, Any], ...]
    given: tuple[int, ...]
    skipped: int


def normalised_messages(messages: Iterable[object], most: int | None = None) -> NormalisedMessages:
    """Returns the messages with Holdfast's fields only. Raises InvalidInput when they would become more than `most`."""
    rows: list[dict[str, Any]] = []
    given: list[int] = []
    skipped = 0
    for n, message in enumerate(messages):
        before = len(rows)
        rows += _message_rows(_plain_value(message), f"messages[{n}]")
        given += [n] * (len(rows) - before)
        skipped += len(rows) == before
    if most is not None and len(rows) > most:
        raise InvalidInput(
            f"messages would be {len(rows):,} messages of at most {limits.MAX_CONTENT_BYTES:,} bytes; "
            f"the limit is {most:,}.",
            field="messages",
            fix="Send them in several calls with the same session_id.",
        )
    return NormalisedMessages(tuple(rows), tuple(given), skipped)


def text_pieces(text: str, limit: int = limits.MAX_CONTENT_BYTES) -> Iterator[str]:
    """Splits the text into pieces of at most `limit` bytes of UTF-8, after a paragraph, line, sentence or word."""
    while len(text.encode()) > limit:
        most = len(text.encode()[:limit].decode(errors="ignore"))
        ends = (at + len(by) for by in _BREAKS if (at := text.rfind(by, most // 2, most - len(by) + 1)) > 0)
        cut = next(ends, most)
        yield text[:cut]
        text = text[cut:]
    yield text


def _plain_value(value: object) -> object:
    """Converts Pydantic models, which clients return, into plain objects."""
    dump = getattr(value, "model_dump", None)
    return value if dump is None or isinstance(value, type | Mapping) else dump()


def _message_rows(message: object, where: str) -> Iterator[dict[str, Any]]:
    if not isinstance(message, Mapping):
        raise InvalidInput(
            f"{where} must be an object with role and content, not {quoted_value(message)}.", field=where
        )
    for name in message:
        if name not in MESSAGE_FIELDS and name not in CLIENT_FIELDS:
            raise InvalidInput(
                f"{where} has an unknown field {quoted_value(name)}; a message has {', '.join(MESSAGE_FIELDS)}.",
                field=f"{where}.{name}",
            )
    role = message.get("role")
    role = ROLE_ALIASES.get(role, role) if isinstance(role, str) else role
    if role not in ROLES:
        known = ", ".join((*ROLES, *ROLE_ALIASES))
        raise InvalidInput(f"{where}.role is {quoted_value(role)}; use one of {known}.", field=f"{where}.role")
    for turn in _message_texts(message, where):
        yield from _text_rows(message, turn.role or role, turn, where)


@dataclass(frozen=True, slots=True)
class MessageText:
    """One text of a message; the result of a tool has its own role and may name its call."""

    text: str
    role: str | None = None
    call: str | None = None


def _text_rows(message: Mapping[str, Any], role: str, turn: MessageText, where: str) -> Iterator[dict[str, Any]]:
    """The message with this text, in as many pieces as needed."""
    text = turn.text
    field = f"{where}.content"
    size = len(text.encode(errors="replace"))
    if size > limits.MAX_TEXT_BYTES:
        raise InvalidInput(
            f"{field} is {size:,} bytes of UTF-8; the limit is {limits.MAX_TEXT_BYTES:,}.",
            field=field,
            fix="Add it as a document, or send it as several messages.",
        )
    row = {name: message[name] for name in MESSAGE_FIELDS if name in message} | {"role": role}
    if role != "tool":
        row["speaker"] = message.get("speaker") or message.get("name")
    else:
        call = {"tool": message.get("name"), "tool_call_id": turn.call or message.get("tool_call_id")}
        row["metadata"] = _merged_metadata(row.get("metadata"), {name: value for name, value in call.items() if value})
    for piece in text_pieces(identifiers.validate_text(text, field, limit=limits.MAX_TEXT_BYTES)):
        if piece.strip():
            yield row | {"content": piece}


def _merged_metadata(metadata: object, extra: dict[str, Any]) -> object:
    """The caller's metadata with extra fields; metadata of a wrong type is passed on for validation to reject."""
    return extra | dict(metadata) if isinstance(metadata, Mapping) else extra if metadata is None else metadata


def _message_texts(message: Mapping[str, Any], where: str) -> Iterator[MessageText]:
    """The texts of a message in order: its own text, and the result of each tool."""
    field, content = f"{where}.content", message.get("content")
    if content is None:
        if "content" not in message and not any(name in message for name in ("tool_calls", "function_call", "refusal")):
            raise InvalidInput(f"{field} is missing.", field=field, fix="Give text, or a list of parts with text.")
        content = message.get("refusal") or ""
    said: list[str] = []
    for part in _content_parts(content, field):
        if part.get("type") != "tool_result":
            said += [text] if (text := _part_text(part)) is not None else []
            continue
        if whole := _joined_text(said):
            yield MessageText(whole)
        said = []
        result = _joined_text(
            [text for each in _content_parts(part.get("content") or "", field) if (text := _part_text(each))]
        )
        if result:
            yield MessageText(result, "tool", part.get("tool_use_id"))
    if whole := _joined_text(said):
        yield MessageText(whole)


def _content_parts(content: object, field: str) -> Sequence[Mapping[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, Mapping) or not isinstance(content, list | tuple):
        raise InvalidInput(
            f"{field} must be a string or a list of parts, not {type(content).__name__} ({quoted_value(content)}).",
            field=field,
        )
    parts: list[Mapping[str, Any]] = []
    for n, each in enumerate(content):
        part = {"type": "text", "text": each} if isinstance(each, str) else _plain_value(each)
        if not isinstance(part, Mapping) or not ("text" in part or isinstance(part.get("type"), str)):
            raise InvalidInput(
                f"{field}[{n}] is {quoted_value(each)}, which is not a valid part of a message.",
                field=f"{field}[{n}]",
                fix='Give {"type": "text", "text": "…"}.',
            )
        parts.append(part)
    return parts


def _part_text(part: Mapping[str, Any]) -> str | None:
    """The text of a part; None for an image, a tool call and the like."""
    text = part.get("text", part.get("refusal"))
    if isinstance(text, Mapping):
        text = text.get("value")
    return text if isinstance(text, str) and part.get("type") not in ("thinking", "reasoning") else None


def _joined_text(texts: Sequence[str]) -> str:
    """Joins parts to one text, with a line break between two that no whitespace separates.
    Empty when all is whitespace."""
    whole = ""
    for text in texts:
        apart = whole and text and not whole[-1].isspace() and not text[0].isspace()
        whole += f"\n{text}" if apart else text
    return whole if whole.strip() else ""
