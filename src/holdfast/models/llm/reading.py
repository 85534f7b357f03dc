"""From a model's text to a value that can be trusted to have the right shape, or an error.

Models wrap JSON in fences, prose or thoughts, break it, cut it off or answer nothing. The one JSON object in the text
is read, never evaluated, and checked by the task's reader. What does not fit goes back to the model once, with the
reason.
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

from ...errors import ModelError
from .chat import Ask, Chat, Reply

T = TypeVar("T")
LONGEST = 1_000_000
_SHOWN = 4_000
_REASON = 500
_LEAST_SECONDS = 0.2
_THOUGHTS = re.compile(r"\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_MARKS = re.compile(r'[{}"]|\\.', re.DOTALL)
_FENCED = re.compile(r"\A```[a-zA-Z]*\s*\n(.*)\n\s*```\Z", re.DOTALL)


async def answered(chat: Chat, ask: Ask, read: Callable[[Any], T]) -> T:
    """The model's answer as `read` makes it of the JSON (it raises ValueError for a wrong shape); one repair.

    Raises ModelError when there is no such answer, and what the chat raises. All of it takes `ask.seconds` at most.
    """
    clock = asyncio.get_running_loop().time
    deadline = clock() + ask.seconds
    reply = await chat.reply(ask)
    try:
        return _value(reply, ask, read)
    except ValueError as error:
        reason = _said(error)
    left = deadline - clock()
    if left < _LEAST_SECONDS:
        raise ModelError(f"{chat.name} answered {ask.task!r} wrongly, and there is no time to repair it: {reason}")
    again = await chat.reply(replace(ask, user=_with_reason(ask.user, reply.text, reason), seconds=left))
    try:
        return _value(again, ask, read)
    except ValueError as error:
        raise ModelError(f"{chat.name} answered {ask.task!r} wrongly twice: {_said(error)}") from None


def json_in(text: str) -> Any:
    """The JSON that a text is, or the one JSON object in it; ValueError says what is wrong instead."""
    if len(text) > LONGEST:
        raise ValueError(f"The answer has more than {LONGEST:,} characters.")
    text = _THOUGHTS.sub("", text, count=1).strip() if text.lstrip().startswith("<think") else text.strip()
    if not text:
        raise ValueError("The answer is empty.")
    fenced = _FENCED.match(text)
    try:
        found = [orjson.loads(fenced[1] if fenced else text)]
    except orjson.JSONDecodeError as error:
        found = list(_objects(text))
        if not found:
            raise ValueError(f"The answer is no JSON: {error}.") from None
    if len(found) > 1:
        raise ValueError("There is more than one JSON object in the answer.")
    _check_characters(found[0])
    return found[0]


def _value(reply: Reply, ask: Ask, read: Callable[[Any], T]) -> T:
    if reply.refused:
        raise ModelError(f"{reply.usage.model} declined to answer {ask.task!r}.")
    try:
        return read(json_in(reply.text))
    except ValueError as error:
        # A cut answer that is whole all the same (blanks ran on after the JSON) has been accepted above.
        if not reply.whole:
            raise ValueError(f"The answer was cut off at {ask.tokens} tokens; give a shorter one.") from error
        raise
    except RecursionError:
        raise ValueError("The answer is nested too deeply.") from None


def _objects(text: str) -> Iterator[Any]:
    """Each outermost JSON object in prose; braces that hold no JSON are passed over, one that never closes ends it."""
    at = text.find("{")
    while at >= 0:
        end = _closing(text, at)
        if end is None:
            raise ValueError("The answer breaks off within its JSON.")
        with suppress(orjson.JSONDecodeError):
            yield orjson.loads(text[at:end])
        at = text.find("{", end)


def _closing(text: str, at: int) -> int | None:
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
    """A NUL is in no text that anybody wrote, and databases refuse it."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            waiting += each.keys()
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
        elif isinstance(each, str) and "\0" in each:
            raise ValueError("A text in the answer holds a NUL character.")


def _with_reason(user: str, text: str, reason: str) -> str:
    fence = f"answer-{secrets.token_hex(4)}"
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    shown = shown.encode("utf-8", "replace").decode()
    return (
        f"{user}\n\n"
        f"Your last answer to this stands between the <{fence}> marks. It cannot be used: {reason}\n"
        f"<{fence}>\n{shown}\n</{fence}>\n"
        "Answer again: one JSON object that fits the schema, and nothing else."
    )


def _said(error: ValueError) -> str:
    words = " ".join(str(error).encode("utf-8", "replace").decode().split())
    return words if len(words) <= _REASON else f"{words[:_REASON]}…"
