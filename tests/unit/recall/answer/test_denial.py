"""What is said against a question does not answer it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from holdfast import Holdfast
from holdfast.domain.results import Hit
from holdfast.recall.answer.computed import FoundSpan
from holdfast.recall.answer.denial import is_affirmed, is_denied, is_denied_at, is_off_topic
from holdfast.recall.question.analysis import analysed_question

ASKED = datetime(2026, 3, 1, tzinfo=UTC)


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


@pytest.mark.parametrize(
    ("statement", "question", "denied"),
    [
        ("handed in my notice at Penny Lane today", "Where do I work?", True),
        ("handed in my notice at Penny Lane today", "Where did I work before Octopus?", False),
        ("Kasia cant have nuts, properly allergic", "What is Kasia allergic to?", False),
        ("I'm not allergic to shellfish after all", "What am I allergic to?", True),
    ],
)
def test_what_is_left_or_denied_is_no_answer(statement: str, question: str, denied: bool) -> None:
    assert is_denied(analysed_question(question, ASKED), statement) == denied


def test_what_is_told_of_others_is_not_said_of_the_user() -> None:
    asked = analysed_question("Am I engaged?", ASKED)
    assert not is_affirmed(asked, "Tom got engaged to Zoe.")
    assert is_affirmed(asked, "Kofi and I got engaged.")
    children = analysed_question("How many children do I have?", ASKED)
    assert is_off_topic(children, "14 kids in the end, 1 nosebleed")
    assert not is_off_topic(children, "I've got two kids")


@pytest.mark.parametrize(
    ("said", "words", "gone"),
    [
        ("the egg allergy is gone!", "egg", True),
        ("his eczema has cleared up, thank god", "eczema", True),
        ("Ola has gone to Leeds", "Ola", False),
        ("Leo is allergic to eggs", "eggs", False),
    ],
)
def test_what_is_gone_is_no_answer(said: str, words: str, gone: bool) -> None:
    hit = Hit("m", "message", said, said, 1.0, {}, "s", ASKED)
    start = said.index(words)
    asked = analysed_question("What does Leo have?", ASKED)
    assert is_denied_at(asked, FoundSpan(hit, ASKED, start, start + len(words))) is gone
