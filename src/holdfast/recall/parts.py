"""Searches for each part of a request, so that a block has the evidence of every one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, zip_longest

from holdfast.domain.results import Hit
from holdfast.recall.question.analysis import Question
from holdfast.recall.question.parts import question_parts
from holdfast.recall.search import Searcher


async def hits_of_parts(searcher: Searcher, question: Question, limit: int) -> list[Hit]:
    """The hits of a request: of each of its parts in turn, then of the whole."""
    whole = await searcher.search(question, limit)
    parts = question_parts(question.text)
    if len(parts) == 1:
        return whole
    found = [await searcher.search(question.about(part), limit) for part in parts]
    return in_turn([*found, whole])[:limit]


def in_turn(lists: Sequence[Sequence[Hit]]) -> list[Hit]:
    """The first of every list, then the second of every list and so on; each hit once, with its best relevance."""
    best: dict[str, float] = {}
    order: dict[str, Hit] = {}
    for hit in chain.from_iterable(zip_longest(*lists)):
        if hit is not None:
            order.setdefault(hit.id, hit)
            best[hit.id] = max(best.get(hit.id, 0.0), hit.relevance)
    return [replace(hit, relevance=best[id]) for id, hit in order.items()]
