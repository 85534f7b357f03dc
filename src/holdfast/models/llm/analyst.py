"""A language model as analyst: what to look for besides the question's own words."""

from __future__ import annotations

from ... import names
from ...quoted import quoted
from ...types import Reading
from .chat import Ask, Chat
from .prompt import fenced, prompt
from .reading import answered
from .shapes import Analysis, reader, schema

KEYS, TERMS = 5, 10


class ModelAnalyst:
    def __init__(self, chat: Chat, seconds: float = 5.0) -> None:
        self._chat = chat
        self._seconds = seconds

    async def analyse(self, question: str) -> Reading:
        data = fenced(question=quoted(question))
        ask = Ask("analyse", prompt("analyse").text, data, schema(Analysis), tokens=400, seconds=self._seconds)
        found: Analysis = await answered(self._chat, ask, reader(Analysis))
        keys = (names.topic(key) for key in found.keys[:KEYS])
        return Reading(tuple(key for key in keys if key), tuple(found.terms[:TERMS]), " ".join(found.answer.split()))
