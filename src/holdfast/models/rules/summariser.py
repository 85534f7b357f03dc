"""A summary by quotation: the sentences that have most in common with the rest, in the order in which they came."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from ... import words
from ...redaction import redacted
from ...types import Turn
from .clauses import sentences

SENTENCES = 6
SHORTEST, LONGEST = 4, 60
"""Words of a sentence that says something, and of one that can be read at a glance."""
ALIKE = 0.6


class QuotingSummariser:
    name = "quotes/1"

    async def summarise(self, turns: Sequence[Turn]) -> str:
        told = [(turn, sentence) for turn in turns for sentence in _said(turn)]
        stems = [frozenset(words.question_words(sentence)) for _, sentence in told]
        spread = Counter(stem for each in stems for stem in each)
        weights = [_weight(each, spread, len(stems)) for each in stems]
        chosen: list[int] = []
        for n in sorted(range(len(told)), key=lambda n: (-weights[n], n)):
            if len(chosen) < SENTENCES and weights[n] > 0 and not any(_alike(stems[n], stems[c]) for c in chosen):
                chosen.append(n)
        return "\n".join(f"- {told[n][0].who}: {told[n][1]}" for n in sorted(chosen))


def _said(turn: Turn) -> list[str]:
    found = [" ".join(sentence.split()) for sentence in sentences(redacted(turn.text))]
    return [each for each in found if SHORTEST <= len(each.split()) <= LONGEST and not each.endswith("?")]


def _weight(stems: frozenset[str], spread: Counter[str], count: int) -> float:
    """What it shares with others, and what is rare in it; per word, so that long sentences do not win by length."""
    shared = sum(math.log(1 + spread[stem]) for stem in stems)
    rare = sum(math.log(1 + count / spread[stem]) for stem in stems)
    return (shared + 0.5 * rare) / math.sqrt(len(stems) + 3) if stems else 0.0


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= ALIKE * min(len(one), len(other))
