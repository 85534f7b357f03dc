"""Asks a language model whether a new statement repeats an older one, replaces it, or is independent of it."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.domain.types import Draft, Memory, Verdict
from holdfast.models.llm.chat import Chat, ChatRequest
from holdfast.models.llm.prompt import fenced_data, load_prompt
from holdfast.models.llm.tasks.answer_schemas import Comparison, answer_parser, schema
from holdfast.models.llm.tasks.parse_answer import ask_for_json
from holdfast.text.quoting import single_line_json
from holdfast.text.redaction import redacted_text


class ModelJudge:
    def __init__(self, chat: Chat, seconds: float = 60.0) -> None:
        self._chat = chat
        self._seconds = seconds

    async def compare(self, pairs: Sequence[tuple[Draft, Memory]]) -> list[Verdict]:
        listing = "\n".join(f"[{n}] {_pair_text(*pair)}" for n, pair in enumerate(pairs, 1))
        ask = ChatRequest(
            "compare",
            load_prompt("compare").text,
            fenced_data(pairs=listing),
            schema(Comparison),
            seconds=self._seconds,
        )
        answer: Comparison = await ask_for_json(self._chat, ask, answer_parser(Comparison))
        verdicts: dict[int, Verdict] = {each.number: each.verdict for each in answer.verdicts}
        return [verdicts.get(n, "apart") for n in range(1, len(pairs) + 1)]


def _pair_text(draft: Draft, memory: Memory) -> str:
    older, newer = redacted_text(memory.content), redacted_text(draft.content)
    return f"older: {single_line_json(older)} newer: {single_line_json(newer)}"
