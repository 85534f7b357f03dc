"""Parses a model's text into a value of the right shape, or raises.

Models wrap JSON in fences, prose or thoughts, break it, cut it off or return nothing. The one JSON object in the text
is parsed, never evaluated, and checked by the task's schema. An answer that does not fit is sent back to the model
once, with the reason.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

import orjson

from holdfast.domain.errors import ModelError
from holdfast.models.llm.chat import Chat, ChatReply, ChatRequest

T = TypeVar("T")
MAX_ANSWER_CHARACTERS = 1_000_000
_MAX_SHOWN_CHARACTERS = 4_000
_MAX_REASON_CHARACTERS = 500
_MIN_REPAIR_SECONDS = 0.2
"""Maximum characters of an answer, and of the wrong answer and the reason that the model is shown; minimum seconds for
a repair. Chosen by hand; not measured."""
_THOUGHTS = re.compile(r"\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_MARKS = re.compile(r'[{}"]|\\.', re.DOTALL)
_FENCE = re.compile(r"\A```[a-zA-Z]*\s*\n(.*)\n\s*```\Z", re.DOTALL)


async def ask_for_json(chat: Chat, ask: ChatRequest, read: Callable[[Any], T]) -> T:
    """Asks a model, and once more when the answer is wrong; returns what `read` makes of the JSON.

    `read` raises ValueError for a wrong shape. Raises ModelError when no valid answer arrives, and the errors of the
    chat. It takes at most `ask.seconds`.
    """
    clock = asyncio.get_running_loop().time
    deadline = clock() + ask.seconds
    reply = await chat.reply(ask)
    try:
        return _parse_reply(reply, ask, read)
    except ValueError as error:
        reason = _error_text(error)
    left = deadline - clock()
    if left < _MIN_REPAIR_SECONDS:
        raise ModelError(f"{chat.name} answered {ask.task!r} wrongly, and there is no time to repair it: {reason}")
    again = await chat.reply(replace(ask, user=_repair_request(ask.user, reply.text, reason), seconds=left))
    try:
        return _parse_reply(again, ask, read)
    except ValueError as error:
        raise ModelError(f"{chat.name} answered {ask.task!r} wrongly twice: {_error_text(error)}") from None


def parse_json(text: str) -> Any:
    """Parses the JSON of a text, or the only JSON object in it. Raises ValueError, which states what is wrong."""
    if len(text) > MAX_ANSWER_CHARACTERS:
        raise ValueError(f"The answer has more than {MAX_ANSWER_CHARACTERS:,} characters.")
    text = _THOUGHTS.sub("", text, count=1).strip() if text.lstrip().startswith("<think") else text.strip()
    if not text:
        raise ValueError("The answer is empty.")
    fenced = _FENCE.match(text)
    try:
        values = [orjson.loads(fenced[1] if fenced else text)]
    except orjson.JSONDecodeError as error:
        values = list(_json_objects(text))
        if not values:
            raise ValueError(f"The answer is no JSON: {error}.") from None
    if len(values) > 1:
        raise ValueError("There is more than one JSON object in the answer.")
    _check_characters(values[0])
    return values[0]


def _parse_reply(reply: ChatReply, ask: ChatRequest, read: Callable[[Any], T]) -> T:
    if reply.refused:
        raise ModelError(f"{reply.usage.model} declined to answer {ask.task!r}.")
    try:
        return read(parse_json(reply.text))
    except ValueError as error:
        # An answer that was cut off but is complete (whitespace ran on after the JSON) has been accepted above.
        if not reply.whole:
            raise ValueError(f"The answer was cut off at {ask.tokens} tokens; give a shorter one.") from error
        raise
    except RecursionError:
        raise ValueError("The answer is nested too deeply.") from None


def _json_objects(text: str) -> Iterator[Any]:
    """Yields each outermost JSON object in prose; skips braces that contain no JSON, raises
    at one that never closes."""
    at = text.find("{")
    while at >= 0:
        end = _closing_brace(text, at)
        if end is None:
            raise ValueError("The answer breaks off within its JSON.")
        with suppress(orjson.JSONDecodeError):
            yield orjson.loads(text[at:end])
        at = text.find("{", end)


def _closing_brace(text: str, at: int) -> int | None:
    depth, quoted = 0, False
    for mark in _MARKS.finditer(text, at):
        match mark[0]:
            case '"':
                quoted = not quoted
            case "{" if not quoted:
                depth += 1
            case "}" if not quoted:
                depth -= 1
                if depth == 0:
                    return mark.end()
    return None


def _check_characters(value: Any) -> None:
    """Raises ValueError for a NUL character: no text contains one, and databases reject it."""
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, dict):
            pending += each.keys()
            pending += each.values()
        elif isinstance(each, list):
            pending += each
        elif isinstance(each, str) and "\0" in each:
            raise ValueError("A text in the answer holds a NUL character.")


def _repair_request(user: str, text: str, reason: str) -> str:
    fence = f"answer-{secrets.token_hex(4)}"
    shown = text if len(text) <= _MAX_SHOWN_CHARACTERS else f"{text[:_MAX_SHOWN_CHARACTERS]}…"
    shown = shown.encode("utf-8", "replace").decode()
    return (
        f"{user}\n\n"
        f"Your last answer to this stands between the <{fence}> marks. It cannot be used: {reason}\n"
        f"<{fence}>\n{shown}\n</{fence}>\n"
        "Answer again: one JSON object that fits the schema, and nothing else."
    )


def _error_text(error: ValueError) -> str:
    words = " ".join(str(error).encode("utf-8", "replace").decode().split())
    return words if len(words) <= _MAX_REASON_CHARACTERS else f"{words[:_MAX_REASON_CHARACTERS]}…"
