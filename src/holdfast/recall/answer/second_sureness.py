"""Pure: how surely what a second reading finds answers, from both readings, from search, and from the question.

Four logistic fits, because a list needs all of its words, and because two messages that are quoted together may have
the answer where one has not: `python -m evals.train.second_chance`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import log

from holdfast.domain.results import Hit
from holdfast.recall.answer.computed import FoundSpan
from holdfast.recall.answer.sureness import ReadHits
from holdfast.recall.question.analysis import Question
from holdfast.recall.ranking.relevance import probability
from holdfast.text import tokens

ONE_WEIGHTS: tuple[tuple[float, ...], ...] = (
    (
        -0.15, 0.07, 0.01, 0.04, 0.34, -0.01, -0.32, -0.04, 0.13, -0.05, 0.17, -0.34, -0.08, -1.07,
        0.6, -0.54, 0.0, 0.55, 0.14, -0.29, 1.39, -0.75, -0.59, 0.17, 0.11, 0.19, 0.19, -1.07,
        -0.06, -0.06, -0.59, -0.08, -3.25, -0.02, -0.02,
    ),
    (
        -0.05, 0.04, -0.04, 0.14, -0.19, -0.02, 0.26, 0.02, 0.04, -0.07, 0.08, -0.17, -0.03, 0.15,
        0.14, 0.63, 0.14, -0.21, -0.23, -0.09, 0.35, -0.11, 0.4, -0.34, -0.13, 1.26, 0.4, -0.09,
        -0.64, -0.76, -0.32, 0.01, 0.1, -0.1, 0.24,
    ),
)  # fmt: skip
"""Of `second_features`, for one answer and for several that are quoted where they are told."""
TOGETHER_WEIGHTS: tuple[tuple[float, ...], ...] = (
    (
        -0.17, 0.16, -0.02, 0.04, 0.29, 0.01, -0.52, -0.03, 0.08, -0.04, 0.19, -0.21, -0.03, -0.81,
        -0.3, 0.6, 0.3, 0.42, -0.14, -0.35, 0.63, -0.0, -0.49, -0.24, 0.21, -0.08, -0.08, -0.81,
        -0.06, 0.02, -0.61, -0.31, -3.53, -0.1, 1.49,
    ),
    (
        -0.04, 0.05, -0.05, 0.15, -0.13, -0.02, 0.18, 0.01, 0.06, -0.1, 0.08, -0.27, -0.03, 0.13,
        0.37, 0.61, 0.18, -0.06, -0.08, -0.01, 0.26, 0.0, 0.27, -0.7, 0.05, 1.88, 1.05, -0.13,
        -0.42, -0.95, -0.37, 0.01, 0.15, -0.11, -1.06,
    ),
)  # fmt: skip
"""The same for the likeliest messages quoted together. The constants of the fits for several answers were fitted again
for the present reader, on the lives `am` and `an`: 67 readings."""
SEVERAL_WEIGHTS = (-0.22, -0.56, 0.39, 1.95, -0.11, 0.69, -0.16, 1.08, 0.5, -0.42, 0.6, 0.9, 0.57, -6.38)
"""Of `several_features`, for all that is told of several things. Fitted on 1,100 readings of 115 lives: 600 of their
own questions, 500 of lists that other lives tell of. The reader learned from most of these lives (`ar` to `at`, `ax`,
`bz` to `cf`), not from the rest (`am`, `an`, `cg`), where the chances hold as well."""
SEVERAL = 2
"""The place of several answers among the kinds."""
_COMPUTES = re.compile(
    r"\bby how (?:much|many)\b|\bdifference\b|\b(?:altogether|in total|in all|together|combined|c[oa]me to)\b"
    r"|\bhow (?:much|many)\b.*\b(?:more|less|fewer|left|than)\b",
    re.I,
)
_DESCRIBES = re.compile(r"\w (?:who|whom|whose|that|which|where|when) \w|\b(?:with|from|of|after|before) the\b", re.I)
_ASKS_TWICE = re.compile(r",? and (?:what|which|who|whose|where|when|why|how|for|by|on|in)\b", re.I)


def chance_of_one(features: Sequence[float], several: bool) -> float:
    """The chance that the words which the second reading found answer."""
    return round(probability(ONE_WEIGHTS[several], features), 3)


def chance_of_together(features: Sequence[float], several: bool) -> float:
    """The chance that the likeliest messages have the answer between them."""
    return round(probability(TOGETHER_WEIGHTS[several], features), 3)


def second_features(
    question: Question, first: ReadHits, second: ReadHits, seen: Sequence[Hit], supported: float, hopped: bool
) -> tuple[float, ...]:
    """`supported` is what search alone says (support.py); `hopped` whether names were looked for."""
    return (
        *_said_by(first),
        *_said_by(second),
        *_said_of(question, first, second, seen, supported),
        *_list_features(second.spans),
        *_form_features(question),
        float(hopped),
    )


def _said_of(
    question: Question, first: ReadHits, second: ReadHits, seen: Sequence[Hit], supported: float
) -> tuple[float, ...]:
    """What search knows of the message with the likeliest words, and whether both readings agree on it."""
    one, other = first.ranked[0], second.ranked[0]
    state, past = other.hit.assessment, question.past_state is not None or question.target.past
    known = {other.hit.id, *other.hit.sources}
    rank = next((n for n, each in enumerate(seen) if not known.isdisjoint((each.id, *each.sources))), len(seen))
    return (
        *_coverage(question, second.ranked),
        float(one.hit.id == other.hit.id),
        float((one.hit.id, one.start) == (other.hit.id, other.start)),
        log(1 + rank),
        other.hit.relevance,
        supported,
        float(state.about_other),
        float((state.superseded or state.outdated or state.older) and not past),
        float(past),
    )


def _list_features(spans: Sequence[FoundSpan]) -> tuple[float, ...]:
    """How likely each of several answers is one, and in how many messages they are."""
    chances = [span.chance for span in spans] or [0.0]
    return sum(chances) / len(chances), min(chances), float(len({span.hit.id for span in spans}))


def _form_features(question: Question) -> tuple[float, ...]:
    """The length of the question, and whether it counts, computes, describes something by a clause, or asks two
    things."""
    text, wanted = question.text, question.computation
    return (
        log(1 + len(text.split())),
        float(wanted is not None and wanted.what == "count"),
        *(float(pattern.search(text) is not None) for pattern in (_COMPUTES, _DESCRIBES, _ASKS_TWICE)),
    )


def _said_by(found: ReadHits) -> tuple[float, ...]:
    """The log odds that nothing is told, one answer, several; the likeliest words and the next."""
    likeliest = [max(log(max(span.chance, 1e-6)), -12.0) for span in found.ranked[:2]]
    odds = [log(max(chance, 1e-4) / max(1 - chance, 1e-4)) for chance in (*found.kinds[:3], found.chance)]
    return (*odds, likeliest[0], likeliest[1] if len(likeliest) > 1 else -12.0, float(len(found.spans)))


def _coverage(question: Question, ranked: Sequence[FoundSpan]) -> tuple[float, ...]:
    """The share of the question's words in the likeliest message, and in the two likeliest; how many of its names are
    in neither."""
    asked = set(question.words) - {"user"}
    texts = [f"{span.hit.speaker or ''} {span.hit.content}" for span in ranked[:2]]
    said = [set(tokens.tokens(text)) for text in texts]
    both = " ".join(texts).casefold()
    return (
        len(asked & said[0]) / max(len(asked), 1),
        len(asked & set().union(*said)) / max(len(asked), 1),
        float(sum(name not in both for name in question.target.names)),
    )


def chance_of_several(features: Sequence[float]) -> float:
    """The chance that the quoted messages tell all that is asked for."""
    return round(probability(SEVERAL_WEIGHTS, features), 3)


def several_features(
    question: Question, first: ReadHits, spans: Sequence[FoundSpan], supported: float
) -> tuple[float, ...]:
    """`supported` is what search alone says (support.py). The reader alone is sure of too much: in a profile without
    cars, "Which cars do I own?" finds whatever is listed."""
    chances = list(likeliest_words(spans).values())
    odds = [log(max(each, 1e-3) / max(1 - each, 1e-3)) for each in (first.kinds[SEVERAL], first.kinds[0], first.chance)]
    relevances = {span.hit.id: span.hit.relevance for span in spans}.values()
    asked = set(question.words) - {"user"}
    said = [set(tokens.tokens(f"{span.hit.speaker or ''} {span.hit.content}")) for span in spans]
    return (
        *odds,
        sum(chances) / len(chances),
        min(chances),
        max(chances),
        float(len(chances)),
        log(1 + len(question.text.split())),
        max(relevances),
        min(relevances),
        log(max(*relevances, 1e-3)),
        supported,
        len(asked & set().union(*said)) / max(len(asked), 1),
    )


def likeliest_words(spans: Sequence[FoundSpan]) -> dict[str, float]:
    """The chance of the likeliest words of each message."""
    best: dict[str, float] = {}
    for span in spans:
        best[span.hit.id] = max(span.chance, best.get(span.hit.id, 0.0))
    return best
