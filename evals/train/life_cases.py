"""Lives (evals/data/lives) as annotated conversations for what learns from them; some files only measure.

A life's statements say what is worth keeping, but not as which kind: `kind` is None. What lives do not annotate may be
worth keeping too: only messages that no statement and no question needs are known to hold nothing (`unsure` has the
others).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from ..data.life import FOLDER, Life, Statement, parse_lives
from .life_split import MEASURES


def life_cases(names: Sequence[str] = ()) -> list[dict[str, Any]]:
    """As in `training-*.json`, of every file or of the named ones; `ended` has the number of each statement that ended,
    and the id of the message that ended it."""
    files = [path for path in sorted(FOLDER.glob("*.txt")) if path.stem not in MEASURES]
    files = [path for path in files if not names or path.stem in names]
    return [
        _case(f"lives-{path.stem}-{n}", life)
        for path in files
        for n, life in enumerate(parse_lives(path.read_text("utf-8"), path.name)[0])
    ]


def _case(name: str, life: Life) -> dict[str, Any]:
    messages = [
        {
            "id": f"m{said.number}", "session": f"s{said.session}", "timestamp": f"{said.day}T12:00:00+00:00",
            "role": "assistant" if said.speaker == "A" else "user", "content": said.text,
            "speaker": None if said.speaker in ("U", "A") else said.speaker,
        }
        for said in life.messages
    ]  # fmt: skip
    expected = [
        {"from": [f"m{each.message}"], "kind": None, "says": [each.value], "supersedes": None, "topic": _topic(each)}
        for each in life.statements
    ]
    needed = {each.message for each in life.statements}
    needed.update(number for question in life.questions for number in question.messages)
    return {
        "id": name,
        "messages": messages,
        "expected": expected,
        "ended": {n: f"m{each.ended_by}" for n, each in _ended_later(life.statements)},
        "unsure": {f"m{number}" for number in needed},
    }


def _ended_later(statements: Iterable[Statement]) -> list[tuple[int, Statement]]:
    return [
        (n, each) for n, each in enumerate(statements) if each.ended_by is not None and each.ended_by > each.message
    ]


def _topic(statement: Statement) -> str:
    attribute = re.sub(r"\(.*?\)", "", statement.attribute)
    return f"{statement.subject}|{attribute}".casefold().strip()
