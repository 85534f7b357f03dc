"""Pure: how surely what the reader found answers the question, from the reader's own chance and from what search knows.

The reader sees words; search knows how far down the passage was found, how well it fits what is asked, and whether a
later statement replaced it. Both together are right more often than each alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from holdfast.domain.ports.models import AnswerKind
from holdfast.domain.results import Hit
from holdfast.recall.answer.computed import FoundSpan
from holdfast.recall.question.analysis import Question
from holdfast.recall.ranking.relevance import probability
from holdfast.text import tokens

KINDS: tuple[AnswerKind, ...] = ("list", "yes", "no")
WEIGHTS = (0.82, -0.45, -0.69, 0.45, 0.11, -0.15, -0.14, 0.09, 0.17, 0.2, 0.78, -0.1, 0.31, 0.35, 0.15)
"""Of `sureness_features`: a logistic fit by `python -m evals.train.answer_chance`."""
MIN_UNFITTING_CHANCE, UNFITTING_CHANCE = 0.9, 0.4
"""Below the first chance, what is found in a statement without what is asked for has the second: of sixteen answers
eight were right."""


@dataclass(frozen=True, slots=True)
class ReadHits:
    """What the reader found in hits."""

    kind: AnswerKind
    spans: tuple[FoundSpan, ...]
    chance: float
    ranked: tuple[FoundSpan, ...] = ()
    """The likeliest words of each message that was read, best first."""
    kinds: tuple[float, ...] = ()
    """The chance of each kind of answer; empty when the reader does not say."""
    possible: tuple[FoundSpan, ...] = ()
    """The words that may be one of several answers, each with its own chance of being one."""


def sureness(question: Question, found: ReadHits, seen: Sequence[Hit], supported: float) -> float:
    """The chance that the found words answer, 0 to 1; `supported` is what search alone says (support.py)."""
    if found.kind == "none" or not found.spans:
        return 0.0
    chance = round(probability(WEIGHTS, sureness_features(question, found, seen, supported)), 3)
    return fitting_chance(chance, _seen_hit(found, seen)[1])


def fitting_chance(chance: float, hit: Hit) -> float:
    """The chance, lower where the statement has not what is asked for: "Eli is 4" does not say how tall he is."""
    state = hit.assessment
    unfitting = (state.lacks_value or state.lacks_trait) and (state.fit or 0.0) < 0
    return min(chance, UNFITTING_CHANCE) if unfitting and chance < MIN_UNFITTING_CHANCE else chance


def _seen_hit(found: ReadHits, seen: Sequence[Hit]) -> tuple[int, Hit]:
    """The rank and the hit in which the first words were found."""
    hit = found.spans[0].hit
    known = {hit.id, *hit.sources}
    rank = next((n for n, each in enumerate(seen) if not known.isdisjoint((each.id, *each.sources))), len(seen))
    return rank, seen[rank] if rank < len(seen) else hit


def sureness_features(question: Question, found: ReadHits, seen: Sequence[Hit], supported: float) -> tuple[float, ...]:
    span = found.spans[0]
    rank, hit = _seen_hit(found, seen)
    state, asked = hit.assessment, set(question.words)
    past = question.past_state is not None or question.target.past
    gone = state.superseded or state.outdated or state.older
    said = set(tokens.tokens(span.sentence))
    return (
        log(max(found.chance, 1e-4) / max(1 - found.chance, 1e-4)),
        supported,
        log(1 + rank),
        hit.relevance,
        state.fit or 0.0,
        float(state.fit is None),
        float(state.about_other),
        float(state.lacks_value or state.lacks_trait),
        float(gone and not past),
        float(past),
        len(asked & said) / max(len(asked), 1),
        *(float(found.kind == kind) for kind in KINDS),
    )
