"""Our own conversations keep their shape and their size."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

EVALS = Path(__file__).resolve().parents[2] / "evals"
sys.path.insert(0, str(EVALS))

from check_conversations import faults  # noqa: E402
from check_extraction import faults as extraction_faults  # noqa: E402

PATHS = sorted((EVALS / "conversations").glob("*.json"))


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_conversation_has_no_fault(path: Path) -> None:
    assert faults(json.loads(path.read_text("utf-8"))) == []


def test_there_are_enough_of_them() -> None:
    held = [json.loads(path.read_text("utf-8")) for path in PATHS]
    messages = sum(len(session["messages"]) for each in held for session in each["sessions"])
    questions = sum(len(each["questions"]) for each in held)
    assert (len(held) >= 20, messages >= 2500, questions >= 500) == (True, True, True)


ANNOTATED = [path for path in sorted((EVALS / "extraction").glob("*.json")) if not path.stem.startswith("lines")]


@pytest.mark.parametrize("path", ANNOTATED, ids=lambda path: path.stem)
def test_an_annotated_file_has_no_fault(path: Path) -> None:
    assert extraction_faults(json.loads(path.read_text("utf-8"))) == []


def test_a_good_part_of_the_annotated_conversations_is_unread() -> None:
    cases = {path.stem: len(json.loads(path.read_text("utf-8"))["cases"]) for path in ANNOTATED}
    unread = sum(count for name, count in cases.items() if name.startswith("unread"))
    tuned = sum(count for name, count in cases.items() if name.startswith("tuning"))
    assert unread >= 50
    assert unread / (unread + tuned) >= 1 / 3
