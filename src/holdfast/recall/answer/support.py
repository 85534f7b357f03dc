"""Pure: the probability that some hits answer a question at all; without enough support, the answer is empty.

It is a product of three. First, the probability that the hits are about the topic of the question, from nearness in
words and meaning. Second, that they are about the right person or thing: they contain every name in the question, and a
named speaker said no less about it than others did ("What did Ana paint?" when it is Ben who paints). Third, a factor
that falls the worse the best statement fits: it states another trait, contains no value of the type asked for, or is
about somebody else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.domain.results import Hit
from holdfast.recall.question.analysis import Question
from holdfast.recall.ranking.clauses import people_in
from holdfast.recall.ranking.relevance import ABOUT, probability
from holdfast.recall.ranking.trust import OWN, SECOND_HAND, is_about_user, own_answers, standing
from holdfast.text import static_vectors, tokens
from holdfast.text.lexicon.calendar import MONTH_INDEX, WEEKDAY_INDEX
from holdfast.text.lexicon.patterns import NAME_IN_QUESTION

MAX_JUDGED = 30
"""How many hits are used to estimate support."""
RIGHT_ONE = ("cosine", "missing", "gap", "named")


@dataclass(frozen=True, slots=True)
class SupportWeights:
    """Weights of the features in ABOUT and in RIGHT_ONE; the last number of each tuple is the offset."""

    about: tuple[float, ...]
    right: tuple[float, ...]


CALIBRATED = {
    "local/snowflake-arctic-embed-s-int8/384": SupportWeights(
        (4.51, 5.6, 17.08, -8.26), (5.4, -0.94, 2.94, -0.99, -1.27)
    ),
    "local/potion-base-8M/256": SupportWeights((3.85, 3.45, 14.49, -6.68), (1.0, -0.54, 3.52, -1.16, 0.47)),
}
"""Embedder → weights: logistic fits by `python -m evals.measure.answers`."""
UNCALIBRATED = SupportWeights((5.04, 4.48, 0.0, -1.88), (0.0, -0.52, 3.6, -1.09, 0.95))
"""The weights for an embedder without calibration: its cosines cannot be interpreted, so they weigh 0."""
LACK_WEIGHTS = (-8.0, -1.5, -3.0, -4.0, 1.5)
"""Weights of what a statement lacks (nearness, value type, trait, the right person) and the offset: the best of a grid
search on our own conversations and one half of the everyday questions."""
RANK_PENALTY = 0.02
MIN_SUPPORT = 0.4
"""The minimum probability that the hits answer the question: the best balance of right answers and rightly empty ones
in `python -m evals.measure.answers`."""
MIN_PLAIN_SUPPORT = 0.5
"""The minimum support when a hit plainly states an everyday trait of exactly the person or thing asked about."""
_MAX_CHARACTERS = 1500
_NO_NAMES = {"i", "i'm", "i've", "i'd", "i'll", *MONTH_INDEX, *WEEKDAY_INDEX}


def answering_hits(question: Question, found: Sequence[Hit], model: str) -> list[Hit]:
    """The hits that may answer: no hearsay, and nothing that a document or a tool brought where the question is about
    the user and their own statements support an answer."""
    kept = [hit for hit in found if not hit.assessment.hearsay]
    own = [hit for hit in kept if standing(hit) == OWN]
    known = people_in(own)
    if len(own) == len(kept) or not own or not is_about_user(question, known, own):
        return kept
    answers = own_answers(question, own, known, model).ids and support(question, own, model) >= MIN_SUPPORT
    return [hit for hit in kept if standing(hit) != SECOND_HAND] if answers else kept


def support(question: Question, hits: Sequence[Hit], model: str) -> float:
    """The probability that the hits answer the question, 0 to 1."""
    weights = CALIBRATED.get(model, UNCALIBRATED)
    seen = signs(question, hits)
    about = probability(weights.about, [seen[name] for name in ABOUT])
    right = probability(weights.right, [seen[name] for name in RIGHT_ONE])
    plain = any(hit.assessment.plain for hit in hits)
    return round(max(about * right * share_left_by_fit(hits), MIN_PLAIN_SUPPORT if plain else 0.0), 3)


def share_left_by_fit(hits: Sequence[Hit]) -> float:
    """The factor that support is multiplied by, from what the best statement lacks: 1 when it lacks nothing,
    or when no hit has a fit."""
    read = [(hit.assessment.fit, hit.assessment) for hit in hits if hit.assessment.fit is not None]
    if not read:
        return 1.0
    _, best = max(enumerate(read), key=lambda each: each[1][0] - RANK_PENALTY * each[0])[1]
    lacks = (best.lacking, float(best.lacks_value), float(best.lacks_trait), float(best.about_other))
    return probability(LACK_WEIGHTS, lacks) / probability(LACK_WEIGHTS, (0.0,) * len(lacks))


def signs(question: Question, hits: Sequence[Hit]) -> dict[str, float]:
    """The value of each feature in ABOUT and RIGHT_ONE."""
    best = hits[:3]
    told = " ".join(f"{hit.speaker or ''} {hit.content}" for hit in best).casefold()
    missing = [name for name in _names(question.text) if name not in told]
    return {
        "coverage": hits[0].features.get("coverage", 0.0),
        "near": max(hit.features.get("near", 0.0) for hit in best),
        "cosine": max(hit.features.get("cosine", 0.0) for hit in best),
        "missing": float(min(len(missing), 3)),
        "gap": _gap(question, hits),
        "named": float(any(hit.features.get("speaker") for hit in hits)),
    }


def _names(text: str) -> list[str]:
    found = (re.sub(r"['’]s$", "", name) for name in NAME_IN_QUESTION.findall(text))
    return [name.casefold() for name in found if name.casefold() not in _NO_NAMES]


def _gap(question: Question, hits: Sequence[Hit]) -> float:
    """By how much the named speaker's words are nearer to the question than anybody else's; 0 when none is named."""
    if not any(hit.features.get("speaker") for hit in hits):
        return 0.0
    speakers = {token for hit in hits if hit.speaker for token in tokens.tokens(hit.speaker)}
    about = [(word, static_vectors.importance(word)) for word, stem in question.plain if stem not in speakers]
    near = static_vectors.maxsim(
        about, [static_vectors.token_ids(hit.content[:_MAX_CHARACTERS])[0] for hit in hits]
    ).tolist()
    named = speakers & set(question.words)
    theirs = [n for n, hit in zip(near, hits, strict=True) if _is_by_or_about(hit, named)]
    others = [n for n, hit in zip(near, hits, strict=True) if hit.speaker and not _is_by_or_about(hit, named)]
    return float(max(theirs, default=min(near)) - max(others, default=min(near)))


def _is_by_or_about(hit: Hit, named: set[str]) -> bool:
    """Whether one of the named people said the message or, for a memory, is mentioned in it."""
    return bool(named & set(tokens.tokens(hit.speaker if hit.kind == "message" and hit.speaker else hit.content)))
