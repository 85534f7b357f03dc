"""The sets in one shape: profiles of sessions, and the questions asked of each with the messages that answer them.

LoCoMo is licensed for non-commercial use: it measures, it never trains (`trainable` is False; the trainer refuses it).
"""

from __future__ import annotations

import gzip
import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..paths import DATA, REPOSITORY
from ..train.life_split import EVERYDAY, is_held
from .life import FOLDER, Life, parse_lives

BENCH = Path(os.environ.get("HOLDFAST_BENCH", REPOSITORY.parent / "shared" / "bench"))


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    text: str
    category: str
    evidence: tuple[str, ...]
    answer: str
    asked_at: str | None
    scored: bool


@dataclass(frozen=True, slots=True)
class Case:
    """One profile's worth of sessions, and what is asked of it."""

    set: str
    id: str
    sessions: tuple[dict[str, Any], ...]
    questions: tuple[Question, ...]
    groups: dict[str, str] = field(default_factory=dict)
    """Question id → what must stay on one side of a cross-validation split."""

    @property
    def trainable(self) -> bool:
        return self.set != "locomo"


def own() -> list[Case]:
    cases = []
    for path in sorted((DATA / "conversations").glob("*.json")):
        held = json.loads(path.read_text("utf-8"))
        questions = tuple(_question(q, scored=bool(q["evidence"])) for q in held["questions"])
        groups = {q.id: held["id"] for q in questions}
        cases.append(Case("own", held["id"], tuple(held["sessions"]), questions, groups))
    return cases


def locomo() -> list[Case]:
    held = _bench("locomo-dev.json.gz")
    return [
        Case("locomo", c["id"], tuple(c["sessions"]), tuple(_question(q, q["scored"]) for q in c["questions"]))
        for c in held["conversations"]
    ]


def longmemeval_pool() -> list[Case]:
    held = _bench("longmemeval-dev.json.gz")
    questions = tuple(_question(q, q["scored"]) for q in held["questions"])
    return [Case("pool", "pool", tuple(held["sessions"]), questions, {q.id: q.id for q in questions})]


def longmemeval_s48() -> list[Case]:
    held = _bench("longmemeval-dev.json.gz")
    sessions = {session["id"]: session for session in held["sessions"]}
    cases = []
    for q in held["questions"]:
        question = _question(q, q["scored"])
        haystack = tuple(sessions[id] for id in q["haystack"])
        cases.append(Case("s48", q["id"], haystack, (question,), {question.id: question.id}))
    return cases


def haystacks() -> dict[str, tuple[str, ...]]:
    """Id of a question of LongMemEval → the sessions among which its answer is looked for."""
    return {q["id"]: tuple(q["haystack"]) for q in _bench("longmemeval-dev.json.gz")["questions"]}


def everyday_lives() -> list[Case]:
    """Every third everyday life that something may be learned from."""
    cases = []
    for path in sorted(FOLDER.glob("*.txt")):
        lives, _ = parse_lives(path.read_text("utf-8"), path.name) if path.stem in EVERYDAY else ([], [])
        cases += [
            _life_case(life, f"{path.stem}-{n}")
            for n, life in enumerate(lives)
            if n % 3 == 0 and not is_held(f"{path.stem}-{n}")
        ]
    return cases


def _life_case(life: Life, name: str) -> Case:
    sessions: dict[int, dict[str, Any]] = {}
    for said in life.messages:
        at = f"{said.day.isoformat()}T12:00:00Z"
        session = sessions.setdefault(said.session, {"id": f"s{said.session}", "date": at, "messages": []})
        speaker = {} if said.speaker in ("U", "A") else {"speaker": said.speaker}
        role = "assistant" if said.speaker == "A" else "user"
        session["messages"].append({"id": str(said.number), "role": role, "content": said.text} | speaker)
    questions = tuple(
        Question(
            f"{name}#{n}", asked.text, asked.category, tuple(map(str, asked.messages)), asked.answer,
            f"{asked.asked.isoformat()}T12:00:00Z", True,
        )
        for n, asked in enumerate(life.questions)
        if asked.category != "never" and asked.messages
    )  # fmt: skip
    return Case("lives", name, tuple(sessions.values()), questions, {each.id: name for each in questions})


def _bench(name: str) -> Any:
    path = BENCH / name
    if not path.exists():
        sys.exit(f"The benchmark file {path} is absent; put it there or set HOLDFAST_BENCH to its folder.")
    return json.loads(gzip.decompress(path.read_bytes()))


def _question(held: dict[str, Any], scored: bool) -> Question:
    return Question(
        held["id"], held["question"], held["category"], tuple(held["evidence"]), str(held.get("answer", "")),
        held.get("asked_at"), bool(scored and held["evidence"]),
    )  # fmt: skip
