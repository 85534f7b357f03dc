"""From hits to a cited answer, or to none: without a language model an answer is a quotation.

Nothing is said that a hit does not say. When the best hits share too little with the question, in words and in meaning,
the answer is empty. A question whose false premise is close to what was said still gets an answer: see docs/search.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from . import words
from .ports import Store
from .results import Answer, Citation, Hit

SUPPORTED = 0.4
CALIBRATED = {
    "local/snowflake-arctic-embed-s-int8/384": (2.31, 4.59, 30.07, -21.11),
    "local/potion-base-8M/256": (3.49, 2.93, 14.85, -7.41),
}
"""Embedder → weights of coverage, nearness and cosine, and the offset: a logistic fit of the questions that a
conversation of evals/conversations answers against questions about other conversations (AUROC 0.93 and 0.91)."""
BY_WORDS = (4.3, 4.7, 0.0, -2.8)
"""The same for an embedder nobody calibrated: its cosines mean nothing yet."""
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+|(?<=[。！？])")
LONGEST = 300


async def answered(store: Store, question: str, hits: Sequence[Hit], model: str) -> Answer:
    """The best hit's own statement, cited; empty when its support is too weak.

    When the best hit is a message and a memory drawn from it speaks of the question, the memory says it better.
    """
    if not hits:
        return Answer("", (), ())
    sure = support(hits, model)
    if sure < SUPPORTED:
        return Answer("", (), tuple(hits), sure)
    quote = _statement(question, hits[0])
    asked = set(words.question_words(question))
    drawn = await store.resting_on([hits[0].id]) if hits[0].message_id is not None else []
    spoken = [(len(asked & set(words.tokens(m.content))), m.content) for m in drawn if m.current]
    best = max(spoken, default=(0, ""))
    text = best[1] if best[0] >= len(asked & set(words.tokens(quote))) and best[0] > 0 else quote
    return Answer(text, (Citation(hits[0].id, quote),), tuple(hits), sure)


def support(hits: Sequence[Hit], model: str) -> float:
    """0 to 1: how likely it is that the question is about something these hits tell."""
    coverage, near, cosine, offset = CALIBRATED.get(model, BY_WORDS)
    best = hits[:3]
    total = offset + coverage * hits[0].features.get("coverage", 0.0)
    total += near * max(hit.features.get("near", 0.0) for hit in best)
    total += cosine * max(hit.features.get("cosine", 0.0) for hit in best)
    return round(1 / (1 + math.exp(-total)), 3)


def _statement(question: str, hit: Hit) -> str:
    """The hit's content when short, else the sentence that shares most with the question."""
    if len(hit.content) <= LONGEST:
        return hit.content.strip()
    asked = set(words.question_words(question))
    sentences = [sentence.strip() for sentence in _SENTENCE.split(hit.content) if sentence and sentence.strip()]
    best = max(sentences, key=lambda sentence: len(asked & set(words.tokens(sentence))))
    return best if len(best) <= LONGEST else f"{best[: LONGEST - 1]}…"
