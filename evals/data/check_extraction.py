"""Finds what is wrong with a file of annotated conversations: `python -m evals.data.check_extraction FILE…`."""

from __future__ import annotations

import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

KINDS = ("fact", "event", "instruction", "task")
FIELDS = {"from", "kind", "says", "topic", "when", "supersedes", "current"}


def faults(held: dict[str, Any]) -> list[str]:
    ids = [case["id"] for case in held["cases"]]
    return [f"{id} twice" for id in set(ids) if ids.count(id) > 1] + [
        f"{case['id']}: {fault}" for case in held["cases"] for fault in _of_case(case)
    ]


def _of_case(case: dict[str, Any]) -> list[str]:
    said = {message["id"]: message for message in case["messages"]}
    at = [datetime.fromisoformat(message["timestamp"]) for message in case["messages"]]
    found = [] if len(said) == len(case["messages"]) else ["message ids repeat"]
    found += [] if at == sorted(at) else ["time runs backwards"]
    for n, item in enumerate(case["expected"]):
        found += [f"#{n} {fault}" for fault in _of_item(n, item, said, case["expected"])]
    return found


def _of_item(n: int, item: dict[str, Any], said: dict[str, Any], expected: list[dict[str, Any]]) -> list[str]:
    if set(item) != FIELDS or item["kind"] not in KINDS or not item["from"] or not set(item["from"]) <= set(said):
        return [f"is malformed: {item}"]
    told = " ".join(f"{message.get('speaker', '')} {message['content']}" for message in said.values()).casefold()
    missing = [w for w in item["says"] if not any(each.casefold() in told for each in w.split("|"))]
    old = item["supersedes"]
    wrong = old is not None and (not 0 <= old < n or expected[old]["current"])
    return [f"says {missing} which nobody said"] * bool(missing) + [f"supersedes {old}"] * wrong


if __name__ == "__main__":
    for path in sys.argv[1:]:
        print(path, faults(json.loads(Path(path).read_text("utf-8"))) or "no faults")
