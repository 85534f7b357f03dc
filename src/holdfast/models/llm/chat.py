"""The request to a language model and its reply, the same for every provider."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from holdfast.domain.usage import Usage

__all__ = ["ChatRequest", "Usage", "ChatReply", "Chat"]


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request. `system` is the same for every call of a task, so that providers can cache it; `user` is data."""

    task: str
    system: str
    user: str
    schema: dict[str, Any] | None = None
    """The closed JSON schema that the answer must fit; None asks for plain text."""
    tokens: int = 2_000
    """Maximum tokens of the answer."""
    seconds: float = 60.0
    """How long the caller waits in total, including retries."""


@dataclass(frozen=True, slots=True)
class ChatReply:
    text: str
    usage: Usage
    whole: bool = True
    """False when the answer was cut off at the token limit."""
    refused: bool = False
    """Whether the model or the provider's filter declined to answer."""


@runtime_checkable
class Chat(Protocol):
    """A model that answers. It raises ModelUnavailable when it is down, slow or over its limits, and ModelError when
    its answer cannot be used."""

    @property
    def name(self) -> str:
        """vendor/model: recorded on the memories it writes."""
        ...

    async def reply(self, ask: ChatRequest) -> ChatReply: ...

    def stream(self, ask: ChatRequest) -> AsyncGenerator[str | ChatReply, None]:
        """Yields the answer's text in pieces as they arrive, then the whole reply. To stop early,
        close it with `aclosing`."""
        ...

    async def close(self) -> None: ...


_PROVIDER_KEYWORDS = frozenset(("$defs", "$ref", "type", "enum", "const", "anyOf", "allOf", "properties", "required",
    "items",
                   "additionalProperties", "description", "title", "format"))  # fmt: skip
"""The JSON Schema keywords that structured output accepts. Providers reject any other; the check of the
answer still applies those."""


def provider_schema(schema: Any) -> Any:
    """Converts a schema to what the hosted providers accept: without maxLength, pattern and other keywords that
    structured output rejects. Local servers accept every keyword and benefit from maxItems."""
    known: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in ("properties", "$defs"):
            known[keyword] = {name: provider_schema(each) for name, each in value.items()}
        elif keyword == "items":
            known[keyword] = provider_schema(value)
        elif keyword in ("anyOf", "oneOf", "allOf"):
            known["anyOf" if keyword == "oneOf" else keyword] = [provider_schema(each) for each in value]
        elif keyword in _PROVIDER_KEYWORDS or (keyword == "minItems" and value in (0, 1)):
            known[keyword] = value
    return known


def token_count(count: Any) -> int:
    """The token count that a server reported, or 0 when it is implausible, so that it cannot
    corrupt the usage account."""
    return count if isinstance(count, int) and 0 <= count < 100_000_000 else 0
