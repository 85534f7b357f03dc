"""A context marks what no longer holds, leaves what holds unmarked, and serves every part of a request."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from holdfast import Holdfast, Profile

TOLD = (
    ("2026-01-04", "I live in Leeds with my partner Tom. My budget is 4,000 euros."),
    ("2026-01-10", "We have a cat called Miso."),
    ("2026-01-20", "My sister Ann plays the cello in an orchestra."),
    ("2026-02-10", "We moved to York last week."),
    ("2026-03-01", "My budget is 5,500 euros now."),
    ("2026-04-01", "Miso died yesterday."),
)
ASKED_AT = "2026-05-01T00:00:00Z"


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Profile]:
    with Holdfast.open(tmp_path_factory.mktemp("data")) as memory:
        profile = memory.profile("app", "ann")
        for day, text in TOLD:
            profile.ingest([{"role": "user", "content": text, "timestamp": f"{day}T10:00:00Z"}], session_id=day)
        profile.settle()
        yield profile


def lines(profile: Profile, question: str, tokens: int = 1000) -> dict[str, str]:
    """Day of a message → its line."""
    text = profile.context(question, tokens=tokens, reference_date=ASKED_AT).text
    return {line.split("]")[0][-10:]: line for line in text.splitlines()[1:]}


@pytest.mark.parametrize("question", ["What is my budget?", "Where do I live?", "Do I have a pet?", "Tell me of Tom"])
def test_what_was_superseded_or_ended_is_marked_and_nothing_else(profile: Profile, question: str) -> None:
    shown = lines(profile, question)
    marked = {day for day, line in shown.items() if "no longer true" in line}
    assert marked == shown.keys() & {"2026-01-04", "2026-01-10"}
    assert marked
    assert all(line.endswith(f"] {dict(TOLD)[day]}") for day, line in shown.items() if day not in marked)


def test_of_a_message_that_holds_in_part_the_mark_says_which_part_does_not(profile: Profile) -> None:
    mark = lines(profile, "Where do I live?")["2026-01-04"].partition(" (no longer true: ")[2]
    assert "Leeds" in mark
    assert "4,000 euros" in mark
    assert "Tom" not in mark


@pytest.mark.parametrize(
    "question",
    [
        "What is my budget, and what does my sister play?",
        "What does my sister play and what is my budget?",
        "Tell me my budget and my sister's instrument",
    ],
)
def test_every_part_of_a_request_has_its_evidence_in_a_small_block(profile: Profile, question: str) -> None:
    block = profile.context(question, tokens=45, reference_date=ASKED_AT)
    assert block.tokens <= 45
    assert "5,500 euros" in block.text
    assert "cello" in block.text


def test_a_revised_memory_marks_its_message_but_not_as_of_a_time_before(tmp_path: Path) -> None:
    with Holdfast.open(tmp_path) as memory:
        profile = memory.profile("app", "ann")
        profile.ingest([{"role": "user", "content": "My budget is 4,000 euros."}], session_id="a", wait=True)
        before = datetime.now(UTC)
        (budget,) = profile.list(key="budget").items
        profile.revise(budget.id, content="The user's budget is 3,000 euros.")
        assert "My budget is 4,000 euros. (no longer true" in profile.context("What is my budget?").text
        assert profile.context("What is my budget?", as_of=before).text.endswith("My budget is 4,000 euros.")


@pytest.mark.parametrize("asks_first", [True, False])
def test_a_pasted_letter_with_a_question_is_a_question(profile: Profile, asks_first: bool) -> None:
    letter = "Dear all, the warehouse has moved. " + "Helen will report on the costs of transport. " * 60
    question = "What is my budget?"
    said = f"{question}\n\n{letter}" if asks_first else f"{letter}\n\n{question}"
    assert "2026-03-01" in list(lines(profile, said))[:2]
    assert "5,500" in profile.search(said, limit=1, reference_date=ASKED_AT)[0].content
    assert "5,500" in profile.recall(said, reference_date=ASKED_AT).answer
