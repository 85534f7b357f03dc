"""Checks the shape of evals/data/conversations, prints counts: `python -m evals.data.check_conversations [FILE…]`."""

from __future__ import annotations

import json
import sys
from collections import Counter
from datetime import datetime
from pathlib import Path

from ..paths import DATA

FOLDER = DATA / "conversations"
CATEGORIES = {
    "single-hop",
    "multi-hop",
    "temporal",
    "update",
    "preference",
    "assistant",
    "count",
    "open-domain",
    "unanswerable",
}


def faults(conversation: dict) -> list[str]:
    """What is wrong with one conversation, in words; an empty list when nothing is."""
    found: list[str] = []
    messages: dict[str, dict] = {}
    dates: list[datetime] = []
    for session in conversation["sessions"]:
        dates.append(datetime.fromisoformat(session["date"]))
        for message in session["messages"]:
            if message["id"] in messages:
                found.append(f"message id {message['id']} occurs twice")
            if message["role"] not in {"user", "assistant", "system", "tool"}:
                found.append(f"{message['id']}: role {message['role']!r}")
            if not message["content"].strip():
                found.append(f"{message['id']}: empty content")
            messages[message["id"]] = message
    if dates != sorted(dates):
        found.append("sessions are not in order of time")
    for question in conversation["questions"]:
        name = question["id"]
        if question["category"] not in CATEGORIES:
            found.append(f"{name}: category {question['category']!r}")
        found += [f"{name}: no message {e!r}" for e in question["evidence"] if e not in messages]
        if (question["category"] == "unanswerable") != (not question["evidence"]):
            found.append(f"{name}: unanswerable questions have no evidence, all others have some")
        if len(set(question["evidence"])) != len(question["evidence"]):
            found.append(f"{name}: the same evidence twice")
        if datetime.fromisoformat(question["asked_at"]) < dates[-1]:
            found.append(f"{name}: asked before the last session")
    repeated = [q for q, n in Counter(q["question"] for q in conversation["questions"]).items() if n > 1]
    return found + [f"question asked twice: {q}" for q in repeated]


def main(paths: list[Path]) -> int:
    total: Counter[str] = Counter()
    bad = 0
    for path in paths or sorted(FOLDER.glob("*.json")):
        conversation = json.loads(path.read_text())
        wrong = faults(conversation) + ([] if conversation["id"] == path.stem else ["id is not the file's name"])
        said = [m for s in conversation["sessions"] for m in s["messages"]]
        total.update(conversations=1, sessions=len(conversation["sessions"]), messages=len(said))
        total.update(questions=len(conversation["questions"]))
        total.update(q["category"] for q in conversation["questions"])
        mean = sum(len(m["content"]) for m in said) // max(1, len(said))
        print(f"{path.stem}: {len(said)} messages (mean {mean} chars), {len(conversation['questions'])} questions")
        for fault in wrong:
            print(f"  {fault}")
        bad += len(wrong)
    print(dict(total))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main([Path(p) for p in sys.argv[1:]]))
