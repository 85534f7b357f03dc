"""What is said against a question does not answer it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import Holdfast


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Holdfast]:
    with Holdfast.open(tmp_path_factory.mktemp("data")) as memory:
        yield memory


@pytest.mark.parametrize(
    ("said", "question", "answered"),
    [
        ("I hate mushrooms.", "What do I like?", ""),
        ("I hate mushrooms.", "What do I hate?", "mushrooms"),
        ("I love jazz.", "What do I hate?", ""),
        ("I love jazz.", "What music do I love?", "jazz"),
        ("I like tea but I hate coffee.", "What do I hate?", "coffee"),
    ],
)
def test_what_is_disliked_does_not_answer_what_is_liked(
    memory: Holdfast, said: str, question: str, answered: str
) -> None:
    profile = memory.profile("app", f"{said} {question}")
    profile.ingest([{"role": "user", "content": said}], session_id="s", wait=True)
    answer = profile.recall(question).answer
    assert answered in answer if answered else answer == ""


def test_a_title_does_not_end_the_quoted_sentence(tmp_path: Path) -> None:
    with Holdfast.open(tmp_path) as memory:
        profile = memory.profile("app", "ana")
        said = "I have a meeting with Dr. Lee next Tuesday at 3pm."
        profile.ingest([{"role": "user", "content": said, "timestamp": "2026-11-18"}], session_id="s", wait=True)
        answer = profile.recall("When is my meeting with Dr. Lee?", reference_date="2026-11-18").answer
    assert "meeting with Dr. Lee" in answer
