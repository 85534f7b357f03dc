"""A turn handler with memory: look up preferences, recall the last turns, answer, write the turn down.

    python examples/turns.py "Which seat should I book?" "And for the way back?"

Where a language model belongs, `answer` only repeats what it was given, so that this runs anywhere.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import timedelta

from holdfast import AgentMemory, Item


def handle(memory: AgentMemory, question: str) -> str:
    preferences = memory.search(question, kind="preference", limit=3)
    recent = memory.list("turn", limit=5)
    reply = answer(question, preferences, recent)
    memory.write("turn", None, {"asked": question, "answered": reply}, ttl=timedelta(days=30))
    return reply


def answer(question: str, preferences: Sequence[Item], recent: Sequence[Item]) -> str:
    known = "; ".join(str(item.value) for item in preferences) or "nothing"
    return f"Known: {known}. Turns before this one: {len(recent)}."


def main(questions: Sequence[str]) -> None:
    with AgentMemory(agent="travel", entity="ana") as memory:
        memory.write("preference", "seat", "Ana prefers a window seat near the front")
        for question in questions:
            print(f"> {question}\n{handle(memory, question)}")


if __name__ == "__main__":
    main(sys.argv[1:] or ["Which seat should I book?", "And for the way back?"])
