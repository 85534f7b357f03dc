"""The reasons of a rank: by how much each feature moves an item's score."""

from __future__ import annotations

import json
from importlib import resources

import numpy as np
import pytest

from holdfast.domain.ports.search import Candidate
from holdfast.recall import ranking
from holdfast.recall.ranking.features import Column
from holdfast.recall.ranking.ranker import MAX_REASONS, REASONS_AT_ONCE, RankedItem, item_scores, reasons

ITEM = Candidate("m1", False, "s", 1, "user", None, False, 0)
RANKER = json.loads(resources.files(ranking).joinpath("ranker.json").read_text("utf-8"))
NAMES = RANKER["features"]


def scores(inputs: Column) -> Column:
    """The scores of items with these scaled inputs."""
    return item_scores(dict(zip(NAMES, (inputs * RANKER["spread"] + RANKER["mean"]).T, strict=True)))


@pytest.mark.parametrize("count", [0, 1, REASONS_AT_ONCE, 3 * REASONS_AT_ONCE + 1])
def test_a_reason_is_what_the_score_loses_with_an_average_value(count: int) -> None:
    inputs = np.clip(np.random.default_rng(1).normal(size=(count, len(NAMES))), -3, 3)
    found = reasons([RankedItem(ITEM, {}, 0.0, (), (), row) for row in inputs])
    assert len(found) == count
    for row, why in zip(inputs, found, strict=True):
        without = np.where(np.eye(len(NAMES), dtype=bool), 0.0, row)
        lost = scores(row[None])[0] - scores(without)
        most = np.argsort(-np.abs(lost))[:MAX_REASONS]
        assert list(why.values()) == pytest.approx(lost[most], abs=0.0006)
