"""Our own conversations keep their shape and their size."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from evals.data.check_conversations import faults
from evals.data.check_extraction import faults as extraction_faults
from evals.data.life import FOLDER, Life, parse_lives
from evals.train.life_split import EVERYDAY

from support.paths import EVALS_DATA

PATHS = sorted((EVALS_DATA / "conversations").glob("*.json"))


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_conversation_has_no_fault(path: Path) -> None:
    assert faults(json.loads(path.read_text("utf-8"))) == []


def test_there_are_enough_of_them() -> None:
    held = [json.loads(path.read_text("utf-8")) for path in PATHS]
    messages = sum(len(session["messages"]) for each in held for session in each["sessions"])
    questions = sum(len(each["questions"]) for each in held)
    assert (len(held) >= 20, messages >= 2500, questions >= 500) == (True, True, True)


ANNOTATED = [path for path in sorted((EVALS_DATA / "extraction").glob("*.json")) if not path.stem.startswith("lines")]


@pytest.mark.parametrize("path", ANNOTATED, ids=lambda path: path.stem)
def test_an_annotated_file_has_no_fault(path: Path) -> None:
    assert extraction_faults(json.loads(path.read_text("utf-8"))) == []


def test_a_good_part_of_the_annotated_conversations_is_unread() -> None:
    cases = {path.stem: len(json.loads(path.read_text("utf-8"))["cases"]) for path in ANNOTATED}
    unread = sum(count for name, count in cases.items() if name.startswith("unread"))
    tuned = sum(count for name, count in cases.items() if name.startswith("tuning"))
    assert unread >= 50
    assert unread / (unread + tuned) >= 1 / 3


@cache
def lives_of(path: Path) -> tuple[list[Life], list[str]]:
    return parse_lives(path.read_text("utf-8"), path.name)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_lives_have_no_fault_and_many_questions_without_an_answer(path: Path) -> None:
    lives, faults = lives_of(path)
    assert faults == []
    questions = [question for life in lives for question in life.questions]
    least = 0.1 if path.stem in (*EVERYDAY, "held3") else 0.25
    assert sum(not question.answer for question in questions) >= least * len(questions)


def test_at_least_a_fifth_of_the_questions_after_lives_have_no_answer() -> None:
    lives = [life for path in FOLDER.glob("*.txt") for life in lives_of(path)[0]]
    questions = [question for life in lives for question in life.questions]
    assert sum(not question.answer for question in questions) >= 0.2 * len(questions)
