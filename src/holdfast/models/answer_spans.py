"""Decodes what the reader of answers computes for each token into spans. NumPy alone: training uses it, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

MAX_SPAN_TOKENS = 24
"""The longest answer that is looked for. Of the answers in evals/data/lives, one in a thousand is longer."""
MIN_INSIDE, MIN_BESIDE = 0.5, 0.3
"""From which chance on a token belongs to one of several answers: the likeliest of its run, and those beside it."""
MIN_POSSIBLE = 0.15
"""From which chance on a token may belong to one of several answers."""


class TokenSpan(NamedTuple):
    """The first and last token of an answer, counted from the start of its passage."""

    passage: int
    first: int
    last: int
    log_chance: float
    inside: float
    """The mean chance of its tokens to be inside an answer."""


def best_spans(logits: Any, places: Sequence[tuple[int, int]], size: int) -> list[TokenSpan]:
    """The best span of each passage, best first.

    `logits` has start, end and inside of each token; `places` has (passage, its first token) in order; `size` is the
    number of tokens.
    """
    starts = logits[:, 0] - np.logaddexp.reduce(logits[:, 0])
    ends = logits[:, 1] - np.logaddexp.reduce(logits[:, 1])
    inside = inside_chances(logits)
    found = []
    for passage, first, last in _ranges(places, size):
        chances = starts[first:last, None] + ends[None, first:last]
        allowed = np.triu(np.ones_like(chances, bool)) & ~np.triu(np.ones_like(chances, bool), MAX_SPAN_TOKENS)
        if not allowed.any():
            continue
        a, b = np.unravel_index(np.where(allowed, chances, -np.inf).argmax(), chances.shape)
        mean = float(inside[first + a : first + b + 1].mean())
        found.append(TokenSpan(passage, int(a), int(b), round(float(chances[a, b]), 3), round(mean, 3)))
    return sorted(found, key=lambda each: -each.log_chance)


def listed_spans(
    logits: Any, places: Sequence[tuple[int, int]], size: int, least: float = MIN_INSIDE, beside: float = MIN_BESIDE
) -> list[TokenSpan]:
    """Every run of tokens that belongs to one of several answers."""
    chances = inside_chances(logits)
    found = []
    for passage, first, last in _ranges(places, size):
        start = None
        for n in range(first, last + 1):
            if n < last and chances[n] >= beside:
                start = n if start is None else start
            elif start is not None:
                if chances[start:n].max() >= least:
                    mean = float(chances[start:n].mean())
                    log_chance = round(float(np.log(mean)), 3)
                    found.append(TokenSpan(passage, start - first, n - 1 - first, log_chance, round(mean, 3)))
                start = None
    return found


def possible_spans(logits: Any, places: Sequence[tuple[int, int]], size: int) -> list[TokenSpan]:
    """Every run of tokens that may belong to one of several answers."""
    return listed_spans(logits, places, size, MIN_POSSIBLE, MIN_POSSIBLE)


def inside_chances(logits: Any) -> Any:
    return 1 / (1 + np.exp(-logits[:, 2].clip(-30, 30)))


def _ranges(places: Sequence[tuple[int, int]], size: int) -> list[tuple[int, int, int]]:
    """Passage, its first token, and the token after its last."""
    ends = [first - 1 for _, first in places[1:]] + [size - 1]
    return [(passage, first, last) for (passage, first), last in zip(places, ends, strict=True)]
