"""From hits to a cited answer, or to none: without a language model an answer is a quotation.

Nothing is said that a hit does not say. When the best hit shares too little with the question, in words and in meaning,
the answer is empty.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from . import words
from .ports import Store
from .types import Answer, Citation, Hit

SUPPORTED = 0.5
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+|(?<=[。！？])")
LONGEST = 300


async def answered(store: Store, question: str, hits: Sequence[Hit]) -> Answer:
    """The best hit's own statement, cited; empty when its support is too weak.

    When the best hit is a message and a memory drawn from it speaks of the question, the memory says it better.
    """
    if not hits:
        return Answer("", (), ())
    sure = support(hits[0])
    if sure < SUPPORTED:
        return Answer("", (), tuple(hits), sure)
    quote = _statement(question, hits[0])
    asked = set(words.question_words(question))
    drawn = await store.resting_on([hits[0].id]) if hits[0].message_id is not None else []
    spoken = [(len(asked & set(words.tokens(m.content))), m.content) for m in drawn if m.current]
    best = max(spoken, default=(0, ""))
    text = best[1] if best[0] >= len(asked & set(words.tokens(quote))) and best[0] > 0 else quote
    return Answer(text, (Citation(hits[0].id, quote),), tuple(hits), sure)


def support(hit: Hit) -> float:
    """0 to 1: how far the question's words and its meaning are in the hit."""
    cosine = hit.features.get("cosine", 0.0)
    near = min(max((cosine - 0.45) / 0.3, 0.0), 1.0)
    return round(0.5 * hit.features.get("coverage", 0.0) + 0.9 * near, 3)


def _statement(question: str, hit: Hit) -> str:
    """The hit's content when short, else the sentence that shares most with the question."""
    if len(hit.content) <= LONGEST:
        return hit.content.strip()
    asked = set(words.question_words(question))
    sentences = [sentence.strip() for sentence in _SENTENCE.split(hit.content) if sentence and sentence.strip()]
    best = max(sentences, key=lambda sentence: len(asked & set(words.tokens(sentence))))
    return best if len(best) <= LONGEST else f"{best[: LONGEST - 1]}…"
