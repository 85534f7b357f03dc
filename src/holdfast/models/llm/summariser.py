"""A language model as writer of summaries; numbers and names that nobody said make it one of quotations instead."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import ModelError
from ...ports import Summariser
from ...quoted import quoted
from ...redaction import redacted
from ...types import Message, Turn
from .chat import Ask, Chat
from .prompt import fenced, prompt
from .reading import answered
from .shapes import Summary, reader, schema
from .transcript import Line, founded


class ModelSummariser:
    def __init__(self, chat: Chat, spare: Summariser, seconds: float = 120.0) -> None:
        self._chat = chat
        self._spare = spare
        self._seconds = seconds

    @property
    def name(self) -> str:
        return f"{self._chat.name}/{prompt('summarise').version}"

    async def summarise(self, turns: Sequence[Turn]) -> str:
        said = "\n".join(
            f"[{n}] {quoted(turn.who)} {turn.at:%Y-%m-%d %A}: {quoted(redacted(turn.text))}"
            for n, turn in enumerate(turns, 1)
        )
        system = prompt("summarise").text
        ask = Ask("summarise", system, fenced(conversation=said), schema(Summary), 800, self._seconds)
        try:
            found: Summary = await answered(self._chat, ask, reader(Summary))
        except ModelError:
            return await self._spare.summarise(turns)
        text = redacted(" ".join(found.summary.split()))
        return text if founded(text, [_line(turn) for turn in turns]) else await self._spare.summarise(turns)


def _line(turn: Turn) -> Line:
    said = Message(turn.id, turn.session_id or "", "user", turn.text, turn.at, speaker=turn.who, timestamp=turn.at)
    return Line(0, said, turn.text)
