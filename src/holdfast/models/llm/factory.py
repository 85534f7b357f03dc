"""Creates the chat client of an endpoint, for its API dialect."""

from __future__ import annotations

from holdfast.models.llm.anthropic import AnthropicChat
from holdfast.models.llm.chat import Chat
from holdfast.models.llm.endpoint import Endpoint
from holdfast.models.llm.openai import OpenAiChat


def chat_client(where: Endpoint) -> Chat:
    """The chat client of an endpoint, without retries."""
    return AnthropicChat(where) if where.dialect == "anthropic" else OpenAiChat(where)
