"""Pure: turns the channels' proposals into one row of features per item, the same on every backend.

Features do not depend on the size of the corpus: BM25 is relative to the best candidate's, cosines are distances to the
best (this model's lie in a narrow band), ranks are reciprocal. Ranks and sessions do not depend on how many memories
were extracted, either. A short message also gets features of its neighbours, every item those of its session.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from holdfast.domain.ports.search import CandidateColumns, Proposals
from holdfast.domain.timestamps import to_micros
from holdfast.domain.types import Ints
from holdfast.recall.question.analysis import Question
from holdfast.text import tokens
from holdfast.text.static_vectors import maxsim

Column = NDArray[np.float64]
MAX_POSITION = 1 << 40
"""More than the messages of any session."""
FAR = -3.0
"""The distance in meaning of all items where none has a vector; also the lower bound."""
_NO_NEIGHBOUR = np.array([[0.0], [FAR], [0.0], [0.0], [0.0], [0.0]])
"""Words, meaning, nearness, whether it asks, length and speaker of a neighbour that is not there."""


def feature_columns(question: Question, proposals: Proposals) -> dict[str, Column]:
    """Feature → its value for each proposed item."""
    items = proposals.columns()
    count = len(proposals.items)
    named = _named_speakers(question, items)
    parts = _PartsOfItems(proposals)
    lexical = _lexical(question, proposals, parts, {items.speakers[n] for n in named})
    words, other_words = lexical["words"], lexical["other_words"]
    cosine = parts.best(np.where(np.isnan(proposals.cosine), -1.0, proposals.cosine), -1.0)
    near = parts.best(_maxsim(question, proposals))
    near_top = _relative(near)
    known = cosine > -1.0
    if known.any():
        cosine = np.where(known, cosine, _likely_cosines(cosine[known], near_top))
    gap = _distance(cosine, known)
    spoken = _speaker_column(items, named)
    asks = items.asks.astype(float)
    length = np.log1p(np.bincount(proposals.of, proposals.length, count))
    before, after = _neighbours(items)
    beside = np.array([other_words, gap, near, asks, length, spoken])
    beside = np.concatenate([beside, _NO_NEIGHBOUR], axis=1)  # its last column is that of the index -1
    of_before, of_after = beside.take(before, axis=1, mode="wrap"), beside[:3].take(after, axis=1, mode="wrap")
    return {
        **lexical,
        "words_rank": _rank_in_kind(words, items.memory),
        "meaning": gap,
        "meaning_rank": _rank_in_kind(cosine, items.memory),
        "near": near,
        "near_top": near_top,
        "before_words": of_before[0],
        "after_words": of_after[0],
        "before_meaning": of_before[1],
        "after_meaning": of_after[1],
        "before_near": of_before[2],
        "after_near": of_after[2],
        "before_asks": of_before[3],
        "before_length": of_before[4],
        "asks": asks,
        "length": length,
        **_session_columns(items, words, gap, words + near_top + np.maximum(1 + gap / 2, 0)),
        "speaker": spoken,
        "before_speaker": of_before[5],
        "has_speaker": (items.speaker >= 0).astype(float),
        "from_user": items.from_user.astype(float),
        "memory": items.memory.astype(float),
        "key": np.array(["key" in ranks for ranks in proposals.channels], float),
        "in_window": _window_column(question, items),
        "first_person": np.full(count, float(question.first_person)),
        "word_count": np.full(count, float(len(question.words))),
        "when_asked": np.full(count, float(question.intent == "time")),
    }


def best_cosines(proposals: Proposals) -> Column:
    """Each item's best cosine; 0 when it has none."""
    best = np.zeros(len(proposals.items))
    np.fmax.at(best, proposals.of, proposals.cosine)
    return best


def _likely_cosines(known: Column, near_top: Column) -> Column:
    """The cosines of items without a vector, such as tasks and what was just written: as near in meaning as their words
    are, which is as the nearest item for the nearest words and as the median one for words half as near."""
    top = float(known.max())
    return top - 2 * (top - _median(known)) * (1 - near_top)


def _distance(cosine: Column, known: NDArray[np.bool_]) -> Column:
    """Scales cosines to 0 for the nearest item and -1 for the median one: models differ in
    the spread of their cosines."""
    if not known.any():
        return np.full(len(cosine), FAR)
    top, middle = float(cosine.max()), _median(cosine[known])
    return np.maximum((cosine - top) / max(top - middle, 1e-3), FAR)


def _median(column: Column) -> float:
    """The same as NumPy's, which takes five times as long for few values."""
    ordered = np.sort(column)
    return float(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def _lexical(question: Question, proposals: Proposals, parts: _PartsOfItems, named: set[str]) -> dict[str, Column]:
    """BM25, and the share of the question's word weight that is found, both with and without speakers' names."""
    weight = tokens.bm25(
        proposals.counts, proposals.length, proposals.frequency, proposals.parts, proposals.mean_length
    )
    name_words = {token for name in named for token in tokens.tokens(name)}
    others = np.array([word not in name_words for word in question.words], bool)
    idf = word_rarity(proposals)
    found = (proposals.counts > 0) * idf
    words = _relative(parts.best(weight.sum(1)))
    coverage = parts.best(found.sum(1)) / max(float(idf.sum()), 1e-9)
    if others.all():
        return {"words": words, "other_words": words, "coverage": coverage, "other_coverage": coverage}
    return {
        "words": words,
        "other_words": _relative(parts.best(weight[:, others].sum(1))),
        "coverage": coverage,
        "other_coverage": parts.best(found[:, others].sum(1)) / max(float(idf[others].sum()), 1e-9),
    }


def word_rarity(proposals: Proposals) -> Column:
    """The weight of each of the question's words; a word that occurs nowhere weighs most."""
    return np.log1p(proposals.parts / (np.array(proposals.frequency, float) + 0.5))


def _maxsim(question: Question, proposals: Proposals) -> Column:
    """How near the tokens of each part come to the question's words."""
    weights = dict(zip(question.words, word_rarity(proposals).tolist(), strict=True))
    pairs = [(word, weights.get(stem, 1.0)) for word, stem in question.plain]
    return maxsim(pairs, proposals.tokens)


def _named_speakers(question: Question, items: CandidateColumns) -> list[int]:
    """The places of the speakers that the question names."""
    words = set(question.words)
    spoken = sorted(set(items.speaker.tolist()))
    return [n for n in spoken if n >= 0 and not words.isdisjoint(tokens.tokens(items.speakers[n]))]


def _speaker_column(items: CandidateColumns, named: list[int]) -> Column:
    """1 when a named speaker wrote the message, -1 when somebody else did; 0 for memories, which have no speaker."""
    if not named:
        return np.zeros(len(items.memory))
    return np.where(items.memory, 0.0, np.where(np.isin(items.speaker, named), 1.0, -1.0))


def _session_columns(items: CandidateColumns, best: Column, gap: Column, together: Column) -> dict[str, Column]:
    """How good an item's session is: its best message by words and by meaning, or the item itself, and the sum of its
    messages relative to the best session's. Memories do not count: a session is not better for having more of them."""
    of = items.session + 1
    alone = of == 0
    said = (~items.memory).nonzero()[0]
    count = int(of.max(initial=0)) + 1
    total: Column = np.asarray(np.bincount(of[said], together[said], count), float)
    lexical, meaning = np.zeros(count), np.full(count, FAR)
    np.maximum.at(lexical, of[said], best[said])
    np.maximum.at(meaning, of[said], gap[said])
    return {
        "session_words": np.where(alone, best, np.maximum(best, lexical[of])),
        "session_meaning": np.where(alone, gap, np.maximum(gap, meaning[of])),
        "session_share": np.where(alone, 0.0, _relative(total)[of]),
    }


def _window_column(question: Question, items: CandidateColumns) -> Column:
    """1 inside the question's window, -1 outside, 0 when the question has no window."""
    if question.window is None:
        return np.zeros(len(items.at))
    start, stop = map(to_micros, question.window)
    return np.where((start <= items.at) & (items.at < stop), 1.0, -1.0)


def _neighbours(items: CandidateColumns) -> tuple[Ints, Ints]:
    """For each item, the indexes of the messages just before and after it in its session; -1 for none."""
    messages = (~items.memory).nonzero()[0]
    here = items.session[messages] * MAX_POSITION + items.position[messages]
    order = here.argsort()
    here, messages = here[order], messages[order]
    follows = here[1:] == here[:-1] + 1
    before, after = np.full(len(items.memory), -1), np.full(len(items.memory), -1)
    before[messages[1:][follows]] = messages[:-1][follows]
    after[messages[:-1][follows]] = messages[1:][follows]
    return before, after


class _PartsOfItems:
    """Which parts belong to which item."""

    def __init__(self, proposals: Proposals) -> None:
        self._of, self._count = proposals.of, len(proposals.items)
        step = self._of[1:] - self._of[:-1]
        changes = np.ones(len(self._of), bool)
        changes[1:] = step != 0
        starts = changes.nonzero()[0]
        self._starts = starts if len(starts) == self._count and step.min(initial=0) >= 0 else None
        """Where the parts of each item begin, if they come in the order of their items."""

    def best(self, of_part: Column, least: float = 0.0) -> Column:
        """The best value among each item's parts."""
        if self._starts is not None and self._count:  # a fifth of the time that `at` takes
            return np.maximum(np.maximum.reduceat(of_part, self._starts), least)
        best = np.full(self._count, least)
        np.maximum.at(best, self._of, of_part)
        return best


def _rank_in_kind(column: Column, memory: NDArray[np.bool_]) -> Column:
    """Reciprocal ranks, of messages among messages and of memories among memories: a message does not lose ranks to the
    memories that quote it. Equal values have the same rank."""
    ranks = np.empty(len(column))
    for kind in (memory, ~memory):
        values = column[kind]
        ranks[kind] = 1 + len(values) - np.sort(values).searchsorted(values, side="right")
    return np.where(column > 0, 1 / ranks, 0.0)


def _relative(column: Column) -> Column:
    """The values as shares of the highest."""
    return column / max(float(column.max(initial=0.0)), 1e-9)
