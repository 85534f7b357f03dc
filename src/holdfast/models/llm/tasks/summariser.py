"""Summarises with a language model; a summary with numbers or names not in the messages is replaced by quotations."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.domain.errors import ModelError
from holdfast.domain.ports.models import Summariser, Turn
from holdfast.domain.types import Message
from holdfast.models.llm.chat import Chat, ChatRequest
from holdfast.models.llm.prompt import fenced_data, load_prompt
from holdfast.models.llm.tasks.answer_schemas import Summary, answer_parser, schema
from holdfast.models.llm.tasks.parse_answer import ask_for_json
from holdfast.models.llm.tasks.transcript import TranscriptLine, is_grounded
from holdfast.text.quoting import single_line_json
from holdfast.text.redaction import redacted_conversation, redacted_text


class ModelSummariser:
    def __init__(self, chat: Chat, spare: Summariser, seconds: float = 120.0) -> None:
        self._chat = chat
        self._spare = spare
        self._seconds = seconds

    @property
    def name(self) -> str:
        return f"{self._chat.name}/{load_prompt('summarise').version}"

    async def summarise(self, turns: Sequence[Turn]) -> str:
        texts = redacted_conversation([turn.text for turn in turns])
        listing = "\n".join(
            f"[{n}] {single_line_json(turn.who)} {turn.at:%Y-%m-%d %A}: {single_line_json(text)}"
            for n, (turn, text) in enumerate(zip(turns, texts, strict=True), 1)
        )
        system = load_prompt("summarise").text
        ask = ChatRequest("summarise", system, fenced_data(conversation=listing), schema(Summary), 800, self._seconds)
        try:
            answer: Summary = await ask_for_json(self._chat, ask, answer_parser(Summary))
        except ModelError:
            return await self._spare.summarise(turns)
        text = redacted_text(" ".join(answer.summary.split()))
        return (
            text
            if is_grounded(text, [_transcript_line(turn) for turn in turns])
            else await self._spare.summarise(turns)
        )


def _transcript_line(turn: Turn) -> TranscriptLine:
    said = Message(turn.id, turn.session_id or "", "user", turn.text, turn.at, speaker=turn.who, timestamp=turn.at)
    return TranscriptLine(0, said, turn.text)
