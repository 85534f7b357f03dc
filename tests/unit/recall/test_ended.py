"""The mark of a message in a context: what ended of it, once and briefly."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from holdfast.domain.types import Memory
from holdfast.recall.ended import ended_mark

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def memories(*contents: str, kind: str = "fact") -> list[Memory]:
    return [Memory(f"M{n}", kind, content, content, NOW, NOW) for n, content in enumerate(contents)]


@pytest.mark.parametrize(
    ("text", "ended", "current", "mark"),
    [
        ("I live in Porto.", ["The user lives in Porto."], [], "no longer true"),
        (
            "I live in Porto and I'm allergic to peanuts.",
            ["The user lives in Porto."], ["The user is allergic to peanuts."],
            "no longer true: The user lives in Porto.",
        ),
        (  # what a current memory still tells is not said to have ended
            "putting prices up: sourdough to 4.50, buns 2.80. rye stays",
            ['The user said: "putting prices up: sourdough to 4.50, buns 2.80. rye stays"'],
            ['The user said: "putting prices up: sourdough to 4.50, buns 2.80."'],
            "no longer true: rye stays",
        ),
        (  # twice ended in part, and told once
            "Theo has swimming tuesdays, chess fridays at 4, Mabel does ballet on Saturdays 9.30",
            [
                "Theo has swimming tuesdays, chess fridays at 4, Mabel does ballet on Saturdays 9.30.",
                "Theo has swimming tuesdays, Mabel does ballet on Saturdays 9.30.",
            ],
            ["Theo has swimming tuesdays."],
            "no longer true: chess fridays at 4, Mabel does ballet on Saturdays 9.30",
        ),
        (  # what says most of the line is not repeated either
            "rye is 4.80, buns 2.60 each",
            ["Rye is 4.80, buns 2.60 each."], ["Rye is 4.80 at the market."],
            "no longer true: buns 2.60 each",
        ),
        ("My budget is 4,000.", ["The user's budget is 4,000."], ["The user's budget is 3,000."], "no longer true"),
        (  # a part of which there is no memory may still be true
            "Lisa came round with the kids. my budget is 4,000 euros",
            ["The user's budget is 4,000 euros."], [],
            "no longer true: The user's budget is 4,000 euros.",
        ),
        ("I live in Porto.", [], ["The user lives in Porto."], ""),
    ],
)  # fmt: skip
def test_what_ended_is_told_once_and_briefly(text: str, ended: list[str], current: list[str], mark: str) -> None:
    assert ended_mark(text, memories(*ended), memories(*current)) == mark


def test_a_task_that_is_done_was_not_untrue() -> None:
    text = "need to book the dentist. I like tea"
    ended = memories("The user needs to book the dentist.", kind="task")
    assert ended_mark(text, ended, memories("The user likes tea.")).startswith("no longer to do: The user needs")
