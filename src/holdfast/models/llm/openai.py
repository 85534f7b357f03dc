"""A client of OpenAI's chat completions API, which many servers offer."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from holdfast.models.llm.chat import ChatReply, ChatRequest, Usage, provider_schema, token_count
from holdfast.models.llm.endpoint import Endpoint
from holdfast.models.llm.http import STREAM_END, BadRequest, EndpointClient, Unanswered

_PATH = "/chat/completions"
_STRICT_VENDORS = ("openai", "openrouter")
_OPTIONAL_PARAMETERS = ("temperature", "stream_options", "response_format")
_OTHER_LIMIT_PARAMETER = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
_UNSUPPORTED = re.compile(r"unsupported|n[o']t support|unknown|unrecogni[sz]ed|not permitted", re.IGNORECASE)


class OpenAiChat:
    """A model behind an OpenAI-compatible server."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client = EndpointClient(endpoint, {"authorization": f"Bearer {endpoint.key}"} if endpoint.key else {})
        self._limit = "max_completion_tokens" if endpoint.vendor == "openai" else "max_tokens"
        self._refused: set[str] = set()
        """Parameters that this model rejected: OpenAI's reasoning models do not accept a temperature."""

    @property
    def name(self) -> str:
        return self._endpoint.name

    async def reply(self, ask: ChatRequest) -> ChatReply:
        while True:
            body = self._body(ask, stream=False)
            try:
                return self._parse(await self._client.post(_PATH, body, ask.seconds), ask)
            except BadRequest as error:
                self._drop_refused(error, body)

    async def stream(self, ask: ChatRequest) -> AsyncGenerator[str | ChatReply, None]:
        while True:
            begun = False
            body = self._body(ask, stream=True)
            try:
                async with aclosing(self._pieces(ask, body)) as pieces:
                    async for piece in pieces:
                        begun = True
                        yield piece
                return
            except BadRequest as error:
                if begun:
                    raise
                self._drop_refused(error, body)

    async def close(self) -> None:
        await self._client.close()

    def _body(self, ask: ChatRequest, *, stream: bool) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._endpoint.model,
            "messages": [{"role": "system", "content": ask.system}, {"role": "user", "content": ask.user}],
            self._limit: ask.tokens,
            "temperature": 0,
        }
        if ask.schema is not None:
            name = re.sub(r"[^A-Za-z0-9_-]", "_", ask.task)[:64] or "answer"
            schema = provider_schema(ask.schema) if self._endpoint.vendor in _STRICT_VENDORS else ask.schema
            closed = {"name": name, "schema": schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": closed}
        if stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return {name: value for name, value in body.items() if name not in self._refused}

    def _drop_refused(self, error: BadRequest, body: dict[str, Any]) -> None:
        """Records the rejected parameter of this body, to leave it out from now on; raises the
        error when no parameter was."""
        named = [
            name
            for name in (*_OPTIONAL_PARAMETERS, *_OTHER_LIMIT_PARAMETER)
            if error.parameter == name or f"'{name}'" in error.said
        ]
        if not named or named[0] not in body or not _UNSUPPORTED.search(error.said):
            raise error
        self._refused.add(named[0])
        self._limit = _OTHER_LIMIT_PARAMETER.get(named[0], self._limit)

    def _parse(self, answer: Any, ask: ChatRequest) -> ChatReply:
        self._raise_reported_error(answer)
        completion = _CompletionAccumulator()
        try:
            completion.add(answer)
        except (KeyError, TypeError, IndexError, AttributeError):
            raise self._client.unreadable("it is not a chat completion") from None
        if not completion.text:
            raise self._client.unreadable("it is not a chat completion")
        return completion.reply(self.name, ask.task)

    async def _pieces(self, ask: ChatRequest, body: dict[str, Any]) -> AsyncGenerator[str | ChatReply, None]:
        completion = _CompletionAccumulator()
        async with aclosing(self._client.events(_PATH, body, ask.seconds)) as events:
            async for event in events:
                if event is STREAM_END:
                    completion.finish = completion.finish or "stop"
                    continue
                self._raise_reported_error(event)
                try:
                    piece = completion.add(event)
                except (KeyError, TypeError, IndexError, AttributeError):
                    raise self._client.unreadable("it is not a chat completion") from None
                if piece:
                    yield piece
        if not completion.text:
            raise self._client.unreadable("it is not a chat completion")
        reply = completion.reply(self.name, ask.task)
        if completion.finish is None:
            raise Unanswered(f"{self.name} ended its reply early.", usage=reply.usage)
        yield reply

    def _raise_reported_error(self, answer: Any) -> None:
        """Raises the error that an answer contains: some servers report a failure inside an
        answer with a success status."""
        error = answer.get("error") if isinstance(answer, dict) else None
        if error:
            code = error.get("code") if isinstance(error, dict) else None
            raise self._client.error_of_status(code if isinstance(code, int) and 400 <= code < 600 else 500, answer)


@dataclass(slots=True)
class _CompletionAccumulator:
    """Accumulates an answer, whole or from the events of a stream."""

    text: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    finish: str | None = None
    usage: Any = None

    def add(self, chunk: dict[str, Any]) -> str:
        """Adds a whole answer or one event of it; returns the text that it adds."""
        self.usage = chunk.get("usage") or self.usage
        choices = chunk.get("choices") or []
        if not choices:
            return ""
        choice = choices[0]
        message = choice.get("delta") or choice.get("message") or {}
        piece, refusal = message.get("content") or "", message.get("refusal") or ""
        if not isinstance(piece, str) or not isinstance(refusal, str):
            raise TypeError("content")
        self.text.append(piece)
        self.refusal.append(refusal)
        self.finish = choice.get("finish_reason") or self.finish
        return piece

    def reply(self, name: str, task: str) -> ChatReply:
        text, refusal = "".join(self.text), "".join(self.refusal)
        refused = bool(refusal) or self.finish == "content_filter"
        return ChatReply(text or refusal, reported_usage(self.usage, name, task), self.finish != "length", refused)


def reported_usage(counted: Any, name: str, task: str) -> Usage:
    """The tokens that a server reports to have read and written; zero when it reports none."""
    counted = counted if isinstance(counted, dict) else {}
    details = counted.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    read, wrote = counted.get("prompt_tokens"), counted.get("completion_tokens")
    return Usage(name, task, input=token_count(read), output=token_count(wrote), cached=token_count(cached))
