"""Asks a language model what to search for in addition to the words of the question."""

from __future__ import annotations

from holdfast.domain import identifiers
from holdfast.domain.ports.models import Reading
from holdfast.models.llm.chat import Chat, ChatRequest
from holdfast.models.llm.prompt import fenced_data, load_prompt
from holdfast.models.llm.tasks.answer_schemas import Analysis, answer_parser, schema
from holdfast.models.llm.tasks.parse_answer import ask_for_json
from holdfast.text.quoting import single_line_json
from holdfast.text.redaction import redacted_text

MAX_KEYS, MAX_TERMS = 5, 10
"""How many keys and terms of the answer are used. Chosen by hand; not measured."""


class ModelAnalyst:
    def __init__(self, chat: Chat, seconds: float = 5.0) -> None:
        self._chat = chat
        self._seconds = seconds

    async def analyse(self, question: str) -> Reading:
        data = fenced_data(question=single_line_json(redacted_text(question)))
        ask = ChatRequest(
            "analyse", load_prompt("analyse").text, data, schema(Analysis), tokens=400, seconds=self._seconds
        )
        analysis: Analysis = await ask_for_json(self._chat, ask, answer_parser(Analysis))
        keys = (identifiers.topic_key(key) for key in analysis.keys[:MAX_KEYS])
        return Reading(
            tuple(key for key in keys if key), tuple(analysis.terms[:MAX_TERMS]), " ".join(analysis.answer.split())
        )
