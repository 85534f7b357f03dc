"""Answers questions with a language model, from numbered evidence only.

The answer is one JSON object whose first field says whether the evidence supports an answer; its text is streamed as it
arrives. Citations of evidence that does not exist are ignored, and an answer without citations becomes an empty one.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace

from holdfast.domain.errors import ModelError
from holdfast.domain.ports.models import Brief, Wording
from holdfast.models.llm.chat import Chat, ChatReply, ChatRequest
from holdfast.models.llm.prompt import fenced_data, load_prompt
from holdfast.models.llm.tasks.answer_schemas import Answered, answer_parser, schema
from holdfast.models.llm.tasks.parse_answer import ask_for_json, parse_json
from holdfast.text.quoting import single_line_json
from holdfast.text.redaction import redacted_text

MAX_TOKENS_BY_LENGTH = {"short": 300, "medium": 800, "long": 2_000}
LENGTH_INSTRUCTIONS = {
    "short": "Answer in one sentence.",
    "medium": "Answer in one to four sentences.",
    "long": "Answer in full, with every particular that the memories hold.",
}


class ModelSynthesiser:
    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    async def answer(self, brief: Brief) -> AsyncIterator[str | Wording]:
        ask = _request(brief)
        if brief.passes > 1:  # an answer that will be checked again is not streamed before that
            first = _wording(await ask_for_json(self._chat, ask, answer_parser(Answered)), brief)
            wording = await self._checked(ask, brief, first) if first.text else first
            if wording.text:
                yield wording.text
            yield wording
            return
        streamed, raw = "", ""
        async with aclosing(self._chat.stream(ask)) as pieces:
            async for piece in pieces:
                if isinstance(piece, ChatReply):
                    raw = piece.text if piece.whole and not piece.refused else ""
                    break
                raw += piece
                grown = partial_answer(raw)
                if grown.startswith(streamed) and len(grown) > len(streamed):
                    yield grown[len(streamed) :]
                    streamed = grown
        wording = _wording(_parse_final(raw), brief)
        if wording.text.startswith(streamed) and len(wording.text) > len(streamed):
            yield wording.text[len(streamed) :]
        yield wording

    async def _checked(self, ask: ChatRequest, brief: Brief, first: Wording) -> Wording:
        """Asks again, with the first answer included, to correct whatever the memories do not support."""
        data = ask.user + "\n\n" + fenced_data(draft=single_line_json(first.text))
        again = "\n\nA draft of the answer is given as well. Keep what the memories bear out and put the rest right."
        second = await ask_for_json(
            self._chat, replace(ask, system=ask.system + again, user=data), answer_parser(Answered)
        )
        return _wording(second, brief)


def _request(brief: Brief) -> ChatRequest:
    evidence = "\n".join(f"[{n}] {each}" for n, each in enumerate(brief.evidence, 1))
    facts = "\n".join(brief.facts) or "(none)"
    question = f"{single_line_json(redacted_text(brief.question))}\n{LENGTH_INSTRUCTIONS[brief.length]}"
    data = fenced_data(memories=evidence, computed=facts, question=question)
    return ChatRequest(
        "answer", load_prompt("answer").text, data, schema(Answered), MAX_TOKENS_BY_LENGTH[brief.length], brief.seconds
    )


def _parse_final(raw: str) -> Answered:
    try:
        answer: Answered = answer_parser(Answered)(parse_json(raw))
    except ValueError as wrong:
        raise ModelError(f"The answer cannot be used: {wrong}") from None
    return answer


def _wording(answer: Answered, brief: Brief) -> Wording:
    cited = tuple(dict.fromkeys(n - 1 for n in answer.cited if 1 <= n <= len(brief.evidence)))
    text = answer.answer.strip()
    return Wording(text, cited) if answer.supported and text and cited else Wording("")


def partial_answer(raw: str) -> str:
    """The answer's text so far, from JSON that is still arriving; "" until the answer is known to be supported."""
    start = raw.find("{")
    if start < 0:
        return ""
    head, found, rest = raw[start:].partition('"answer"')
    if not found or '"supported"' not in head or "true" not in head:
        return ""
    body = rest.lstrip(" \n\t:")
    if not body.startswith('"'):
        return ""
    text, at = "", 1
    while at < len(body) and body[at] != '"':
        step = 6 if body[at : at + 2] == "\\u" else 2 if body[at] == "\\" else 1
        piece = body[at : at + step]
        if len(piece) < step:
            break
        text += json.loads(f'"{piece}"') if step > 1 else piece
        at += step
    return "" if any("\ud800" <= each <= "\udfff" for each in text[:1]) else text
