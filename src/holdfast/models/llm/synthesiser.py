"""A language model as writer of answers, from numbered evidence and nothing else.

The answer is one JSON object whose first field says whether the evidence supports one; its text is handed on while it
comes. Citations that name no evidence do not count, and an answer without any is none.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace

from ...errors import ModelError
from ...quoted import quoted
from ...types import Brief, Wording
from .chat import Ask, Chat, Reply
from .prompt import fenced, prompt
from .reading import answered, json_in
from .shapes import Answered, reader, schema

TOKENS = {"short": 300, "medium": 800, "long": 2_000}
LENGTHS = {
    "short": "Answer in one sentence.",
    "medium": "Answer in one to four sentences.",
    "long": "Answer in full, with every particular that the memories hold.",
}


class ModelSynthesiser:
    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    async def answer(self, brief: Brief) -> AsyncIterator[str | Wording]:
        ask = _ask(brief)
        if brief.passes > 1:  # what is checked once more is not told before
            first = _wording(await answered(self._chat, ask, reader(Answered)), brief)
            wording = await self._checked(ask, brief, first) if first.text else first
            if wording.text:
                yield wording.text
            yield wording
            return
        told, raw = "", ""
        async with aclosing(self._chat.stream(ask)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Reply):
                    raw = piece.text if piece.whole and not piece.refused else ""
                    break
                raw += piece
                grown = spoken(raw)
                if grown.startswith(told) and len(grown) > len(told):
                    yield grown[len(told) :]
                    told = grown
        wording = _wording(_read(raw), brief)
        if wording.text.startswith(told) and len(wording.text) > len(told):
            yield wording.text[len(told) :]
        yield wording

    async def _checked(self, ask: Ask, brief: Brief, first: Wording) -> Wording:
        """The same question once more, with the first answer to be put right where the memories do not bear it out."""
        data = ask.user + "\n\n" + fenced(draft=quoted(first.text))
        again = "\n\nA draft of the answer is given as well. Keep what the memories bear out and put the rest right."
        second = await answered(self._chat, replace(ask, system=ask.system + again, user=data), reader(Answered))
        return _wording(second, brief)


def _ask(brief: Brief) -> Ask:
    evidence = "\n".join(f"[{n}] {each}" for n, each in enumerate(brief.evidence, 1))
    facts = "\n".join(brief.facts) or "(none)"
    question = f"{quoted(brief.question)}\n{LENGTHS[brief.length]}"
    data = fenced(memories=evidence, computed=facts, question=question)
    return Ask("answer", prompt("answer").text, data, schema(Answered), TOKENS[brief.length], brief.seconds)


def _read(raw: str) -> Answered:
    try:
        found: Answered = reader(Answered)(json_in(raw))
    except ValueError as wrong:
        raise ModelError(f"The answer cannot be used: {wrong}") from None
    return found


def _wording(found: Answered, brief: Brief) -> Wording:
    cited = tuple(dict.fromkeys(n - 1 for n in found.cited if 1 <= n <= len(brief.evidence)))
    text = found.answer.strip()
    return Wording(text, cited) if found.supported and text and cited else Wording("")


def spoken(raw: str) -> str:
    """Of an answer that is still coming, the text that is certain: nothing before it is known to be supported."""
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
