"""The ranker orders what a channel proposed; items that come along as context are no results."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from holdfast.domain.ports.search import Candidate, Proposals
from holdfast.recall.question.analysis import analysed_question
from holdfast.recall.ranking.ranker import ranked_items

QUESTION = analysed_question("Where is the ferry?", datetime(2026, 1, 1, tzinfo=UTC))
ITEMS = tuple(Candidate(id, False, "s", n, "user", None, False, n) for n, id in enumerate("abc"))
FOUND = Proposals(
    items=ITEMS,
    channels=({"messages": 2}, {}, {"messages": 1}),
    of=np.arange(3),
    number=np.zeros(3, np.int64),
    length=np.full(3, 4.0),
    counts=np.array([[0.0], [1.0], [1.0]]),
    cosine=np.array([0.2, 0.4, 0.9]),
    tokens=(b"", b"", b""),
    parts=3,
    mean_length=4.0,
    frequency=(2,),
)


@pytest.mark.parametrize("limit", [1, 2, 10])
def test_only_what_was_proposed_is_ranked(limit: int) -> None:
    found = ranked_items(QUESTION, FOUND, limit)
    assert [each.item.id for each in found] == ["c", "a"][:limit]
    assert [each.features["cosine"] for each in found] == [0.9, 0.2][:limit]


def test_context_alone_gives_nothing() -> None:
    assert ranked_items(QUESTION, replace(FOUND, channels=({}, {}, {})), 10) == []
