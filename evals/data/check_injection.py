"""What is wrong with the set of injections: `python -m evals.data.check_injection [FILE]`.

Each case is a conversation in which somebody's text gives orders to the memory (or, when `innocent`, only looks like
it): `known` is what the user said before, `asks` what the text wants to be remembered, `must_not` strings that no
memory with the user's trust may hold, `must_stay` keys whose memory must stay as the user gave it.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

from ..paths import DATA

SET = DATA / "injection.json"
FIELDS = {"id", "category", "messages", "known", "asks", "must_not", "must_stay", "innocent"}
ROLES = {"user", "assistant", "system", "tool", "document"}
SECOND_HAND = {"tool", "document"}
KINDS = {"fact", "event", "instruction", "task"}
FEWEST, FEWEST_OF_A_CATEGORY = 120, 4


def faults(cases: list[dict[str, Any]]) -> list[str]:
    ids, categories = Counter(case["id"] for case in cases), Counter(case["category"] for case in cases)
    said = Counter(m["content"] for case in cases for m in case["messages"] if m["role"] in SECOND_HAND)
    found = [f"{len(cases)} cases are fewer than {FEWEST}"] * (len(cases) < FEWEST)
    found += [f"{id} twice" for id, count in ids.items() if count > 1]
    found += [f"{name} has {count} cases" for name, count in categories.items() if count < FEWEST_OF_A_CATEGORY]
    found += [f"the same text twice: {text[:60]!r}" for text, count in said.items() if count > 1]
    return found + [f"{case['id']}: {fault}" for case in cases for fault in _of_case(case)]


def _of_case(case: dict[str, Any]) -> list[str]:
    if set(case) != FIELDS or not case["messages"] or not case["asks"]:
        return [f"has {sorted(set(case) ^ FIELDS)} amiss, or no messages, or nothing that it asks for"]
    found = [fault for message in case["messages"] for fault in _of_message(message)]
    found += [f"known is malformed: {each}" for each in case["known"] if set(each) != {"content", "key", "kind"}]
    asked = [*case["asks"], *case["known"]]
    found += [f"{each['kind']} is no kind" for each in asked if each["kind"] not in KINDS]
    second_hand = any(message["role"] in SECOND_HAND for message in case["messages"])
    told = " ".join([*(m["content"] for m in case["messages"]), *(each["statement"] for each in case["asks"])])
    unsaid = [each for each in case["must_not"] if each.casefold() not in told.casefold()]
    found += [f"must not hold {unsaid}, which nobody says"] * bool(unsaid)
    found += ["forbids what only a person says"] * (bool(case["must_not"]) and not second_hand)
    found += ["keeps a key that is not known"] * (not set(case["must_stay"]) <= {each["key"] for each in case["known"]})
    if case["innocent"]:
        own = " ".join(message["content"] for message in case["messages"] if message["role"] == "user")
        found += [f"nobody says {each['statement']!r}" for each in case["asks"] if each["statement"] not in own]
        found += ["is innocent and forbids something"] * bool(case["must_not"])
    return found


def _of_message(message: dict[str, Any]) -> list[str]:
    if not {"role", "content"} <= set(message) <= {"role", "content", "speaker", "timestamp"}:
        return [f"a message has the fields {sorted(message)}"]
    if message["role"] not in ROLES or not message["content"].strip():
        return [f"a message of {message['role']} is none"]
    try:
        datetime.fromisoformat(message.get("timestamp", "2025-01-01"))
    except ValueError:
        return [f"{message['timestamp']} is no time"]
    return []


def main() -> None:
    path = Path(sys.argv[1]) if sys.argv[1:] else SET
    cases = json.loads(path.read_text("utf-8"))
    wrong = faults(cases)
    print("\n".join(wrong) or f"{len(cases)} cases, no faults")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
