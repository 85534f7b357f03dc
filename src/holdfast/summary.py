"""The profile on one page, from what is known now. Empty sections are left out."""

from __future__ import annotations

from datetime import datetime, timedelta

from .moments import iso
from .ports import Store
from .types import All, Memory, Test

RECENT = timedelta(days=30)
SECTIONS = (
    ("Instructions", "instruction", 20),
    ("Facts", "fact", 40),
    ("Recent events", "event", 20),
    ("Tasks", "task", 20),
)


async def summary(store: Store, *, session_id: str | None, now: datetime) -> str:
    """Markdown: instructions, facts, recent events, open tasks, and how the last session ended."""
    blocks = []
    for title, kind, limit in SECTIONS:
        tests = [Test("kind", "eq", kind)]
        if session_id is not None:
            tests.append(Test("session_id", "eq", session_id))
        if kind == "event" and session_id is None:
            tests.append(Test("time", "gte", now - RECENT))
        page = await store.scan(All(tuple(tests)), now=now, limit=limit)
        if page.items:
            blocks.append("\n".join([f"## {title}", *(_line(memory) for memory in page.items)]))
    last = await _last_words(store, session_id)
    return "\n\n".join([*blocks, *last])


def _line(memory: Memory) -> str:
    when = f" ({iso(memory.occurred_at)[:10]})" if memory.occurred_at is not None else ""
    return f"- {memory.summary}{when}"


async def _last_words(store: Store, session_id: str | None) -> list[str]:
    last = await store.said(session_id, before=2**62, limit=1)
    if not last:
        return []
    messages = await store.said(last[0].session_id, before=2**62, limit=4)
    lines = [f"- {message.speaker or message.role}: {_short(message.content)}" for message in messages]
    return ["\n".join([f"## Last session ({iso(last[0].said_at)[:10]})", *lines])]


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 140 else f"{line[:139]}…"
