"""The chat that a setting names, ready to be called."""

from __future__ import annotations

from .anthropic import AnthropicChat
from .breaker import Breaker
from .calling import Manners, Steady
from .chat import Chat
from .endpoint import Endpoint, endpoint
from .openai import OpenAiChat


def chat_named(
    spec: str,
    key: str | None = None,
    url: str | None = None,
    *,
    manners: Manners | None = None,
    breaker: Breaker | None = None,
) -> Steady:
    """HOLDFAST_LLM, its key and its address → a chat; InvalidInput says what is wrong with them."""
    return Steady(chat_at(endpoint(spec, key, url)), manners, breaker)


def chat_at(where: Endpoint) -> Chat:
    """The bare chat at an endpoint, in its dialect: one attempt, no manners."""
    return AnthropicChat(where) if where.dialect == "anthropic" else OpenAiChat(where)
