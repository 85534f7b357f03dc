"""Pure: how likely it is that some hits answer a question at all; an answer is only given when they do.

Two chances, multiplied. That the hits are about what is asked: nearness in words and meaning. That they are about the
very one that is asked about: no name in the question that they lack, and no named speaker who said less about it than
somebody else did ("What did Ana paint?" when Ben paints). What is left is less the worse the best statement fits: when
it tells another trait, holds no value of the type asked for, or speaks of somebody else.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from . import statics, words
from .question import Asked
from .results import Hit
from .when.vocabulary import MONTH_INDEX, WEEKDAY_INDEX

SEEN = 30
"""How many hits a judgement looks at."""
ABOUT = ("coverage", "near", "cosine")
RIGHT = ("cosine", "missing", "gap", "named")


@dataclass(frozen=True, slots=True)
class Weights:
    """Of the signs in ABOUT and in RIGHT; the last number of each is the offset."""

    about: tuple[float, ...]
    right: tuple[float, ...]


CALIBRATED = {
    "local/snowflake-arctic-embed-s-int8/384": Weights((4.03, 3.9, 33.75, -22.51), (7.09, -0.4, 3.05, -1.32, -3.77)),
    "local/potion-base-8M/256": Weights((3.85, 3.45, 14.49, -6.68), (1.0, -0.54, 3.52, -1.16, 0.47)),
}
"""Embedder → weights: logistic fits by `python -m evals.answers`."""
BY_WORDS = Weights((5.04, 4.48, 0.0, -1.88), (0.0, -0.52, 3.6, -1.09, 0.95))
"""The same for an embedder nobody calibrated: its cosines mean nothing yet."""
LACKS = ("lacking", "untyped", "untold", "of_other")
FITTING = (-8.0, -1.5, -3.0, -4.0, 1.5)
"""Of what a statement lacks, and the offset: the best of a grid on our own conversations and one half of
evals/everyday.json."""
PER_RANK = 0.02
PLAIN = 0.5
"""The least chance of a statement that plainly tells an everyday trait of the very one who is asked about."""
RELEVANT = {
    "local/snowflake-arctic-embed-s-int8/384": (4.21, 1.59, 27.09, -17.01),
    "local/potion-base-8M/256": (6.55, -0.12, 9.57, -3.44),
}
"""Embedder → weights of a single hit's own signs in ABOUT, and the offset: fits by `python -m evals.relevance`."""
RELEVANT_BY_WORDS = (6.73, 3.28, 0.0, -1.95)
"""The same where cosines mean nothing yet."""
_READ = 1500
_NO_NAMES = {"i", "i'm", "i've", "i'd", "i'll", *MONTH_INDEX, *WEEKDAY_INDEX}
_NAME = re.compile(r"(?<=[\w,'’] )[A-ZÀ-Þ][\w'’-]+")


def support(asked: Asked, hits: Sequence[Hit], model: str) -> float:
    """0 to 1."""
    weights = CALIBRATED.get(model, BY_WORDS)
    seen = signs(asked, hits)
    about = _chance(weights.about, [seen[name] for name in ABOUT])
    right = _chance(weights.right, [seen[name] for name in RIGHT])
    told = any(hit.features.get("tells") for hit in hits)
    return round(max(about * right * fitting(hits), PLAIN if told else 0.0), 3)


def fitting(hits: Sequence[Hit]) -> float:
    """What is left of a chance, by what the best statement lacks: 1 when it fits well, or when none was read for it."""
    read = [hit.features for hit in hits if "fits" in hit.features]
    if not read:
        return 1.0
    best = max(enumerate(read), key=lambda each: each[1]["fits"] - PER_RANK * each[0])[1]
    values = [best.get(name, 0.0) for name in LACKS]
    return _chance(FITTING, values) / _chance(FITTING, [0.0] * len(LACKS))


def relevance(hit: Hit, model: str) -> float:
    """How surely this hit is about the question, 0 to 1; what a key named is. What superseded a message is as near as
    that was."""
    if "key" in hit.channels and not hit.features.get("supersedes"):
        return 1.0
    weights = RELEVANT.get(model, RELEVANT_BY_WORDS)
    return round(_chance(weights, [hit.features.get(name, 0.0) for name in ABOUT]), 3)


def _chance(weights: Sequence[float], values: Sequence[float]) -> float:
    total = sum(weight * value for weight, value in zip(weights, (*values, 1.0), strict=True))
    return 1 / (1 + math.exp(-total))


def signs(asked: Asked, hits: Sequence[Hit]) -> dict[str, float]:
    """The value of each sign."""
    best = hits[:3]
    told = " ".join(f"{hit.speaker or ''} {hit.content}" for hit in best).casefold()
    missing = [name for name in _names(asked.text) if name not in told]
    return {
        "coverage": hits[0].features.get("coverage", 0.0),
        "near": max(hit.features.get("near", 0.0) for hit in best),
        "cosine": max(hit.features.get("cosine", 0.0) for hit in best),
        "missing": float(min(len(missing), 3)),
        "gap": _gap(asked, hits),
        "named": float(any(hit.features.get("speaker") for hit in hits)),
    }


def _names(question: str) -> list[str]:
    found = (re.sub(r"['’]s$", "", name) for name in _NAME.findall(question))
    return [name.casefold() for name in found if name.casefold() not in _NO_NAMES]


def _gap(asked: Asked, hits: Sequence[Hit]) -> float:
    """By how much the named speaker's own words are nearer to the question than everybody else's; 0 without one."""
    if not any(hit.features.get("speaker") for hit in hits):
        return 0.0
    speakers = {token for hit in hits if hit.speaker for token in words.tokens(hit.speaker)}
    about = [(word, statics.importance(word)) for word, stem in asked.plain if stem not in speakers]
    near = statics.maxsim(about, [statics.token_ids(hit.content[:_READ])[0] for hit in hits]).tolist()
    named = speakers & set(asked.words)
    theirs = [n for n, hit in zip(near, hits, strict=True) if _by(hit, named)]
    others = [n for n, hit in zip(near, hits, strict=True) if hit.speaker and not _by(hit, named)]
    return float(max(theirs, default=min(near)) - max(others, default=min(near)))


def _by(hit: Hit, named: set[str]) -> bool:
    """Whether one of those named said it, or, of a memory, is spoken of."""
    return bool(named & set(words.tokens(hit.speaker if hit.kind == "message" and hit.speaker else hit.content)))
