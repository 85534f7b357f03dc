"""Our own conversations keep their shape and their size."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

EVALS = Path(__file__).resolve().parents[2] / "evals"
sys.path.insert(0, str(EVALS))

from check_conversations import faults  # noqa: E402

PATHS = sorted((EVALS / "conversations").glob("*.json"))


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_conversation_has_no_fault(path: Path) -> None:
    assert faults(json.loads(path.read_text("utf-8"))) == []


def test_there_are_enough_of_them() -> None:
    held = [json.loads(path.read_text("utf-8")) for path in PATHS]
    messages = sum(len(session["messages"]) for each in held for session in each["sessions"])
    questions = sum(len(each["questions"]) for each in held)
    assert (len(held) >= 20, messages >= 2500, questions >= 500) == (True, True, True)
