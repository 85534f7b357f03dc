"""Anthropic's Messages API.

No temperature is sent: current models take none. The system block is marked for caching, so calls of one task share it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from .chat import Ask, Reply, Usage
from .endpoint import Endpoint
from .openai import tokens
from .schemas import known_words
from .wire import Unanswered, Wire

VERSION = "2023-06-01"
_PATH = "/messages"
_CUT = {"max_tokens", "model_context_window_exceeded"}
_STATUS = {
    "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
    "not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "timeout_error": 504,
    "overloaded_error": 529,
}  # fmt: skip


class AnthropicChat:
    """A Claude model."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._wire = Wire(endpoint, {"x-api-key": endpoint.key or "", "anthropic-version": VERSION})

    @property
    def name(self) -> str:
        return self._endpoint.name

    async def reply(self, ask: Ask) -> Reply:
        answer = await self._wire.post(_PATH, self._body(ask), ask.seconds)
        so_far = _SoFar()
        try:
            so_far.count(answer.get("usage"))
            so_far.stop = answer["stop_reason"]
            so_far.text = [block["text"] for block in answer["content"] if block["type"] == "text"]
            return so_far.reply(self.name, ask.task)
        except (KeyError, TypeError, AttributeError):
            raise self._wire.unreadable("it is no message") from None

    async def stream(self, ask: Ask) -> AsyncGenerator[str | Reply, None]:
        so_far = _SoFar()
        body = self._body(ask) | {"stream": True}
        async with aclosing(self._wire.events(_PATH, body, ask.seconds)) as events:
            async for event in events:
                try:
                    self._raise_told(event, so_far, ask)
                    piece = so_far.add(event)
                except (KeyError, TypeError, AttributeError):
                    raise self._wire.unreadable("it is no stream of a message") from None
                if piece:
                    yield piece
        reply = so_far.reply(self.name, ask.task)
        if so_far.stop is None:
            raise Unanswered(f"{self.name} broke off.", usage=reply.usage)
        yield reply

    async def close(self) -> None:
        await self._wire.close()

    def _body(self, ask: Ask) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._endpoint.model,
            "max_tokens": ask.tokens,
            "system": [{"type": "text", "text": ask.system, "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": ask.user}],
        }
        if ask.schema is not None:
            body["output_config"] = {"format": {"type": "json_schema", "schema": known_words(ask.schema)}}
        return body

    def _raise_told(self, event: dict[str, Any], so_far: _SoFar, ask: Ask) -> None:
        if event["type"] != "error":
            return
        error = event.get("error") or {}
        failure = self._wire.failed(_STATUS.get(str(error.get("type")), 500), event)
        if isinstance(failure, Unanswered):
            failure.usage = so_far.reply(self.name, ask.task).usage
        raise failure


@dataclass(slots=True)
class _SoFar:
    """An answer while it comes."""

    text: list[str] = field(default_factory=list)
    stop: str | None = None
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, event: dict[str, Any]) -> str:
        match event["type"]:
            case "message_start":
                self.count(event["message"].get("usage"))
            case "content_block_delta" if event["delta"]["type"] == "text_delta":
                piece = event["delta"]["text"]
                if not isinstance(piece, str):
                    raise TypeError("text")
                self.text.append(piece)
                return piece
            case "message_delta":
                self.stop = event["delta"].get("stop_reason") or self.stop
                self.count(event.get("usage"))
        return ""

    def count(self, usage: Any) -> None:
        """Counts are cumulative, and a later one may leave out what an earlier one told."""
        if isinstance(usage, dict):
            self.counts |= {name: tokens(count) for name, count in usage.items() if isinstance(count, int)}

    def reply(self, name: str, task: str) -> Reply:
        cached = self.counts.get("cache_read_input_tokens", 0)
        read = self.counts.get("input_tokens", 0) + self.counts.get("cache_creation_input_tokens", 0) + cached
        usage = Usage(name, task, input=read, output=self.counts.get("output_tokens", 0), cached=cached)
        return Reply("".join(self.text), usage, self.stop not in _CUT, self.stop == "refusal")
