"""A client of Anthropic's Messages API.

It sends no temperature, because current models do not accept one. The system block is marked for caching, so that the
calls of one task share it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from holdfast.models.llm.chat import ChatReply, ChatRequest, Usage, provider_schema, token_count
from holdfast.models.llm.endpoint import Endpoint
from holdfast.models.llm.http import EndpointClient, Unanswered

API_VERSION = "2023-06-01"
_PATH = "/messages"
_CUT_OFF_REASONS = {"max_tokens", "model_context_window_exceeded"}
_STATUS_BY_ERROR_TYPE = {
    "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
    "not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "timeout_error": 504,
    "overloaded_error": 529,
}  # fmt: skip


class AnthropicChat:
    """A Claude model."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client = EndpointClient(endpoint, {"x-api-key": endpoint.key or "", "anthropic-version": API_VERSION})

    @property
    def name(self) -> str:
        return self._endpoint.name

    async def reply(self, ask: ChatRequest) -> ChatReply:
        answer = await self._client.post(_PATH, self._body(ask), ask.seconds)
        message = _MessageAccumulator()
        try:
            message.count(answer.get("usage"))
            message.stop = answer["stop_reason"]
            message.text = [block["text"] for block in answer["content"] if block["type"] == "text"]
            return message.reply(self.name, ask.task)
        except (KeyError, TypeError, AttributeError):
            raise self._client.unreadable("it is not a message") from None

    async def stream(self, ask: ChatRequest) -> AsyncGenerator[str | ChatReply, None]:
        message = _MessageAccumulator()
        body = self._body(ask) | {"stream": True}
        async with aclosing(self._client.events(_PATH, body, ask.seconds)) as events:
            async for event in events:
                try:
                    self._raise_reported_error(event, message, ask)
                    piece = message.add(event)
                except (KeyError, TypeError, AttributeError):
                    raise self._client.unreadable("it is not the stream of a message") from None
                if piece:
                    yield piece
        reply = message.reply(self.name, ask.task)
        if message.stop is None:
            raise Unanswered(f"{self.name} ended its reply early.", usage=reply.usage)
        yield reply

    async def close(self) -> None:
        await self._client.close()

    def _body(self, ask: ChatRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._endpoint.model,
            "max_tokens": ask.tokens,
            "system": [{"type": "text", "text": ask.system, "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": ask.user}],
        }
        if ask.schema is not None:
            body["output_config"] = {"format": {"type": "json_schema", "schema": provider_schema(ask.schema)}}
        return body

    def _raise_reported_error(self, event: dict[str, Any], message: _MessageAccumulator, ask: ChatRequest) -> None:
        if event["type"] != "error":
            return
        error = event.get("error") or {}
        failure = self._client.error_of_status(_STATUS_BY_ERROR_TYPE.get(str(error.get("type")), 500), event)
        if isinstance(failure, Unanswered):
            failure.usage = message.reply(self.name, ask.task).usage
        raise failure


@dataclass(slots=True)
class _MessageAccumulator:
    """Accumulates an answer, whole or from the events of a stream."""

    text: list[str] = field(default_factory=list)
    stop: str | None = None
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, event: dict[str, Any]) -> str:
        """Adds an event; returns the text that it adds."""
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
        """Adds token counts. They are cumulative, and a later event may omit a count that an earlier one had."""
        if isinstance(usage, dict):
            self.counts |= {name: token_count(count) for name, count in usage.items() if isinstance(count, int)}

    def reply(self, name: str, task: str) -> ChatReply:
        cached = self.counts.get("cache_read_input_tokens", 0)
        read = self.counts.get("input_tokens", 0) + self.counts.get("cache_creation_input_tokens", 0) + cached
        usage = Usage(name, task, input=read, output=self.counts.get("output_tokens", 0), cached=cached)
        return ChatReply("".join(self.text), usage, self.stop not in _CUT_OFF_REASONS, self.stop == "refusal")
