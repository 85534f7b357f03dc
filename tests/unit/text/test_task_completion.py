"""Whether a statement says of a task that it is not done."""

from __future__ import annotations

import pytest

from holdfast.text.task_completion import leaves_undone


@pytest.mark.parametrize(
    ("statement", "task"),
    [
        ("everything is done, only the gp is left", "The user needs to register with a gp."),
        ("refunds aren't done yet", "Yara needs: refunds."),
        ("still waiting for the boiler man", "The user needs to book the boiler man."),
        ("logo's fine now. dark mode is mine", "Dele needs: dark mode."),
    ],
)
def test_a_task_may_be_told_as_not_done(statement: str, task: str) -> None:
    assert leaves_undone(statement, task)


@pytest.mark.parametrize(
    ("statement", "task"),
    [
        ("registered with the gp today", "The user needs to register with a gp."),
        ("refunds are merged, the docs aren't done", "Yara needs: refunds."),
        ("only the loft is left", "The user needs to call the bank."),
    ],
)
def test_what_is_left_is_another_task(statement: str, task: str) -> None:
    assert not leaves_undone(statement, task)
