"""`extraction/talks-*.txt`: annotated conversations in which things change, as people tell it.

    == situation
    @ 2025-03-02                      a session
    u: message                        of the user, `u Name:` where there are two; `a:` of the assistant
     + f 3 >1 Hetzner; cookies file   to be kept of it: kind, number, what it makes out of date, what it has to say

Empty lines stand between conversations.
"""

from __future__ import annotations

import re
from typing import Any

from ..paths import EXTRACTION
from .timelines import KINDS

_SAID = re.compile(r"([ua])(?: ([^:]{1,30}))?: (.+)")
_KEPT = re.compile(r" \+ ([feit]) (\d+) (?:>(\d+) )?(.+)")


def cases() -> list[dict[str, Any]]:
    """As in `training-*.json`, but without topics and dates."""
    found: list[dict[str, Any]] = []
    for path in sorted(EXTRACTION.glob("talks-*.txt")):
        for number, text in enumerate(path.read_text("utf-8").split("\n== ")):
            found.append(_case(f"{path.stem}-{number}", text.removeprefix("== ").splitlines()))
    return found


def _case(name: str, rows: list[str]) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    expected: list[dict[str, Any]] = []
    numbers: dict[str, int] = {}
    day, session = "", 0
    for row in rows[1:]:
        if row.startswith("@ "):
            day, session = row[2:], session + 1
        elif said := _SAID.fullmatch(row):
            who = {"speaker": said[2]} if said[2] else {}
            minute = f"{9 + len(messages) // 60:02}:{len(messages) % 60:02}"
            message = {"id": f"m{len(messages)}", "session": f"s{session}", "timestamp": f"{day}T{minute}:00+00:00"}
            role = "user" if said[1] == "u" else "assistant"
            messages.append(message | {"role": role, "content": said[3]} | who)
        elif kept := _KEPT.fullmatch(row):
            says = [each.strip() for each in kept[4].split(";")]
            numbers[kept[2]] = len(expected)
            old = numbers[kept[3]] if kept[3] else None
            if old is not None:
                expected[old]["current"] = False
            item = {"from": _sources(messages, says), "kind": KINDS[kept[1]], "says": says, "when": None}
            expected.append(item | {"supersedes": old, "current": True})
        elif row.strip():
            raise ValueError(f"{name}: cannot read {row!r}")
    return {"id": name, "situation": rows[0], "features": ["change"], "messages": messages, "expected": expected}


def _sources(messages: list[dict[str, Any]], says: list[str]) -> list[str]:
    """The last message; the one before it too where that has the words."""
    *_, last = messages
    here = all(each.casefold() in last["content"].casefold() for each in says)
    return [each["id"] for each in (messages[-1:] if here else messages[-2:])]
