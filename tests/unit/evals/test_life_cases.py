"""Lives as annotated conversations for training."""

from __future__ import annotations

from functools import cache

from evals.train.life_cases import life_cases
from evals.train.life_split import MEASURES

cases = cache(life_cases)


def test_lives_that_measure_do_not_train() -> None:
    names = {case["id"].split("-")[1] for case in cases()}
    assert names
    assert names.isdisjoint(MEASURES)


def test_statements_that_ended_name_the_message_that_ended_them() -> None:
    first = cases()[0]
    messages = {message["id"]: message["content"] for message in first["messages"]}
    assert first["ended"]
    for number, ended_by in first["ended"].items():
        told = first["expected"][number]
        assert told["says"][0] in messages[told["from"][0]]
        assert ended_by in messages
        assert ended_by not in told["from"]
