"""Every conversation of evals/data as sessions of messages, for properties that must hold over all of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from datetime import time as clock
from itertools import groupby
from typing import Any

from evals.data.life import parse_lives
from evals.data.talks import cases as talk_cases

from holdfast.domain.types import Message
from support.paths import ROOT

DATA = ROOT / "evals" / "data"


def sessions() -> Iterator[tuple[str, list[Message]]]:
    """The sessions of the lives, the annotated conversations, the talks, the long conversations and the personas, each
    with the name of its source. Those that are held back are left out: nobody reads them."""
    for path in sorted((DATA / "lives").glob("*.txt")):
        if not path.stem.startswith("held"):
            yield from ((path.stem, talk) for talk in _lives(path.read_text("utf-8"), path.name))
    for path in sorted((DATA / "extraction").glob("t[ru]*.json")):
        for case in json.loads(path.read_text("utf-8"))["cases"]:
            yield from ((path.stem, talk) for talk in _case(case["messages"]))
    for case in talk_cases():
        yield from ((case["id"].rpartition("-")[0], talk) for talk in _case(case["messages"]))
    for path in sorted((DATA / "conversations").glob("*.json")):
        for session in json.loads(path.read_text("utf-8"))["sessions"]:
            at = datetime.fromisoformat(session["date"])
            yield path.stem, [_message(each["id"], each, at) for each in session["messages"]]
    for path in sorted((DATA / "personas").glob("*.json")):
        persona = json.loads(path.read_text("utf-8"))
        for session in persona["sessions"] if persona["half"] == "read" else ():
            yield path.stem, [_spoken(n, each) for n, each in enumerate(session["messages"])]


def _spoken(n: int, each: dict[str, Any]) -> Message:
    return _message(str(n), each, datetime.fromisoformat(each["timestamp"]))


def _lives(text: str, name: str) -> Iterator[list[Message]]:
    for life in parse_lives(text, name)[0]:
        for _, group in groupby(life.messages, key=lambda said: said.session):
            yield [
                Message(
                    str(said.number), "s", "assistant" if said.speaker == "A" else "user", said.text,
                    at := datetime.combine(said.day, clock(12), UTC), timestamp=at,
                    speaker=None if said.speaker in ("U", "A") else said.speaker,
                )
                for said in group
            ]  # fmt: skip


def _case(messages: list[dict[str, Any]]) -> Iterator[list[Message]]:
    for _, group in groupby(messages, key=lambda message: message["session"]):
        yield [_message(each["id"], each, datetime.fromisoformat(each["timestamp"])) for each in group]


def _message(id: str, each: dict[str, Any], at: datetime) -> Message:
    return Message(id, "s", each["role"], each["content"], at, timestamp=at, speaker=each.get("speaker"))
