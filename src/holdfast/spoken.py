"""Pure: messages as chat clients write them, as messages of ours.

Besides `role` and `content` as text, what the clients of OpenAI and Anthropic send and get back is taken as it is:

- `content` as a list of parts. Their texts are one message; pictures, sound, files and thoughts are left out.
- `tool_result` parts, which Anthropic's clients send as the user's: messages of role `tool`, so that what a tool
  brought never counts as what the user said.
- a message without text, such as one that only calls tools: left out, and counted.
- `name` is the speaker, or the tool; role `developer` is `system`, and `function` is `tool`.

A text over the limit becomes several messages that make it up exactly, cut where it breaks best.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import names
from .errors import InvalidInput, shown
from .types import ROLES

FIELDS = ("role", "content", "speaker", "timestamp", "agent", "metadata")
THEIRS = (
    "name", "tool_calls", "tool_call_id", "function_call", "refusal", "annotations", "audio", "reasoning",
    "reasoning_content", "id", "type", "status", "model", "stop_reason", "stop_sequence", "stop_details", "usage",
    "container", "cache_control",
)  # fmt: skip
"""Fields of theirs that a message may have; of these, name, tool_call_id and refusal say something to us."""
CALLED = {"developer": "system", "function": "tool"}
LONGEST_BYTES = 1_048_576
"""A longer text is a document."""
_BREAKS = ("\n\n", "\n", ". ", " ")


@dataclass(frozen=True, slots=True)
class Spoken:
    """Messages with fields of ours only, which of the given ones each is or is a piece of, and how many had no text."""

    rows: tuple[dict[str, Any], ...]
    given: tuple[int, ...]
    skipped: int


def spoken(messages: Iterable[object], most: int | None = None) -> Spoken:
    """The messages as ours; refused when they would become more than `most`."""
    rows: list[dict[str, Any]] = []
    given: list[int] = []
    skipped = 0
    for n, message in enumerate(messages):
        before = len(rows)
        rows += _rows(_opened(message), f"messages[{n}]")
        given += [n] * (len(rows) - before)
        skipped += len(rows) == before
    if most is not None and len(rows) > most:
        raise InvalidInput(
            f"messages would be {len(rows):,} messages of at most {names.CONTENT_BYTES:,} bytes; "
            f"the limit is {most:,}.",
            field="messages",
            fix="Send them in several calls with the same session_id.",
        )
    return Spoken(tuple(rows), tuple(given), skipped)


def pieces(text: str, limit: int = names.CONTENT_BYTES) -> Iterator[str]:
    """The text in pieces of at most `limit` bytes of UTF-8, cut after a paragraph, a line, a sentence or a word."""
    while len(text.encode()) > limit:
        most = len(text.encode()[:limit].decode(errors="ignore"))
        ends = (at + len(by) for by in _BREAKS if (at := text.rfind(by, most // 2, most - len(by) + 1)) > 0)
        cut = next(ends, most)
        yield text[:cut]
        text = text[cut:]
    yield text


def _opened(value: object) -> object:
    """What their clients answer with is objects that know how to become plain."""
    dump = getattr(value, "model_dump", None)
    return value if dump is None or isinstance(value, type | Mapping) else dump()


def _rows(message: object, where: str) -> Iterator[dict[str, Any]]:
    if not isinstance(message, Mapping):
        raise InvalidInput(f"{where} must be an object with role and content, not {shown(message)}.", field=where)
    for name in message:
        if name not in FIELDS and name not in THEIRS:
            raise InvalidInput(
                f"{where} has an unknown field {shown(name)}; a message has {', '.join(FIELDS)}.",
                field=f"{where}.{name}",
            )
    role = message.get("role")
    role = CALLED.get(role, role) if isinstance(role, str) else role
    if role not in ROLES:
        known = ", ".join((*ROLES, *CALLED))
        raise InvalidInput(f"{where}.role is {shown(role)}; use one of {known}.", field=f"{where}.role")
    for turn in _turns(message, where):
        yield from _kept(message, turn.role or role, turn, where)


@dataclass(frozen=True, slots=True)
class Turn:
    """One text of a message; a tool's result has a role of its own, and may name its call."""

    text: str
    role: str | None = None
    call: str | None = None


def _kept(message: Mapping[str, Any], role: str, turn: Turn, where: str) -> Iterator[dict[str, Any]]:
    """The message with this text, in as many pieces as it takes."""
    text = turn.text
    field = f"{where}.content"
    if len(text.encode(errors="replace")) > LONGEST_BYTES:
        raise InvalidInput(
            f"{field} is {len(text.encode(errors='replace')):,} bytes of UTF-8; the limit is {LONGEST_BYTES:,}.",
            field=field,
            fix="Add it as a document, or send it as several messages.",
        )
    row = {name: message[name] for name in FIELDS if name in message} | {"role": role}
    if role != "tool":
        row["speaker"] = message.get("speaker") or message.get("name")
    else:
        told = {"tool": message.get("name"), "tool_call_id": turn.call or message.get("tool_call_id")}
        row["metadata"] = _with(row.get("metadata"), {name: value for name, value in told.items() if value})
    for piece in pieces(names.text(text, field, limit=LONGEST_BYTES)):
        if piece.strip():
            yield row | {"content": piece}


def _with(metadata: object, told: dict[str, Any]) -> object:
    """The caller's own metadata with what else is told; of a wrong type, it is left for the check to refuse."""
    return told | dict(metadata) if isinstance(metadata, Mapping) else told if metadata is None else metadata


def _turns(message: Mapping[str, Any], where: str) -> Iterator[Turn]:
    """The message's texts in order: what was said, and each tool's result."""
    field, content = f"{where}.content", message.get("content")
    if content is None:
        if "content" not in message and not any(name in message for name in ("tool_calls", "function_call", "refusal")):
            raise InvalidInput(f"{field} is missing.", field=field, fix="Give text, or a list of parts with text.")
        content = message.get("refusal") or ""
    said: list[str] = []
    for part in _parts(content, field):
        if part.get("type") != "tool_result":
            said += [text] if (text := _text(part)) is not None else []
            continue
        if told := _joined(said):
            yield Turn(told)
        said = []
        result = _joined([text for each in _parts(part.get("content") or "", field) if (text := _text(each))])
        if result:
            yield Turn(result, "tool", part.get("tool_use_id"))
    if told := _joined(said):
        yield Turn(told)


def _parts(content: object, field: str) -> Sequence[Mapping[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, Mapping) or not isinstance(content, list | tuple):
        raise InvalidInput(
            f"{field} must be a string or a list of parts, not {type(content).__name__} ({shown(content)}).",
            field=field,
        )
    found: list[Mapping[str, Any]] = []
    for n, each in enumerate(content):
        part = {"type": "text", "text": each} if isinstance(each, str) else _opened(each)
        if not isinstance(part, Mapping) or not ("text" in part or isinstance(part.get("type"), str)):
            raise InvalidInput(
                f"{field}[{n}] is {shown(each)}, which is no part of a message.",
                field=f"{field}[{n}]",
                fix='Give {"type": "text", "text": "…"}.',
            )
        found.append(part)
    return found


def _text(part: Mapping[str, Any]) -> str | None:
    """What a part says; None for a picture, a call and the like."""
    said = part.get("text", part.get("refusal"))
    if isinstance(said, Mapping):
        said = said.get("value")
    return said if isinstance(said, str) and part.get("type") not in ("thinking", "reasoning") else None


def _joined(texts: Sequence[str]) -> str:
    """Parts as one text; a line between two that would run into each other. Nothing when there is only space."""
    whole = ""
    for text in texts:
        apart = whole and text and not whole[-1].isspace() and not text[0].isspace()
        whole += f"\n{text}" if apart else text
    return whole if whole.strip() else ""
