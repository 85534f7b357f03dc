"""Pure: how well texts may fit a question at most. Most hits need not be taken apart into clauses to tell.

No word of a clause is nearer to a word asked about than the nearest of its whole text. Of short texts the index has all
words; others are read.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.domain.ports.search import Proposals
from holdfast.domain.types import Item, Message
from holdfast.recall.question.analysis import Question
from holdfast.recall.ranking.clauses import text_read
from holdfast.recall.ranking.fit import NearnessByText, Wanted, key_words, words_nearness
from holdfast.text import static_vectors, tokens
from holdfast.text.passages import MAX_PASSAGE_TOKENS

ROUNDING = 1e-5
"""More than the nearness of a word may differ between a text and one of its clauses by the order of additions."""


def may_be_worth(
    least: float, question: Question, items: Sequence[Item], found: Proposals, compared: NearnessByText
) -> bool:
    """Whether a clause of one of these items may be worth so much; True where their words do not decide it."""
    wanted = Wanted.of(question.target)
    if wanted.traits or not wanted.weights:
        return True
    indexed = _places_in_index([item.id for item in items if _is_one_part(item)], found)
    if any(wanted.highest_worth(row, 0.0) >= least - ROUNDING for row in _indexed_nearness(question, indexed, found)):
        return True
    texts = [_text_with_key(item) for item in items if item.id not in indexed]
    rows = words_nearness(question.target, texts, compared)
    return any(wanted.highest_worth(row, 0.0) >= least - ROUNDING for row in rows)


def _is_one_part(item: Item) -> bool:
    """Whether the index surely has all words that are read of it in one part."""
    return isinstance(item, Message) and len(item.content) <= MAX_PASSAGE_TOKENS and item.content.isascii()


def _text_with_key(item: Item) -> str:
    text, key = text_read(item.content), "" if isinstance(item, Message) else key_words(item.kind, item.key)
    return f"{text} {key}" if key else text


def _places_in_index(ids: Sequence[str], found: Proposals) -> dict[str, int]:
    """Id of an item → the place of its part."""
    places = {candidate.id: n for n, candidate in enumerate(found.items)}
    part_of = dict(zip(found.of.tolist(), range(len(found.of)), strict=True))
    return {id: part_of[places[id]] for id in ids if id in places}


def _indexed_nearness(question: Question, indexed: dict[str, int], found: Proposals) -> list[list[float]]:
    """For each of these parts, the nearness that it may have to each of the words asked about."""
    words = [word for word, _ in question.target.about]
    parts = list(indexed.values())
    near = static_vectors.nearness(words, [found.tokens[part] for part in parts])
    for column, word in enumerate(words):
        near[_may_have_stem(tokens.tokens(word)[0], question, found)[parts], column] = 1.0
    rows: list[list[float]] = near.tolist()
    return rows


def _may_have_stem(stem: str, question: Question, found: Proposals) -> NDArray[np.bool_]:
    """Which parts may have a word of this stem."""
    if stem in question.words and found.counts.shape[1] == len(question.words):
        place = question.words.index(stem)
        having: NDArray[np.bool_] = found.counts[:, place] > 0
        if having.any() or not found.frequency[place]:  # else its posting was not read, perhaps
            return having
    return np.ones(len(found.of), bool)
