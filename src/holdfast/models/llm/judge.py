"""A language model as judge: whether a new statement repeats an older one, replaces it, or stands beside it."""

from __future__ import annotations

from collections.abc import Sequence

from ...quoted import quoted
from ...types import Draft, Memory, Verdict
from .chat import Ask, Chat
from .prompt import fenced, prompt
from .reading import answered
from .shapes import Comparison, reader, schema


class ModelJudge:
    def __init__(self, chat: Chat, seconds: float = 60.0) -> None:
        self._chat = chat
        self._seconds = seconds

    async def compare(self, pairs: Sequence[tuple[Draft, Memory]]) -> list[Verdict]:
        told = "\n".join(f"[{n}] {_pair(*pair)}" for n, pair in enumerate(pairs, 1))
        ask = Ask("compare", prompt("compare").text, fenced(pairs=told), schema(Comparison), seconds=self._seconds)
        found: Comparison = await answered(self._chat, ask, reader(Comparison))
        verdicts: dict[int, Verdict] = {each.number: each.verdict for each in found.verdicts}
        return [verdicts.get(n, "apart") for n in range(1, len(pairs) + 1)]


def _pair(draft: Draft, memory: Memory) -> str:
    return f"older: {quoted(memory.content)} newer: {quoted(draft.content)}"
