"""Chat completions as OpenAI defined them and many servers speak them."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from .chat import Ask, Reply, Usage
from .endpoint import Endpoint
from .schemas import known_words
from .wire import DONE, BadRequest, Unanswered, Wire

_PATH = "/chat/completions"
_STRICT = ("openai", "openrouter")
_OPTIONAL = ("temperature", "stream_options", "response_format")
_LIMITS = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
_UNSUPPORTED = re.compile(r"unsupported|n[o']t support|unknown|unrecogni[sz]ed|not permitted", re.IGNORECASE)


class OpenAiChat:
    """A model behind an OpenAI-compatible server."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._wire = Wire(endpoint, {"authorization": f"Bearer {endpoint.key}"} if endpoint.key else {})
        self._limit = "max_completion_tokens" if endpoint.vendor == "openai" else "max_tokens"
        self._refused: set[str] = set()
        """Parameters that this model does not take: OpenAI's reasoning models take no temperature."""

    @property
    def name(self) -> str:
        return self._endpoint.name

    async def reply(self, ask: Ask) -> Reply:
        while True:
            body = self._body(ask, stream=False)
            try:
                return self._read(await self._wire.post(_PATH, body, ask.seconds), ask)
            except BadRequest as error:
                self._do_without(error, body)

    async def stream(self, ask: Ask) -> AsyncGenerator[str | Reply, None]:
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
                self._do_without(error, body)

    async def close(self) -> None:
        await self._wire.close()

    def _body(self, ask: Ask, *, stream: bool) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._endpoint.model,
            "messages": [{"role": "system", "content": ask.system}, {"role": "user", "content": ask.user}],
            self._limit: ask.tokens,
            "temperature": 0,
        }
        if ask.schema is not None:
            named = re.sub(r"[^A-Za-z0-9_-]", "_", ask.task)[:64] or "answer"
            words = known_words(ask.schema) if self._endpoint.vendor in _STRICT else ask.schema
            schema = {"name": named, "schema": words, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        if stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return {name: value for name, value in body.items() if name not in self._refused}

    def _do_without(self, error: BadRequest, body: dict[str, Any]) -> None:
        """Remember which parameter of this body was refused, so that it is left out from now on; raise if none was."""
        named = [name for name in (*_OPTIONAL, *_LIMITS) if error.parameter == name or f"'{name}'" in error.said]
        if not named or named[0] not in body or not _UNSUPPORTED.search(error.said):
            raise error
        self._refused.add(named[0])
        self._limit = _LIMITS.get(named[0], self._limit)

    def _read(self, answer: Any, ask: Ask) -> Reply:
        self._raise_told(answer)
        so_far = _SoFar()
        try:
            so_far.add(answer)
        except (KeyError, TypeError, IndexError, AttributeError):
            raise self._wire.unreadable("it is no chat completion") from None
        if not so_far.text:
            raise self._wire.unreadable("it is no chat completion")
        return so_far.reply(self.name, ask.task)

    async def _pieces(self, ask: Ask, body: dict[str, Any]) -> AsyncGenerator[str | Reply, None]:
        so_far = _SoFar()
        async with aclosing(self._wire.events(_PATH, body, ask.seconds)) as events:
            async for event in events:
                if event is DONE:
                    so_far.finish = so_far.finish or "stop"
                    continue
                self._raise_told(event)
                try:
                    piece = so_far.add(event)
                except (KeyError, TypeError, IndexError, AttributeError):
                    raise self._wire.unreadable("it is no chat completion") from None
                if piece:
                    yield piece
        if not so_far.text:
            raise self._wire.unreadable("it is no chat completion")
        reply = so_far.reply(self.name, ask.task)
        if so_far.finish is None:
            raise Unanswered(f"{self.name} broke off.", usage=reply.usage)
        yield reply

    def _raise_told(self, answer: Any) -> None:
        """Some servers report a failure in an answer that began well."""
        error = answer.get("error") if isinstance(answer, dict) else None
        if error:
            code = error.get("code") if isinstance(error, dict) else None
            raise self._wire.failed(code if isinstance(code, int) and 400 <= code < 600 else 500, answer)


@dataclass(slots=True)
class _SoFar:
    """An answer while it comes."""

    text: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    finish: str | None = None
    usage: Any = None

    def add(self, chunk: dict[str, Any]) -> str:
        """Take in a whole answer, or one event of it; what it adds to the text."""
        self.usage = chunk.get("usage") or self.usage
        choices = chunk.get("choices") or []
        if not choices:
            return ""
        choice = choices[0]
        said = choice.get("delta") or choice.get("message") or {}
        piece, refusal = said.get("content") or "", said.get("refusal") or ""
        if not isinstance(piece, str) or not isinstance(refusal, str):
            raise TypeError("content")
        self.text.append(piece)
        self.refusal.append(refusal)
        self.finish = choice.get("finish_reason") or self.finish
        return piece

    def reply(self, name: str, task: str) -> Reply:
        text, refusal = "".join(self.text), "".join(self.refusal)
        refused = bool(refusal) or self.finish == "content_filter"
        return Reply(text or refusal, usage_of(self.usage, name, task), self.finish != "length", refused)


def usage_of(counted: Any, name: str, task: str) -> Usage:
    """What a server says that it read and wrote; nothing when it does not say."""
    counted = counted if isinstance(counted, dict) else {}
    details = counted.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    read, wrote = counted.get("prompt_tokens"), counted.get("completion_tokens")
    return Usage(name, task, input=tokens(read), output=tokens(wrote), cached=tokens(cached))


def tokens(count: Any) -> int:
    """A count of tokens as a server gave it: a wrong one must not upset the books."""
    return count if isinstance(count, int) and 0 <= count < 100_000_000 else 0
