"""What is asked of a language model and what it answers, whoever sells it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from ...spending import Usage

__all__ = ["Ask", "Usage", "Reply", "Chat"]


@dataclass(frozen=True, slots=True)
class Ask:
    """One question. `system` is the same for every call of a task, so that providers can cache it; `user` is data."""

    task: str
    system: str
    user: str
    schema: dict[str, Any] | None = None
    """The closed JSON schema that the answer must fit; None wants plain text."""
    tokens: int = 2_000
    """How many it may answer at most."""
    seconds: float = 60.0
    """How long the caller waits in all, repeats included."""


@dataclass(frozen=True, slots=True)
class Reply:
    text: str
    usage: Usage
    whole: bool = True
    """False when it was cut off at the limit of tokens."""
    refused: bool = False
    """The model, or the provider's filter, declined."""


@runtime_checkable
class Chat(Protocol):
    """A model that answers. Raises ModelUnavailable when it is down, slow or over its limits, ModelError when it
    answered what nobody can use."""

    @property
    def name(self) -> str:
        """vendor/model: recorded on what it wrote."""
        ...

    async def reply(self, ask: Ask) -> Reply: ...

    def stream(self, ask: Ask) -> AsyncGenerator[str | Reply, None]:
        """The answer's text in pieces as it comes, and the whole Reply last. Leave it early only through `aclosing`."""
        ...

    async def close(self) -> None: ...
